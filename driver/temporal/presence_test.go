package temporal_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
)

// TestPresence: who works is known by name, and a worker that has ended is not there any more, although the server
// still lists it. One that starts removes what a killed one with its name has left, and warns about one that is elsewhere.
func TestPresence(t *testing.T) {
	needsServer(t)
	t.Parallel()
	store := temporal.Folder(t.TempDir())
	o := options(newName(), store)
	d := open(t, o)
	work := func(w driver.Worker) (stop func()) {
		ctx, cancel := context.WithCancel(context.Background())
		ready, ended := make(chan struct{}), make(chan error, 1)
		w.Ready = func([]string) { close(ready) }
		w.Resolve = func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
			return driver.Work{Agents: agent(echo)}, func() {}, nil
		}
		go func() { ended <- d.Work(ctx, w, nil) }()
		stop = sync.OnceFunc(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(stop)
		select {
		case <-ready:
		case <-time.After(time.Minute):
			t.Fatal("a worker does not begin")
		}
		return stop
	}
	workers := func() string {
		all := d.Examine(t.Context())
		return all[slices.IndexFunc(all, func(f driver.Finding) bool { return f.What == "workers" })].Found
	}
	wait := func(want string) {
		t.Helper()
		for began := time.Now(); workers() != want; time.Sleep(100 * time.Millisecond) {
			if time.Since(began) > 20*time.Second {
				t.Fatalf("workers: %s, want %s", workers(), want)
			}
		}
	}
	if err := store.Put(t.Context(), "workers/killed", []byte(`{"name": "w1", "place": "vm:/a"}`)); err != nil {
		t.Fatal(err)
	}
	stop := work(driver.Worker{Name: "w1", Place: "vm:/a"})
	stopGPU := work(driver.Worker{Name: "g1", Place: "vm:/b", Queues: []string{"gpu"}})
	wait("g1 (gpu), w1 on the queue " + o.Queue)
	if keys, err := store.List(t.Context(), "workers"); err != nil || len(keys) != 2 {
		t.Errorf("%v %v, want 2 workers", keys, err)
	}
	var warned []string
	warn := func(text string) { warned = append(warned, text) }
	work(driver.Worker{Name: "w1", Place: "vm:/a", Warn: warn})()
	if len(warned) > 0 {
		t.Errorf("warned about a worker with the same files: %q", warned)
	}
	work(driver.Worker{Name: "w1", Place: "vm:/c", Warn: warn})()
	if len(warned) != 1 || !strings.Contains(warned[0], "another worker has the name w1, in vm:/a") {
		t.Errorf("warned %q", warned)
	}
	stop()
	if found, want := workers(), "g1 (gpu) on the queue "+o.Queue; found != want {
		t.Errorf("workers: %s, want %s", found, want)
	}
	stopGPU()
	if found := workers(); !strings.HasPrefix(found, "none serves the queue") {
		t.Errorf("workers: %s", found)
	}
}
