package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	host "github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/server"
)

// opened returns a new project with one workflow.
func opened(t *testing.T, text string) (dir string, p *host.Project, w *host.Workflow) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, ".state"))
	file := filepath.Join(dir, "workflow.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := host.Open(dir, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if w, err = p.Load(file); err != nil {
		t.Fatal(err)
	}
	return dir, p, w
}

// After an answer, a person reads what continues the run: a server, if the run was started there.
func TestWhatContinuesARun(t *testing.T) {
	dir, p, w := opened(t, "name: gate\nsteps: [{id: ok, human: {question: Go}}, {id: then, human: {question: Go on}}]\n")
	for _, c := range []struct {
		labels map[string]string
		want   string
	}{
		{nil, "to continue: hocket -C " + dir + " resume "},
		{map[string]string{server.ServedLabel: "yes"}, "`hocket serve` continues the run; without it: hocket -C " + dir + " resume "},
	} {
		run, err := p.Start(t.Context(), w, nil, host.WithLabels(c.labels))
		if err != nil {
			t.Fatal(err)
		}
		if res, err := run.Wait(t.Context()); err != nil || res.Status != engine.Waiting {
			t.Fatal(res.Status, err)
		}
		var out, errs bytes.Buffer
		code := cli.Main([]string{"-C", dir, "answer", run.ID(), "ok", "yes"}, cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &errs})
		if want := "\n" + c.want + run.ID() + "\n"; code != 0 || !strings.HasSuffix(errs.String(), want) {
			t.Errorf("labels %v: exit code %d\n%s%s\nwant %s", c.labels, code, &out, &errs, want)
		}
	}
}
