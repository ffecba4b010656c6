package temporal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// acts notes what a machine does.
type acts struct{ did []string }

func (a *acts) start(k attemptKey, _ *attempt) { a.add("start", k.address) }
func (a *acts) stop(k attemptKey)              { a.add("stop", k.address) }
func (a *acts) claim(c claim)                  { a.add(append([]string{"claim"}, c.Programs...)...) }
func (a *acts) unclaim(label string)           { a.add("unclaim", label) }
func (a *acts) tell(ticket, reply)             { a.add("tell") }
func (a *acts) arm(time.Time)                  {}
func (a *acts) nudge()                         { a.add("nudge") }

func (a *acts) recorded(*engine.Run, engine.Envelope, []engine.Command) {}

func (a *acts) add(words ...string) { a.did = append(a.did, strings.Join(words, " ")) }

func (a *acts) want(t *testing.T, want ...string) {
	t.Helper()
	if fmt.Sprint(a.did) != fmt.Sprint(want) {
		t.Errorf("it did %q, want %q", a.did, want)
	}
	a.did = nil
}

// An attempt that begins is not stopped at the same moment: Temporal would record neither, and who reads the run would
// wait for its end.
func TestStartAndStopAtOnce(t *testing.T) {
	node := func(id string) workflow.Node {
		return workflow.Node{ID: id, Step: &workflow.Task{Agent: "test", Prompt: workflow.Template{Text: id}}}
	}
	b := &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{
		Nodes: []workflow.Node{node("a"), node("b"), node("c")}, Edges: []workflow.Edge{{From: "a", To: "b"}},
	}}}
	now := time.Now()
	did := &acts{}
	in := begin{Run: "w-1", Pin: &driver.Pin{Bundle: b}, Events: []eventJSON{{engine.Envelope{Time: now, Event: &engine.Started{
		Run: "w-1", Version: engine.Version, Limits: workflow.Limits{Steps: 10, Parallel: 10, Runtime: time.Hour},
	}}}}}
	m, err := newMachine(in, did, nil)
	if err != nil {
		t.Fatal(err)
	}
	step := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	step(m.begin(now, in))
	did.want(t, "start a", "start c")
	fault := &engine.Fault{Kind: engine.FaultError, Message: "no", Permanent: true}
	step(m.wake(now, []arrival{{ended: &engine.TaskEnded{Address: "a", Attempt: 1}}, {ended: &engine.TaskEnded{Address: "c", Attempt: 1, Fault: fault}}}))
	did.want(t, "start b", "nudge")
	step(m.wake(now, []arrival{{rang: true}}))
	did.want(t, "stop b")
	step(m.wake(now, []arrival{{ended: failed(attemptKey{"b", 1}, engine.FaultCancelled)}}))
	if !m.over {
		t.Error("the run is not over")
	}
}

// Many attempts that no worker has taken are asked for again a few at a time: the server takes 4 MB at once.
func TestManyUntaken(t *testing.T) {
	const n = 100
	each := &workflow.Each{Items: workflow.Expr{Text: "inputs.items"}, Body: workflow.Graph{Nodes: []workflow.Node{
		{ID: "each", Timeout: time.Minute, Step: &workflow.Task{Agent: "test", Prompt: workflow.Template{Text: "x"}}},
	}}}
	b := &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "each", Step: each}}}}}
	now := time.Now()
	did := &acts{}
	in := begin{Run: "w-1", Pin: &driver.Pin{Bundle: b}, Events: []eventJSON{{engine.Envelope{Time: now, Event: &engine.Started{
		Run: "w-1", Version: engine.Version, Inputs: map[string]any{"items": make([]any, n)}, Limits: workflow.Limits{Steps: 1000, Parallel: n, Runtime: time.Hour},
	}}}}}
	m, err := newMachine(in, did, nil)
	if err == nil {
		err = m.begin(now, in)
	}
	for err == nil && len(m.crowded) > 0 {
		err = m.wake(now, []arrival{{rang: true}})
	}
	if err != nil || len(m.attempts) != n {
		t.Fatalf("%d attempts, %v", len(m.attempts), err)
	}
	var all []arrival
	for key := range m.attempts {
		all = append(all, arrival{untaken: &key})
	}
	did.did = nil
	late := now.Add(10 * time.Minute) // longer than the timeout
	if err := m.wake(late, all); err != nil {
		t.Fatal(err)
	}
	if len(did.did) > mostAtOnce+1 {
		t.Errorf("%d at once", len(did.did))
	}
	for err == nil && len(m.crowded) > 0 {
		err = m.wake(late, []arrival{{rang: true}})
	}
	if err != nil || len(m.attempts) != n || m.run.Status() != engine.Waiting {
		t.Fatalf("%d attempts, %s, %v", len(m.attempts), m.run.Status(), err)
	}
	key := attemptKey{"each[0]", 1}
	if err := m.wake(late, []arrival{{note: &note{Event: eventJSON{engine.Envelope{Event: &engine.Queued{Address: key.address, Attempt: 1, Begun: true}}}}}}); err != nil {
		t.Fatal(err)
	}
	if at := m.timers.at["timeout each[0]@1"]; late.Add(time.Minute).Sub(at).Abs() > time.Millisecond {
		t.Errorf("it times out at %s, want %s", at, late.Add(time.Minute))
	}
}

// What is known late, because no workflow ran, does not take the timeout away from an attempt that nobody took.
func TestUntakenTooLate(t *testing.T) {
	node := func(id string) workflow.Node {
		return workflow.Node{ID: id, Timeout: time.Minute, Step: &workflow.Task{Agent: "test", Prompt: workflow.Template{Text: id}}}
	}
	b := &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{node("a"), node("b")}}}}
	now := time.Now()
	in := begin{Run: "w-1", Pin: &driver.Pin{Bundle: b}, Events: []eventJSON{{engine.Envelope{Time: now, Event: &engine.Started{
		Run: "w-1", Version: engine.Version, Limits: workflow.Limits{Steps: 10, Parallel: 10, Runtime: time.Hour},
	}}}}}
	m, err := newMachine(in, &acts{}, nil)
	if err == nil {
		err = m.begin(now, in)
	}
	late := now.Add(10 * time.Minute)
	if err == nil {
		err = m.wake(late, []arrival{{ended: &engine.TaskEnded{Address: "a", Attempt: 1}}, {untaken: &attemptKey{"b", 1}}})
	}
	if err == nil {
		err = m.wake(late, []arrival{{note: &note{Event: eventJSON{engine.Envelope{Event: &engine.Queued{Address: "b", Attempt: 1, Begun: true}}}}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	if at := m.timers.at["timeout b@1"]; late.Add(time.Minute).Sub(at).Abs() > time.Millisecond {
		t.Errorf("it times out at %s, want %s", at, late.Add(time.Minute))
	}
}

// When a run continues in a new execution, all attempts that have waited for a worker begin to wait anew there, also those for
// which there is no room at first: nobody else says that they begin, so they would have no timeout. Runs of the first version
// go on as they did.
func TestManyContinued(t *testing.T) {
	const n = 100
	each := &workflow.Each{Items: workflow.Expr{Text: "inputs.items"}, Body: workflow.Graph{Nodes: []workflow.Node{
		{ID: "each", Timeout: time.Minute, Step: &workflow.Task{Agent: "test", Prompt: workflow.Template{Text: "x"}}},
	}}}
	pin := &driver.Pin{Bundle: &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "each", Step: each}}}}}}
	now := time.Now()
	started := engine.Envelope{Time: now, Event: &engine.Started{
		Run: "w-1", Version: engine.Version, Inputs: map[string]any{"items": make([]any, n)}, Limits: workflow.Limits{Steps: 1000, Parallel: n, Runtime: time.Hour},
	}}
	for version, all := range map[int]bool{1: false, 2: true, 3: true} {
		execute := func(in begin) *machine {
			t.Helper()
			m, err := newMachine(in, &acts{}, nil)
			if err == nil {
				err = m.begin(now, in)
			}
			for err == nil && len(m.crowded) > 0 {
				err = m.wake(now, []arrival{{rang: true}})
			}
			if err != nil || len(m.attempts) != n {
				t.Fatalf("%d attempts, %v", len(m.attempts), err)
			}
			return m
		}
		m := execute(begin{Version: version, Run: "w-1", Pin: pin, Events: []eventJSON{{started}}})
		var untaken []arrival
		for key := range m.attempts {
			untaken = append(untaken, arrival{untaken: &key})
		}
		m.drain = true
		if err := m.wake(now, untaken); err != nil || len(m.held) != n {
			t.Fatalf("%d wait for the next execution, %v", len(m.held), err)
		}
		m = execute(begin{Version: version, Run: "w-1", Pin: pin, Snapshot: m.run.Snapshot(), Seq: m.run.Seq(), Began: m.began})
		bounded := 0
		for key := range m.attempts {
			if _, ok := m.timers.at[fmt.Sprintf("timeout %s@%d", key.address, key.attempt)]; ok {
				bounded++
			}
		}
		if (bounded == n) != all {
			t.Errorf("version %d: %d of %d attempts have a timeout", version, bounded, n)
		}
	}
}

// waiting is a machine with n parallel steps with a timeout of a minute, at a site.
func waiting(t *testing.T, version, n int, site driver.Site) (m *machine, now time.Time) {
	t.Helper()
	each := &workflow.Each{Items: workflow.Expr{Text: "inputs.items"}, Body: workflow.Graph{Nodes: []workflow.Node{
		{ID: "each", Timeout: time.Minute, Step: &workflow.Task{Agent: "test", Prompt: workflow.Template{Text: "x"}}},
	}}}
	pin := &driver.Pin{
		Bundle: &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "each", Step: each}}}}},
		Sites:  map[string]driver.Site{"w/each": site},
	}
	now = time.Now()
	in := begin{Version: version, Run: "w-1", Pin: pin, Events: []eventJSON{{engine.Envelope{Time: now, Event: &engine.Started{
		Run: "w-1", Version: engine.Version, Inputs: map[string]any{"items": make([]any, n)}, Limits: workflow.Limits{Steps: 5000, Parallel: n, Runtime: time.Hour},
	}}}}}
	m, err := newMachine(in, &acts{}, nil)
	if err == nil {
		err = m.begin(now, in)
	}
	for err == nil && len(m.crowded) > 0 && len(m.attempts) < mostOpen {
		err = m.wake(now, []arrival{{rang: true}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return m, now
}

// bounded counts the attempts whose timeouts pass.
func (m *machine) bounded() (n int) {
	for id := range m.timers.at {
		if strings.HasPrefix(id, "timeout ") {
			n++
		}
	}
	return n
}

// While the run cannot ask for an attempt, its timeout does not pass. Runs of earlier versions go on as they did.
func TestUnasked(t *testing.T) {
	const more = 20
	ends := func(m *machine, n int) (all []arrival) {
		for _, key := range slices.SortedFunc(maps.Keys(m.attempts), attemptKey.compare)[:n] {
			all = append(all, arrival{ended: &engine.TaskEnded{Address: key.address, Attempt: key.attempt}})
		}
		return all
	}
	for version, pauses := range map[int]bool{2: false, 3: true} {
		check := func(what string, m *machine, asked, unasked int) {
			t.Helper()
			want := asked + unasked
			if pauses {
				want = asked
			}
			if got := m.bounded(); got != want {
				t.Errorf("version %d, %s: %d timeouts pass, want %d", version, what, got, want)
			}
		}
		m, now := waiting(t, version, mostOpen+more, driver.Site{})
		check("more than the server takes", m, mostOpen, more)
		if err := m.wake(now, ends(m, 5)); err != nil {
			t.Fatal(err)
		}
		if err := m.wake(now.Add(30*time.Second), []arrival{{rang: true}}); err != nil {
			t.Fatal(err)
		}
		check("when others have ended", m, mostOpen, more-5)
		if at, ok := m.timers.at[fmt.Sprintf("timeout each[%d]@1", mostOpen)]; pauses && (!ok || at.Sub(now).Round(time.Second) != 90*time.Second) {
			t.Errorf("what begins then times out %s after the beginning", at.Sub(now))
		}

		m, _ = waiting(t, version, more, driver.Site{Stays: true})
		check("without a home", m, 0, more)
		if m.run.Status() == engine.Waiting != pauses || !m.looks() {
			t.Errorf("version %d: the run is %s", version, m.run.Status())
		}
		if err := m.wake(now, []arrival{{home: &home{Queue: "here"}}}); err != nil {
			t.Fatal(err)
		}
		check("with a home", m, more, 0)

		m, now = waiting(t, version, 2, driver.Site{})
		m.drain = true
		for key, a := range m.attempts { // as if the other one had ended, and this one had to be made again
			delete(m.attempts, key)
			m.send(a)
			break
		}
		if err := m.wake(now, nil); err != nil {
			t.Fatal(err)
		}
		check("in a long history", m, 1, 1)
		if !m.isQueued() {
			t.Errorf("version %d: who follows the run takes it for idle", version)
		}
	}
}

// A new plan withdraws the claims of the old one. What waits for a worker then, claims one by the new plan.
func TestReplannedClaims(t *testing.T) {
	plan := func(name, id string, sites map[string]driver.Site) *driver.Pin {
		nodes := []workflow.Node{
			{ID: id, Timeout: time.Minute, Step: &workflow.Task{Agent: "test", Prompt: workflow.Template{Text: "x"}}},
			{ID: "other", Step: &workflow.Task{Agent: "test", Prompt: workflow.Template{Text: "x"}}},
		}
		return &driver.Pin{Plan: name, Bundle: &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: nodes}}}, Sites: sites}
	}
	needs := func(program string) driver.Site { return driver.Site{Stays: true, Program: program} }
	here, there := driver.Site{Stays: true, Queue: "here", Program: "codex"}, driver.Site{Stays: true, Queue: "there"}
	first := plan("", "a", map[string]driver.Site{"w/a": needs("claude"), "w/other": {}})
	for name, c := range map[string]struct {
		version int
		plan    *driver.Pin
		want    []string
	}{
		"another step":          {4, plan("2", "b", map[string]driver.Site{"w/b": needs("codex"), "w/other": {}}), []string{"unclaim ", "claim codex"}},
		"the same step":         {4, plan("2", "a", map[string]driver.Site{"w/a": needs("codex"), "w/other": {}}), []string{"unclaim ", "claim codex"}},
		"another label":         {4, plan("2", "a", map[string]driver.Site{"w/a": here, "w/other": there}), []string{"unclaim ", "claim codex"}},
		"it may be anywhere":    {4, plan("2", "a", map[string]driver.Site{"w/a": {}, "w/other": {}}), []string{"unclaim ", "start a"}},
		"nobody says where":     {4, plan("2", "a", nil), []string{"unclaim ", "claim"}},
		"of an earlier version": {3, plan("2", "b", map[string]driver.Site{"w/b": needs("codex"), "w/other": {}}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			now, did := time.Now(), &acts{}
			in := begin{Version: c.version, Run: "w-1", Pin: first, Events: []eventJSON{{engine.Envelope{Time: now, Event: &engine.Started{
				Run: "w-1", Version: engine.Version, Limits: workflow.Limits{Steps: 10, Parallel: 10, Runtime: time.Hour},
			}}}}}
			m, err := newMachine(in, did, nil)
			if err == nil {
				err = m.begin(now, in)
			}
			if err == nil {
				err = m.wake(now, []arrival{{home: &home{late: true}}})
			}
			did.want(t, "claim claude", "start other", "claim claude")
			if err == nil {
				err = m.wake(now, []arrival{{act: &act{Event: eventJSON{engine.Envelope{Event: &engine.Replanned{Plan: "2"}}}, Plan: c.plan}}})
			}
			if err != nil {
				t.Fatal(err)
			}
			did.want(t, c.want...)
			if n := m.bounded(); n > 0 && c.version >= 4 {
				t.Errorf("the timeouts of %d steps pass, which no worker has taken", n)
			}
			if next, err := newMachine(begin{Version: c.version, Run: "w-1", Pin: m.pin, Snapshot: m.run.Snapshot(), Seq: m.run.Seq(), Began: m.began}, did, nil); name == "another step" {
				if err == nil {
					err = next.begin(now, begin{Began: m.began})
				}
				if err != nil {
					t.Error(err)
				}
				did.want(t, "start other", "claim codex")
			}
			for _, a := range slices.Concat(slices.Concat(slices.Collect(maps.Values(m.homeless))...), slices.Collect(maps.Values(m.attempts))) {
				if a.task.Node == "other" || c.plan.Sites == nil {
					continue
				}
				if a.pin != c.plan || a.site != c.plan.Site(a.task) {
					t.Errorf("%s is to be done at %+v", a.task.Address, a.site)
				}
			}
		})
	}
}

// What a run waits for goes by the clock of the server, whatever that of the client shows who starts the run, forks it, or gives it a new plan
// after its end.
func TestClientClock(t *testing.T) {
	plan := func(text string) *driver.Pin {
		ask := func(id string, timeout time.Duration) workflow.Node {
			return workflow.Node{ID: id, Timeout: timeout, Step: &workflow.Human{Question: workflow.Template{Text: text}, Options: []workflow.Option{{Value: "yes"}}}}
		}
		do := func(id string) workflow.Node {
			return workflow.Node{ID: id, Timeout: time.Minute, Step: &workflow.Task{Agent: "test", Prompt: workflow.Template{Text: text}}}
		}
		g := workflow.Graph{
			Nodes: []workflow.Node{do("a"), do("b"), ask("late", time.Minute), ask("open", 24*time.Hour)},
			Edges: []workflow.Edge{{From: "a", To: "b"}, {From: "a", To: "late"}},
		}
		return &driver.Pin{Bundle: &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: g}}}
	}
	pin := plan("x")
	limits := workflow.Limits{Steps: 10, Parallel: 10, Runtime: time.Hour}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, ahead := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
		began := time.Now().Round(0)
		var m *machine
		log := &logged{}
		execute := func(now time.Time, in begin) {
			t.Helper()
			in.Version, in.Run, in.started = flowVersion, "w-1", now
			var err error
			m, err = newMachine(in, log, nil)
			check(err)
			check(m.begin(now.Add(time.Second), in)) // a worker came late
		}
		comes := func(what, id string, want time.Time) {
			t.Helper()
			if at := m.timers.at[id]; at.Sub(want).Abs() > time.Millisecond {
				t.Errorf("%s by a client %s ahead: %s comes %s late", what, ahead, id, at.Sub(want))
			}
		}
		// due checks when things time out, and when events happened.
		due := func(what string, began, opened time.Time, attempt int) {
			t.Helper()
			comes(what, fmt.Sprint("timeout a@", attempt), began.Add(time.Second+time.Minute))
			now := began.Add(2 * time.Second)
			check(m.wake(now, []arrival{{ended: &engine.TaskEnded{Address: "a", Attempt: attempt}}}))
			comes(what, fmt.Sprint("timeout b@", attempt), now.Add(time.Minute))
			comes(what, "answer late", now.Add(time.Minute))
			comes(what, "answer open", opened.Add(24*time.Hour))
			for _, e := range log.events {
				if e.Time.After(now) {
					t.Errorf("%s by a client %s ahead: event %d happens %s later", what, ahead, e.Seq, e.Time.Sub(now))
				}
			}
		}
		execute(began, begin{Pin: pin, Events: []eventJSON{{engine.Envelope{Time: began.Add(ahead), Event: &engine.Started{Run: "w-1", Version: engine.Version, Limits: limits}}}}})
		due("started", began, began, 1)

		now := began.Add(time.Hour)
		forked, err := engine.Fork(pin.Bundle, slices.Clone(log.events), nil, "a", "w-2", limits, now.Add(ahead))
		check(err)
		in := begin{Pin: pin}
		for _, e := range forked {
			in.Events = append(in.Events, eventJSON{e})
		}
		log.events = nil
		execute(now, in)
		due("forked", now, began, 1)

		check(m.wake(now.Add(3*time.Second), []arrival{{ended: &engine.TaskEnded{Address: "b", Attempt: 1}}}))
		for _, id := range []string{"late", "open"} {
			check(m.wake(now.Add(3*time.Second), []arrival{{act: &act{Event: eventJSON{engine.Envelope{Event: &engine.Answered{ID: id, Value: "yes"}}}}}}))
		}
		if !m.over {
			t.Fatal("the run is not over")
		}
		now = began.Add(2 * time.Hour)
		again := plan("y")
		e := m.at(now.Add(ahead), &engine.Replanned{Plan: "2", Bundle: again.Bundle})
		e.Unattended = true
		in = begin{Pin: pin, Plans: []*driver.Pin{again}, Events: []eventJSON{{e}}, Snapshot: m.run.Snapshot(), Seq: m.run.Seq()}
		log.events = nil
		execute(now, in)
		due("a new plan", now, now, 2)
	}
}

// logged notes what a machine has recorded.
type logged struct {
	acts
	events []engine.Envelope
}

func (l *logged) recorded(_ *engine.Run, e engine.Envelope, _ []engine.Command) {
	l.events = append(l.events, e)
}

// A run of an earlier version whose client was ahead ended in the future. When it goes on, its clock does not wait until then.
func TestEndedInTheFuture(t *testing.T) {
	plan := func(text string) *driver.Pin {
		node := workflow.Node{ID: "a", Timeout: time.Minute, Step: &workflow.Task{Agent: "test", Prompt: workflow.Template{Text: text}}}
		return &driver.Pin{Bundle: &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{node}}}}}
	}
	now := time.Now().Round(0)
	execute := func(in begin) *machine {
		t.Helper()
		in.Run, in.started = "w-1", now
		m, err := newMachine(in, &acts{}, nil)
		if err == nil {
			err = m.begin(now, in)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := execute(begin{Version: 3, Pin: plan("x"), Events: []eventJSON{{engine.Envelope{Time: now.Add(time.Hour), Event: &engine.Started{Run: "w-1", Version: engine.Version, Limits: workflow.Limits{Steps: 10, Parallel: 10}}}}}})
	if err := m.wake(now, []arrival{{ended: &engine.TaskEnded{Address: "a", Attempt: 1}}}); err != nil || !m.over {
		t.Fatal(err)
	}
	last, again := m.last, plan("y")
	e := m.at(now, &engine.Replanned{Plan: "2", Bundle: again.Bundle})
	e.Unattended = true
	m = execute(begin{Version: flowVersion, Pin: plan("x"), Plans: []*driver.Pin{again}, Events: []eventJSON{{e}}, Snapshot: m.run.Snapshot(), Seq: m.run.Seq()})
	if at := m.timers.at["timeout a@2"]; at.Sub(now.Add(time.Minute)).Abs() > time.Millisecond {
		t.Errorf("its step times out after %s", at.Sub(now))
	}
	if m.last.Before(last) {
		t.Errorf("it goes on at %s, and ended at %s", m.last, last)
	}
	if err := m.wake(now.Add(time.Minute), []arrival{{rang: true}}); err != nil || !m.stopping[attemptKey{"a", 2}] {
		t.Errorf("it does not time out: %v", err)
	}
}
