package temporal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/drivertest"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	"go.temporal.io/sdk/client"
)

// TestWorkers runs the suite with workers: a process that drives a run is a worker of the project, and follows
// the run as any client does.
func TestWorkers(t *testing.T) {
	if address == "" {
		t.Skip("HOCKET_TEMPORAL names no directory with the program temporal; make temporal builds it")
	}
	drivertest.Run(t, func(t testing.TB) drivertest.World {
		return workersWorld{newWorld(t), &works{of: map[string]driver.Work{}, first: map[string]string{}}}
	})
}

type workersWorld struct {
	world
	works *works
}

// works is what the runs of a world are driven with, as files of a project would say.
type works struct {
	mu    sync.Mutex
	of    map[string]driver.Work
	first map[string]string // digests of the workflows that runs were started with
}

// resolve returns what a process drives a run with; if it does not, then what another one does.
func (p workersProcess) resolve(_ context.Context, run string, pin *driver.Pin) (driver.Work, func(), error) {
	w := p.works
	w.mu.Lock()
	defer w.mu.Unlock()
	work, ok := w.of[p.name()+run]
	if !ok {
		work, ok = w.of[run]
	}
	if !ok {
		return driver.Work{}, nil, errors.New("this machine does not have what the run needs")
	}
	if work.Replan != nil && workflow.Digest(pin.Bundle.Root) != w.first[run] {
		now, err := work.Replan(pin)
		if err != nil {
			return driver.Work{}, nil, err
		}
		work.Agents, work.Scripted, work.ScriptAll = now.Agents, now.Scripted, now.ScriptAll
	}
	work.Asker, work.Observer, work.Elsewhere = nil, nil, work.Elsewhere || work.Asker != nil
	return work, func() {}, nil
}

func (w workersWorld) Driver(t testing.TB, now func() time.Time) drivertest.Process {
	d, err := temporal.Open(temporal.Options{
		Client: client.Options{HostPort: w.proxy.address, Logger: quiet}, Queue: w.queue, Store: temporal.Folder(w.dir), Workers: true,
		Heartbeat: 1500 * time.Millisecond, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return workersProcess{process{d}, w.works}
}

type workersProcess struct {
	process
	works *works
}

func (p workersProcess) name() string { return fmt.Sprintf("w%p", p.Driver) }

// Start says that the run has a script, as it may have.
func (p workersProcess) Start(ctx context.Context, spec driver.Spec) (driver.Created, error) {
	pin := *spec.Pin
	pin.Replies = json.RawMessage("{}")
	spec.Pin = &pin
	return p.Driver.Start(ctx, spec)
}

// Drive works, and follows the run. A worker answers from the script, so the client waits a moment for that.
func (p workersProcess) Drive(ctx context.Context, run string, w driver.Work) (engine.Result, error) {
	pin, err := p.FirstPin(ctx, run)
	if err != nil {
		return p.Driver.Drive(ctx, run, w)
	}
	p.works.mu.Lock()
	p.works.of[run], p.works.of[p.name()+run], p.works.first[run] = w, w, workflow.Digest(pin.Bundle.Root)
	p.works.mu.Unlock()
	working, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- p.Work(working, driver.Worker{Name: p.name(), Resolve: p.resolve}, w.Leave)
	}()
	defer func() {
		select {
		case <-w.Leave: // attempts may end
		default:
			stop()
		}
		<-ended
		stop()
	}()
	scripted := w.Script != nil
	w.Script = nil
	res, err := p.Driver.Drive(ctx, run, w)
	if scripted && err == nil && res.Status == engine.Waiting {
		time.Sleep(2 * time.Second)
		res, err = p.Driver.Drive(ctx, run, w)
	}
	return res, err
}
