package oracle

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// plans is what earlier plans of a run left.
type plans struct {
	paid  map[string]bool   // the runs in which plans were made that this run has paid for
	asked int               // number of plans that answered a question of on_error
	tally map[string]mtally // by address
	memo  map[string]*mpast // the newest results that the plan has not used
	due   []*minst          // in the order in which they became ready
	old   *oldPlan          // while the event of a new plan is processed

	effects map[string][]string // where an effect that must happen once happened, or may have, by what it is
	results map[string]*mpast   // the results of these effects, by what it is and where
	placed  map[string]bool     // those that are at their place in the newest plan
}

// mtally is how often something was tried at an address, and whether an effect that must happen once
// may have happened there, or has happened.
type mtally struct {
	attempts, asked int
	unsure, done    bool
	once            bool // an earlier plan that did it, or may have, says that it must happen once
}

// mpast is a result of an earlier plan.
type mpast struct {
	*minst
	below    []*minst // the tasks that it handed off
	disowned bool     // a person has marked the step as failed since
}

// oldPlan is what was in progress when the plan changed.
type oldPlan struct {
	insts    map[string]*minst
	below    map[string][]*minst // the tasks that were handed off, by the address of the workflow's own task
	attempts []*minst
	timers   map[string]mtimer
}

// replanned starts a new plan from its beginning, with what the run has used so far.
func (m *Model) replanned(ev *engine.Replanned) {
	x := &m.plans
	if x.memo == nil {
		x.memo, x.tally, x.paid = map[string]*mpast{}, map[string]mtally{}, map[string]bool{}
		x.effects, x.results = map[string][]string{}, map[string]*mpast{}
	}
	for _, in := range m.insts {
		if slices.ContainsFunc(in.questions, func(q *mquestion) bool { return q.kind == engine.ReplanQuestion }) {
			x.asked++
			break
		}
	}
	x.placed = map[string]bool{}
	x.old = &oldPlan{map[string]*minst{}, map[string][]*minst{}, m.attempts, m.timers}
	for _, in := range m.insts {
		if top := in.top(); top != in {
			x.old.below[top.address] = append(x.old.below[top.address], in)
		}
	}
	for _, in := range m.insts {
		m.collect(in)
	}
	before := m.root.frame
	steps := before.steps
	for _, in := range m.insts {
		if in.counted && !in.sent { // nobody worked on it
			steps--
		}
	}
	m.bundle, m.facts, m.inputsOf = ev.Bundle, ev.Tasks, map[string][]string{}
	m.attempts, m.timers, m.insts, m.frames, m.ended = nil, map[string]mtimer{}, nil, nil, nil
	inputs := maps.Clone(m.given)
	if len(m.bundle.Root.Inputs) > 0 {
		maps.DeleteFunc(inputs, func(name string, _ any) bool { return !slices.Contains(m.takes(m.bundle.Root), name) })
	}
	charge := engine.Usage{}
	for _, planner := range sorted.Keys(ev.Planning) {
		if !x.paid[planner] {
			x.paid[planner], charge = true, charge.Plus(ev.Planning[planner])
		}
	}
	m.begin(&mframe{w: m.bundle.Root, limits: before.limits, inputs: inputs, steps: steps, spent: before.spent.Plus(charge)}, nil)
}

// collect takes what an instance of the old plan has come to.
func (m *Model) collect(in *minst) {
	x := &m.plans
	if tried(in.n) {
		t := x.tally[in.address]
		if t.asked = max(t.asked, in.numbered); in.sent || !in.unsent {
			t.attempts = max(t.attempts, in.attempt, in.base)
		}
		done := in.attempt > 0 && (in.status == engine.Success || in.atLimit)
		if (once(in) || t.once) && in.status != engine.Skipped {
			open := in.status == engine.Running || in.status == engine.Cancelled
			t.unsure = !done && (in.unsure || open && in.attempt-in.base > in.failures && !in.unsent)
			t.done = in.happened
		}
		t.done = t.done || done
		t.once = t.once || once(in) && (t.done || t.unsure)
		x.tally[in.address] = t
		if once(in) && (done || in.sent && t.unsure) {
			e := m.effect(in)
			if !slices.Contains(x.effects[e], in.address) {
				x.effects[e] = append(x.effects[e], in.address)
			}
		}
	}
	past := &mpast{minst: in, below: x.old.below[in.address]}
	switch {
	case in.top() != in:
	case in.atLimit: // it is the loop that failed
		in.status, in.output, in.err, in.phase, in.questions = engine.Success, in.limited, "", "ended", nil
		in.atLimit, in.limited = false, nil
		x.memo[in.address] = past
	case in.phase != "ended":
		x.old.insts[in.address] = in
	case in.happened && in.status != engine.Success: // the earlier result stays
		return
	case works(in) && in.attempt > 0 && (in.status == engine.Success || in.status == engine.Failed || in.status == engine.TimedOut):
		x.memo[in.address] = past
	}
	if x.memo[in.address] == past && tried(in.n) && past.status == engine.Success {
		if e := m.effect(in); slices.Contains(x.effects[e], in.address) {
			x.results[e+in.address] = past
		}
	}
}

// top returns the workflow's own task that the work of an instance comes from.
func (in *minst) top() *minst {
	for in.handedOffBy() != nil {
		in = in.handedOffBy()
	}
	return in
}

// works reports whether an agent or a person has done what the instance does.
func works(in *minst) bool {
	switch in.n.Step.(type) {
	case *workflow.Task, *workflow.Human:
		return true
	case *workflow.Choice:
		return in.listed
	}
	return false
}

// tried reports whether a node has attempts.
func tried(n *workflow.Node) bool {
	_, task := n.Step.(*workflow.Task)
	return task || asks(n)
}

func (m *Model) continueCounts(in *minst) {
	if t := m.plans.tally[in.address]; tried(in.n) {
		must := in.n.Once || t.once
		in.base, in.numbered, in.unsure, in.happened, in.once = t.attempts, t.asked, t.unsure && must, t.done && must, must
	}
}

// noteDone records when an instance came about: what an agent or a person did when they did it,
// everything else when the latest of what it is computed from did.
func (m *Model) noteDone(in *minst) {
	if !works(in) {
		for _, p := range in.from {
			in.done = max(in.done, p.by.done)
		}
	} else if in.done == 0 {
		in.done = m.order
	}
	s := in.reg.scope
	s.latest = max(s.latest, in.done)
}

// isReady starts a task or a gate, unless an earlier plan may have its result.
func (m *Model) isReady(in *minst) {
	if m.plans.memo == nil {
		m.startReady(in)
		return
	}
	in.phase, in.due = "ready", true
	m.place(in)
	m.plans.due = append(m.plans.due, in)
}

func (m *Model) startReady(in *minst) {
	if in.due = false; tried(in.n) {
		m.ready(in)
		return
	}
	in.attempt, in.phase, in.begun = 1, "asked", m.order
	in.question = m.gate(in)
	m.ask(in, engine.GateQuestion)
}

// gate returns what a person is shown.
func (m *Model) gate(in *minst) string {
	h := in.n.Step.(*workflow.Human)
	return fmt.Sprint(m.text(m.view(in, false), h.Question.Text), in.reg.g.Offered(in.n), h.Custom)
}

// unfold uses the recorded results of what is ready, in the order in which they came about. When none
// is left, what was in progress goes on or is cancelled, and the rest starts.
func (m *Model) unfold() bool {
	x := &m.plans
	x.due = slices.DeleteFunc(x.due, func(in *minst) bool { return in.phase != "ready" }) // cancelled
	first := -1
	for i, in := range x.due {
		if past := m.resultOf(in); past != nil && (first < 0 || past.done < x.memo[x.due[first].address].done) {
			first = i
		}
	}
	if first >= 0 {
		in := x.due[first]
		x.due = slices.Delete(x.due, first, first+1)
		if past := x.memo[in.address]; !m.recall(in, past) {
			x.due = append(x.due, in)
		}
		return true
	}
	due, old := x.due, x.old
	x.due = nil
	if old != nil {
		for _, in := range due {
			m.goOn(in)
		}
		m.abandonRest()
	}
	for _, in := range due {
		if in.phase == "ready" {
			m.startReady(in)
		}
	}
	return len(due) > 0 || old != nil
}

// work describes what a node does, whatever its policies.
func work(in *minst) string {
	only := workflow.Node{ID: in.n.ID, Step: in.n.Step, Output: in.n.Output, Once: in.n.Once}
	return workflow.Print(&workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{only}}}) + fmt.Sprint(labelsOf(in.reg.g, in.n))
}

// asksFor describes what is asked for.
func (m *Model) asksFor(in *minst) string {
	if !tried(in.n) {
		if in.question == "" {
			return m.gate(in)
		}
		return in.question
	}
	m.render(in)
	return fmt.Sprintf("%q %s %s %s", in.prompt, in.given, in.inputs, m.places(in))
}

// resultOf returns the result of an earlier plan that an instance takes, or nil.
func (m *Model) resultOf(in *minst) *mpast {
	past := m.plans.memo[in.address]
	switch {
	case past == nil || past.disowned || in.refused || work(past.minst) != work(in) || m.asksFor(past.minst) != m.asksFor(in):
		return nil
	case past.status != engine.Success && !goesOn(in, past.status):
		return nil
	case !in.n.Once && !m.follows(in, past.begun):
		return nil
	}
	return past
}

// goesOn reports whether a failure is handled, so that something depends on it.
func goesOn(in *minst, status engine.Status) bool {
	out := edgesFrom(in.reg.g, in.n.ID)
	switch {
	case has(out, workflow.OnFailure), has(out, workflow.OnTimeout) && status == engine.TimedOut, in.n.OnError == workflow.Continue:
		return true
	case in.n.OnError == workflow.SkipDependents, in.reg.scope.owner == nil:
		return false
	}
	return goesOn(in.reg.scope.owner, engine.Failed)
}

// follows reports whether everything before an instance ended before a given moment, or is shown by
// its texts. An item shows the list, and an input what the caller gives, only to texts that show them.
func (m *Model) follows(in *minst, begun int) bool {
	texts := textsOf(in.n)
	for at := in; ; {
		outer := at.reg.around()
		entry := len(edgesTo(at.reg.g, at.n.ID)) == 0
		if !entry || !at.reg.scope.isItem() || at.reg.loop != nil {
			for _, p := range at.from {
				for _, of := range append(p.sources(), p.by) {
					if of.done > begun && !texts.show(of.n) {
						return false
					}
				}
			}
		}
		switch owner := at.reg.scope.owner; {
		case !entry:
			return true
		case at.reg.loop != nil:
			at = at.reg.loop
		case outer != nil: // an item
			if texts.refersTo(expr.Item, "") || texts.refersTo(expr.Vars, owner.n.Step.(*workflow.Each).As) || texts.all {
				texts.refs = append(texts.refs, textsOf(owner.n).refs...)
			}
			at = owner
		case owner != nil:
			shown := texts.all || texts.refersTo(expr.Inputs, "")
			if texts = (shows{}); shown {
				texts = textsOf(owner.n)
			}
			at = owner
		default:
			return true
		}
	}
}

// shows is what the texts of a node show.
type shows struct {
	refs     []*expr.Ref
	incoming bool // whatever reaches it
	all      bool // also items and inputs
}

func textsOf(n *workflow.Node) (t shows) {
	add := func(text string) { t.refs = append(t.refs, parseTemplate(text).Refs()...) }
	bind := func(inputs []workflow.Binding) {
		for _, b := range inputs {
			for _, text := range texts(b.Value) {
				add(text)
			}
		}
	}
	switch s := n.Step.(type) {
	case *workflow.Human:
		add(s.Question.Text)
	case *workflow.Call:
		bind(s.Inputs)
	case *workflow.Each:
		t.refs = parseExpr(s.Items.Text).Refs()
	}
	if task := n.Task(); task != nil {
		add(task.Prompt.Text)
		bind(task.Inputs)
		t.incoming, t.all = receives(n), asks(n)
	}
	return t
}

// texts returns the texts in a value.
func texts(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			list = append(list, texts(x)...)
		}
	}
	return list
}

func (t shows) refersTo(kind expr.Kind, name string) bool {
	return slices.ContainsFunc(t.refs, func(r *expr.Ref) bool { return r.Kind == kind && (name == "" || r.Name == name) })
}

func (t shows) show(of *workflow.Node) bool {
	return t.incoming || t.refersTo(expr.Previous, "") || t.refersTo(expr.Failure, "") || t.refersTo(expr.Nodes, of.ID) ||
		of.Output.Var != "" && t.refersTo(expr.Vars, of.Output.Var) || of.Group != "" && t.refersTo(expr.Groups, of.Group)
}

// recall ends an instance with an earlier result, and reports whether that leads somewhere.
func (m *Model) recall(in *minst, past *mpast) bool {
	before := *in
	in.due = false
	in.attempt, in.base, in.failures, in.losses, in.numbered = past.attempt, past.base, past.failures, past.losses, past.numbered
	in.begun, in.done, in.used, in.counted, in.started, in.sent = past.begun, past.done, past.used, past.counted, past.started, past.sent
	in.question, in.made = past.question, past.made
	for _, h := range past.handed {
		if h.in = in; !h.scope.over {
			in.handed = append(in.handed, h)
		}
	}
	if past.status != engine.Success {
		in.status, in.err = past.status, past.err
		m.failFinally(in)
	} else {
		f := m.endLike(in, past)
		if f != nil && !in.n.Once && !in.happened {
			*in = before
			in.refused = true
			return false
		}
		if f != nil {
			m.fail(in, *f)
		}
	}
	m.move(in, past.below)
	if past.below = nil; !in.happened || in.status == engine.Success {
		delete(m.plans.memo, in.address)
	}
	return true
}

// endLike ends an instance with the value of a result.
func (m *Model) endLike(in *minst, past *mpast) *fault {
	said, value := past.output, past.output
	if !tried(in.n) {
		in.passed.decision, in.passed.reason = past.passed.decision, past.passed.reason
	}
	if asks(in.n) {
		said, value = map[string]any{"decision": past.passed.decision, "reason": past.passed.reason}, reached(in.from)
	}
	return m.endWith(in, said, value)
}

// goOn lets an instance continue what was in progress at its address, if it is the same.
func (m *Model) goOn(in *minst) {
	o := m.plans.old.insts[in.address]
	if o == nil || in.phase != "ready" || o.phase == "stopping" || o.status != engine.Running || work(o) != work(in) {
		return
	}
	if (o.attempt > 0 || o.moved) && (m.asksFor(o) != m.asksFor(in) || !in.n.Once && !m.follows(in, o.begun)) {
		return
	}
	now := *in
	*in = *o
	in.n, in.reg, in.vars, in.from, in.passed, in.due, in.continued = now.n, now.reg, now.vars, now.from, now.passed, false, now.continued
	if o.attempt == 0 {
		in.rendered = false
	}
	m.takeOver(in, o)
	m.move(in, m.plans.old.below[in.address])
}

// takeOver makes what is in progress for an instance that of another, which may be the same.
func (m *Model) takeOver(in, o *minst) {
	old := m.plans.old
	if i := slices.Index(old.attempts, o); i >= 0 {
		old.attempts = slices.Delete(slices.Clone(old.attempts), i, i+1)
		m.attempts = append(m.attempts, in)
	}
	for id, t := range old.timers {
		if t.in == o {
			t.in = in
			m.timers[id] = t
		}
	}
}

// move puts what an instance has used, and handed off, into the new plan.
func (m *Model) move(in *minst, below []*minst) {
	for _, b := range below {
		m.place(b)
	}
	for _, used := range append([]*minst{in}, below...) {
		if used.counted && !used.sent {
			m.root.frame.steps++
		}
		for f := in.reg.scope.frame; f.around != nil; f = f.around {
			if used.counted {
				f.steps++
			}
			f.spent = f.spent.Plus(used.used)
		}
	}
	for _, h := range in.handed {
		h.in, h.scope.owner, h.scope.frame.around = in, in, in.reg.scope.frame
	}
	for _, b := range below {
		m.insts = append(m.insts, b)
		if m.plans.old != nil {
			m.takeOver(b, b)
		}
	}
	for _, by := range append([]*minst{in}, below...) {
		for _, h := range by.handed {
			m.frames = append(m.frames, h.scope.frame)
		}
	}
}

// abandonRest cancels what was in progress and does not go on. Its attempts keep their slots until they
// have ended, and what they use counts.
func (m *Model) abandonRest() {
	for _, o := range m.plans.old.attempts {
		if o.unsent { // nobody works on it
			continue
		}
		reg := &mregion{g: o.reg.g, scope: m.root}
		m.attempts = append(m.attempts, &minst{n: o.n, reg: reg, address: o.address, attempt: o.attempt, phase: "stopping", status: engine.Cancelled, may: o.may, unsent: o.unsent, counted: true})
	}
	m.plans.old = nil
	for _, past := range m.plans.memo {
		past.handed = nil
		past.below = slices.DeleteFunc(past.below, func(b *minst) bool { return b.phase != "ended" })
		for _, b := range past.below {
			b.handed = nil
		}
	}
	m.later(func() { m.maybeOver(m.root) })
}

// continueCall lets a call that was in progress go on with its time.
func (m *Model) continueCall(in *minst, f *mframe) {
	if m.plans.old == nil {
		return
	}
	o := m.plans.old.insts[in.address]
	if o == nil || o.child == nil || work(o) != work(in) {
		return
	}
	f.since, in.started = o.child.frame.since, o.started
	if t, ok := m.plans.old.timers[in.timer("timeout")]; ok && o.n.Timeout == in.n.Timeout {
		t.in = in
		m.timers[in.timer("timeout")] = t
	}
}

// waitsForPlan asks for a new plan if the failure of an instance says so.
func (m *Model) waitsForPlan(in *minst, handled bool) bool {
	if in.n.OnError != workflow.Replan || handled || in.reg.scope.frame.handoff != nil || m.plans.asked >= m.root.frame.limits.MaxReplans() {
		return false
	}
	in.phase = "asked"
	in.questions = nil
	m.ask(in, engine.ReplanQuestion)
	return true
}

// isTold reports whether the engine has reported something about an address at this event.
func (m *Model) isTold(kind engine.FactKind, address string) bool {
	return slices.ContainsFunc(m.told, func(f engine.Fact) bool { return f.Kind == kind && f.Address == address })
}
