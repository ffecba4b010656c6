package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hocket-dev/hocket/cli"
	"github.com/hocket-dev/hocket/syntax"
)

// The files in testdata/same hold one workflow in every notation, the replies of
// its agents and people, and the trace of a run: the steps in the order in which
// they started, and how it ended. All notations mean the same, and each is what
// converting any other gives back.
//
// The lines above the first file are what the scenario shows; one that begins
// with "flags:" has flags for the run.
func TestSameInEveryNotation(t *testing.T) {
	files, err := filepath.Glob("testdata/same/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newScenario(t, file).run()
		})
	}
}

// scenario is one file, unpacked into a directory.
type scenario struct {
	*testing.T
	file    string
	archive *txtar.Archive
	dir     string
	flags   []string
}

func newScenario(t *testing.T, file string) *scenario {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &scenario{T: t, file: file, archive: archive, dir: t.TempDir()}
	for _, f := range archive.Files {
		if err := os.WriteFile(filepath.Join(s.dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(string(archive.Comment)) {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			s.flags = strings.Fields(flags)
		}
	}
	return s
}

// written are the files in which a scenario's workflow stands.
var written = []string{"flow.yml"}

func (s *scenario) run() {
	digests := map[string]string{}
	for _, name := range written {
		digests[name] = s.digest(name)
		if digests[name] != digests["flow.yml"] {
			s.Errorf("%s does not mean what flow.yml means:\n%s", name, s.difference(name))
			continue
		}
		s.trace(name)
		for _, notation := range syntax.Notations() {
			s.convert(name, notation, digests["flow.yml"])
		}
	}
}

// hocket runs a verb in this process.
func (s *scenario) hocket(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	args = append([]string{"-C", s.dir, "--state", filepath.Join(s.dir, ".state")}, args...)
	code = cli.Main(args, cli.Stdio{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

func (s *scenario) digest(name string) string {
	code, out, errs := s.hocket("digest", name)
	if code != 0 {
		s.Fatalf("%s: %s", name, errs)
	}
	return strings.Fields(out)[0]
}

// difference shows both workflows in YAML.
func (s *scenario) difference(name string) string {
	_, mine, _ := s.hocket("convert", name, "--to", "yaml")
	_, theirs, _ := s.hocket("convert", "flow.yml", "--to", "yaml")
	return mine + "\n--- flow.yml is\n" + theirs
}

// trace runs the workflow and compares what happened.
func (s *scenario) trace(name string) {
	args := append([]string{"run", name, "--json", "--replies", "replies.yml"}, s.flags...)
	code, out, errs := s.hocket(args...)
	var run struct {
		Status string
		Output any
		Steps  []struct {
			Address, Status string
			Output, Error   any
			Attempts        int
		}
		Warnings []string
	}
	if err := json.Unmarshal([]byte(out), &run); err != nil {
		s.Fatalf("%s: %v\n%s\n%s", name, err, out, errs)
	}
	var b strings.Builder
	for _, step := range run.Steps {
		fmt.Fprintf(&b, "%s %s", step.Address, step.Status)
		if step.Attempts > 1 {
			fmt.Fprintf(&b, " ×%d", step.Attempts)
		}
		for _, v := range []any{step.Output, step.Error} {
			if v != nil && v != "" {
				fmt.Fprintf(&b, " %s", compact(v))
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "= %s %s, exit code %d\n", run.Status, compact(run.Output), code)
	for _, w := range run.Warnings {
		fmt.Fprintf(&b, "! %s\n", w)
	}
	s.compare(name, b.String())
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// compare checks a trace against the one in the file; -update writes it there.
func (s *scenario) compare(name, got string) {
	i := slices.IndexFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == "trace" })
	if i < 0 {
		s.archive.Files = append(s.archive.Files, txtar.File{Name: "trace"})
		i = len(s.archive.Files) - 1
	}
	if *update && name == "flow.yml" {
		s.archive.Files[i].Data = []byte(got)
		if err := os.WriteFile(s.file, txtar.Format(s.archive), 0o600); err != nil {
			s.Fatal(err)
		}
	}
	if want := string(s.archive.Files[i].Data); got != want {
		s.Errorf("%s: the trace is\n%s\nnot\n%s", name, got, want)
	}
}

// convert writes the workflow in a notation and reads it again.
func (s *scenario) convert(name, notation, digest string) {
	n, _ := syntax.Named(notation)
	to := "from-" + strings.ReplaceAll(name, ".", "-") + n.Endings[0]
	code, _, errs := s.hocket("convert", name, "--to", notation, "-o", to)
	if code != 0 {
		s.Errorf("%s to %s: %s", name, notation, errs)
		return
	}
	if got := s.digest(to); got != digest {
		s.Errorf("%s to %s is another workflow", name, notation)
	}
	code, out, errs := s.hocket("fmt", to)
	text, err := os.ReadFile(filepath.Join(s.dir, to))
	if code != 0 || err != nil || out != string(text) {
		s.Errorf("fmt changes what convert wrote for %s in %s: %s\n%s", name, notation, errs, out)
	}
}
