package temporal_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
)

// filling is a store that is full at times.
type filling struct {
	temporal.Store
	full atomic.Bool
}

var errFull = errors.New("no space left on device")

func (f *filling) Put(ctx context.Context, key string, value []byte) error {
	if f.full.Load() && !strings.HasPrefix(key, "workers/") {
		return errFull
	}
	return f.Store.Put(ctx, key, value)
}

// TestFullStore has a store that is full when a step ends. What the step has done is not lost and not repeated, people are told what it waits
// for, and as long as nothing can be stored, no other step begins.
func TestFullStore(t *testing.T) {
	needsServer(t)
	for name, c := range map[string]struct {
		patient bool // there is space in time
		want    string
	}{
		"in time":  {patient: true},
		"too late": {want: "a: some of what it printed could not be stored: no space left on device"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(newName(), temporal.Folder(t.TempDir()))
			d := open(t, o)
			store := &filling{Store: o.Store}
			o.Store, o.Heartbeat = store, 500*time.Millisecond
			begin(t, d, chain(task("a"), task("b")))
			var made atomic.Int32
			prints := agent(func(_ context.Context, task *engine.StartTask, at driver.Attempt) driver.Outcome {
				made.Add(1)
				at.Log([]byte("line of " + task.Address + "\n"))
				store.full.Store(task.Address == "a")
				return driver.Outcome{Output: task.Address}
			})
			w := driver.Worker{Name: "desk", Resolve: func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
				return driver.Work{Agents: prints}, func() {}, nil
			}}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- open(t, o).Work(ctx, w, nil) }()
			stalled(t, d, "step a has ended, but what it printed cannot be stored: no space left on device")
			if !c.patient {
				stalled(t, d, "no worker takes step b: worker desk cannot store what a step prints: no space left on device")
			}
			store.full.Store(false)
			late, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			res, err := d.Drive(late, "run-1", driver.Work{})
			if err != nil || res.Status != engine.Success || strings.Join(res.Warnings, "; ") != c.want {
				t.Errorf("%s, warnings %q, %v", res.Status, res.Warnings, err)
			}
			if n := made.Load(); n != 2 {
				t.Errorf("%d attempts", n)
			}
			var text strings.Builder
			for p, err := range d.Read(t.Context(), driver.AttemptID{Run: "run-1", Address: "a", Attempt: 1}, driver.Output, 0, false) {
				if err != nil {
					t.Fatal(err)
				}
				text.Write(p.Text)
			}
			if want := map[bool]string{true: "line of a\n"}[c.patient]; text.String() != want {
				t.Errorf("%q", text.String())
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// stalled waits until people are told that the run waits for something.
func stalled(t *testing.T, d *temporal.Driver, want string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		i, err := d.Info(t.Context(), "run-1")
		if err == nil && i.Stalled == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("stalled %q, %v", i.Stalled, err)
		}
	}
}
