package temporal

import (
	"fmt"
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
