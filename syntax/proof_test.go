package syntax_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/cli"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/syntax/internal/tooltest"
	"github.com/hocket-dev/hocket/workflow"
)

// The tests in this file compare the notations with the real tools, on the project's own diagrams,
// on other people's and on random workflows. Each prints its results:
//
//	go test ./syntax -run Proof -v

// differently lists the diagrams with another verdict than that of the newest real tool, and why.
var differently = map[string]string{
	"fence inside":                 "a block of Markdown, which Hocket reads although the file is called .mmd",
	"a comment that is not closed": "PlantUML does not mind that it hides the rest of the diagram",
}

// unnamed lists the diagrams that an older version refuses, without a warning about it.
var unnamed = map[string]string{
	"mermaid/cypress-acb8904805e5.mmd": "Mermaid 10 refuses it only when it has read others before",
}

// A diagram has an error exactly if the newest real tool refuses it, and a warning that names
// versions if an older one does. The only error of our own is a block that is left open, which
// PlantUML accepts. A file with preprocessor directives is not judged.
func TestProofVerdicts(t *testing.T) {
	for _, s := range knownSets(t) {
		agree, refused, open, named, drifted, unjudged := 0, 0, 0, 0, 0, 0
		for _, d := range s.diagrams {
			found, _ := syntax.Diagram(d.file, d.text)
			if has(found, "-preprocessor") {
				unjudged++
				if found.Errors() {
					t.Errorf("%s: %s is not judged, and has an error\n%v", s.name, d.name, found)
				}
				continue
			}
			taken := d.taken[s.tools[0].Version]
			same := found.Errors() != taken
			if d.open {
				open++
				same = found.Errors()
			}
			if !taken {
				refused++
			}
			if same {
				agree++
			}
			if _, listed := differently[d.name]; same == listed {
				t.Errorf("%s: %s is taken: %v, and listed as different: %v\n%v", s.name, d.name, taken, listed, found)
			}
			if taken && slices.ContainsFunc(s.tools, func(tool tooltest.Tool) bool { return !d.taken[tool.Version] }) {
				drifted++
				_, listed := unnamed[d.name]
				told := has(found, "-version")
				if told {
					named++
				}
				if told == listed {
					t.Errorf("%s: %s: a version is named: %v", s.name, d.name, told)
				}
			}
		}
		t.Logf("%s: %d of %d as the real tool (%d refused or of another kind, %d left open), %d not judged; %d of %d that an older version refuses have a warning",
			s.name, agree, len(s.diagrams)-unjudged, refused, open, unjudged, named, drifted)
		if agree*100 < (len(s.diagrams)-unjudged)*99 {
			t.Errorf("%s: less than 99 %% agree", s.name)
		}
	}
}

func has(found workflow.Diagnostics, code string) bool {
	return slices.ContainsFunc(found, func(d workflow.Diagnostic) bool { return strings.HasSuffix(d.Code, code) })
}

// The command reports the same as the package for every file.
func TestProofCommand(t *testing.T) {
	dir := t.TempDir()
	all, count := drawings(t), 0
	for _, f := range all {
		if err := os.WriteFile(filepath.Join(dir, f.file), f.text, 0o600); err != nil {
			t.Fatal(err)
		}
		var want []string
		found, _ := syntax.Diagram(f.file, f.text)
		for _, d := range found {
			want = append(want, fmt.Sprint(d.Line, d.Column, d.Severity, d.Code))
		}
		_, out := hocket(dir, "check", "--syntax-only", "--json", f.file)
		var said []struct {
			Severity, Code string
			Line, Column   int
		}
		if err := json.Unmarshal(out, &said); err != nil {
			t.Fatalf("%s: %v: %.300s", f.name, err, out)
		}
		var got []string
		for _, d := range said {
			got = append(got, fmt.Sprint(d.Line, d.Column, d.Severity, d.Code))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the command says %v, the package %v", f.name, got, want)
		}
		count += len(got)
	}
	t.Logf("hocket check --syntax-only of %d files: %d diagnostics, as of the package", len(all), count)
}

// hocket runs a command.
func hocket(dir string, args ...string) (code int, out []byte) {
	var stdout, stderr bytes.Buffer
	args = append([]string{"-C", dir, "--state", filepath.Join(dir, ".state")}, args...)
	code = cli.Main(args, cli.Stdio{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.Bytes()
}
