package temporal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
)

// TestMissingServer: a worker says once that the server does not answer, and once that it answers again.
func TestMissingServer(t *testing.T) {
	needsServer(t)
	t.Parallel()
	network := startProxy(t, address)
	o := options(newName(), temporal.Folder(t.TempDir()))
	o.Client.HostPort = network.address
	told := make(chan string, 100)
	employ(t, open(t, o), driver.Worker{Name: "w1", Stalled: func(why string) { told <- why }}, echo, nil)
	for range 2 {
		network.cut()
		says(t, told, "the Temporal server at "+network.address+" does not answer")
		time.Sleep(2 * o.Heartbeat) // it says nothing more
		network.join()
		says(t, told, "")
	}
	time.Sleep(o.Heartbeat)
	if len(told) > 0 {
		t.Errorf("it also says %q", strings.TrimSpace(<-told))
	}
}

// says waits for what a worker tells people.
func says(t *testing.T, told <-chan string, want string) {
	t.Helper()
	select {
	case got := <-told:
		if got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("it does not say %q", want)
	}
}
