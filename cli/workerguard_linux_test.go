package cli_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The guard of a worker waits until the worker has gone, and then ends the programs that it left.
func TestWorkerGuard(t *testing.T) {
	const worker = "987654321" // no process has this id
	left := exec.Command("sleep", "1000")
	left.Env = append(os.Environ(), "HOCKET_OWNER="+worker, "HOCKET_KEY=run/step@1")
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- left.Wait() }()
	t.Cleanup(func() { _ = left.Process.Kill() })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	guard := exec.Command(self, "worker", "guard", worker)
	guard.Env = append(os.Environ(), asHocket+"=1")
	var says strings.Builder
	guard.Stderr = &says
	gone, err := guard.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
		t.Error("the guard did not wait")
	case <-time.After(200 * time.Millisecond):
	}
	gone.Close()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the guard ended nothing")
	}
	if err := guard.Wait(); err != nil {
		t.Errorf("%v: %s", err, says.String())
	}
}
