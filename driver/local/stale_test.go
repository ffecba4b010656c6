package local

import (
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
)

// Who says yes twice has not said yes to what is asked next.
func TestAnswerToTheQuestionBefore(t *testing.T) {
	l := &loop{o: Options{Elsewhere: true}}
	ask := func(text string) *query {
		q := &query{
			key: attemptKey{"a", 1}, over: make(chan struct{}), reply: make(chan queryReply, 1),
			question: agent.Question{Text: text, Options: []string{"allow", "deny"}},
		}
		l.queried(q)
		return q
	}
	first, next := ask("list the files?"), ask("remove them?")
	yes := &engine.HumanAnswered{Address: "a", Value: "allow"}
	first.shown = first.shown.Add(-time.Second)
	sent := first.shown
	if taken, err := l.answersQuery(yes, sent); !taken || err != nil || len(first.reply) != 1 {
		t.Fatalf("the first: %v, %v", taken, err)
	}
	if taken, err := l.answersQuery(yes, sent); !taken || err == nil || len(next.reply) != 0 {
		t.Errorf("the next: %v, %v", taken, err)
	}
	if taken, err := l.answersQuery(yes, time.Now()); !taken || err != nil || len(next.reply) != 1 {
		t.Errorf("the next, seen: %v, %v", taken, err)
	}
}
