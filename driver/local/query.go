package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// query is what an attempt asks a person while it runs. It is no part of the run:
// an attempt that is made again asks again.
type query struct {
	journal.Question // as others see it
	key              attemptKey
	asked            agent.Question
	over             <-chan struct{} // closed when the attempt does not wait any more
	reply            chan queryReply // gets one value
}

type queryReply struct {
	value string
	err   error
}

func newQuery(key attemptKey, asked agent.Question, over <-chan struct{}) *query {
	text := asked.Text
	if asked.Detail != "" {
		text += "\n\n" + asked.Detail
	}
	return &query{
		Question: journal.Question{
			Address: key.address, Text: valid(text), Options: asked.Options,
			Asked: time.Now().Truncate(time.Microsecond), // messages have no finer time
		},
		key: key, asked: asked, over: over, reply: make(chan queryReply, 1),
	}
}

// tell answers it. Only the first answer counts.
func (q *query) tell(value string, err error) {
	select {
	case q.reply <- queryReply{value, err}:
	default:
	}
}

// human is the question as people who are here are shown it.
func (q *query) human() *engine.AskHuman {
	h := &engine.AskHuman{Address: q.Name(), Question: q.Text, Required: true}
	for _, o := range q.Options {
		h.Options = append(h.Options, workflow.Option{Value: o})
	}
	return h
}

// asking gives an attempt the way to ask. What it asks, and what it is told, stands
// in its log.
func (l *loop) asking(key attemptKey, log *attemptLog) agent.Ask {
	mail := l.mail // the rest is the loop's own
	return func(ctx context.Context, asked agent.Question) (string, error) {
		q := newQuery(key, asked, ctx.Done())
		here := mail.ask(q)
		log.asks(q) // after it is posted: who reads the log may answer
		value, err := "", agent.ErrNobody
		if here {
			value, err = mail.await(ctx, q)
		}
		log.told(q, value, err)
		return value, err
	}
}

// await waits for the answer to a question that was posted.
func (m *mailbox) await(ctx context.Context, q *query) (string, error) {
	select {
	case r := <-q.reply:
		return r.value, r.err
	case <-ctx.Done():
		m.post(letter{query: q}) // so that it is taken back
		return "", context.Cause(ctx)
	}
}

func (l *attemptLog) asks(q *query) {
	text := "[asks " + q.Name() + "] " + q.asked.Text
	if q.asked.Detail != "" {
		text += "\n" + q.asked.Detail
	}
	l.write([]byte(text + "\n[answers] " + strings.Join(q.Options, ", ") + "\n"))
}

func (l *attemptLog) told(q *query, value string, err error) {
	switch {
	case err == nil:
		l.write([]byte("[answered " + q.Name() + "] " + value + "\n"))
	case errors.Is(err, agent.ErrNobody):
		l.write([]byte("[nobody is here to answer " + q.Name() + "]\n"))
	default:
		l.write([]byte("[withdrawn " + q.Name() + "]\n"))
	}
}

// queries are what the attempts of a run ask. They are owned by the loop.
type queries struct {
	open   []*query             // in the order in which they came
	ended  map[string]string    // how those ended that are over, by name
	last   map[string]time.Time // when a question of a step was over last
	unsaid bool                 // the journal does not say what is open now
}

func (qs *queries) named(name string) *query {
	if i := slices.IndexFunc(qs.open, func(q *query) bool { return q.Name() == name }); i >= 0 {
		return qs.open[i]
	}
	return nil
}

func (qs *queries) of(address string) []*query {
	var open []*query
	for _, q := range qs.open {
		if q.Address == address {
			open = append(open, q)
		}
	}
	return open
}

// list is open questions for people who have to choose one, a line for each.
func list(open []*query) string {
	var b strings.Builder
	for _, q := range open {
		b.WriteString("\n  " + q.Name() + ": " + agent.OneLine(cmp.Or(q.asked.Detail, q.asked.Text), 100))
	}
	return b.String()
}

// queried shows a new question, or takes one back that is over.
func (l *loop) queried(q *query) {
	select {
	case <-q.over:
		l.endQuery(q, "it was withdrawn")
		return
	default:
	}
	if l.attempts.open[q.key] == nil {
		l.endQuery(q, attemptOver)
		q.tell("", agent.ErrNobody)
		return
	}
	l.queries.open, l.queries.unsaid = append(l.queries.open, q), true
	l.showQuery(q)
}

const attemptOver = "the attempt that asked it has ended"

// showQuery puts a question to a person who is here. If nobody is, it waits for
// the inbox where somebody may look into that, and else nobody answers it.
func (l *loop) showQuery(q *query) {
	mail := l.mail
	post := func(a *answer) error {
		a.address, a.query, a.taken = q.Name(), q, make(chan error, 1)
		if !mail.post(letter{answer: a}) {
			return fmt.Errorf("the run is not driven any more")
		}
		return <-a.taken
	}
	here := l.o.Asker != nil && l.o.Asker.Ask(q.human(),
		func(value, by string) error { return post(&answer{value: value, by: by}) },
		func() { go func() { _ = post(&answer{left: true}) }() })
	if !here {
		l.leaveQuery(q)
	}
}

// leaveQuery is called when nobody here will answer a question.
func (l *loop) leaveQuery(q *query) {
	if !l.o.Elsewhere {
		l.endQuery(q, "nobody was here to answer it")
		q.tell("", agent.ErrNobody)
	}
}

// answerHere takes an answer that was given here.
func (l *loop) answerHere(a *answer) error {
	if a.left {
		l.leaveQuery(a.query)
		return nil
	}
	if l.queries.named(a.query.Name()) == nil {
		return l.noQuery(a.query.Name())
	}
	if err := a.query.offers(a.value); err != nil {
		return err
	}
	l.answerQuery(a.query, a.value, a.by)
	return nil
}

// queryFor finds the question that an answer from the inbox is for; nil without an
// error: it is not for an attempt. The name of a step means its only question, if
// that was so when the answer was sent: nobody shall allow what they have not seen.
func (l *loop) queryFor(a *engine.HumanAnswered, sent time.Time) (*query, error) {
	if _, _, numbered := journal.SplitQuestion(a.Address); numbered {
		q := l.queries.named(a.Address)
		if q == nil {
			return nil, l.noQuery(a.Address)
		}
		return q, q.offers(a.Value)
	}
	open := l.queries.of(a.Address)
	switch {
	case len(open) == 0:
		return nil, nil
	case len(open) > 1:
		return nil, fmt.Errorf("%q asks %d questions; answer one by its own name:%s", a.Address, len(open), list(open))
	case sent.Before(open[0].Asked) || sent.Before(l.queries.last[a.Address]):
		return nil, fmt.Errorf("%q asks another question now than when this was sent; answer it by its own name:%s", a.Address, list(open))
	}
	return open[0], open[0].offers(a.Value)
}

// noQuery says why a question cannot be answered that is not open.
func (l *loop) noQuery(name string) error {
	address, number, _ := journal.SplitQuestion(name)
	switch how, known := l.queries.ended[name]; {
	case known:
		return fmt.Errorf("the question %s is over: %s", name, how)
	case l.mail.numbered(address, number):
		return fmt.Errorf("the question %s is over: it was asked before the run was taken up again", name)
	case len(l.queries.open) == 0:
		return fmt.Errorf("there is no question %s", name)
	}
	return fmt.Errorf("there is no question %s; these are open:%s", name, list(l.queries.open))
}

func (q *query) offers(value string) error {
	if slices.Contains(q.Options, value) {
		return nil
	}
	return fmt.Errorf("%s does not offer %q; it offers %s", q.Name(), value, strings.Join(q.Options, ", "))
}

func (l *loop) answerQuery(q *query, value, by string) {
	how := fmt.Sprintf("it was answered with %q", value)
	if by != "" {
		how += " by " + by
	}
	l.endQuery(q, how)
	q.tell(value, nil)
}

// endQuery takes a question back.
func (l *loop) endQuery(q *query, how string) {
	qs := &l.queries
	if qs.ended == nil {
		qs.ended, qs.last = map[string]string{}, map[string]time.Time{}
	}
	if _, over := qs.ended[q.Name()]; over {
		return
	}
	qs.ended[q.Name()], qs.last[q.Address] = how, time.Now()
	at := slices.Index(qs.open, q)
	if at < 0 {
		return
	}
	qs.open, qs.unsaid = slices.Delete(qs.open, at, at+1), true
	if l.o.Asker != nil {
		l.o.Asker.Withdraw(q.Name())
	}
}

// endQueries takes back all questions that are meant.
func (l *loop) endQueries(how string, meant func(*query) bool) {
	for _, q := range slices.Clone(l.queries.open) {
		if meant(q) {
			l.endQuery(q, how)
		}
	}
}

// noteQueries tells other processes what is open. That it cannot be said is no
// reason to fail an attempt: it is tried again, and people who are here are asked
// all the same.
func (l *loop) noteQueries() {
	if !l.queries.unsaid {
		return
	}
	open := make([]journal.Question, len(l.queries.open))
	for i, q := range l.queries.open {
		open[i] = q.Question
	}
	l.queries.unsaid = l.writer.SetQuestions(open) != nil
}
