package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	host "github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli"
)

// The id of a run, which another program can choose, does not control the terminal.
func TestShowHostileID(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, ".state"))
	file := filepath.Join(dir, "gate.yml")
	if err := os.WriteFile(file, []byte("name: gate\nsteps: [{id: ok, human: {question: Go}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := host.Open(dir, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w, err := p.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Record(t.Context(), w, nil, host.WithRun("gate-\x1b[2J")); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := cli.Main([]string{"-C", dir, "show", "gate-"}, cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &errs})
	if text := out.String() + errs.String(); code != 0 || !strings.Contains(text, "gate-") || strings.Contains(text, "\x1b") {
		t.Errorf("exit code %d: %q", code, text)
	}
}
