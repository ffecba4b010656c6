package engine

import (
	"fmt"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// scope is the part of a run that a failure can end: the body of a workflow, or one item of a
// for_each. `nodes.id` refers to the newest instance in the same scope.
type scope struct {
	parent *scope
	owner  *inst  // the call or each that it belongs to, or the task that handed it off; nil for the run
	frame  *frame // of its workflow
	body   region
	latest []*inst // by node.slot; if groups need it, a second half that includes skipped ones

	done        int32  // the highest of its instances
	item        int32  // index of the item in a for_each
	outstanding int32  // number of attempts and handoffs in it, and in what it calls, that have not ended
	bodyDone    bool   // every path has ended
	over        bool   // its result was passed on
	ending      Status // it was ended from outside or by a failure; "" if not
	reason      string // why
	tolerated   string // the first failure that no error edge handled and that did not end the scope

	handed []*handoff // of tasks in it; only those that have not ended
	sinks  []*inst    // the last steps of paths that ended
	endEnv *env       // variables at the ends of all paths
}

// frame is one running workflow: the run itself, a call, or work that was handed off.
type frame struct {
	p      *program
	scope  *scope
	inputs map[string]any
	limits workflow.Limits // zero fields mean no limit
	prefix string          // of the addresses in it, e.g. "serve-customers/"
	depth  int             // 0 for the run itself

	around  *frame   // the caller; nil for the run itself
	handoff *handoff // whose frame it is; nil for the run itself and for a call
	ledger
}

// newFrame returns the frame of a workflow that is about to run, with its scope. owner is nil for the
// run itself.
func (r *Run) newFrame(p *program, owner *inst, limits workflow.Limits, inputs map[string]any) *frame {
	f := &frame{p: p, inputs: inputs, limits: limits}
	var parent *scope
	if owner != nil {
		parent = owner.scope()
		f.around, f.depth, f.prefix, f.since = parent.frame, parent.frame.depth, owner.address+"/", r.clock.active
	}
	f.scope = newScope(parent, owner, p.body, f)
	if owner == nil || limits.Runtime > 0 {
		r.clock.frames = append(r.clock.frames, f)
	}
	return f
}

func newScope(parent *scope, owner *inst, g *graph, f *frame) *scope {
	s := &scope{parent: parent, owner: owner, frame: f, latest: make([]*inst, g.count)}
	if len(f.p.groups) > 0 {
		s.latest = make([]*inst, 2*g.count)
	}
	s.body.g, s.body.scope = g, s
	return s
}

// begin starts the scope's body.
func (r *Run) begin(s *scope, at *env) { r.enter(&s.body, at) }

// each returns the for_each whose item the scope is, or nil for the scope of a workflow.
func (s *scope) each() *each {
	if s.owner == nil {
		return nil
	}
	return s.owner.each
}

// newest returns the newest instance of a node that was not skipped, in the scope that the node
// belongs to.
func (s *scope) newest(n *node) *inst {
	if s = s.of(n); s == nil {
		return nil
	}
	return s.latest[n.slot]
}

func (s *scope) newestOrSkipped(n *node) *inst {
	if s = s.of(n); s == nil {
		return nil
	}
	return s.latest[s.body.g.count+n.slot]
}

// of returns the scope in which a node runs: this one or one around it, or nil if the node is in
// another for_each.
func (s *scope) of(n *node) *scope {
	for s.body.g != n.g.scope {
		if s.each() == nil {
			return nil
		}
		s = s.parent
	}
	return s
}

// remember makes an instance the newest of its node.
func (s *scope) remember(in *inst) {
	if count := s.body.g.count; len(s.latest) > count {
		s.latest[count+in.n.slot] = in
	}
	if in.status != Skipped {
		s.latest[in.n.slot] = in
	}
}

// closed reports whether nothing more can happen in the scope.
func (s *scope) closed() bool { return s.ending != "" || s.over }

// tolerate records a failure after which the scope continues.
func (s *scope) tolerate(text string) {
	if s.tolerated == "" {
		s.tolerated = text
	}
}

// pathEnded records the end of a path. If it ends at a choice, its last steps are those before
// the choice.
func (s *scope) pathEnded(in *inst) {
	s.endEnv = merge(s.endEnv, in.env)
	if !in.n.isChoice() {
		s.sinks = append(s.sinks, in)
		return
	}
	for _, w := range in.passed.workers {
		if w.scope() == s {
			s.sinks = append(s.sinks, w)
		}
	}
}

// end ends a scope: running attempts are cancelled, and undecided nodes are skipped. The scope is
// over when the last attempt in it has ended.
func (r *Run) end(s *scope, status Status, reason string) {
	if s.closed() {
		return
	}
	s.ending, s.reason = status, reason
	r.cancelRegion(&s.body)
	for _, h := range s.handed {
		r.end(h.scope, Cancelled, "")
	}
	r.push(job{endScope, &s.body, nil})
}

// expect says that attempts or handoffs have begun in the scope.
func (s *scope) expect(n int32) {
	for ; s != nil; s = s.parent {
		s.outstanding += n
	}
}

// release says that an attempt or a handoff in the scope has ended.
func (r *Run) release(s *scope) {
	for ; s != nil; s = s.parent {
		if s.outstanding--; s.outstanding == 0 {
			r.push(job{endScope, &s.body, nil})
		}
	}
}

func (r *Run) cancelRegion(reg *region) {
	for i := range reg.nodes {
		st, n := &reg.nodes[i], reg.g.nodes[i]
		switch {
		case st.settled:
		case !st.decided:
			r.noteSkipped(reg, n)
		case st.inst != nil:
			r.cancelInst(st.inst)
		}
		st.decided, st.settled = true, true
	}
	reg.open = -1 // it never settles by itself
}

// cancelInst ends an instance whose edges are settled by the caller.
func (r *Run) cancelInst(in *inst) {
	status := Cancelled
	switch in.phase {
	case queued, held:
		if in.attempt == 0 {
			status = Skipped
		}
	case running:
		r.command(&CancelTask{Address: in.address, Attempt: int(in.attempt)})
		r.withdraw(in, "its step was cancelled", always)
		r.unawait(in)
		in.unbegun = false
		r.rest(in)
		r.clearTimer(in.timerID(timeoutTimer))
	case delayed, parked:
		r.clearTimer(in.timerID(retryTimer))
	case asked: // over withdraws the question
		if in.status != Running { // it waited for a new plan
			status = in.status
		}
	case nested:
		r.cancelNested(in)
	case stopping, finished:
		return
	}
	why := ""
	if s := in.scope(); s.frame.handoff != nil && s.ending == TimedOut { // what was handed off is this task, and its limit is that of the task
		status, why = TimedOut, s.reason
		in.err = why
	}
	if in.status = status; in.phase == running {
		in.phase, in.ended = stopping, r.elapsed
	} else {
		r.over(in)
	}
	r.dropHandoffs(in, true)
	in.scope().remember(in)
	if !in.n.isLoop() {
		r.tell(in, StepEnded, why)
	}
}

func (r *Run) cancelNested(in *inst) {
	switch {
	case in.body != nil:
		r.cancelRegion(in.body)
	case in.child != nil:
		r.clearTimer(in.timerID(timeoutTimer))
		r.end(in.child, Cancelled, "")
	case in.each != nil:
		for _, item := range in.each.scopes {
			if item == nil {
				continue
			}
			r.end(item, Cancelled, "")
		}
	}
}

// scopeEnded passes a scope's result on, when its body has settled or was ended and no attempt is
// left in it.
func (r *Run) scopeEnded(s *scope) {
	if s.over || s.outstanding > 0 || s.ending == "" && !s.bodyDone {
		return
	}
	s.over = true
	if s.owner != nil && s.frame.handoff == nil {
		s.owner.done = max(s.owner.done, s.done)
	}
	status, output, reason := r.outcome(s)
	switch {
	case s.owner == nil:
		r.finishRun(status, output, reason)
	case s.frame.handoff != nil:
		r.handoffEnded(s.frame.handoff, status, reason)
	case s.owner.phase != nested: // it was cancelled, so the result is not needed
	case s.owner.each != nil:
		r.itemEnded(s, status, output, reason)
	default:
		s.frame.inputs = nil
		r.callEnded(s, status, output, reason)
	}
}

// outcome returns the result of a scope, as defined in section 4 of the semantics.
func (r *Run) outcome(s *scope) (status Status, output any, reason string) {
	if s.ending != "" {
		return s.ending, nil, s.reason
	}
	sinks := successfulSinks(s.sinks)
	if s.tolerated != "" && len(sinks) == 0 {
		return Failed, nil, s.tolerated
	}
	output, err := r.scopeOutput(s, sinks)
	if err != nil {
		return Failed, nil, fmt.Sprintf("the output of workflow %q: %v", s.frame.p.w.Name, err)
	}
	if s.tolerated != "" {
		return Partial, output, s.tolerated
	}
	return Success, output, ""
}

// successfulSinks returns the sinks that succeeded and that no other step follows, without those
// that a later iteration replaced.
func successfulSinks(sinks []*inst) []*inst {
	if len(sinks) == 1 && sinks[0].status == Success && !sinks[0].continued {
		return sinks
	}
	seen := make(map[*node]bool, len(sinks))
	var list []*inst
	for _, in := range slices.Backward(sinks) {
		if !seen[in.n] && in.status == Success && !in.continued {
			seen[in.n] = true
			list = append(list, in)
		}
	}
	return list
}

// scopeOutput returns the value of the output expression, otherwise the only sink's output,
// otherwise an object with the sinks' outputs by id.
func (r *Run) scopeOutput(s *scope, sinks []*inst) (any, error) {
	if t := s.frame.p.output; t != nil && s.body.g.owner == nil {
		v := &view{scope: s, reg: &s.body, env: s.endEnv}
		return v.eval(t)
	}
	switch len(sinks) {
	case 0:
		return nil, nil
	case 1:
		return sinks[0].output, nil
	}
	outputs := make(map[string]any, len(sinks))
	for _, in := range sinks {
		outputs[in.n.def.ID] = in.output
	}
	return objectOf(outputs), nil
}

func (r *Run) finishRun(status Status, output any, reason string) {
	if !r.worked() {
		r.warn(nil, "no task ran")
	}
	r.clearTimer(runtimeTimer)
	output = whole(output)
	r.finish = &Finish{Status: status, Output: output, Error: reason}
	r.note(Fact{Kind: RunEnded, Status: status, Text: reason, Output: output})
	r.command(r.finish)
}

// worked reports whether a task ran.
func (r *Run) worked() bool { return r.Usage().Steps > 0 }
