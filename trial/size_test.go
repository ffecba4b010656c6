package trial_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/trial"
	"github.com/hocket-dev/hocket/trial/cassette"
)

// wasteful is an agent that writes more than a cassette can hold, in files that it can.
func wasteful(t *testing.T) *coder {
	return &coder{says: func(task *agent.Task) (string, error) {
		if task.Node == "fix" {
			for i := range 5 {
				write(t, task.Dir, fmt.Sprintf("part%d.bin", i), strings.Repeat("\x00", cassette.MostFile-i))
			}
		}
		return "done", nil
	}}
}

const wasted = "it would have 26.7 MB, and only 16 MB can be read; the largest part is the file part0.bin of fix, with 4.0 MB"

// A recording that no test could read is not written: it would replace one that can be read.
func TestRecordingsThatAreTooLarge(t *testing.T) {
	root, c := recordedFix(t)
	before := tape(t, root)
	c.says = wasteful(t).says
	write(t, root, ".hocket/tests/fix.yml", strings.Split(fixTest, "    expect:")[0])
	o := run(t, root, trial.Options{Host: c.host(), Mode: trial.Record})[0]
	if o.Passed() || o.Problems[0].Summary != "the recording was not written, because "+wasted || !strings.HasPrefix(o.Problems[0].Detail, "let fix write fewer or smaller files") {
		t.Errorf("%+v", o.Problems)
	}
	if o.Written != "" || tape(t, root) != before {
		t.Error("it was written")
	}
}

// Neither file of a copy is written if one of them could not be read.
func TestCopiesThatAreTooLarge(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := project(t, map[string]string{"fix.yml": "name: fix\nsteps: [{id: fix, agent: coder, workspace: own, prompt: Fix}]\n"})
	o := wasteful(t).host()
	o.State = t.TempDir()
	p, err := hocket.Open(root, o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w, err := p.Load(filepath.Join(root, "fix.yml"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Start(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, made, _, err := trial.Copy(t.Context(), p, r, trial.Options{Host: o})
	if err != nil {
		t.Fatal(err)
	}
	made.Cassette = filepath.Join(root, ".hocket/tests/cassettes/fix.yml")
	large := new(cassette.SizeError)
	if err := trial.WriteCopy(p, c, made); !errors.As(err, &large) || !strings.HasSuffix(err.Error(), wasted) {
		t.Errorf("a large cassette: %v", err)
	}
	c.Interactions, made.Files = c.Interactions[:0], map[string]trial.Source{"a.txt": {Text: strings.Repeat("x", 17<<20)}, "b.txt": {Text: "b"}}
	if err := trial.WriteCopy(p, c, made); !errors.As(err, &large) || !strings.HasPrefix(err.Error(), "the test was not written, because it would have 17.0 MB") || large.Part != "the file a.txt" {
		t.Errorf("a large test: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, ".hocket/tests")); err == nil {
		t.Error("something was written")
	}
}

// What cannot be read fails the cases that need it, and no others.
func TestFilesThatCannotBeRead(t *testing.T) {
	root, c := recordedFix(t)
	write(t, root, ".hocket/tests/other.yml", strings.ReplaceAll(fixTest, "cassettes/fix.yml", "cassettes/large.yml"))
	write(t, root, ".hocket/tests/cassettes/stray.yml", string(bytes.Repeat([]byte("#\n"), 9<<20)))
	write(t, root, ".hocket/tests/cassettes/large.yml", string(bytes.Repeat([]byte("#\n"), 9<<20)))
	for name, target := range map[string]string{"lost.yml": "gone.yml", ".#fix.yml": "somebody@host.1"} { // the other is a lock of Emacs
		if err := os.Symlink(target, filepath.Join(root, ".hocket/tests", name)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := hocket.Open(root, c.host())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	files, wrong, err := trial.ReadAll(p.Root(), p.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	var cases []*trial.Case
	var said strings.Builder
	for _, f := range files {
		cases = append(cases, f.Cases...)
		for _, d := range wrong[f] {
			fmt.Fprintf(&said, "%s: %s; %s\n", f.Name, d.Summary, d.Detail)
		}
	}
	const want = "cassettes/stray: the file cannot be read: it is larger than 16 MB; check that it is the right file, or split it: Hocket reads files of at most 16 MB\n" +
		"lost: the file cannot be read: it is a symbolic link to a file that does not exist; remove the link, or create the file that it leads to\n"
	if said.String() != want {
		t.Errorf("got %s", said.String())
	}
	passed := map[string]bool{}
	if err := trial.Run(t.Context(), root, cases, trial.Options{Host: c.host()}, func(o *trial.Outcome) {
		if passed[o.Case.File.Name] = o.Passed(); !o.Passed() && o.Problems[0].Summary != "cannot read the cassette .hocket/tests/cassettes/large.yml: not a regular file of at most 16 MB" {
			t.Error(failures(o))
		}
	}); err != nil {
		t.Fatal(err)
	}
	if len(passed) != 2 || !passed["fix"] || passed["other"] {
		t.Errorf("passed %v", passed)
	}
}
