package local

import (
	"context"
	"errors"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// readInbox accepts or rejects messages of other processes. The earlier questions of
// attempts are known by then.
func (l *loop) readInbox() error {
	messages, err := l.writer.Inbox(context.Background())
	if err != nil || len(messages) == 0 {
		return err
	}
	if err := l.readMail(); err != nil {
		return err
	}
	for _, m := range messages {
		if err := l.readMessage(m); err != nil {
			return err
		}
	}
	return nil
}

// readMessage accepts or rejects one message. An answer counts from the moment at which it
// was sent: only deadlines that had passed by then apply.
func (l *loop) readMessage(m journal.Message) error {
	e := l.now(m.Event)
	if a, ok := m.Event.(*engine.Answered); ok {
		if err := l.fireDeadlines(m.Sent); err != nil {
			return err
		}
		if m.Sent.Before(e.Time) {
			e.Time = driver.Moment(m.Sent)
		}
		e.Event = validAnswer(*a)
	}
	b := journal.Batch{Verdicts: []journal.Verdict{{ID: m.ID}}}
	err := l.run.Admit(e)
	plan, replanned := m.Event.(*engine.Replanned)
	pin, work, all := l.pin, l.o, l.script.All
	if err == nil && replanned {
		err = l.replan(plan)
	}
	if err != nil {
		b.Verdicts[0].Refused = err.Error()
	} else {
		b.Events = []engine.Envelope{e}
		l.over = l.over && !replanned
	}
	refused := err != nil
	err = l.record(b)
	var gone *journal.WithdrawnError
	if refused || errors.As(err, &gone) {
		l.pin, l.o, l.script.All, l.over = pin, work, all, l.run.Status().Done()
	}
	if errors.As(err, &gone) {
		return nil
	}
	return err
}

// fireDeadlines fires the deadlines that passed before a moment.
func (l *loop) fireDeadlines(before time.Time) error {
	for !l.over {
		id, ok := l.timers.wall.due(before.UnixNano() - 1)
		if !ok {
			return nil
		}
		if err := l.fired(id); err != nil {
			return err
		}
	}
	return nil
}
