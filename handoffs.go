package hocket

import (
	"context"
	"encoding/json"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/session"
)

// handoffs returns the options for tasks that agents hand off. employ makes an executor safe to
// use.
func (s *snapshot) handoffs(employ func(agent.Executor) agent.Executor) *attempt.Options {
	inbox := session.OpenInbox(s.files.State)
	c := s.files.Config.Handoff
	return &attempt.Options{
		Handoff: attempt.Handoff{Dir: c.Dir, SessionOnly: c.SessionOnly, Advisory: c.Advisory, Test: c.Test},
		Inbox: func(task *agent.Task) ([]attempt.Message, error) {
			texts, err := inbox.Take(task.Agent.Name, task.Run, task.Address, task.Attempt == 1)
			var messages []attempt.Message
			for _, text := range texts {
				var m attempt.Message
				if err := json.Unmarshal(text, &m); err != nil {
					return nil, err
				}
				messages = append(messages, m)
			}
			return messages, err
		},
		Received: func(task *agent.Task) error { return inbox.Received(task.Agent.Name, task.Run, task.Address) },
		Test: func(ctx context.Context, task *agent.Task, command string, log agent.Log) error {
			_, err := employ(s.files.Executors()["shell"]).Run(ctx, &agent.Task{
				Run: task.Run, Address: task.Address, Attempt: task.Attempt, Key: task.Key, Workflow: task.Workflow, Node: task.Node,
				Agent: &agent.Definition{Name: "shell", Agent: "shell"}, Settings: map[string]any{"command": command}, Dir: task.Dir, Writes: task.Writes,
			}, log)
			return err
		},
		LeaveMessage: func(agent, id string, m attempt.Message) error {
			_, err := leave(inbox, agent, id, m)
			return err
		},
		Mask: s.secrets.Masker().Mask,
	}
}

// Detaching carries out work that agents detach from their runs. Package handoff implements it, and
// handoff.Open sets it.
type Detaching interface {
	// Detach starts a session for a handoff that a step of a run detaches. It starts the session only
	// once, even if it is called again after a crash. It records the session with the given option, so
	// that the session may not do more than the run.
	Detach(ctx context.Context, h *attempt.Handoff, run, step string, within StartOption) error
	// Detached returns the state of a session.
	Detached(ctx context.Context, id string) (agent.Handed, error)
}

// SetDetaching sets what carries out work that agents detach from their runs. Without it, such work
// fails with an error that says so. It applies to all handles of the open project.
func (p *Project) SetDetaching(d Detaching) {
	p.opened.Lock()
	defer p.opened.Unlock()
	p.detaching = d
}

func (p *Project) detacher() Detaching {
	p.opened.Lock()
	defer p.opened.Unlock()
	return p.detaching
}

// handoffs returns the options for the attempts of the run.
func (l *lanes) handoffs() *attempt.Options {
	o := l.place.handoffs(l.employ)
	if d := l.detaching; d != nil {
		o.Detach = func(ctx context.Context, task *agent.Task, h *attempt.Handoff) error {
			return d.Detach(ctx, h, task.Run, task.Address, within(l.trusted))
		}
		o.Detached = d.Detached
	}
	return o
}

// LeaveMessage leaves a message for the next task of an agent. A second message with the same id is
// ignored; then left is false.
func (p *Project) LeaveMessage(agent, id string, m attempt.Message) (left bool, err error) {
	return leave(session.OpenInbox(p.State()), agent, id, m)
}

func leave(inbox *session.Inbox, agent, id string, m attempt.Message) (left bool, err error) {
	text, err := json.Marshal(m)
	if err != nil {
		return false, err
	}
	return inbox.Put(agent, id, text)
}
