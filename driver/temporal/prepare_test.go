package temporal_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver/temporal"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
)

// TestPrepare: a namespace without the search attributes is refused, with the command that adds them. Prepare may be
// repeated. The store belongs to the namespace that is used first, and not to one that was refused.
func TestPrepare(t *testing.T) {
	needsServer(t)
	o := options("prepare", temporal.Folder(t.TempDir()))
	o.Client.Namespace = "bare"
	c, err := client.NewNamespaceClient(o.Client)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	wrong := o
	wrong.Client.Namespace = "missing"
	if _, err := temporal.Open(wrong); err == nil {
		t.Error("the namespace does not exist")
	}
	if err := c.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{Namespace: "bare", WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) { // the server does not know a new namespace at once
		_, err := temporal.Open(o)
		if err != nil && strings.Contains(err.Error(), "lacks the search attributes") && strings.Contains(err.Error(), "`hocket migrate`") {
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("it is not prepared: %v", err)
		}
	}
	for range 2 {
		if err := temporal.Prepare(t.Context(), o.Client); err != nil {
			t.Fatal(err)
		}
	}
	open(t, o)
	for _, other := range []struct{ namespace, queue string }{{"default", "prepare"}, {"bare", "other"}} {
		o.Client.Namespace, o.Queue = other.namespace, other.queue
		_, err := temporal.Open(o)
		if err == nil || !strings.Contains(err.Error(), `belongs to the queue "prepare" in the namespace "bare"`) {
			t.Errorf("%v may use the store of another project: %v", other, err)
		}
	}
}

// A server that does not answer is reported as when a run starts.
func TestPrepareWithoutAServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	err = temporal.Prepare(t.Context(), client.Options{HostPort: address, Logger: quiet})
	var e *temporal.UnreachableError
	if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "cannot reach the Temporal server at "+address+": ") || strings.Contains(err.Error(), "rpc error") {
		t.Errorf("%v", err)
	}
}
