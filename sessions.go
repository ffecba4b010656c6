package hocket

import (
	"context"
	"errors"
	"slices"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/staff"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/session"
)

// Session is a conversation with an agent that a task can continue.
type Session = session.Session

// UnknownSessionError reports that there is no session with an id, or that the id is an ambiguous prefix.
type UnknownSessionError = session.UnknownError

// Sessions lists the conversations of the project, newest first. broken has an error for
// each that cannot be read.
func (p *Project) Sessions() (all []*Session, broken []error, err error) {
	return session.Open(p.State()).List()
}

// Session finds a conversation by its id, by a unique prefix of it, or by the id
// of a run that had only one.
func (p *Project) Session(ctx context.Context, id string) (*Session, error) {
	sessions := session.Open(p.State())
	found, err := sessions.Load(id)
	var unknown *session.UnknownError
	if !errors.As(err, &unknown) || len(unknown.Candidates) > 0 {
		return found, err
	}
	run, wrong := p.Run(ctx, id)
	var none *UnknownRunError
	switch {
	case errors.As(wrong, &none) && len(none.Candidates) == 0:
		return nil, err
	case wrong != nil:
		return nil, wrong
	}
	return run.onlySession(ctx, sessions)
}

// Session returns the conversation of the run, if it had exactly one.
func (r *Run) Session(ctx context.Context) (*Session, error) {
	return r.onlySession(ctx, session.Open(r.p.State()))
}

// onlySession returns the only conversation of a run.
func (r *Run) onlySession(ctx context.Context, sessions *session.Store) (*Session, error) {
	s, err := r.State(ctx)
	if err != nil {
		return nil, err
	}
	var all []*Session
	many := &RunSessionsError{Run: r.id}
	for _, step := range s.Result.Steps {
		one, err := sessions.Load(r.SessionOf(ctx, step))
		var unknown *session.UnknownError
		switch {
		case errors.As(err, &unknown): // the step had none, or it was deleted
		case err != nil:
			return nil, err
		default:
			many.Sessions = append(many.Sessions, one.ID+" ("+step.Address+")")
			if !slices.ContainsFunc(all, func(other *Session) bool { return other.ID == one.ID }) {
				all = append(all, one)
			}
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return nil, many
}

// SessionOf returns the id of the conversation of the last attempt of a step, "" if none
// was stored.
func (r *Run) SessionOf(ctx context.Context, step engine.StepResult) string {
	if step.Attempts == 0 {
		return ""
	}
	kept, err := r.Kept(ctx, step.Address, step.Attempts)
	if err != nil {
		return "" // the conversation itself is still stored
	}
	return kept.Session
}

// RunSessionsError reports that a run does not have exactly one conversation.
type RunSessionsError struct {
	Run      string
	Sessions []string // with the addresses of their steps
}

func (e *RunSessionsError) Error() string {
	if len(e.Sessions) == 0 {
		return "run " + e.Run + " has no conversation"
	}
	return "run " + e.Run + " has several conversations"
}

// DeleteSession deletes a conversation, by its id or a unique prefix of it, and
// returns its id. It does not delete what a CLI agent has stored itself.
func (p *Project) DeleteSession(prefix string) (string, error) {
	return session.Open(p.State()).Delete(prefix)
}

// conversations adapts sessions to the interface of package staff.
type conversations struct{ store *session.Store }

// Open opens the session with an id. Any other name is local to the run: its steps that
// use the same name share a conversation.
func (c conversations) Open(task *agent.Task, name string) (staff.Conversation, error) {
	made := &conversation{conversations: c, task: task}
	if name == "" {
		return made, nil
	}
	var err error
	if session.IsID(name) {
		made.said, err = c.store.Load(name)
		return made, err
	}
	made.id = session.IDFor(task.Run + "\x00" + name)
	var unknown *session.UnknownError
	if made.said, err = c.store.Load(made.id); errors.As(err, &unknown) {
		return made, nil
	}
	return made, err
}

// conversation is one session. A new one is stored with its first answer.
type conversation struct {
	conversations
	task *agent.Task
	id   string           // for a new one; "": any
	said *session.Session // nil: it is new
}

func (c *conversation) ID() string {
	if c.said == nil {
		return ""
	}
	return c.said.ID
}

func (c *conversation) History() []agent.Message {
	if c.said == nil {
		return nil
	}
	return c.said.Messages
}

// Native returns the executor's own conversation, nil if it was with another executor.
func (c *conversation) Native() *agent.Conversation {
	if c.said == nil {
		return nil
	}
	return c.said.Conversation(c.task.Agent.Agent)
}

func (c *conversation) Add(question string, res agent.Result) (err error) {
	if c.said == nil {
		if c.id != "" {
			c.said, err = c.store.Take(c.id, c.task.Agent.Name, c.task.Agent.Agent)
		} else {
			c.said, err = c.store.Create(c.task.Agent.Name, c.task.Agent.Agent)
		}
		if err != nil {
			return err
		}
	}
	messages := []agent.Message{{Role: agent.RoleUser, Content: question}, {Role: agent.RoleAssistant, Content: res.Output}}
	c.said, err = c.store.Append(c.said.ID, messages, func(s *session.Session) {
		s.Agent = c.task.Agent.Name // the last agent continues it by default
		s.Remember(c.task.Agent.Agent, res.Usage, res.Conversation)
	})
	if err == nil && c.task.NoteSession != nil {
		c.task.NoteSession(c.said.ID)
	}
	return err
}
