package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// An effect that must happen once is not repeated without a question, whatever the plans of a run say. It has
// happened if its step was done. It may have happened if an attempt was lost, cancelled or timed out, or if its
// output could not be used. A person is asked about an attempt that was lost and, in a new plan, about a step
//
//  1. at whose address such an effect has happened, or may have, whatever the step does now;
//  2. that would do the same, with the same values, as such an effect at its address in any earlier plan, or at
//     another address where the new plan does not have it: the step was moved, or its item was.
//
// Only an attempt that a driver was given settles an answer: until then, another plan asks again. If a person
// says that the effect has happened, the step has the result of the same effect, if there is one: what is at its
// address may be the result of something else, such as another item.

// tally is how often something happened at an address.
type tally struct {
	Attempts int32    `json:"attempts,omitempty"`
	Asked    []string `json:"asked,omitempty"`  // see inst.asked
	Unsure   bool     `json:"unsure,omitempty"` // see inst.unsure
	Done     bool     `json:"done,omitempty"`   // see inst.happened
	Once     bool     `json:"once,omitempty"`   // a plan in which it was done, or may have been, declares that it must happen once
}

// isOnce reports whether the effect of an instance must happen once.
func (in *inst) isOnce() bool { return in.n.def.Once || in.once }

// doubt records that an attempt of an instance may have had its effect although it has failed. Its retries
// are part of the plan, so only another plan asks about that.
func (r *Run) doubt(in *inst) { in.unsure = in.unsure || in.isOnce() && r.version >= 6 }

// tallyUp records what was numbered at the address of an instance, and what its effect is.
func (r *Run) tallyUp(in *inst) {
	if !in.n.isTried() {
		return
	}
	t := r.replans.tally[in.address]
	t.Attempts = max(t.Attempts, in.attempt, in.base)
	if in.unsent && !in.sent && r.version >= 6 { // no log has its number
		t.Attempts = in.base
	}
	if len(in.asked) > len(t.Asked) {
		t.Asked = slices.Clone(in.asked)
	}
	for i, how := range t.Asked {
		if how == "" {
			t.Asked[i] = "the plan was changed"
		}
	}
	if (in.isOnce() || t.Once) && in.status != Skipped {
		t.Unsure = r.mayHaveHappened(in)
		t.Done = in.happened
	}
	done := in.attempt > 0 && (in.status == Success || in.atLimit)
	if r.version >= 5 && done {
		t.Done = true
	}
	if r.version >= 5 && in.isOnce() && (t.Done || t.Unsure) {
		t.Once = true
	}
	if t.Attempts > 0 {
		r.replans.tally[in.address] = t
	}
	if x := &r.replans; r.version >= 6 && in.isOnce() && (done || in.sent && t.Unsure) && x.same(in) == nil {
		x.effects[in.deed()] = append(x.alike(in), &effect{address: in.address})
	}
}

// mayHaveHappened reports whether the effect of an instance is unknown: an attempt has not ended, or nobody
// knows what it did.
func (r *Run) mayHaveHappened(in *inst) bool {
	open := in.status == Running || in.status == Cancelled
	attempted := in.attempt-in.base > in.failures && !in.unsent
	switch {
	case r.version < 4:
		return false
	case r.version < 6: // a failure settled it, whatever was known
		return open && (in.unsure || attempted)
	}
	return in.status != Success && !in.atLimit && (in.unsure || open && attempted)
}

// hadEffect reports whether an effect that must happen once has happened, or may have, although its instance
// ended without success.
func (r *Run) hadEffect(in *inst) bool {
	return in.isOnce() && in.status != Success && in.status != Skipped && in.status.Done() &&
		(in.happened || in.like != "" || in.atLimit || r.mayHaveHappened(in))
}

// continueCounts makes a new instance number its attempts and questions from where earlier plans
// ended.
func (r *Run) continueCounts(in *inst) {
	if len(r.replans.tally) == 0 {
		return
	}
	if t, ok := r.replans.tally[in.address]; ok && in.n.isTried() {
		once := in.n.def.Once || t.Once
		in.base, in.asked, in.unsure, in.happened = t.Attempts, slices.Clone(t.Asked), t.Unsure && once, t.Done && once
		in.once = once && r.version >= 6
	}
}

// deed identifies what an instance does to the world: it is the same text for the same step with the same
// values, at any address.
func (in *inst) deed() string {
	does, with := in.n.acts(), in.asksFor()
	return string(does[:]) + string(with[:])
}

func (p *past) deed() string { return string(p.acts[:]) + string(p.in.sum[:]) }

// effect is an effect that must happen once, and that has happened in an earlier plan, or may have.
type effect struct {
	address string
	result  *past // nil if it has none
	stays   bool  // the newest plan has it at its address
}

// alike returns the effects of earlier plans that are the same as that of an instance, at any address.
func (x *replans) alike(in *inst) []*effect {
	if len(x.effects) == 0 || !in.n.isTried() {
		return nil
	}
	return x.effects[in.deed()]
}

// same returns the one of them at the address of the instance, or nil.
func (x *replans) same(in *inst) *effect {
	for _, e := range x.alike(in) {
		if e.address == in.address {
			return e
		}
	}
	return nil
}

// forget forgets an effect of an instance of which nobody knew: a person says that it did not happen. What is
// done stays done.
func (x *replans) forget(in *inst) {
	if e := x.same(in); e != nil && e.result == nil {
		x.effects[in.deed()] = slices.DeleteFunc(x.alike(in), func(other *effect) bool { return other == e })
	}
}

// keep lets an instance of the newest plan have the effect that earlier plans had at its address. Others that do
// the same are then not moved, but additional.
func (x *replans) keep(in *inst) {
	if e := x.same(in); e != nil {
		e.stays = true
	}
}

// doneAt returns an address at which an earlier plan did the same as an instance does, or may have: its own,
// or one where the newest plan does not do it; "" if there is none.
func (x *replans) doneAt(in *inst) (address string) {
	for _, e := range x.alike(in) {
		switch {
		case e.address == in.address:
			return in.address
		case address == "" && !e.stays:
			address = e.address
		}
	}
	return address
}

// mayRepeat reports whether the first attempt of an instance in its plan may repeat an effect, so that a
// person has to be asked.
func (r *Run) mayRepeat(in *inst) bool {
	if in.agreed || in.attempt > in.base && (in.sent || r.version < 7) { // a plan that nobody carried out settles nothing
		return false
	}
	known := in.unsure || in.happened
	if in.like = ""; !known || r.version >= 7 {
		if in.like = r.replans.doneAt(in); known && in.like == in.address {
			in.like = ""
		}
		in.once = in.once || in.like != ""
	}
	return known || in.like != ""
}

// askLost asks a person what happened to an attempt of which nobody knows, or whether to repeat what was
// done in an earlier plan.
func (r *Run) askLost(in *inst) {
	in.phase = asked
	q := Question{
		Kind: LostQuestion, Attempt: int(in.attempt), Required: true, Deadline: r.now.Add(gateTimeout(in.n)),
		Text: fmt.Sprintf("Attempt %d of %q may have run already, and its effect must happen only once. Run it again, mark it as done, or fail the step?", in.attempt, in.address),
		Options: []workflow.Option{
			{Value: Rerun, Description: "it did not happen; run the attempt again"},
			{Value: Done, Description: "it happened; continue with an empty output"},
			{Value: Fail, Description: "count it as failed"},
		},
	}
	same := r.replans.same(in)
	switch {
	case in.like == in.address, r.version >= 7 && in.unsure && same != nil && same.result != nil:
		q.Text = fmt.Sprintf("%q did exactly this in an earlier plan, and its effect must happen only once. Run it again, mark it as done, or fail the step?", in.address)
		q.Options[0].Description = "run it again; its effect may happen once more"
	case in.like != "":
		was := "may have run already"
		if r.replans.tally[in.like].Done {
			was = "is done"
		}
		q.Text = fmt.Sprintf("%q would do what %q did in an earlier plan. That %s, and its effect must happen only once. Run it, mark it as done, or fail the step?", in.address, in.like, was)
		q.Options[0].Description = "run it; its effect may happen once more"
	case in.happened && !in.unsure:
		why := "the new plan changes the step or what it is given"
		if p := r.replans.memo[in.address]; p != nil && p.disowned {
			why = "a person has marked it as failed"
		}
		q.Text = fmt.Sprintf("%q is done, and its effect must happen only once, but %s. Run it again, leave it as it is, or fail the step?", in.address, why)
		q.Options[0].Description = "run it again; its effect happens once more"
		q.Options[1].Description = "leave it as it is; continue with an empty output"
	}
	if r.doneBefore(in) != nil && (r.version >= 7 || !in.unsure) {
		q.Options[1].Description = "leave it as it is; continue with the result that it has"
	}
	if r.version >= 6 {
		q.Detail = in.subject()
	}
	r.open(in, q)
}

// subject says what the effect of an instance is about, as an address such as mail[2] does not tell a
// person: the items and the values that it is given, and its prompt.
func (in *inst) subject() string {
	var lines []string
	add := func(name string, value any) {
		if l, ok := value.(*Long); ok {
			value = l.of
		}
		text := strings.Join(strings.Fields(workflow.FormatText(whole(value))), " ")
		const most = 200
		if len(text) > most {
			text = strings.ToValidUTF8(text[:most], "") + "…"
		}
		if text != "" && len(lines) < 8 {
			lines = append(lines, name+": "+text)
		}
	}
	for s := in.scope(); s != nil; s = s.parent {
		if each := s.each(); each != nil {
			add(fmt.Sprintf("item %d", s.item+1), each.items[s.item])
		}
	}
	for _, i := range in.cmd.Inputs {
		add(i.Name, i.Value)
	}
	add("prompt", in.cmd.Prompt)
	return strings.Join(lines, "\n")
}

func (r *Run) lostAnswered(in *inst, value string) {
	done := in.happened && !in.unsure
	if r.version < 6 || value == Done { // nobody has decided what happened, otherwise
		in.unsure = false
	}
	switch value {
	case Rerun:
		if in.agreed = r.version >= 6; !in.agreed {
			in.happened = false
		}
		r.admitTask(in)
	case Done:
		r.leaveDone(in)
	case Fail:
		fault := &Fault{Kind: FaultLost, Message: "was lost, and a person marked it as failed", Permanent: true}
		switch {
		case in.like != "":
			fault.Message = fmt.Sprintf("would do what %q did in an earlier plan, and a person marked it as failed", in.like)
		case done:
			fault.Message = "is done, but a person marked it as failed"
		}
		if p := r.replans.memo[in.address]; p != nil && done {
			p.disowned = true
		}
		r.fail(in, fault)
	}
}

// leaveDone ends an instance whose effect has happened, as a person says.
func (r *Run) leaveDone(in *inst) {
	ran := in.attempt > in.base
	in.attempt = max(in.attempt, 1) // a person has done it, so to speak, and a later plan keeps that
	var fault *Fault
	switch p := r.doneBefore(in); {
	case p == nil:
		fault = r.succeed(in, "", nil)
	case p == r.replans.memo[in.address] && !ran:
		if !r.recall(in, p) { // its result leads nowhere in this plan
			fault = r.settleLike(in, p)
		}
	default:
		fault = r.settleLike(in, p)
	}
	if fault != nil {
		in.happened = in.happened || r.version >= 6 // that its output is missing does not undo it
		r.fail(in, fault)
	}
}

// doneBefore returns the result of the same effect in an earlier plan, or nil if there is none that the instance
// could continue with.
func (r *Run) doneBefore(in *inst) *past {
	usable := func(p *past) bool { return p != nil && p.in.status == Success && p.reads == in.n.reads() }
	p := r.replans.memo[in.address]
	if r.version < 7 { // whatever was done there
		if in.happened && usable(p) {
			return p
		}
		return nil
	}
	if usable(p) && p.deed() == in.deed() {
		return p
	}
	p = nil
	for _, e := range r.replans.alike(in) {
		if usable(e.result) && (p == nil || e.result.in.done > p.in.done) {
			p = e.result
		}
	}
	return p
}
