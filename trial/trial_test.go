package trial_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/trial"
)

// project creates a project from files, which are separated as in a txtar archive.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// run runs all tests of a project.
func run(t testing.TB, root string, o trial.Options) []*trial.Outcome {
	t.Helper()
	var cases []*trial.Case
	files, wrong, err := trial.ReadAll(root, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if wrong[f].Errors() {
			t.Fatal(wrong[f])
		}
		cases = append(cases, f.Cases...)
	}
	o.Parallel = max(1, o.Parallel)
	var all []*trial.Outcome
	if err := trial.Run(t.Context(), root, cases, o, func(out *trial.Outcome) { all = append(all, out) }); err != nil {
		t.Fatal(err)
	}
	return all
}

// failures returns what is wrong with a case, one line each.
func failures(o *trial.Outcome) string {
	var b strings.Builder
	for _, d := range o.Invalid {
		b.WriteString(d.String() + "\n")
	}
	for _, p := range o.Problems {
		b.WriteString(p.Summary + "\n")
		for _, l := range p.Diff {
			b.WriteString("  " + l.Kind + l.Text + "\n")
		}
	}
	return b.String()
}

func mustPass(t testing.TB, all []*trial.Outcome) {
	t.Helper()
	for _, o := range all {
		if !o.Passed() {
			t.Errorf("%s:\n%s", o.Case.ID(), failures(o))
		}
	}
}

const gate = `name: gate
steps:
  - id: draft
    agent: writer
    prompt: Write
  - id: approve
    human: Publish?
    timeout: 24h
    route: {approve: publish, reject: end}
    on_timeout: remind
  - id: publish
    agent: publisher
    next: end
  - id: remind
    agent: writer
`

func TestGateOfADay(t *testing.T) {
	root := project(t, map[string]string{"gate.yml": gate, ".hocket/tests/gate.yml": `workflow: gate.yml
replies: {"*": ok}
cases:
  - name: answered after 23 hours
    replies: {approve: {output: approve, delay: 23h}}
    expect: {status: success, taken: [publish], not_taken: [remind]}
  - name: too late
    replies: {approve: {output: approve, delay: 25h}}
    expect: {status: success, taken: [remind, approve -> remind], not_taken: [publish]}
  - name: nobody answers
    expect: {taken: remind}
`})
	all := run(t, root, trial.Options{Host: hocket.Options{Agents: map[string]agent.Executor{}}})
	mustPass(t, all)
	for _, o := range all {
		t.Log(o.Case.Name, o.Took, o.Virtual)
	}
}
