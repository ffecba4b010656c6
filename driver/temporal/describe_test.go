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
	"google.golang.org/grpc"
)

// TestSilentServer: whoever looks at a run learns that the server does not answer, also if it falls silent in between.
func TestSilentServer(t *testing.T) {
	needsServer(t)
	t.Parallel()
	queue, store, begun := newName(), temporal.Folder(t.TempDir()), make(chan struct{})
	o := options(queue, store)
	d := open(t, o)
	joins(t, d, driver.Worker{Name: "one"}, func(ctx context.Context, _ *engine.StartTask, _ driver.Attempt) driver.Outcome {
		close(begun)
		<-ctx.Done()
		return driver.Outcome{}
	})
	begin(t, d, chain(task("n1")))
	<-begun
	var descriptions atomic.Int32
	o.Now = func() time.Time { return time.Now().Add(time.Minute) } // so the worker seems to be silent
	o.Client.ConnectionOptions.DialOptions = []grpc.DialOption{grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if strings.HasSuffix(method, "/DescribeWorkflowExecution") && descriptions.Add(1) > 2 { // one for the facts, one for what the run lacks
			<-ctx.Done()
			return ctx.Err()
		}
		return invoke(ctx, method, req, reply, conn, options...)
	})}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if i, err := open(t, o).Info(ctx, "run-1"); err != nil || !strings.HasSuffix(i.Stalled, "does not answer") {
		t.Errorf("after %d descriptions, it lacks %q, %v", descriptions.Load(), i.Stalled, err)
	}
}
