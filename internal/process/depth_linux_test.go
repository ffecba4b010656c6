package process_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/internal/process"
)

// What a marked process starts is marked, whatever it does to its environment and its parents, and
// each program that marks adds one.
func TestMark(t *testing.T) {
	if os.Getenv("HOCKET_TEST_MARK") == "" {
		if process.Depth() > 0 {
			t.Skip("the tests run in an attempt")
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestMark$", "-test.v") // marking cannot be undone
		cmd.Env = append(os.Environ(), "HOCKET_TEST_MARK=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	process.Mark()
	if process.Depth() != 0 {
		t.Error("the process that marks is not marked itself")
	}
	run := func(script string) string {
		t.Helper()
		var out bytes.Buffer
		c := process.Command{Cmd: exec.Command("sh", "-c", script)}
		err := c.Run(process.WithState(context.Background(), "/state"), "", func(p []byte) error { out.Write(p); return nil }, func([]byte) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out.String())
	}
	if got := run("echo $HOCKET_DEPTH $HOCKET_STATE"); got != "1 /state" {
		t.Errorf("%q", got)
	}
	const limit = `grep locks /proc/self/limits | tr -s " " | cut -d" " -f5`
	mark := run(limit)
	if mark == "unlimited" || run("env -i PATH=$PATH setsid -w sh -c '"+limit+"'") != mark {
		t.Error(mark)
	}
	if got := run("ulimit -Hx unlimited 2>/dev/null; ulimit -x unlimited 2>/dev/null; " + limit); got != mark && os.Geteuid() != 0 {
		t.Errorf("removed: %s", got)
	}
	if process.Depth() != 0 {
		t.Error("it does not change afterwards")
	}
}
