package local_test

import (
	"context"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/driver/drivertest"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

func TestConformance(t *testing.T) {
	drivertest.Run(t, func(t testing.TB) drivertest.World { return world{t.TempDir()} })
}

// world keeps its runs in a directory.
type world struct{ dir string }

func (w world) Driver(t testing.TB, a drivertest.Agent) drivertest.Driver {
	store, err := journal.Open(w.dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &process{store: store, o: local.Options{Agents: agents(a)}}
	t.Cleanup(d.Kill)
	return d
}

// process is a driver with a journal of its own, as a process would have.
type process struct {
	store *journal.Store
	o     local.Options
	once  sync.Once
}

// agents are all one agent.
type agents drivertest.Agent

func (a agents) Run(ctx context.Context, _ string, task *engine.StartTask, _ local.Attempt) local.Outcome {
	return local.Outcome(a(ctx, task))
}

func (p *process) Start(ctx context.Context, s drivertest.Start) (engine.Result, error) {
	spec := local.Spec{Run: s.Run, Pin: &journal.Pin{Bundle: s.Bundle}, Inputs: s.Inputs, Limits: s.Limits, Tasks: s.Tasks}
	return local.Start(ctx, p.store, spec, p.o)
}

func (p *process) Resume(ctx context.Context, run string) (engine.Result, error) {
	return local.Resume(ctx, p.store, run, p.o)
}

func (p *process) Answer(ctx context.Context, run, address, value string) error {
	_, err := local.Answer(ctx, p.store, run, address, value, "ann")
	return err
}

func (p *process) Cancel(ctx context.Context, run, reason string) error {
	_, err := local.Cancel(ctx, p.store, run, "", reason)
	return err
}

func (p *process) Raise(ctx context.Context, run string, limits workflow.Limits) error {
	_, err := local.Raise(ctx, p.store, run, limits, "ann")
	return err
}

func (p *process) Events(ctx context.Context, run string) ([]engine.Envelope, error) {
	_, events, err := local.Load(ctx, p.store, run)
	return events, err
}

// Kill closes the journal under the driver: it can record nothing more, which is
// all that others see of a process that is gone.
func (p *process) Kill() { p.once.Do(func() { p.store.Close() }) }
