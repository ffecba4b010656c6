package local

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// Who says yes twice has not said yes to what is asked next.
func TestAnswerToAnotherQuestion(t *testing.T) {
	l := &loop{o: driver.Work{Elsewhere: true}, mail: newMailbox(), attempts: newAttempts()}
	key := attemptKey{"a", 1}
	l.attempts.open[key] = func(error) {}
	ask := func(text string) *query {
		q := newQuery(key, agent.Question{Text: text, Options: []string{"allow", "deny"}}, nil)
		l.mail.ask(q)
		l.queried(q)
		return q
	}
	// answer gives the name of the question that an answer is taken for, or why it
	// is not.
	answer := func(address string, sent time.Time) string {
		q, err := l.queryFor(&engine.HumanAnswered{Address: address, Value: "allow"}, sent)
		switch {
		case err != nil:
			return err.Error()
		case q == nil:
			return "none"
		}
		return q.Name()
	}
	want := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("%s; want %s", got, want)
		}
	}
	first := ask("list the files?")
	first.Asked = first.Asked.Add(-time.Hour)
	seen := first.Asked
	want(answer("b", seen), "none")
	want(answer("a", seen), "a@1")
	want(answer("a", seen.Add(-time.Second)), "asks another question now than when this was sent")

	second := ask("remove them?")
	second.Asked = seen
	want(answer("a", time.Now()), `"a" asks 2 questions; answer one by its own name:`+"\n  a@1: list the files?\n  a@2: remove them?")
	want(answer("a@2", seen), "a@2")
	want(answer("a@3", seen), "there is no question a@3; these are open:\n  a@1")

	l.answerQuery(first, "deny", "ann")
	want(answer("a", seen), "asks another question now") // both were open when it was sent
	want(answer("a", time.Now()), "a@2")
	want(answer("a@1", time.Now()), `the question a@1 is over: it was answered with "deny" by ann`)
	l.endQuery(second, attemptOver)
	want(answer("a@2", time.Now()), "the question a@2 is over: the attempt that asked it has ended")
	want(answer("a@3", time.Now()), "there is no question a@3")

	l.mail.numbers["a"] = 7 // by a process before
	want(answer("a@7", time.Now()), "the question a@7 is over: it was asked before the run was taken up again")
}

// What an attempt asks that has ended is not shown.
func TestQuestionOfAnAttemptThatHasEnded(t *testing.T) {
	l := &loop{o: driver.Work{Elsewhere: true}, mail: newMailbox(), attempts: newAttempts()}
	q := newQuery(attemptKey{"a", 1}, agent.Question{Text: "may I?", Options: []string{"yes"}}, nil)
	l.mail.ask(q)
	l.queried(q)
	if r := <-q.reply; !errors.Is(r.err, agent.ErrNobody) || len(l.queries.open) != 0 {
		t.Errorf("told %v, %d are open", r, len(l.queries.open))
	}
}
