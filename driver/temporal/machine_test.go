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
func (a *acts) claim(claim)                    { a.add("claim") }
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
