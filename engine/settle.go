package engine

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
)

// read extracts the value of a node from its output, according to its output mode.
func (n *node) read(given any) (any, error) {
	if n.extract != nil {
		given = whole(given)
	}
	text, isText := given.(string)
	from, isStored := given.(*stored)
	switch {
	case isStored && from.lines:
		return &stored{in: from.in, n: n, given: given, lines: true}, nil // it may end with more newlines
	case n.extract == nil && strings.HasSuffix(text, "\n"):
		return text[:len(text)-1], nil
	case n.extract == nil:
		return given, nil
	case !isText:
		text = workflow.FormatJSON(given)
	}
	return n.extract.Value(text)
}

// endWith ends an instance with its output, or with a failure if that cannot be used.
func (r *Run) endWith(in *inst, given any, again *stored) {
	if fault := r.succeed(in, given, again); fault != nil {
		r.fail(in, fault)
	}
}

// succeed ends an instance with its output, if that can be read and its edges can be chosen.
// Otherwise it returns a fault and leaves the instance unchanged. again is where a long output
// can be loaded again, or nil.
func (r *Run) succeed(in *inst, given any, again *stored) *Fault {
	said, err := in.n.read(given)
	if err != nil {
		return &Fault{Kind: FaultBadOutput, Message: err.Error()}
	}
	value := r.store.keep(in.n, said, again)
	if in.wasAsked() {
		value = previous(in.from())
	}
	return r.settle(in, said, value)
}

// settle ends an instance with its value, and takes the edges that what it said leads to.
func (r *Run) settle(in *inst, said, value any) *Fault {
	before := in.env
	in.status, in.output = Success, value
	in.err = ""
	if in.n.write >= 0 {
		r.seq++
		in.env = in.env.set(in.reg.levels(), in.n.write, &write{r.seq, value})
	}
	taken, fault := r.route(in, said)
	if fault != nil {
		in.status, in.output, in.env = Running, nil, before
		return fault
	}
	p := parcel{by: in, env: in.env, failed: in.passedFailure()}
	r.conclude(in)
	if r.leaveBy(taken, p) {
		in.scope().pathEnded(in)
	}
	return nil
}

// leaveBy settles the out-edges of the instance that a parcel comes from, and reports whether a path
// ends there: it takes no edge that leads to a node.
func (r *Run) leaveBy(taken []bool, p parcel) (sink bool) {
	in := p.by
	sink = true
	for i, e := range in.n.out {
		if !taken[i] {
			r.settleEdge(in.reg, e, dead, parcel{})
			continue
		}
		sink = sink && e.ends()
		r.settleEdge(in.reg, e, live, p)
	}
	r.settled(in.reg, in.n)
	return sink
}

// conclude records the end of an instance.
func (r *Run) conclude(in *inst) {
	if !in.works() {
		for _, p := range in.from() {
			in.done = max(in.done, p.by.done)
		}
	}
	r.over(in)
	r.seq++
	in.seq = r.seq
	if in.works() && in.done == 0 { // otherwise an earlier plan has the result
		in.done = int32(in.seq)
	}
	in.scope().done = max(in.scope().done, in.done)
	if len(r.replans.memo) > 0 && !in.works() {
		r.keepTimes(in)
	}
	in.scope().remember(in)
	if !in.n.isChoice() || in.err != "" || in.wasAsked() {
		r.tell(in, StepEnded, in.err)
	}
	if h := in.scope().frame.handoff; h != nil {
		r.giveBack(h)
	}
	r.dropHandoffs(in, r.version >= 8 && r.host(in) != nil && in.status != Success) // the workspace may be recorded now
}

// works reports whether an agent or a person does what the instance does, so that its result cannot
// be computed again.
func (in *inst) works() bool {
	switch in.n.does.(type) {
	case *workflow.Task, *workflow.Human:
		return true
	case *workflow.Choice:
		return in.wasAsked()
	case *workflow.Call, *workflow.Combine, *workflow.Loop, *workflow.Each:
	}
	return false
}

// passedFailure returns the failure that a choice passes on.
func (in *inst) passedFailure() *inst {
	if in.n.isChoice() {
		return failureIn(in.from())
	}
	return nil
}

func previous(from []parcel) any {
	switch len(from) {
	case 0:
		return nil
	case 1:
		return from[0].value()
	}
	values := make([]any, len(from))
	for i, p := range from {
		values[i] = p.value()
	}
	return listOf(values)
}

// route returns which out-edges the instance takes, given its output. After a tolerated failure
// there is no decision, so no label matches.
func (r *Run) route(in *inst, said any) (taken []bool, fault *Fault) {
	n, failed := in.n, in.status != Success
	taken = make([]bool, len(n.out))
	for i, e := range n.out {
		taken[i] = !n.conditional && (e.on == workflow.OnSuccess || e.on == workflow.OnElse)
	}
	if !n.conditional {
		return taken, nil
	}
	var decision extract.Decision
	if len(n.place.Decide) > 0 && !failed {
		var err error
		if decision, err = r.decision(in, said); err != nil {
			return nil, &Fault{Kind: FaultError, Message: err.Error(), Permanent: true}
		}
	}
	found, fault := takeMatching(in, decision, taken)
	if fault != nil {
		return taken, fault
	}
	if !found {
		decision = extract.Decision{Said: decision.Said}
		for i, e := range n.out {
			if e.on == workflow.OnElse || e.on == workflow.OnSuccess {
				taken[i], found = true, true
			}
		}
	}
	switch {
	case found:
		if !failed {
			in.decided(decision, said)
		}
		r.tellDecision(in, decision, taken)
	case !failed:
		return nil, noRoute(n, decision)
	}
	return taken, nil
}

// takeMatching takes the edges with the chosen label and those with the first condition that
// holds.
func takeMatching(in *inst, d extract.Decision, taken []bool) (found bool, fault *Fault) {
	holds := ""
	for i, e := range in.n.out {
		switch e.on {
		case workflow.OnLabel:
			taken[i] = d.Matched && e.def.Label == d.Label
		case workflow.OnWhen:
			if holds == "" {
				ok, err := e.when.Bool(in.behind())
				if err != nil {
					return false, &Fault{Kind: FaultError, Message: fmt.Sprintf("condition %q: %v", e.def.When.Text, err), Permanent: true}
				}
				if ok {
					holds = e.def.When.Text
				}
			}
			taken[i] = holds != "" && e.def.When.Text == holds
		case workflow.OnSuccess, workflow.OnElse, workflow.OnFailure, workflow.OnTimeout:
		}
		found = found || taken[i]
	}
	return found, nil
}

func noRoute(n *node, d extract.Decision) *Fault {
	if len(n.place.Decide) == 0 {
		return &Fault{Kind: FaultNoRoute, Message: "no condition holds, and there is no else"}
	}
	return &Fault{Kind: FaultNoRoute, Message: fmt.Sprintf("the decision %s matches none of the labels %s, and there is no else", brief(d.Said), strings.Join(n.place.Decide, ", "))}
}

// tellDecision records which edges were taken and by which rule, e.g. "yes, by last line →
// publish".
func (r *Run) tellDecision(in *inst, d extract.Decision, taken []bool) {
	var edges []*edge
	for i, e := range in.n.out {
		if taken[i] {
			edges = append(edges, e)
		}
	}
	first := edges[0].def
	f := in.fact(Decided, edges[0].told)
	f.Branch = &Branch{On: first.On, Case: cmp.Or(first.Label, first.When.Text)}
	if first.On == workflow.OnSuccess {
		f.Branch.On = workflow.OnElse
	}
	if !d.Matched && len(edges) == 1 {
		r.note(f)
		return
	}
	text := string(edges[0].def.On)
	if d.Matched {
		text = d.Label + ", by " + d.Rule
	}
	separator := " → "
	for _, e := range edges {
		text += separator + e.def.To
		separator = ", "
	}
	f.Text = text
	r.note(f)
}

// fail ends an instance with a final failure. Error edges handle it; without one, the node's
// on_error determines how far it reaches.
func (r *Run) fail(in *inst, fault *Fault) {
	in.status, in.output = Failed, nil
	in.err = fault.Message
	if fault.Kind == FaultTimeout {
		in.status = TimedOut
	}
	if r.mayReplan(in, in.n.onFailure || in.n.onTimeout && in.status == TimedOut) {
		r.askReplan(in)
		return
	}
	r.failFinally(in)
}

func (r *Run) failFinally(in *inst) {
	timedOut := in.status == TimedOut
	r.conclude(in)
	switch {
	case in.n.onTimeout && timedOut:
		r.settleFailed(in, workflow.OnTimeout)
	case in.n.onFailure:
		r.settleFailed(in, workflow.OnFailure)
	default:
		r.judge(in)
	}
}

// settleFailed takes the edges that handle the failure.
func (r *Run) settleFailed(in *inst, on workflow.On) {
	taken := make([]bool, len(in.n.out))
	for i, e := range in.n.out {
		taken[i] = e.on == on
	}
	r.leaveBy(taken, parcel{by: in, env: in.env, failed: in})
}

// judge applies on_error.
func (r *Run) judge(in *inst) {
	s, text := in.scope(), in.address+": "+in.err+r.noPlanLeft(in)
	switch in.n.def.OnError {
	case workflow.Stop, workflow.Replan:
		in.reg.nodes[in.n.local].settled = true
		r.end(s, Failed, text)
	case workflow.SkipDependents:
		s.tolerate(text)
		r.settleAll(in.reg, in.n, poisoned)
	case workflow.Continue:
		s.tolerate(text)
		if in.n.isLoop() { // it never ran, so no exit was ever live
			r.settleAll(in.reg, in.n, dead)
			return
		}
		taken, fault := r.route(in, nil)
		if fault != nil {
			r.warn(in, "%s", fault.Message)
			clear(taken)
		}
		r.leaveBy(taken, parcel{by: in, env: in.env, tolerated: true})
	}
}

// decision reads the decision of a successful instance from its output.
func (r *Run) decision(in *inst, said any) (extract.Decision, error) {
	if in.n.on == nil {
		return r.label(in.n, whole(said)), nil
	}
	value, err := in.n.on.Eval(in.behind())
	if err != nil {
		return extract.Decision{}, err
	}
	v := r.label(in.n, value)
	v.Rule = strings.ReplaceAll(v.Rule, "output", "condition")
	return v, nil
}

// label finds the label that a value names. The text true also matches yes, and false also
// matches no; in version 1, only the booleans did.
func (r *Run) label(n *node, value any) extract.Decision {
	d := extract.Decide(n.place.Decide, value)
	if d.Matched || r.version < 2 {
		return d
	}
	switch workflow.BareLabel(d.Said) {
	case "true":
		return extract.Decide(n.place.Decide, true)
	case "false":
		return extract.Decide(n.place.Decide, false)
	}
	return d
}

// brief returns a quoted text, shortened if it is too long for an error.
func brief(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return "“" + s + "”"
}
