package cli_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hocket-dev/hocket/cli"
	"github.com/hocket-dev/hocket/internal/sametest"
	"github.com/hocket-dev/hocket/syntax"
)

var update = flag.Bool("update", false, "write what tests print into their files")

// Each file in testdata/same holds one workflow in every notation, handwritten, the
// replies of its agents and people, and the trace of a run: the steps in the order in
// which they started, and how the run ended. All notations mean the same, run the same,
// and pass the checks, and each converts to every other without loss.
//
// The lines above the first file describe the scenario; a line that begins with "flags:"
// sets flags for the run, and [sametest.Read] reads others.
func TestSameInEveryNotation(t *testing.T) {
	for _, file := range scenarios(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newScenario(t, file).run()
		})
	}
}

func scenarios(t *testing.T) []string {
	files, err := filepath.Glob("testdata/same/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	return files
}

// project holds the files that the scenarios need to pass the checks: an agent for every
// task.
var project = map[string]string{
	".hocket/config.yml": "agent: anyone\nworkflows: {budgets: {max_steps: 10000}}\n",
	".hocket/agents/anyone.yml": "agent: shell\nsettings: {command: [cat]}\n" +
		"capabilities: [bank, clerk, triage, fixer, designer, researcher, writer, publisher, Analyzer, SecurityScanner, Reviewer, Reporter]\n",
	".hocket/agents/browser.yml": "agent: shell\nsettings: {command: [cat]}\n",
	".hocket/agents/llm.yml":     "agent: shell\nsettings: {command: [cat]}\n",
}

// scenario is one file, unpacked into a directory.
type scenario struct {
	*testing.T
	file    string
	archive *txtar.Archive
	dir     string
	flags   []string
	about   sametest.About
}

func newScenario(t *testing.T, file string) *scenario {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &scenario{T: t, file: file, archive: archive, dir: t.TempDir(), about: sametest.Read(t, archive)}
	s.unpack()
	for line := range strings.Lines(string(archive.Comment)) {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			s.flags = strings.Fields(flags)
		}
	}
	return s
}

// unpack writes the files of the scenario into its directory.
func (s *scenario) unpack() {
	for _, f := range s.archive.Files {
		s.write(f.Name, f.Data)
	}
	for name, text := range project {
		s.write(name, []byte(text))
	}
}

func (s *scenario) write(name string, text []byte) {
	file := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		s.Fatal(err)
	}
}

// written lists the files that may hold a scenario's workflow.
var written = []string{"flow.yml", "flow.md", "flow.xml", "flow.puml"}

func (s *scenario) run() {
	digests := s.digests(written...)
	for i, name := range written {
		if digests[i] != digests[0] {
			s.Errorf("%s does not mean what %s means:\n%s", name, written[0], s.difference(name))
			continue
		}
		s.check(name)
		s.trace(name)
		s.convert(name, digests[0])
	}
}

// hocket runs a verb in this process.
func (s *scenario) hocket(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	args = append([]string{"-C", s.dir, "--state", filepath.Join(s.dir, ".state")}, args...)
	code = cli.Main(args, cli.Stdio{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

func (s *scenario) digests(names ...string) []string {
	code, out, errs := s.hocket(append([]string{"digest"}, names...)...)
	if code != 0 {
		s.Fatalf("%v: %s", names, errs)
	}
	var list []string
	for line := range strings.Lines(out) {
		digest, _, _ := strings.Cut(line, " ")
		list = append(list, digest)
	}
	return list
}

// difference returns both workflows in YAML.
func (s *scenario) difference(name string) string {
	_, mine, _ := s.hocket("convert", name, "--to", "yaml")
	_, theirs, _ := s.hocket("convert", "flow.yml", "--to", "yaml")
	return mine + "\n--- flow.yml is\n" + theirs
}

// check expects no errors or warnings in a file. Notes about who is asked are allowed, and about workspaces that
// nothing uses: the last step of a scenario shows what is in one.
func (s *scenario) check(name string) {
	code, out, errs := s.hocket("check", "--json", name)
	var found []struct{ Code, Summary string }
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		s.Fatalf("%s: %v\n%s\n%s", name, err, out, errs)
	}
	found = slices.DeleteFunc(found, func(d struct{ Code, Summary string }) bool {
		return d.Code == "choice-asks" || d.Code == "workspace-unused"
	})
	if code != 0 || len(found) > 0 {
		s.Errorf("%s: exit code %d, %v", name, code, found)
	}
}

// trace runs the workflow and compares its trace.
func (s *scenario) trace(name string) {
	if s.about.Repository {
		again := *s
		again.dir = s.TempDir()
		s = &again
		s.unpack()
		sametest.Repository(s.T, s.dir)
	}
	args := append([]string{"run", name, "--json", "--replies", "replies.yml"}, s.flags...)
	code, out, errs := s.hocket(args...)
	var run struct {
		RunID  string `json:"run_id"`
		Status string
		Output any
		Steps  []struct {
			Address, Status string
			Output, Error   any
			Attempts        int
		}
		Warnings []string
	}
	read := func() {
		if err := json.Unmarshal([]byte(out), &run); err != nil {
			s.Fatalf("%s: %v\n%s\n%s", name, err, out, errs)
		}
	}
	read()
	for _, a := range s.about.Answers {
		code, out, errs = s.hocket("answer", run.RunID, a.Address, a.Value, "--resume", "--json")
		run.Steps, run.Warnings = nil, nil
		read()
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
	s.compare(name, "trace", sametest.Masked(b.String()))
	if s.about.Repository {
		s.compare(name, "left", sametest.Left(s.T, s.dir))
	}
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// compare compares a trace, or what is left, with the one in the file; -update rewrites the file.
func (s *scenario) compare(name, what, got string) {
	i := slices.IndexFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == what })
	if i < 0 {
		s.archive.Files = append(s.archive.Files, txtar.File{Name: what})
		i = len(s.archive.Files) - 1
	}
	if *update && name == "flow.yml" {
		s.archive.Files[i].Data = []byte(got)
		if err := os.WriteFile(s.file, txtar.Format(s.archive), 0o600); err != nil {
			s.Fatal(err)
		}
	}
	if want := string(s.archive.Files[i].Data); got != want {
		s.Errorf("%s: the %s is\n%s\nnot\n%s", name, what, got, want)
	}
}

// convert converts the workflow to all notations and reads the results. What convert
// writes is already formatted.
func (s *scenario) convert(name, digest string) {
	var files []string
	for _, notation := range syntax.Notations() {
		to := converted(name, notation)
		if code, _, errs := s.hocket("convert", name, "--to", notation, "-o", to); code != 0 {
			s.Errorf("%s to %s: %s", name, notation, errs)
			return
		}
		code, out, errs := s.hocket("fmt", to)
		text, err := os.ReadFile(filepath.Join(s.dir, to))
		if code != 0 || err != nil || out != string(text) {
			s.Errorf("fmt changes what convert wrote for %s in %s: %s\n%s", name, notation, errs, out)
		}
		files = append(files, to)
	}
	for i, got := range s.digests(files...) {
		if got != digest {
			s.Errorf("%s is another workflow than %s", files[i], name)
		}
	}
}

// converted returns the name of the file that a file is converted to.
func converted(name, notation string) string {
	n, _ := syntax.Named(notation)
	return "from-" + strings.TrimPrefix(filepath.Ext(name), ".") + n.Endings[0]
}
