package temporal_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
)

// lists counts how often keys are listed.
type lists struct {
	temporal.Store
	n atomic.Int32
}

func (l *lists) List(ctx context.Context, folder string) ([]string, error) {
	l.n.Add(1)
	return l.Store.List(ctx, folder)
}

// Who follows what an attempt prints reads each part once, and does not list all of them again and again.
func TestFollowedLog(t *testing.T) {
	needsServer(t)
	t.Parallel()
	o := options(newName(), temporal.Folder(t.TempDir()))
	d := open(t, o)
	counted := &lists{Store: o.Store}
	o.Store = counted
	reader := open(t, o)
	begin(t, d, chain(task("a")))
	begun := make(chan struct{})
	prints := agent(func(_ context.Context, _ *engine.StartTask, at driver.Attempt) driver.Outcome {
		for i := range 30 {
			at.Log([]byte("line\n"))
			if i == 1 {
				close(begun)
			}
			time.Sleep(200 * time.Millisecond)
		}
		return driver.Outcome{}
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- d.Work(ctx, driver.Worker{Name: newName(), Resolve: func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
			return driver.Work{Agents: prints}, func() {}, nil
		}}, nil)
	}()
	<-begun
	var text strings.Builder
	for p, err := range reader.Read(t.Context(), driver.AttemptID{Run: "run-1", Address: "a", Attempt: 1}, driver.Output, 0, true) {
		if err != nil || p.At != int64(text.Len()) {
			t.Fatalf("at %d: %d, %v", text.Len(), p.At, err)
		}
		text.Write(p.Text)
	}
	if want := strings.Repeat("line\n", 30); text.String() != want {
		t.Errorf("%q", text.String())
	}
	if n := counted.n.Load(); n > 2 {
		t.Errorf("%d lists", n)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
