package hocket

import (
	"context"
	"encoding/json"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/session"
)

// handoffs returns what the project provides for tasks that agents hand over. employ makes an
// executor safe to use.
func (s *snapshot) handoffs(employ func(agent.Executor) agent.Executor) attempt.Options {
	inbox := session.OpenInbox(s.files.State)
	c := s.files.Config.Handoff
	return attempt.Options{
		Handoff: attempt.Handoff{Dir: c.Dir, SessionOnly: c.SessionOnly, TellOnly: c.TellOnly, Test: c.Test},
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
		Test: func(ctx context.Context, task *agent.Task, command string, log agent.Log) error {
			_, err := employ(s.files.Executors()["shell"]).Run(ctx, &agent.Task{
				Run: task.Run, Address: task.Address, Attempt: task.Attempt, Key: task.Key, Workflow: task.Workflow, Node: task.Node,
				Agent: &agent.Definition{Name: "shell", Agent: "shell"}, Settings: map[string]any{"command": command}, Dir: task.Dir, Writes: task.Writes,
			}, log)
			return err
		},
		Mask: s.secrets.Masker().Mask,
	}
}

// Leave leaves a message for an agent, which its next task takes. A second message with the
// same id is ignored.
func (p *Project) Leave(agent, id string, m attempt.Message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return session.OpenInbox(p.State()).Put(agent, id, text)
}
