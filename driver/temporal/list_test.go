package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/workflow"
	"google.golang.org/grpc"
)

// Two processes may delete the same run: each of them returns, and the run is gone.
func TestDeletedTwice(t *testing.T) {
	needsServer(t)
	t.Parallel()
	o := options(newName(), temporal.Folder(t.TempDir()))
	one, two := open(t, o), open(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wait sync.WaitGroup
	for i := range 30 {
		run := fmt.Sprint("run-", i)
		if _, err := one.Start(ctx, driver.Spec{Run: run, Pin: &driver.Pin{Bundle: chain(task("a"))}, Limits: workflow.Limits{Steps: 10, Parallel: 1}}); err != nil {
			t.Fatal(err)
		}
		for k, d := range []*temporal.Driver{one, two} {
			wait.Go(func() {
				time.Sleep(time.Duration(k*i*5) * time.Millisecond) // so that one of them begins while the other one is busy
				if err := d.Delete(ctx, run); err != nil && !errors.As(err, new(*driver.UnknownRunError)) {
					t.Errorf("delete %s: %v", run, err)
				}
			})
		}
	}
	wait.Wait()
	if runs, err := one.Runs(ctx, driver.Filter{}); err != nil || len(runs) > 0 {
		t.Errorf("%d runs are left, %v", len(runs), err)
	}
}

// Many watchers of a driver ask the server as often as one of them.
func TestWatchers(t *testing.T) {
	needsServer(t)
	t.Parallel()
	var lists atomic.Int32
	o := options(newName(), temporal.Folder(t.TempDir()))
	o.Client.ConnectionOptions.DialOptions = []grpc.DialOption{grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if strings.HasSuffix(method, "/ListWorkflowExecutions") {
			lists.Add(1)
		}
		return invoke(ctx, method, req, reply, conn, options...)
	})}
	d := open(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	begin(t, d, chain(task("a")))
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			appeared := 0
			for c, err := range d.Watch(ctx, 0) {
				if err != nil {
					t.Error(err)
				}
				if c.Run == "run-1" && c.Kind == driver.Appeared {
					appeared++
				}
			}
			if appeared != 1 {
				t.Errorf("the run appeared %d times", appeared)
			}
		})
	}
	wait.Wait()
	if n := lists.Load(); n < 3 || n > 16 {
		t.Errorf("%d lists", n)
	}
}
