package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// readInbox takes or refuses what other processes have sent. What attempts asked
// before is known by then.
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

// readMessage takes or refuses one message. An attempt is told an answer after the
// verdict is recorded: its sender may have taken it back.
func (l *loop) readMessage(m journal.Message) error {
	e := l.now(m.Event)
	q, reason := l.judge(e, m)
	b := journal.Batch{Verdicts: []journal.Verdict{{ID: m.ID}}}
	switch {
	case reason != nil:
		b.Verdicts[0].Refused = reason.Error()
	case q == nil:
		b.Events = []engine.Envelope{e}
	}
	err := l.record(b)
	var gone *journal.WithdrawnError
	if errors.As(err, &gone) {
		return nil
	}
	if a, ok := m.Event.(*engine.HumanAnswered); ok && q != nil && reason == nil && err == nil {
		l.answerQuery(q, a.Value, a.By)
	}
	return err
}

// judge says which question of an attempt a message answers, if it does, or why it
// is not taken.
func (l *loop) judge(e engine.Envelope, m journal.Message) (*query, error) {
	a, answers := m.Event.(*engine.HumanAnswered)
	if answers {
		if q, err := l.queryFor(a, m.Sent); q != nil || err != nil {
			return q, err
		}
	}
	err := l.run.Admit(e)
	if err != nil && answers && len(l.queries.open) > 0 {
		err = fmt.Errorf("%w; agents ask:%s", err, list(l.queries.open))
	}
	return nil, err
}
