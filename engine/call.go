package engine

import (
	"fmt"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// call runs another workflow in its own frame.
func (r *Run) call(in *inst, s *workflow.Call) {
	r.tell(in, StepStarted, "")
	in.attempt = 1
	f, err := r.calledFrame(in, s)
	if err != nil {
		r.fail(in, &Fault{Kind: FaultError, Message: err.Error(), Permanent: true})
		return
	}
	in.phase, in.child = nested, f.scope
	if in.n.def.Timeout > 0 {
		r.setTimer(in.timerID(timeoutTimer), in, in.n.def.Timeout, time.Time{})
	}
	r.continueCall(in)
	r.begin(in.child, f.p.initial())
}

func (r *Run) calledFrame(in *inst, s *workflow.Call) (*frame, error) {
	w := r.bundle.Called[s.Workflow]
	if w == nil {
		return nil, fmt.Errorf("there is no workflow %q", s.Workflow)
	}
	above, p := in.scope().frame, r.programs[w]
	depth := above.depth + 1
	most := r.root.frame.limits.Depth
	if most <= 0 || most > deepest {
		most = deepest
	}
	if depth >= most {
		return nil, fmt.Errorf("workflow depth limit exceeded (%d)", most)
	}
	given, err := r.bind(in, in.n.inputs)
	if err != nil {
		return nil, err
	}
	inputs := make(map[string]any, len(p.inputs))
	for _, name := range p.inputs {
		if v, ok := above.inputs[name]; ok {
			inputs[name] = v
		}
	}
	for _, g := range given {
		inputs[g.Name] = g.Value
	}
	if inputs, err = p.complete(inputs); err != nil {
		return nil, err
	}
	f := r.newFrame(p, in, w.Limits, inputs)
	f.depth = depth
	return f, nil
}

// callEnded passes the result of the called workflow to the call.
func (r *Run) callEnded(s *scope, status Status, output any, reason string) {
	in := s.owner
	r.clearTimer(in.timerID(timeoutTimer))
	switch status {
	case Success, Partial:
		in.scope().tolerate(reason) // "" if nothing failed
		left := s.left()
		if r.version >= 8 {
			left = in.leftByCall(s)
		}
		in.settleIn(left, func() { r.endWith(in, output, composed(output)) })
	case TimedOut:
		r.fail(in, &Fault{Kind: FaultTimeout, Message: reason})
	case Failed, Cancelled, Running, Waiting, Skipped:
		r.fail(in, &Fault{Kind: FaultError, Message: reason})
	}
}

// A definition that calls itself without an end must not take all memory, whoever has written it.
const (
	deepest   = 1000    // the most calls within calls, without a lower limit
	mostSteps = 1 << 20 // the most that one event begins
)
