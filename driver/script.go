package driver

import (
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
)

// Scripting fulfills the duties that an [agent.Script] asks of a driver. Without a script it
// does nothing.
type Scripting struct {
	agent.Script
	All bool // required questions too
}

// Attempt returns the executor that makes an attempt, if the script has a reply for it. What a person does in a merge
// has one only if the reply names the step.
func (s *Scripting) Attempt(t *engine.StartTask) (agent.Executor, bool) {
	if s.Script == nil {
		return nil, false
	}
	return s.Script.Task(t.Address, t.Node, t.Attempt, t.Asks || t.ByPerson())
}

// Answer returns the scripted answer to a question of a human node. Scripts have no other
// questions.
func (s *Scripting) Answer(q *engine.Question) (string, time.Duration, bool) {
	if s.Script == nil || q.Kind != engine.GateQuestion || q.Required && !s.All {
		return "", 0, false
	}
	return s.Script.Person(q.Address, q.Node)
}

// Happened counts an event.
func (s *Scripting) Happened(ev engine.Event) {
	if s.Script == nil {
		return
	}
	switch ev := ev.(type) {
	case *engine.TaskEnded:
		if ev.Fault == nil || ev.Fault.Kind != engine.FaultLost { // otherwise it is made again, with the same reply
			s.Script.Ended(ev.Address)
		}
	case *engine.Answered:
		s.Closed(ev.ID)
	case *engine.Started, *engine.Asked, *engine.Withdrawn, *engine.HandoffAsked, *engine.Queued, *engine.TimerFired, *engine.CancelAsked, *engine.LimitRaised, *engine.Recovered, *engine.Forked, *engine.Replanned:
	}
}

// Closed counts the end of a question of the run itself; scripts have none of attempts.
func (s *Scripting) Closed(id string) {
	if s.Script != nil && !strings.Contains(id, "@") {
		s.Script.Ended(id)
	}
}

// Commanded counts commands that are not carried out: those of a replay.
func (s *Scripting) Commanded(cmds []engine.Command) {
	if s.Script == nil {
		return
	}
	for _, c := range cmds {
		switch c := c.(type) {
		case *engine.StartTask:
			s.Attempt(c)
		case *engine.Ask:
			s.Answer(&c.Question)
		case *engine.Withdraw:
			s.Closed(c.ID)
		case *engine.Reply, *engine.Return, *engine.CancelTask, *engine.SetTimer, *engine.CancelTimer, *engine.Finish:
		}
	}
}
