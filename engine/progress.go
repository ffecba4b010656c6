package engine

// What was in progress when the plan changed: it goes on in the new plan, or is cancelled.

import (
	"slices"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// goOn continues with what was in progress at the address of an instance, if it is the same.
func (r *Run) goOn(in *inst) {
	x := r.replans.old
	o := x.insts[in.address]
	if o == nil || in.phase != queued || o.phase == stopping || o.status != Running { // it was cancelled, or waits for this plan
		return
	}
	if o.n.work() != in.n.work() || !r.prepare(in) {
		return
	}
	begun := o.attempt > 0
	if r.version < 4 {
		begun = o.cmd != nil || o.attempt > 0
	}
	begun = begun || o.like != "" || o.agreed && r.version >= 7 // consent is for these values
	if begun && (o.asksFor() != in.asksFor() || !in.n.def.Once && !r.startsAfter(in, o.begun)) {
		return
	}
	delete(x.insts, in.address)
	now := *in
	*in = *o
	in.n, in.reg, in.env, in.came, in.iteration, in.passed = now.n, now.reg, now.env, now.came, now.iteration, now.passed
	in.cmd, in.sum, in.with, in.trees = now.cmd, now.sum, now.with, now.trees
	if o.cmd != nil {
		cmd := *o.cmd
		cmd.Place, cmd.Prompt, cmd.Inputs, cmd.Received, cmd.Settings = now.cmd.Place, now.cmd.Prompt, now.cmd.Inputs, now.cmd.Received, now.cmd.Settings
		cmd.Workspace, cmd.Trees, cmd.Within = now.cmd.Workspace, now.cmd.Trees, now.cmd.Within
		in.cmd = &cmd
	}
	in.account(in)
	r.stays(in)
	r.moveProgress(in, o)
	if r.attempts[in.address] == in {
		r.seat(in)
	}
	r.moveHandoffs(in, in.handed, x.below[in.address])
	if in.phase == held && r.overBudget(in) == nil {
		r.withdraw(in, "", r.ofBudget)
	}
}

// neverSent reports whether an instance counts as a step although nobody was given an attempt of it.
func (r *Run) neverSent(in *inst) bool { return in.counted && !in.sent && r.version >= 6 }

// stays counts a step again that goes on in the new plan, and that was not counted because of that.
func (r *Run) stays(in *inst) {
	if r.neverSent(in) {
		r.root.frame.steps++
	}
}

// moveProgress makes what is in progress for an instance of the old plan that of another, which may
// be the same.
func (r *Run) moveProgress(in, o *inst) {
	x := r.replans.old
	if x.attempts[in.address] == o {
		r.attempts[in.address] = in
		delete(x.attempts, in.address)
	}
	for id, t := range x.timers {
		if t.in == o {
			t.in = in
			r.timers[id] = t
			delete(x.timers, id)
		}
	}
	for _, q := range in.open {
		q.in = in
		r.questions[q.ID] = q
		delete(x.questions, q.ID)
	}
	if in.phase == delayed {
		r.clock.delays++
	}
	if in.resting {
		r.clock.resting++
	}
}

// seat takes the slot of an attempt that goes on, and reserves what it may use.
func (r *Run) seat(in *inst) {
	attempts := 1
	if in.away {
		attempts = 0
	}
	in.scope().frame.book(attempts, in.cmd.reserves())
	in.scope().expect(1)
}

// moveHandoffs makes handoffs those of an instance. below are all tasks that were handed off from it.
func (r *Run) moveHandoffs(in *inst, handed []*handoff, below []*inst) {
	for _, h := range handed {
		h.scope.owner, h.scope.parent = in, in.scope()
		inner := h.scope.frame
		inner.around = in.scope().frame
		if h.scope.over {
			continue
		}
		in.scope().handed = append(in.scope().handed, h)
		in.scope().expect(1 + h.scope.outstanding)
		inner.around.book(inner.running, inner.reserved)
		r.clock.frames = append(r.clock.frames, inner)
	}
	for _, b := range below {
		r.list(b)
		in.account(b)
		r.stays(b)
		r.replans.keep(b)
		if b.phase != finished {
			r.moveProgress(b, b)
		}
		if b.phase == queued || b.phase == held {
			r.replans.due = append(r.replans.due, due{in: b})
		}
		for _, h := range b.handed {
			if !h.scope.over {
				r.clock.frames = append(r.clock.frames, h.scope.frame)
			}
		}
	}
}

// cancelOld cancels what was in progress and does not go on.
func (r *Run) cancelOld() {
	x := &r.replans
	o := x.old
	x.old = nil
	for _, address := range sorted.Keys(o.attempts) {
		r.abandon(o.attempts[address])
	}
	for _, id := range sorted.Keys(o.timers) {
		if r.timers[id] == nil {
			r.command(&CancelTimer{ID: id})
		}
	}
	for _, id := range sorted.Keys(o.questions) {
		if r.questions[id] == nil {
			r.command(&Withdraw{ID: id})
		}
	}
	r.release(r.root)
	r.tellChanges(o.told)
	for _, p := range x.memo { // what they handed off does not go on
		p.open = nil
		p.below = slices.DeleteFunc(p.below, func(b *inst) bool { return b.phase != finished })
		for _, b := range p.below {
			b.reg, b.env, b.passed, b.handed = nil, nil, nil, nil
		}
	}
}

// abandon cancels an attempt that is no longer part of the plan. It still occupies its slot, and
// what it used will count. One that nobody was given is just gone.
func (r *Run) abandon(o *inst) {
	if o.unsent && r.version >= 6 {
		return
	}
	at := o.n.place
	p := r.addDefinition(definition{Workflow: &workflow.Workflow{Name: at.Workflow, Body: workflow.Graph{Nodes: []workflow.Node{
		{ID: at.Node, Step: &workflow.Task{Agent: at.Agent}},
	}}}})
	in := &inst{
		n: p.all[0], reg: &r.replans.limbo.body, address: o.address, status: Cancelled, started: o.started, ended: r.elapsed, usage: o.usage,
		attempt: o.attempt, base: o.base, issued: o.issued, phase: stopping, unsent: o.unsent, counted: true,
	}
	in.cmd = &StartTask{Place: &in.n.place, Address: o.address, Attempt: o.cmd.Attempt, May: o.cmd.May}
	r.attempts[in.address] = in
	r.seat(in)
	if o.phase != stopping && !o.expired {
		r.command(&CancelTask{Address: in.address, Attempt: int(in.attempt)})
	}
}

// startBehind starts the tasks at whose address an attempt of an earlier plan has ended by now.
func (r *Run) startBehind() {
	waiting := r.replans.behind
	r.replans.behind = nil
	for _, in := range waiting {
		if in.phase == queued && r.attempts[in.address] != in {
			r.admitTask(in)
		}
	}
}
