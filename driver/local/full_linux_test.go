package local_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// If the disk fills up while an attempt writes output, its log and prompt are lost, but
// not its result.
func TestDiskFullWhileLogging(t *testing.T) {
	s := openStore(t)
	path := filepath.Join(s.Dir(), "logs", "demo-1", "streams.1")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	watch := &recorder{}
	res := start(t, s, chain(task("a", "x")), work{Observer: watch, Agents: agentWith(func(_ context.Context, at driver.Attempt) driver.Outcome {
		at.Keep(driver.Prompt, []byte("all of it"))
		at.Log([]byte("so far\n"))
		return driver.Outcome{Output: "done"}
	})})
	if res.Status != engine.Success || res.Output != "done" {
		t.Errorf("%s: %v, %s", res.Status, res.Output, res.Error)
	}
	seen := strings.Join(watch.seen, "\n")
	for _, part := range []string{"log a@1 so far", "log a@1 [this log is incomplete: "} {
		if !strings.Contains(seen, part) {
			t.Errorf("the observer does not see %q:\n%s", part, seen)
		}
	}
}
