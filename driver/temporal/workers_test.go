package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/drivertest"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	"go.temporal.io/sdk/client"
)

// TestWorkers runs the suite with workers: a process that drives a run is a worker of the project, and follows
// the run as any client does.
func TestWorkers(t *testing.T) {
	if address == "" {
		t.Skip("HOCKET_TEMPORAL names no directory with the program temporal; make temporal builds it")
	}
	drivertest.Run(t, func(t testing.TB) drivertest.World {
		return workersWorld{world{fmt.Sprintf("v%d", worlds.Add(1)), t.TempDir()}, &works{of: map[string]driver.Work{}}}
	})
}

type workersWorld struct {
	world
	works *works
}

// works is what the runs of a world are driven with, as files of a project would say.
type works struct {
	mu sync.Mutex
	of map[string]driver.Work
}

func (w *works) resolve(_ context.Context, run string, pin *driver.Pin) (driver.Work, func(), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	work, ok := w.of[run]
	if !ok {
		return driver.Work{}, nil, errors.New("this machine does not have what the run needs")
	}
	if work.Replan != nil && work.Pin != nil && pin.Bundle != work.Pin.Bundle {
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
		Client: client.Options{HostPort: address, Logger: quiet}, Queue: w.queue, Store: temporal.Folder(w.dir), Workers: true,
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

func (p workersProcess) Drive(ctx context.Context, run string, w driver.Work) (engine.Result, error) {
	p.works.mu.Lock()
	p.works.of[run] = w
	p.works.mu.Unlock()
	working, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Work(working, driver.Worker{Name: fmt.Sprintf("w%p", p.Driver), Resolve: p.works.resolve}, nil) }()
	defer func() {
		stop()
		<-ended
	}()
	return p.Driver.Drive(ctx, run, w)
}
