package engine

import (
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// ask puts a human node's question to people.
func (r *Run) ask(in *inst, s *workflow.Human) {
	in.attempt = 1
	question := in.n.text
	if in.n.prompt != nil {
		r.view = view{scope: in.scope(), reg: in.reg, env: in.env, self: in}
		text, err := in.n.prompt.Text(&r.view)
		if err != nil {
			r.fail(in, &Fault{Kind: FaultError, Message: "question: " + err.Error(), Permanent: true})
			return
		}
		question = text
	}
	r.tell(in, toldStepStarted, "")
	r.open(in, &AskHuman{Question: question, Options: in.n.options, Custom: s.Custom, Required: s.Required})
}

// The answers when an attempt that must happen once only was lost.
const (
	rerun  = "rerun"
	done   = "done"
	giveUp = "fail"
)

// askLost asks a person what became of an attempt.
func (r *Run) askLost(in *inst) {
	r.tell(in, toldAttemptFailed, "lost; its effect must happen once, so a person decides")
	r.open(in, &AskHuman{
		Question: fmt.Sprintf("Nobody knows whether attempt %d of %q did its work, and it must happen once only. What now?", in.attempt, in.address),
		Options: []workflow.Option{
			{Value: rerun, Description: "it did not happen; make the attempt again"},
			{Value: done, Description: "it happened; go on with an empty output"},
			{Value: giveUp, Description: "count it as failed"},
		},
		Required: true,
	})
}

// open opens a gate.
func (r *Run) open(in *inst, gate *AskHuman) {
	in.phase = asked
	gate.Address, gate.Workflow, gate.Node = in.address, in.scope().frame.p.w.Name, in.n.def.ID
	gate.Deadline = r.now.Add(gateTimeout(in.n))
	r.own(in).gate = gate
	r.issued++
	in.issued = r.issued
	r.gates[in.address] = in
	r.command(gate)
	r.tell(in, toldAsked, gate.Question)
	r.setTimer(in.timerID(answerTimer), in, 0, gate.Deadline)
}

// withdraw closes a gate without an answer.
func (r *Run) withdraw(in *inst) {
	r.closeGate(in)
	r.command(&WithdrawHuman{Address: in.address})
}

func (r *Run) closeGate(in *inst) {
	delete(r.gates, in.address)
	r.clearTimer(in.timerID(answerTimer))
}

// Waiting are the questions that wait for an answer, in the order in which they
// were asked.
func (r *Run) Waiting() []*AskHuman {
	var open []*AskHuman
	for _, c := range r.Pending() {
		if gate, ok := c.(*AskHuman); ok {
			open = append(open, gate)
		}
	}
	return open
}

// answer is the option that an answer chooses, or what is wrong with it.
func (r *Run) answer(ev *HumanAnswered) (string, error) {
	in := r.gates[ev.Address]
	if in == nil {
		return "", r.noGate(ev.Address)
	}
	if value, ok := workflow.Chosen(in.gate.Options, ev.Value); ok {
		return value, nil
	}
	if in.gate.Custom {
		return ev.Value, nil
	}
	var offered []string
	for _, o := range in.gate.Options {
		offered = append(offered, o.Value)
	}
	return "", fmt.Errorf("%q does not offer %q; it offers %s", ev.Address, ev.Value, strings.Join(offered, ", "))
}

// noGate says why a question cannot be answered.
func (r *Run) noGate(address string) error {
	var asked *inst
	for in := range r.steps() {
		if in.address == address && in.gate != nil {
			asked = in
		}
	}
	switch {
	case asked == nil:
	case asked.status == Cancelled:
		return fmt.Errorf("the question %q was withdrawn", address)
	default:
		return fmt.Errorf("the question %q was answered already or is over (%s)", address, asked.status)
	}
	if waiting := sortedKeys(r.gates); len(waiting) > 0 {
		return fmt.Errorf("no question %q waits for an answer; these do: %s", address, strings.Join(waiting, ", "))
	}
	return fmt.Errorf("no question waits for an answer")
}

func (r *Run) humanAnswered(ev *HumanAnswered) {
	in := r.gates[ev.Address]
	value, _ := r.answer(ev)
	r.closeGate(in)
	text := value
	if ev.By != "" {
		text += " (" + ev.By + ")"
	}
	r.tell(in, toldAnswered, text)
	human, ok := in.n.does.(*workflow.Human)
	if !ok {
		r.lostAnswered(in, value)
		return
	}
	if value == workflow.Reject && len(human.Options) == 0 && len(in.n.place.Decide) == 0 && !human.Custom {
		r.fail(in, &Fault{Kind: FaultError, Message: "rejected" + by(ev), Permanent: true})
		return
	}
	if fault := r.succeed(in, value); fault != nil {
		r.fail(in, fault)
	}
}

func by(ev *HumanAnswered) string {
	if ev.By == "" {
		return ""
	}
	return " by " + ev.By
}

// lostAnswered goes on as the person said.
func (r *Run) lostAnswered(in *inst, value string) {
	switch value {
	case rerun:
		r.admitTask(in)
	case done:
		if fault := r.succeed(in, ""); fault != nil {
			r.fail(in, fault)
		}
	case giveUp:
		r.fail(in, &Fault{Kind: FaultLost, Message: "was lost, and a person gave it up", Permanent: true})
	}
}
