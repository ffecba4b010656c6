package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// people notes what people are asked.
type people struct{ all []string }

func (p *people) Ask(q *engine.Question, _ func(engine.Answered) error, _ func()) bool {
	p.all = append(p.all, "ask "+q.ID)
	return q.ID != "absent"
}

func (p *people) Withdraw(id string) { p.all = append(p.all, "withdraw "+id) }

// is fails the test unless people have been asked this since the last time.
func (p *people) is(t *testing.T, what, want string) {
	t.Helper()
	if got := strings.Join(p.all, ", "); got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
	p.all = nil
}

// driving returns the loop of a run that waits for an answer.
func driving(t *testing.T, w driver.Work) *loop {
	t.Helper()
	d, _, _ := opened(t, "one")
	made, err := d.takeUp(t.Context(), d.store, "one")
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLoop(d, d.store, made, w)
	if err == nil {
		err = l.recover(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.writer.Close() })
	return l
}

// A question that looks the same is asked once. One that has changed is withdrawn and asked again, and
// one that is no longer open is withdrawn.
func TestQuestionsOfALoop(t *testing.T) {
	p := &people{}
	l := driving(t, driver.Work{Asker: p})
	p.is(t, "taken up", "ask ok")
	q := l.run.Questions()[0]
	l.unsaid = false
	l.ask(q)
	p.is(t, "the same", "")
	if !l.unsaid {
		t.Error("the list of runs is not told")
	}
	q.Digest = "other"
	l.ask(q)
	p.is(t, "changed", "withdraw ok, ask ok")
	l.ask(engine.Question{ID: "gone", Digest: "x", Kind: engine.GateQuestion})
	p.is(t, "another", "ask gone")
	l.ask(engine.Question{ID: "absent", Digest: "x", Kind: engine.GateQuestion})
	p.is(t, "nobody is there", "ask absent")
	if _, open := l.asked["absent"]; open || len(l.mail.letters) > 0 {
		t.Error("it waits for nobody")
	}
	l.ask(engine.Question{ID: "absent", Digest: "x", Kind: engine.PermissionQuestion})
	if p.is(t, "nobody is there for an attempt", "ask absent"); len(l.mail.letters) != 1 || !l.mail.letters[0].answer.left {
		t.Error("the attempt waits for nobody")
	}
	l.asked["ok"] = shown{l.run.Questions()[0].Digest, true}
	l.unsaid = false
	l.forgetAnswered()
	if p.is(t, "not open", "withdraw gone"); !l.unsaid || len(l.asked) != 1 {
		t.Errorf("asked are %v", l.asked)
	}
	l.asked["script"] = shown{"x", false}
	l.withdraw("script")
	l.withdraw("unknown")
	if p.is(t, "asked by a script", ""); len(l.asked) != 1 {
		t.Errorf("asked are %v", l.asked)
	}
	if err := l.left("ok"); err != nil || len(l.asked) != 0 {
		t.Errorf("%v, asked are %v", err, l.asked)
	}
	p.is(t, "left", "withdraw ok")
}

// asks returns a question of an attempt.
func asks(log *attemptLog, over <-chan struct{}) *query {
	return &query{key: attemptKey{"nowhere", 1}, asked: agent.Question{Text: "?", Options: []string{"yes"}}, log: log, over: over, reply: make(chan queryReply, 1)}
}

// told returns what was told to an attempt; "" if nothing was.
func (q *query) told() string {
	select {
	case r := <-q.reply:
		return fmt.Sprint(r.value, " ", r.err)
	default:
		return ""
	}
}

// An attempt that is over, or that no longer waits, asks nothing.
func TestQueriesThatAreOver(t *testing.T) {
	l, log := driving(t, driver.Work{Elsewhere: true}), quiet(t)
	before := l.writer.Recorded()
	over := make(chan struct{})
	close(over)
	for name, c := range map[string]struct {
		over  <-chan struct{}
		known bool
		want  string
	}{
		"its attempt is over":   {want: " " + agent.ErrNobody.Error()},
		"it no longer waits":    {over: over, want: " " + context.Canceled.Error()},
		"it was asked and left": {over: over, known: true, want: " " + context.Canceled.Error()},
	} {
		q := asks(log, c.over)
		if c.known {
			q.id = "nowhere@1"
			l.queries[q.id] = q
		}
		if err := l.queried(q); err != nil || q.told() != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if len(l.queries) != 0 || l.query != nil || l.writer.Recorded() != before {
			t.Errorf("%s: %v, %d events", name, l.queries, l.writer.Recorded())
		}
	}
	q := asks(log, nil)
	l.queries["nowhere@1"] = q
	if err := l.left("nowhere@1"); err != nil || l.queries["nowhere@1"] != q || q.told() != "" {
		t.Errorf("%v: nobody elsewhere can answer", err)
	}
	l.o.Elsewhere = false
	q.id = "nowhere@1"
	if err := l.left("nowhere@1"); err != nil || len(l.queries) != 0 || q.told() != " "+agent.ErrNobody.Error() {
		t.Errorf("%v: the attempt waits for nobody", err)
	}
	if err := l.fired("unknown"); err != nil || l.writer.Recorded() != before {
		t.Errorf("%v: a timer that is not set fired", err)
	}
	if err := l.record(journal.Batch{}); err != nil || l.writer.Recorded() != before {
		t.Errorf("nothing was recorded: %v", err)
	}
}

// Only the question that an attempt has just asked gets its id.
func TestIDOfAQuery(t *testing.T) {
	l, log := driving(t, driver.Work{Elsewhere: true}), quiet(t)
	known := engine.Question{ID: "a@1", Kind: engine.PermissionQuestion, Text: "?"}
	gate, orphan, second := known, known, known
	gate.Kind, orphan.Orphaned, second.ID = engine.GateQuestion, true, "a@2"
	q := asks(log, nil)
	l.known(&known) // there is no query
	l.query = q
	l.known(&gate)
	l.known(&orphan)
	if q.id != "" || len(l.queries) != 0 {
		t.Errorf("%q, %v", q.id, l.queries)
	}
	l.known(&known)
	l.known(&second)
	if q.id != "a@1" || len(l.queries) != 1 || l.queries["a@1"] != q {
		t.Errorf("%q, %v", q.id, l.queries)
	}
	l.query = nil
	l.replied(&engine.Reply{ID: "a@7", Value: "no"})
	if q.told() != "" {
		t.Error("the answer to another question is told")
	}
	l.replied(&engine.Reply{ID: "a@1", Value: "yes"})
	if got := q.told(); got != "yes <nil>" || len(l.queries) != 0 {
		t.Errorf("told is %q", got)
	}
	other := asks(log, nil)
	l.query = other
	l.replied(&engine.Reply{ID: "a@3", Value: "early"})
	if got := other.told(); got != "early <nil>" || other.id != "a@3" {
		t.Errorf("told is %q to %q", got, other.id)
	}
}

// hands returns work that an attempt hands off.
func hands(log *attemptLog, id string, blocking bool) *handing {
	over := make(chan struct{})
	close(over)
	return &handing{asked: &engine.HandoffAsked{ID: id, Blocking: blocking}, log: log, over: over, result: make(chan handedResult, 1)}
}

// told returns what an attempt was told about its work; "" if nothing was.
func (h *handing) told() string {
	select {
	case r := <-h.result:
		if r.err != nil {
			return r.err.Error()
		}
		return string(r.Status)
	default:
		return ""
	}
}

// What is known of work goes to those who wait for it, and to the one that has just asked.
func TestResultsOfHandoffs(t *testing.T) {
	l, log := driving(t, driver.Work{}), quiet(t)
	running, ended := &engine.Return{ID: "h", Status: engine.Running}, &engine.Return{ID: "h", Status: engine.Success}
	first, second, third := hands(log, "h", true), hands(log, "h", true), hands(log, "h", false)
	for _, h := range []*handing{first, second, third} {
		l.handing = h
		l.returned(running)
		if h.id != "h" {
			t.Errorf("its id is %q", h.id)
		}
	}
	if first.told() != "" || second.told() != "" || third.told() != "running" || len(l.handings["h"]) != 2 {
		t.Errorf("waiting are %v", l.handings)
	}
	fourth := hands(log, "h", true)
	l.handing = fourth
	l.returned(ended) // it had ended before
	if fourth.told() != "success" || first.told() != "" {
		t.Error("the one that asked is not told at once")
	}
	l.handing = nil
	before := l.writer.Recorded()
	if err := l.dropHanding(first); err != nil || first.told() != context.Canceled.Error() || len(l.handings["h"]) != 1 || l.handings["h"][0] != second {
		t.Errorf("%v, waiting are %v", err, l.handings)
	}
	if err := l.dropHanding(first); err != nil || len(l.handings["h"]) != 1 {
		t.Errorf("%v, waiting are %v", err, l.handings)
	}
	l.returned(ended)
	if second.told() != "success" || len(l.handings) != 0 {
		t.Errorf("waiting are %v", l.handings)
	}
	last := hands(log, "h", true)
	l.handing = last
	l.returned(running)
	l.handing = nil
	if err := l.handedOff(last); err != nil || len(l.handings) != 0 || last.told() != context.Canceled.Error() || l.writer.Recorded() != before {
		t.Errorf("%v, waiting are %v", err, l.handings)
	}
	unknown := hands(log, "h", true)
	unknown.over = nil
	if err := l.handedOff(unknown); err != nil || unknown.told() == "" || l.handing != nil || l.writer.Recorded() != before {
		t.Errorf("%v", err)
	}
}

// A panic is an error that says where it happened.
func TestGuard(t *testing.T) {
	l := driving(t, driver.Work{})
	var broken *driver.BrokenError
	if err := l.guard(func() error { panic("oh no") }); !errors.As(err, &broken) || broken.Run != "one" || broken.Seq != l.writer.Recorded() || broken.Cause != "oh no" || len(broken.Stack) == 0 {
		t.Errorf("%+v", err)
	}
	if err := l.guard(func() error { return nil }); err != nil {
		t.Error(err)
	}
}

// An attempt may end as soon as it has an answer, so the log has it before.
func TestLogBeforeTheAnswer(t *testing.T) {
	log := quiet(t)
	var showing sync.Mutex
	log.seen = func(string, int, []byte) {
		showing.Lock()
		defer showing.Unlock()
	}
	q, h := asks(log, nil), hands(log, "", true)
	for line, tell := range map[string]func(){
		"[answered ] yes":             func() { q.tell("yes", nil) },
		"[not handed off] unexpected": func() { h.tell(nil, errors.New("unexpected")) },
	} {
		showing.Lock() // so that it comes no further than this
		told := make(chan struct{})
		go func() { tell(); close(told) }()
		for !strings.Contains(printed(t, log), line) {
			runtime.Gosched()
		}
		if len(q.reply)+len(h.result) > 0 {
			t.Errorf("it was told while %q was written", line)
		}
		showing.Unlock()
		<-told
		if q.told()+h.told() == "" {
			t.Errorf("nothing was told after %q", line)
		}
	}
}

// An attempt that no longer waits continues when its log says so, or when the loop has ended.
func TestLogBeforeAnAttemptContinues(t *testing.T) {
	for _, ended := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := &loop{mail: newMailbox()}
			ctx, cancel := context.WithCancel(t.Context())
			var continued atomic.Int32
			go func() {
				if _, err := l.asking(attemptKey{"a", 1}, nil)(ctx, agent.Question{}); !errors.Is(err, context.Canceled) {
					t.Errorf("the question: %v", err)
				}
				continued.Add(1)
			}()
			go func() {
				if _, err := l.handingOff(attemptKey{"a", 1}, nil)(ctx, &engine.HandoffAsked{}); !errors.Is(err, context.Canceled) {
					t.Errorf("the work: %v", err)
				}
				continued.Add(1)
			}()
			synctest.Wait()
			if ended {
				l.mail.close()
			}
			cancel()
			synctest.Wait()
			if n := continued.Load(); n != map[bool]int32{true: 2}[ended] {
				t.Errorf("%d of 2 continued", n)
			}
			if ended {
				return
			}
			for _, m := range l.mail.take(nil)[2:] {
				if m.query != nil {
					m.query.reply <- queryReply{}
				} else {
					m.handing.result <- handedResult{}
				}
			}
			synctest.Wait()
			if n := continued.Load(); n != 2 {
				t.Errorf("%d of 2 continued after they were told", n)
			}
		})
	}
}
