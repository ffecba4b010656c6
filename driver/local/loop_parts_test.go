package local

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// A mailbox keeps letters until they are taken, and accepts none when it is closed.
func TestMailbox(t *testing.T) {
	m := newMailbox()
	one, two, three := &query{id: "one"}, &query{id: "two"}, &query{id: "three"}
	if !m.post(letter{query: one}) || !m.post(letter{query: two}) || len(m.wake) != 1 {
		t.Error("letters are not accepted")
	}
	if got := m.take(nil); len(got) != 2 || got[0].query != one || got[1].query != two {
		t.Errorf("taken are %+v", got)
	}
	if got := m.take(make([]letter, 3)); len(got) != 0 {
		t.Errorf("taken again are %+v", got)
	}
	m.post(letter{query: three})
	if got := m.close(); len(got) != 1 || got[0].query != three {
		t.Errorf("left are %+v", got)
	}
	if m.post(letter{query: one}) {
		t.Error("a closed mailbox accepts a letter")
	}
}

// quiet is a log of an attempt that nobody sees.
func quiet(t *testing.T) *attemptLog {
	t.Helper()
	_, _, s := opened(t, "one")
	w, err := s.Writer(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	id := driver.AttemptID{Run: "one", Address: "a", Attempt: 1}
	return &attemptLog{s, id, w.Log("a", 1), (*driver.Audience)(nil).Log}
}

// printed returns what is in a log.
func printed(t *testing.T, l *attemptLog) (text string) {
	t.Helper()
	for p, err := range l.store.Stream(t.Context(), l.id, driver.Output, 0) {
		if err != nil {
			t.Fatal(err)
		}
		text += string(p.Text)
	}
	return text
}

// Whoever waits for the loop when it ends is told so, once.
func TestNobodyWaitsForALoopThatEnded(t *testing.T) {
	log := quiet(t)
	a := newAnswer(engine.Answered{})
	q := &query{log: log, reply: make(chan queryReply, 1)}
	h := &handing{log: log, result: make(chan handedResult, 1)}
	l := &loop{letters: []letter{{}, {answer: a}, {query: q}, {handing: h}}}
	l.refuseAnswers()
	if err := <-a.taken; !errors.Is(err, errStopped) {
		t.Errorf("the answer: %v", err)
	}
	if r := <-q.reply; !errors.Is(r.err, agent.ErrNobody) {
		t.Errorf("the question: %+v", r)
	}
	if r := <-h.result; !errors.Is(r.err, errStopped) {
		t.Errorf("the work: %+v", r)
	}
	if len(l.letters) > 0 {
		t.Error("the letters are left")
	}
}

// Only the first verdict, answer and result count, and only they are in the log.
func TestOnlyTheFirstCounts(t *testing.T) {
	log := quiet(t)
	a := newAnswer(engine.Answered{})
	a.judge(nil)
	a.judge(io.EOF)
	q := &query{id: "a@1", log: log, reply: make(chan queryReply, 1)}
	q.tell("yes", nil)
	q.tell("no", nil)
	h := &handing{log: log, result: make(chan handedResult, 1)}
	h.tell(&engine.Return{ID: "a/handoff-1", Status: engine.Failed}, nil)
	h.tell(nil, io.EOF)
	if err, r, w := <-a.taken, <-q.reply, <-h.result; err != nil || r.value != "yes" || r.err != nil || w.Return == nil || w.err != nil {
		t.Errorf("%v, %+v, %+v", err, r, w)
	}
	if text := printed(t, log); text != "[answered a@1] yes\n[result of a/handoff-1] error\n" {
		t.Errorf("the log is %q", text)
	}
}

// An answer is recorded as it will be read.
func TestValidAnswer(t *testing.T) {
	a := validAnswer(engine.Answered{ID: "ok", Value: "v\xff", By: "b\xff", Via: "w\xff", Comment: "c\xff", Digest: "d"})
	if want := (engine.Answered{ID: "ok", Value: "v\ufffd", By: "b\ufffd", Via: "w\ufffd", Comment: "c\ufffd", Digest: "d"}); *a != want {
		t.Errorf("%+v", a)
	}
}

// A random id that is taken is replaced a few times; one that was asked for is not.
func TestIDsThatAreTaken(t *testing.T) {
	d, _, _ := opened(t, "one")
	asked := 0
	d.newID = func(string) string { asked++; return "one" }
	pin, err := d.Pin(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]int{"": 5, "one": 0} {
		asked = 0
		made, err := d.Start(t.Context(), driver.Spec{Run: id, Pin: pin})
		if !errors.As(err, new(*driver.ExistsError)) || asked != want {
			t.Errorf("%+v, %v after %d ids, want %d", made, err, asked, want)
		}
	}
}

// held reports whether another process holds a run.
func held(t *testing.T, d *Driver, run string) bool {
	t.Helper()
	_, driven, err := d.store.Driver(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return driven
}

// A driver holds a run that it claimed until it drives it, changes it or is closed.
func TestClaimedRuns(t *testing.T) {
	d, _, other := opened(t, "one")
	pin, err := d.Pin(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	claim := func(run string) {
		t.Helper()
		if _, err := d.Start(t.Context(), driver.Spec{Run: run, Pin: pin, Owner: driver.Owner{Claimed: true}}); err != nil || !held(t, d, run) {
			t.Fatalf("%s: %v", run, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	claim("interrupted")
	if res, err := d.Drive(gone, "interrupted", driver.Work{}); !errors.As(err, new(*driver.InterruptedError)) || res.Run != "interrupted" || held(t, d, "interrupted") {
		t.Errorf("%+v, %v", res, err)
	}
	if res, err := d.Drive(gone, "one", driver.Work{}); !errors.As(err, new(*driver.InterruptedError)) || held(t, d, "one") {
		t.Errorf("%+v, %v", res, err)
	}
	claim("cancelled")
	if receipt, err := d.Act(t.Context(), "cancelled", &engine.CancelAsked{}); err != nil || receipt.Driven || held(t, d, "cancelled") {
		t.Errorf("%+v, %v", receipt, err)
	}
	claim("forked")
	if made, err := d.Fork(t.Context(), driver.ForkSpec{From: "forked", Address: "ok", Run: "fork", Owner: driver.Owner{Claimed: true}}); err != nil || held(t, d, "forked") || !held(t, d, "fork") {
		t.Errorf("%+v, %v", made, err)
	}
	if res, err := d.Drive(t.Context(), "fork", driver.Work{}); err != nil || res.Status != engine.Waiting || held(t, d, "fork") {
		t.Errorf("%+v, %v", res, err)
	}
	claim("left")
	w, err := other.Writer(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Drive(t.Context(), "one", driver.Work{}); !errors.As(err, new(*driver.HeldError)) {
		t.Errorf("%v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	for run, open := range map[string]bool{"left": false, "one": false} {
		if _, driven, err := other.Driver(t.Context(), run); err != nil || driven != open {
			t.Errorf("%s is held: %t, %v", run, driven, err)
		}
	}
	if r, err := other.Run(t.Context(), "left"); err != nil || r.Begun {
		t.Errorf("%+v, %v", r, err)
	}
	w, err = other.Writer(t.Context(), "left")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.keep("left", &recorded{writer: w}); !errors.Is(err, errClosed) {
		t.Errorf("a closed driver keeps a run: %v", err)
	}
	if _, driven, err := other.Driver(t.Context(), "left"); err != nil || driven {
		t.Errorf("it is held: %t, %v", driven, err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

// A workflow that the engine does not accept is an error, and the run is released.
func TestWorkflowThatCannotRun(t *testing.T) {
	d, _, _ := opened(t, "one")
	bad := &workflow.Bundle{Root: &workflow.Workflow{Name: "bad", Body: workflow.Graph{
		Nodes: []workflow.Node{{ID: "a", Step: &workflow.Call{Workflow: "missing"}}}, Edges: []workflow.Edge{{From: "a", To: "nowhere"}}}}}
	for _, claimed := range []bool{true, false} {
		made, err := d.Start(t.Context(), driver.Spec{Pin: &driver.Pin{Bundle: bad}, Owner: driver.Owner{Claimed: claimed}})
		if err != nil {
			t.Fatal(err)
		}
		if res, err := d.Drive(t.Context(), made.Run, driver.Work{}); err == nil || res.Run != made.Run || held(t, d, made.Run) {
			t.Errorf("%+v, %v", res, err)
		}
		if made, err := d.Fork(t.Context(), driver.ForkSpec{From: made.Run, Address: "a"}); err == nil {
			t.Errorf("%+v", made)
		}
	}
	if made, err := d.Start(t.Context(), driver.Spec{Pin: &driver.Pin{Bundle: bad}, Inputs: map[string]any{"x": make(chan int)}}); err == nil {
		t.Errorf("%+v", made)
	}
}

// A driver that only reads records nothing, and opens the journal once.
func TestReadOnlyDriver(t *testing.T) {
	writes, _, _ := opened(t, "one")
	d, err := Open(writes.dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Act(t.Context(), "one", &engine.CancelAsked{}); !errors.Is(err, errReadOnly) {
		t.Errorf("%v", err)
	}
	if err := d.Compact(t.Context()); !errors.Is(err, errReadOnly) {
		t.Errorf("%v", err)
	}
	one, err := d.reading()
	if two, again := d.reading(); err != nil || again != nil || one == nil || one != two {
		t.Errorf("%v, %v", err, again)
	}
	if n, err := d.Check(t.Context()); n != 1 || err != nil {
		t.Errorf("%d runs, %v", n, err)
	}
}

// told is a script that notes what it is told.
type told struct{ all []string }

func (s *told) Task(address, _ string, _ int, _ bool) (agent.Executor, bool) {
	s.all = append(s.all, "task "+address)
	return nil, false
}

func (s *told) Person(address, _ string) (string, time.Duration, bool) {
	s.all = append(s.all, "person "+address)
	return "", 0, false
}

func (s *told) Ended(address string) { s.all = append(s.all, "ended "+address) }

// agents does every task.
type agents struct{}

func (agents) Run(_ context.Context, _ string, task *engine.StartTask, _ driver.Attempt) driver.Outcome {
	return driver.Outcome{Output: task.Prompt}
}

// A run resumes from its snapshot, unless a script must see what happened before. A snapshot of
// events that are not there is not used.
func TestSnapshotOfARun(t *testing.T) {
	node := func(id string) workflow.Node {
		return workflow.Node{ID: id, Step: &workflow.Task{Agent: "x", Prompt: workflow.Template{Text: id}}}
	}
	ask := workflow.Node{ID: "ok", Step: &workflow.Human{Question: workflow.Template{Text: "ok?"}}}
	body := workflow.Graph{Nodes: []workflow.Node{node("a"), ask}, Edges: []workflow.Edge{{From: "a", To: "ok"}}}
	for name, c := range map[string]struct {
		script *told
		lose   string // what is lost after the snapshot
		from   int    // the event after which the run is replayed
	}{
		"snapshot": {from: 3},
		"script":   {script: &told{}},
		"too new":  {lose: "DELETE FROM events WHERE seq = 3"},
		"none":     {lose: "DELETE FROM snapshots"},
		"damaged":  {lose: "UPDATE snapshots SET data = 'x'"},
		"unread":   {lose: "DROP TABLE snapshots"},
	} {
		d, _, _ := opened(t, "one")
		if _, err := d.Start(t.Context(), driver.Spec{Run: "long", Pin: &driver.Pin{Bundle: &workflow.Bundle{Root: &workflow.Workflow{Name: "demo", Body: body}}}, Limits: workflow.Limits{Parallel: 1}}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Drive(t.Context(), "long", driver.Work{Agents: agents{}}); err != nil {
			t.Fatal(err)
		}
		r, err := load(t.Context(), d.store, "long")
		if err != nil {
			t.Fatal(err)
		}
		made, err := d.takeUp(t.Context(), d.store, "long")
		if err != nil {
			t.Fatal(err)
		}
		if err := made.writer.Keep(r.Snapshot()); err != nil {
			t.Fatal(err)
		}
		if err := made.writer.Close(); err != nil {
			t.Fatal(err)
		}
		if c.lose != "" {
			damage(t, d.dir, c.lose)
		}
		if made, err = d.takeUp(t.Context(), d.store, "long"); err != nil {
			t.Fatal(err)
		}
		work := driver.Work{Agents: agents{}}
		if c.script != nil {
			work.Script = c.script
		}
		l, err := newLoop(d, d.store, made, work)
		if err != nil {
			t.Fatal(err)
		}
		l.restore(t.Context())
		if l.run.Seq() != c.from || l.kept != c.from || l.last.IsZero() != (c.from == 0) {
			t.Errorf("%s: it begins after event %d", name, l.run.Seq())
		}
		res, err := l.drive(t.Context(), func() error { return l.recover(t.Context()) })
		if err != nil || res.Status != engine.Waiting || res.Steps[0].Status != engine.Success {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
		if c.script != nil && strings.Join(c.script.all, ", ") != "task a, task a, ended a, person ok, person ok" {
			t.Errorf("the script was told %q", c.script.all)
		}
	}
}

// An interruption records the results that have arrived. If they end the run, it is over.
func TestResultBeforeAnInterruption(t *testing.T) {
	node := func(id string) workflow.Node { return workflow.Node{ID: id, Step: &workflow.Task{Agent: "x"}} }
	for name, c := range map[string]struct {
		nodes  []workflow.Node
		events int
		refuse bool
		over   bool
	}{
		"over":    {nodes: []workflow.Node{node("a")}, events: 2, over: true},
		"not yet": {nodes: []workflow.Node{node("a"), node("b")}, events: 3},
		"refused": {nodes: []workflow.Node{node("a")}, events: 1, refuse: true},
	} {
		d, _, _ := opened(t, "one")
		g := workflow.Graph{Nodes: c.nodes}
		if len(c.nodes) > 1 {
			g.Nodes = append(g.Nodes, node("c"))
			g.Edges = []workflow.Edge{{From: "a", To: "c"}, {From: "b", To: "c"}}
		}
		spec := driver.Spec{Run: "long", Pin: &driver.Pin{Bundle: &workflow.Bundle{Root: &workflow.Workflow{Name: "demo", Body: g}}}, Limits: workflow.Limits{Parallel: 5}, Owner: driver.Owner{Claimed: true}}
		if _, err := d.Start(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		made := d.isNew("long")
		l, err := newLoop(d, d.store, made, driver.Work{Agents: agents{}})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.begin(made.first); err != nil {
			t.Fatal(err)
		}
		for len(l.letters) < len(c.nodes) { // all attempts have ended
			<-l.mail.wake
			l.letters = append(l.letters, l.mail.take(nil)...)
		}
		for _, m := range l.letters {
			l.mail.post(m)
		}
		l.letters = nil
		if c.refuse {
			Refuse(t, d.dir, func() error { return io.ErrShortWrite }, "INSERT ON events")
		}
		err = l.interrupted(io.EOF)
		var interrupted *driver.InterruptedError
		switch {
		case c.refuse:
			if err == nil || errors.As(err, &interrupted) {
				t.Errorf("%s: %v", name, err)
			}
		case c.over:
			if err != nil || !l.over {
				t.Errorf("%s: %v", name, err)
			}
		default:
			if !errors.As(err, &interrupted) || !errors.Is(err, io.EOF) || interrupted.Run != "long" || l.over {
				t.Errorf("%s: %v", name, err)
			}
		}
		if l.writer.Recorded() != c.events || l.attempts.flying != 0 {
			t.Errorf("%s: %d events are recorded, want %d; %d attempts are in progress", name, l.writer.Recorded(), c.events, l.attempts.flying)
		}
		if err := l.writer.Close(); err != nil {
			t.Error(err)
		}
	}
}

// executing is a script that does every task itself.
type executing struct{ told }

func (*executing) Task(string, string, int, bool) (agent.Executor, bool) {
	return agent.Func(func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		return agent.Result{Output: "scripted"}, nil
	}), true
}

// The attempts of a script are made as the caller wants.
func TestScriptedAttempt(t *testing.T) {
	d, _, _ := opened(t, "one")
	node := workflow.Node{ID: "a", Step: &workflow.Task{Agent: "x"}}
	bundle := &workflow.Bundle{Root: &workflow.Workflow{Name: "demo", Body: workflow.Graph{Nodes: []workflow.Node{node}}}}
	for _, own := range []bool{true, false} {
		made, err := d.Start(t.Context(), driver.Spec{Pin: &driver.Pin{Bundle: bundle}, Limits: workflow.Limits{Parallel: 1}})
		if err != nil {
			t.Fatal(err)
		}
		w, want := driver.Work{Agents: agents{}, Script: &executing{}}, "scripted"
		if own {
			want = "its own"
			w.Scripted = func(_ context.Context, exec agent.Executor, run string, task *engine.StartTask, _ driver.Attempt) driver.Outcome {
				if exec == nil || run != made.Run || task.Node != "a" {
					t.Errorf("%v, %s, %s", exec, run, task.Node)
				}
				return driver.Outcome{Output: want}
			}
		}
		if res, err := d.Drive(t.Context(), made.Run, w); err != nil || res.Output != want {
			t.Errorf("%v, %v", res.Output, err)
		}
	}
}

// The list of runs says until when a run waits.
func TestDueInTheList(t *testing.T) {
	d, _, _ := opened(t, "one")
	i, err := d.Info(t.Context(), "one")
	if err != nil || !i.Due.Equal(d.o.Clock.Now().Add(24*time.Hour)) || i.Pending || i.Driven || i.Open != 1 {
		t.Errorf("%+v, %v", i, err)
	}
	if _, err := d.Act(t.Context(), "one", &engine.CancelAsked{}); err != nil {
		t.Fatal(err)
	}
	if i, err := d.Info(t.Context(), "one"); err != nil || !i.Due.IsZero() || i.Open != 0 {
		t.Errorf("%+v, %v", i, err)
	}
}

// Whenever an answer arrives while a run stops, its sender is told that the run has stopped.
func TestAnswerWhileARunStops(t *testing.T) {
	d, _, _ := opened(t, "one")
	for _, flying := range []int{0, 1} {
		made, err := d.takeUp(t.Context(), d.store, "one")
		if err != nil {
			t.Fatal(err)
		}
		l, err := newLoop(d, d.store, made, driver.Work{})
		if err != nil {
			t.Fatal(err)
		}
		first, second := newAnswer(engine.Answered{}), newAnswer(engine.Answered{})
		l.letters = []letter{{answer: first}}
		l.mail.post(letter{answer: second})
		if l.attempts.flying = flying; flying > 0 {
			l.mail.post(letter{ended: engine.Envelope{Event: &engine.TaskEnded{}}})
		}
		l.noted = l.writer.Recorded()
		if err := l.settle(io.EOF); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		for i, a := range []*answer{first, second} {
			select {
			case err := <-a.taken:
				if !errors.Is(err, errStopped) {
					t.Errorf("answer %d: %v", i+1, err)
				}
			default:
				t.Errorf("with %d attempts, nobody was told about answer %d", flying, i+1)
			}
		}
		if l.mail.post(letter{}) {
			t.Error("a loop that has ended accepts letters")
		}
		if err := l.writer.Close(); err != nil {
			t.Error(err)
		}
	}
}
