package cli_test

import (
	"bytes"
	"strings"
	"testing"

	host "github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli"
)

// The id of a run, which another program can choose, does not control the terminal.
func TestShowHostileID(t *testing.T) {
	dir, p, w := opened(t, "name: gate\nsteps: [{id: ok, human: {question: Go}}]\n")
	if _, err := p.Record(t.Context(), w, nil, host.WithRun("gate-\x1b[2J")); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := cli.Main([]string{"-C", dir, "show", "gate-"}, cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &errs})
	if text := out.String() + errs.String(); code != 0 || !strings.Contains(text, "gate-") || strings.Contains(text, "\x1b") {
		t.Errorf("exit code %d: %q", code, text)
	}
}
