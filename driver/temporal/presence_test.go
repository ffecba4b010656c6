package temporal_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// listed returns the workers that are there.
func listed(t *testing.T, d *temporal.Driver) string {
	all := d.Examine(t.Context())
	return all[slices.IndexFunc(all, func(f driver.Finding) bool { return f.What == "workers" })].Found
}

// employ begins to work, and returns when the worker is ready.
func employ(t *testing.T, d *temporal.Driver, w driver.Worker, a agent, leave <-chan struct{}) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	w.Ready = func([]string) { close(ready) }
	w.Resolve = func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
		return driver.Work{Agents: a, Elsewhere: true}, func() {}, nil
	}
	go func() { ended <- d.Work(ctx, w, leave) }()
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

// wanted waits until the workers that are there are as wanted.
func wanted(t *testing.T, d *temporal.Driver, want string) {
	t.Helper()
	for began := time.Now(); listed(t, d) != want; time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("workers: %s, want %s", listed(t, d), want)
		}
	}
}

// TestPresence: who works is known by name, and a worker that has ended is not there any more, although the server
// still lists it. One that starts removes what others have left that were killed long ago, and warns about one with its name
// that is elsewhere.
func TestPresence(t *testing.T) {
	needsServer(t)
	t.Parallel()
	store := temporal.Folder(t.TempDir())
	o := options(newName(), store)
	d := open(t, o)
	for key, renewed := range map[string]time.Time{"killed": time.Now().Add(-25 * time.Hour), "new": time.Now()} {
		text := fmt.Sprintf(`{"name": "w0", "place": "vm:/z", "renewed": %q}`, renewed.Format(time.RFC3339))
		if err := store.Put(t.Context(), "workers/"+key, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	stop := employ(t, d, driver.Worker{Name: "w1", Place: "vm:/a"}, echo, nil)
	stopGPU := employ(t, d, driver.Worker{Name: "g1", Place: "vm:/b", Queues: []string{"gpu"}}, echo, nil)
	wanted(t, d, "g1 (gpu), w1 on the queue "+o.Queue)
	if keys, err := store.List(t.Context(), "workers"); err != nil || len(keys) != 3 || !slices.Contains(keys, "workers/new") {
		t.Errorf("%v %v, want 2 workers and one that is about to begin", keys, err)
	}
	var warned []string
	warn := func(text string) { warned = append(warned, text) }
	employ(t, d, driver.Worker{Name: "w1", Place: "vm:/a", Warn: warn}, echo, nil)()
	if len(warned) > 0 {
		t.Errorf("warned about a worker with the same files: %q", warned)
	}
	employ(t, d, driver.Worker{Name: "w1", Place: "vm:/c", Warn: warn}, echo, nil)()
	if len(warned) != 1 || !strings.Contains(warned[0], "another worker has the name w1, in vm:/a") {
		t.Errorf("warned %q", warned)
	}
	stop()
	if found, want := listed(t, d), "g1 (gpu) on the queue "+o.Queue; found != want {
		t.Errorf("workers: %s, want %s", found, want)
	}
	stopGPU()
	if found := listed(t, d); !strings.HasPrefix(found, "none serves the queue") {
		t.Errorf("workers: %s", found)
	}
}

// TestPresenceTogether: workers that start in one directory at the same time have the same name, and all of them are there.
func TestPresenceTogether(t *testing.T) {
	needsServer(t)
	t.Parallel()
	const n = 3
	for range 3 {
		o := options(newName(), temporal.Folder(t.TempDir()))
		d := open(t, o)
		var all sync.WaitGroup
		for range n {
			all.Go(func() { employ(t, d, driver.Worker{Name: "w1", Place: "vm:/a"}, echo, nil) })
		}
		all.Wait()
		wanted(t, d, strings.TrimSuffix(strings.Repeat("w1, ", n), ", ")+" on the queue "+o.Queue)
	}
}

// TestPresenceOfMany: all workers are there as soon as they have begun, although the server divides a queue into partitions, and each
// worker asks some of them. One that does not tell the partitions is asked for the first.
func TestPresenceOfMany(t *testing.T) {
	needsServer(t)
	t.Parallel()
	const n = 12
	o := options(newName(), temporal.Folder(t.TempDir()))
	d := open(t, o)
	var all sync.WaitGroup
	for range n {
		all.Go(func() { employ(t, d, driver.Worker{Name: "w", Place: "vm:/a"}, echo, nil) })
	}
	all.Wait()
	wanted(t, d, strings.TrimSuffix(strings.Repeat("w, ", n), ", ")+" on the queue "+o.Queue)
	for code, whole := range map[codes.Code]bool{codes.Unimplemented: true, codes.PermissionDenied: true, codes.Unavailable: false} {
		o.Client.ConnectionOptions.DialOptions = []grpc.DialOption{grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			if strings.HasSuffix(method, "/ListTaskQueuePartitions") {
				return status.Error(code, "no")
			}
			return invoke(ctx, method, req, reply, conn, options...)
		})}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		found := open(t, o).Examine(ctx)
		cancel()
		if f := found[slices.IndexFunc(found, func(f driver.Finding) bool { return f.What == "workers" })]; f.Broken == whole {
			t.Errorf("%s: %+v", code, f)
		}
	}
}

// TestPresenceOfABusyWorker: a worker that makes as many attempts as it may does not ask for more, but it is there, also for
// clients whose clock is wrong by a minute, and for another worker with its name. When it leaves, it serves no queue any more.
func TestPresenceOfABusyWorker(t *testing.T) {
	needsServer(t)
	t.Parallel()
	o := options(newName(), temporal.Folder(t.TempDir()))
	d := open(t, o)
	start := func(run string) {
		spec := inOrder(step("a"))
		spec.Run, spec.Pin.Sites = run, map[string]driver.Site{"steps/a": {Queue: "gpu"}}
		if _, err := d.Start(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	start("run-1")
	busy := agent(func(ctx context.Context, _ *engine.StartTask, _ driver.Attempt) driver.Outcome {
		<-ctx.Done()
		return driver.Outcome{}
	})
	leave := make(chan struct{})
	stop := employ(t, d, driver.Worker{Name: "g1", Place: "vm:/a", Most: 1, Queues: []string{"gpu"}}, busy, leave)
	time.Sleep(75 * time.Second) // it has asked for no attempts for more than a minute
	start("run-2")
	time.Sleep(2 * time.Second) // its step waits
	for _, ahead := range []time.Duration{time.Minute, -time.Minute, 0} {
		wrong := o
		wrong.Now = func() time.Time { return time.Now().Add(ahead) }
		client := open(t, wrong)
		if found, want := listed(t, client), "g1 (gpu) on the queue "+o.Queue; found != want {
			t.Errorf("%s ahead: workers: %s, want %s", ahead, found, want)
		}
		if i, err := client.Info(t.Context(), "run-2"); err != nil || i.Stalled != "" || !i.Driven {
			t.Errorf("%s ahead: driven %t, lacks %q, %v", ahead, i.Driven, i.Stalled, err)
		}
	}
	var warned []string
	employ(t, d, driver.Worker{Name: "g1", Place: "vm:/b", Warn: func(text string) { warned = append(warned, text) }}, echo, nil)()
	if len(warned) != 1 || !strings.Contains(warned[0], "another worker has the name g1, in vm:/a") {
		t.Errorf("warned %q", warned)
	}
	close(leave)
	wanted(t, d, "g1 (gpu, stopping) on the queue "+o.Queue)
	if i, err := d.Info(t.Context(), "run-2"); err != nil || !strings.HasPrefix(i.Stalled, "no worker serves the queue gpu") {
		t.Errorf("it lacks %q, %v", i.Stalled, err)
	}
	stop()
}
