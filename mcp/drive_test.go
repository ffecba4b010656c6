package mcp

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// A run that needs a new plan is not only one to be stopped.
func TestQuestionAboutThePlan(t *testing.T) {
	q := hocket.Question{Run: "r1"}
	q.Question = engine.Question{ID: "build", Kind: engine.ReplanQuestion, Options: []workflow.Option{{Value: "stop"}}}
	got := (&server{}).question(q)
	if len(got.Answered) != 1 || got.Answered[0] != "hocket answer r1 build stop --resume" || got.Replan != `hocket replan r1 "WORDS" --resume` {
		t.Errorf("%+v", got)
	}
}

// A client learns what its run waits for.
func TestStalled(t *testing.T) {
	state := &hocket.State{Info: hocket.Info{Status: engine.Running, Workers: true, Stalled: "no worker takes step a"}}
	o := (&server{}).outcomeOf(t.Context(), &hocket.Run{Notes: []string{"it costs money"}}, state)
	if want := []string{"it costs money", "no worker takes step a"}; !slices.Equal(o.Notes, want) {
		t.Errorf("%q", o.Notes)
	}
}

// Two answers at the same time both have the run driven; neither finds that the other one holds it.
// Nothing is remembered about a run that has ended.
func TestDrivenTwice(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir, begun, release := t.TempDir(), make(chan struct{}), make(chan struct{})
	work := func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		close(begun)
		<-release
		return agent.Result{Output: "done"}, nil
	}
	p, err := hocket.Open(dir, hocket.Options{State: filepath.Join(dir, ".state"), Agents: map[string]agent.Executor{"slow": agent.Func(work)}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w, err := p.LoadText("one.yml", []byte("name: one\nsteps:\n  - id: a\n    agent: slow\n"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := p.Record(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t.Context(), p, Options{})
	s.refuse(&hocket.Question{Run: run.ID()}, "no")
	s.refuse(&hocket.Question{Run: "other"}, "no")
	s.drive(p, run)
	<-begun
	first := s.driven(run.ID())
	s.drive(p, run)
	second := s.driven(run.ID())
	close(release)
	s.driving.Wait()
	if first == second || first.err != nil || second.err != nil {
		t.Errorf("%v, %v", first.err, second.err)
	}
	if len(s.drives) != 0 || len(s.forms) != 1 {
		t.Errorf("it remembers %v, %v", s.drives, s.forms)
	}
}

// What the server does with runs does not wait while it reads files.
func TestRefreshBlocksNothing(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	p, err := hocket.Open(dir, hocket.Options{State: filepath.Join(dir, ".state")})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s := newServer(t.Context(), p, Options{})
	s.mu.Lock()
	defer s.mu.Unlock()
	done := make(chan struct{})
	go func() { s.refresh(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("it holds the lock of runs while it reads files")
	}
}
