package engine

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// Replanned starts a new plan afresh. While it unfolds, each task, gate and question of a choice
// that becomes ready is compared with what earlier plans have at the same address. It is the same
// if the node does the same work, it is asked for the same, and nothing that it only follows has
// run since. Then
//
//  1. a recorded result is taken at once, in the order in which the results came about, so that
//     joins decide as they did;
//  2. after that, what was in progress goes on: attempts, retries, open questions, handoffs;
//  3. everything else that was in progress is cancelled;
//  4. whatever else is ready starts.
//
// A step may become ready long after Replanned, so results that were not needed yet are kept.

// replans is what earlier plans of a run left.
type replans struct {
	at       time.Time            // when the newest plan began; zero if it is the first
	asked    int                  // number of plans that answered a question of on_error
	planning Usage                // what was used to make the plans
	charged  map[string]bool      // the runs in which that was
	tally    map[string]tally     // what happened at each address, so that nothing is numbered twice
	effects  map[string][]*effect // of earlier plans, by deed
	memo     map[string]*past     // results that the newest plan has not needed yet, by memoKey
	limbo    *scope               // of attempts that were cancelled and have not ended
	behind   []*inst              // tasks that wait until such an attempt at their address has ended
	next     plan                 // the one that was admitted last
	old      *old                 // what was in progress, while Replanned is stepped
	due      []due                // what is ready, while an event is stepped; first those with a result
}

// past is an instance that ended in an earlier plan.
type past struct {
	in               *inst // without its place in that plan
	work             digest
	acts, reads      digest // see the methods of node
	decision, reason string
	disowned         bool       // the effect has happened, but a person has marked the step as failed since
	below            []*inst    // the tasks that it handed off
	open             []*handoff // those of them that go on, while Replanned is stepped
}

// old is what was in progress in the plan that is replaced. What goes on is removed from it.
type old struct {
	insts     map[string]*inst
	below     map[string][]*inst // tasks that were handed off, by the address of the workflow's own task
	attempts  map[string]*inst
	timers    map[string]*timer
	questions map[string]*question
	told      map[string]Status // of all steps
	warned    []warning
}

// due is an instance that is ready, with its recorded result, if there is one.
type due struct {
	in *inst
	p  *past
}

// admitPlan reports why the run cannot go on with a plan.
func (r *Run) admitPlan(ev *Replanned) error {
	if ev.Bundle == nil || ev.Bundle.Root == nil {
		return errors.New("the new plan is missing")
	}
	p := r.replans.next
	if p.bundle != ev.Bundle {
		var err error
		if p, err = newPlan(ev.Bundle); err != nil {
			return err
		}
		r.replans.next = p
	}
	root := p.programs[p.bundle.Root]
	if _, err := root.complete(root.accepted(r.inputs)); err != nil {
		return err
	}
	return lowers(r.root.frame.limits, ev.Limits)
}

// accepted returns the inputs that a workflow accepts: all, if it declares none.
func (p *program) accepted(given map[string]any) map[string]any {
	if len(p.w.Inputs) == 0 {
		return given
	}
	inputs := map[string]any{}
	for _, name := range p.inputs {
		if v, ok := given[name]; ok {
			inputs[name] = v
		}
	}
	return inputs
}

func (r *Run) replan(ev *Replanned) {
	x := &r.replans
	p := x.next // admitPlan has compiled it
	x.next = plan{}
	if r.asksForPlan() {
		x.asked++
	}
	r.rehearsal = ev.Rehearse
	r.base = cmp.Or(r.base, ev.Base)
	r.recollect()
	for _, same := range x.effects {
		for _, e := range same {
			e.stays = false
		}
	}
	limits, used := r.root.frame.limits, r.root.frame.ledger
	raise(&limits, ev.Limits, true)
	x.at, x.behind = r.now, nil
	r.plan = p
	for i, h := range r.handed {
		h.index = len(p.compiled) + i
	}
	r.warnings = slices.DeleteFunc(slices.Clone(r.warnings), func(w warning) bool { return !w.Reported })
	r.attempts, r.questions, r.timers = map[string]*inst{}, map[string]*question{}, map[string]*timer{}
	if t := x.old.timers[runtimeTimer]; t != nil {
		r.timers[runtimeTimer] = t
	}
	r.clock = clock{active: r.clock.active}
	r.paused, r.steps, r.heldBack, r.finish = nil, nil, nil, nil
	charge := x.charge(ev)
	r.note(Fact{Kind: PlanChanged, Text: ev.Words, Usage: charge, Plan: &NewPlan{Bundle: p.bundle}})
	r.startPlan(ev.Tasks, p.programs[p.bundle.Root].accepted(r.inputs), limits)
	f := r.root.frame
	f.steps, f.spent = used.steps, used.spent.Plus(charge)
	x.limbo = newScope(r.root, nil, f.p.body, f)
	r.root.outstanding++ // until it is clear what is cancelled
}

// charge returns what a plan has cost that the run was not charged for yet.
func (x *replans) charge(ev *Replanned) Usage {
	if x.charged == nil {
		x.charged = map[string]bool{}
	}
	used := ev.Usage
	for _, id := range ev.Planners {
		x.charged[id] = true
	}
	for _, id := range sorted.Keys(ev.Planning) {
		if !x.charged[id] {
			x.charged[id], used = true, used.Plus(ev.Planning[id])
		}
	}
	x.planning = x.planning.Plus(used)
	return used
}

// recollect moves what is recorded, and what is in progress, out of the plan that is replaced.
func (r *Run) recollect() {
	x := &r.replans
	o := &old{map[string]*inst{}, map[string][]*inst{}, r.attempts, r.timers, r.questions, map[string]Status{}, r.warnings}
	x.old = o
	if x.memo == nil {
		x.memo, x.tally, x.effects = map[string]*past{}, map[string]tally{}, map[string][]*effect{}
	}
	tops := map[string]string{} // of what was handed off, the address of the workflow's own task
	type result struct {
		key string
		*past
	}
	ended := map[string]result{}
	for _, in := range r.steps {
		o.told[in.address] = in.status
		r.tallyUp(in)
		if r.neverSent(in) {
			r.root.frame.steps--
		}
		switch {
		case r.wasHandedOff(in):
			top := in.address[:strings.LastIndexByte(in.address, '/')]
			if above, ok := tops[top]; ok {
				top = above
			}
			tops[in.address] = top
			o.below[top] = append(o.below[top], in)
		case in.phase != finished && !in.atLimit:
			o.insts[in.address] = in
		case in.attempt == 0 && r.version >= 4: // it failed before it began
		case in.happened && in.status != Success && (!in.atLimit || r.version < 7): // it did not run, and the earlier result may still be needed
		case in.status == Success || in.status == Failed || in.status == TimedOut:
			p := remembered(in)
			if e := x.same(in); e != nil && p.in.status == Success {
				e.result = p
			}
			ended[in.address] = result{r.memoKey(in), p}
		}
	}
	for address, p := range ended {
		p.below = o.below[address]
		x.memo[p.key] = p.past
	}
	if len(x.due) > 0 {
		panic("engine: a step is still due when the plan changes")
	}
}

// memoKey returns the key of the result of an instance in memo. What was computed does not replace
// what an agent or a person did at the same address in an earlier plan.
func (r *Run) memoKey(in *inst) string {
	if in.works() || r.version < 4 {
		return in.address
	}
	return "computed " + in.address
}

// isTried reports whether instances of the node have attempts.
func (n *node) isTried() bool {
	_, task := n.does.(*workflow.Task)
	return task || n.place.Asks
}

// remembered returns an instance that has ended, without its place in its plan.
func remembered(in *inst) *past {
	p := &past{work: in.n.work(), acts: in.n.acts(), reads: in.n.reads()}
	c := *in
	if in.passed != nil {
		p.decision, p.reason = in.passed.decision, in.passed.reason
	}
	for _, h := range in.handed {
		if !h.scope.over {
			p.open = append(p.open, h)
		}
	}
	c.n, c.reg, c.env, c.passed, c.handed, c.body, c.child, c.each = nil, nil, nil, nil, nil, nil, nil, nil
	if c.sum, c.with = (digest{}), nil; in.attempt > 0 {
		c.sum = in.asksFor()
	}
	switch in.n.does.(type) {
	case *workflow.Task, *workflow.Human:
		if in.atLimit {
			c.output = in.limited
		}
		c.output = rebind(c.output, nil)
	case *workflow.Call, *workflow.Choice, *workflow.Combine, *workflow.Loop, *workflow.Each:
		c.output = nil // it is computed again
	}
	if c.limited, c.atLimit = nil, false; in.atLimit { // if it is the same again, so is its loop
		c.status, c.err, c.phase, c.open = Success, "", finished, nil
	}
	p.in = &c
	return p
}

// rebind returns a value of a task as the value of another node that reads outputs in the same way.
func rebind(v any, n *node) any {
	s, ok := v.(*stored)
	if !ok {
		return v
	}
	c := *s
	c.n, c.given = n, rebind(s.given, n)
	return &c
}

// ready starts what an instance does, unless an earlier plan may have its result.
func (r *Run) ready(in *inst) {
	x := &r.replans
	if x.at.IsZero() || r.version < 6 && len(x.memo) == 0 && x.old == nil {
		r.startReady(in)
		return
	}
	in.phase = queued
	if len(x.effects) > 0 && in.n.isTried() && r.prepare(in) {
		x.keep(in)
	}
	d := due{in, r.resultFor(in)}
	at := len(x.due)
	if d.p != nil {
		at = 0
		for at < len(x.due) && x.due[at].p != nil && x.due[at].p.in.done < d.p.in.done {
			at++
		}
	}
	x.due = slices.Insert(x.due, at, d)
}

func (r *Run) startReady(in *inst) {
	if s, ok := in.n.does.(*workflow.Human); ok {
		r.ask(in, s)
	} else {
		r.admitTask(in)
	}
}

// unfold continues with what is ready, and reports whether that may have led to something.
func (r *Run) unfold() bool {
	x := &r.replans
	for len(x.due) > 0 && x.due[0].p != nil {
		d := x.due[0]
		x.due = x.due[1:]
		if d.in.phase != queued { // a competing branch was faster
			continue
		}
		if r.recall(d.in, d.p) {
			return true
		}
		x.due = append(x.due, due{in: d.in})
	}
	settled := x.old == nil
	if !settled {
		for _, d := range x.due {
			r.goOn(d.in)
		}
		r.cancelOld()
	}
	list := x.due
	x.due = nil
	for _, d := range list {
		switch in := d.in; {
		case in.status != Running || in.phase != queued && in.phase != held:
		case in.phase == held && r.overBudget(in) != nil && r.version >= 4: // before, it could exceed the limit of steps
			r.pause(in)
		default:
			r.startReady(in)
		}
	}
	return len(list) > 0 || !settled
}

// resultFor returns the recorded result of an instance, or nil if it has to run.
func (r *Run) resultFor(in *inst) *past {
	p := r.replans.memo[in.address]
	switch {
	case p == nil || p.disowned || p.work != in.n.work() || !r.prepare(in) || p.in.sum != in.asksFor():
		return nil
	case p.in.status != Success && !in.goesOn(p.in.status):
		return nil
	case !in.n.def.Once && !r.startsAfter(in, p.in.begun): // what must happen once is not repeated for that
		return nil
	}
	return p
}

// prepare renders what an instance asks for, and reports whether that is possible.
func (r *Run) prepare(in *inst) bool {
	if s, ok := in.n.does.(*workflow.Human); ok {
		q, err := r.gate(in, s)
		in.sum = q.sum()
		return err == nil
	}
	if in.cmd == nil {
		cmd, err := r.render(in)
		if err != nil {
			return false
		}
		in.cmd = cmd
		r.digester.digest(in)
	}
	return true
}

// goesOn reports whether the workflow continues after a failure of the instance with something that
// may depend on it. Other failures are not taken over, so that the step is tried again.
func (in *inst) goesOn(status Status) bool {
	switch {
	case in.n.onFailure, in.n.onTimeout && status == TimedOut, in.n.def.OnError == workflow.Continue:
		return true
	case in.n.def.OnError == workflow.SkipDependents, in.scope().owner == nil:
		return false
	}
	return in.scope().owner.goesOn(Failed)
}

// startsAfter reports whether everything that an instance follows, and that its texts do not show,
// ended before an earlier instance at its address began.
func (r *Run) startsAfter(in *inst, begun int32) bool {
	for t := in.n.texts(); ; {
		reg, entry := in.reg, len(in.n.in) == 0
		item := entry && reg.loop == nil && reg.scope.each() != nil // it follows what the for_each follows
		for _, p := range in.from() {
			for _, of := range append(p.sources(), p.by) {
				if of.done > begun && !t.show(of) && (!item || r.version < 4) {
					return false
				}
			}
		}
		switch {
		case !entry:
			return true
		case item:
			in = reg.scope.owner
			if t.showItem(in.n) || r.version < 4 {
				t.refs = append(t.refs, in.n.texts().refs...)
			}
		case reg.loop != nil:
			in = reg.loop.in
		case reg.scope.owner != nil && reg.scope.frame.handoff == nil:
			in = reg.scope.owner
			if shows := t.showInputs(); shows || r.version < 4 { // nothing else in a called workflow shows its caller's steps
				t = in.n.texts()
			} else {
				t = texts{}
			}
		default:
			return true
		}
	}
}

// recall ends an instance with its recorded result, and reports whether it could: in the new plan,
// there may be no edge to take.
func (r *Run) recall(in *inst, p *past) bool {
	o, before := p.in, *in
	in.attempt, in.base, in.failures, in.losses = o.attempt, o.base, o.failures, o.losses
	in.usage, in.started, in.begun, in.done = o.usage, o.started, o.begun, o.done
	in.asked, in.shut, in.counted, in.granted, in.sent = o.asked, o.shut, o.counted, o.granted, o.sent
	in.handed, in.handoffs = p.open, o.handoffs
	if in.makes() {
		in.trees = o.trees
	}
	if o.status != Success {
		in.status, in.err = o.status, o.err
		r.failFinally(in) // whether to change the plan was asked when it failed
	} else if fault := r.settleLike(in, p); fault != nil {
		if !in.n.def.Once && !in.happened {
			*in = before
			return false
		}
		r.fail(in, fault)
	}
	in.ended = o.ended
	in.account(in)
	r.moveHandoffs(in, p.open, p.below)
	if p.open, p.below = nil, nil; !in.happened || in.status == Success {
		delete(r.replans.memo, in.address)
	}
	return true
}

// settleLike ends an instance with the value of another one that succeeded.
func (r *Run) settleLike(in *inst, p *past) *Fault {
	said := rebind(p.in.output, in.n)
	value := said
	if _, human := in.n.does.(*workflow.Human); human {
		in.passed.decision, in.passed.reason = p.decision, p.reason
	}
	if in.wasAsked() {
		said, value = map[string]any{"decision": p.decision, "reason": p.reason}, previous(in.from())
	}
	return r.settle(in, said, value)
}

// account adds what an instance has used to the called workflows around in. The run itself knows.
func (in *inst) account(used *inst) {
	for f := in.scope().frame; f.around != nil; f = f.around {
		if used.counted {
			f.steps++
		}
		f.spent = f.spent.Plus(used.usage)
	}
}

// keepTimes lets a call or a combine that consists of the same results as before have ended when it
// did.
func (r *Run) keepTimes(in *inst) {
	key := r.memoKey(in)
	p := r.replans.memo[key]
	if p != nil && p.work == in.n.work() && p.in.status == in.status && p.in.done == in.done {
		in.started, in.ended = p.in.started, p.in.ended
		delete(r.replans.memo, key)
	}
}

// continueCall lets a call that was in progress go on with its time.
func (r *Run) continueCall(in *inst) {
	x := r.replans.old
	if x == nil {
		return
	}
	o := x.insts[in.address]
	if o == nil || o.child == nil || o.n.work() != in.n.work() {
		return
	}
	in.started, in.child.frame.since = o.started, o.child.frame.since
	id := in.timerID(timeoutTimer)
	if t, was := r.timers[id], x.timers[id]; t != nil && was != nil && o.n.def.Timeout == in.n.def.Timeout {
		t.Clock = was.Clock
	}
}

// tellChanges tells which steps are now in another state than in the plan that was replaced, and in
// the first fact which are not.
func (r *Run) tellChanges(told map[string]Status) {
	for _, in := range r.steps {
		status, known := told[in.address]
		switch {
		case known && status == in.status:
			if in.status != Running || in.phase != queued || in.attempt > 0 { // what has not begun is told when it begins
				r.facts[0].Plan.Kept = append(r.facts[0].Plan.Kept, in.address)
			}
		case in.status == Skipped:
			r.tell(in, StepSkipped, "")
		case in.status.Done():
			r.tell(in, StepEnded, in.err)
		case in.phase == nested:
			r.tell(in, StepStarted, "")
		}
	}
}

// asksForPlan reports whether a failed step waits for a new plan.
func (r *Run) asksForPlan() bool {
	for q := range maps.Values(r.questions) {
		if q.Kind == ReplanQuestion {
			return true
		}
	}
	return false
}
