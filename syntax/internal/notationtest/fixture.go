package notationtest

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares text with a golden file, or writes the file.
func Golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// Fixtures tests every file that matches a pattern. Each pattern must match at least one file.
func Fixtures(t *testing.T, test func(t *testing.T, file string, text []byte), patterns ...string) {
	t.Helper()
	for _, file := range glob(t, patterns...) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			test(t, filepath.ToSlash(file), text)
		})
	}
}

func glob(t testing.TB, patterns ...string) []string {
	t.Helper()
	var files []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatalf("no fixtures in %s", strings.Join(patterns, ", "))
	}
	return files
}

// in returns the patterns of the fixtures in a folder.
func (n *Notation) in(folder string) []string {
	var patterns []string
	for _, ending := range n.Endings {
		patterns = append(patterns, filepath.Join("testdata", folder, "*"+ending))
	}
	return patterns
}

// beside returns the name of the file with another extension.
func beside(file, ending string) string {
	return strings.TrimSuffix(file, filepath.Ext(file)) + ending
}

// good checks the meaning of a file, and how Format writes it.
func (n *Notation) good(t *testing.T) {
	Fixtures(t, func(t *testing.T, file string, text []byte) {
		w, found := n.Parse(file, text)
		if found.Errors() {
			t.Fatal(found)
		}
		Expect(t, text, found)
		n.meaning(t, file, w)
		written := n.written(t, w)
		Golden(t, beside(file, ".format"), string(written))
		laidOut, _ := n.Fmt(file, text)
		n.means(t, file, laidOut, w)
		if n.Like != nil && !n.Like(text) {
			t.Error("it does not look like this notation")
		}
	}, n.in("ok")...)
}

// meaning compares a workflow with the expected one next to the file.
func (n *Notation) meaning(t *testing.T, file string, w *workflow.Workflow) {
	t.Helper()
	other := beside(file, ".yml")
	source, err := os.ReadFile(other)
	if other == file || err != nil {
		Golden(t, beside(file, ".print"), workflow.Print(w))
		return
	}
	want, found := yaml.Parse(other, source)
	if found.Errors() {
		t.Fatal(found)
	}
	if diff := cmp.Diff(workflow.Print(want), workflow.Print(w)); diff != "" {
		t.Errorf("(-%s +got):\n%s", other, diff)
	}
}

// layout checks the output of Fmt, with any line endings.
func (n *Notation) layout(t *testing.T) {
	Fixtures(t, func(t *testing.T, file string, text []byte) {
		once, found := n.Fmt(file, text)
		if found.Errors() {
			t.Fatal(found)
		}
		Expect(t, text, found)
		Golden(t, beside(file, ".golden"), string(once))
		n.settled(t, file, once)
		unix := strings.ReplaceAll(string(text), "\r\n", "\n")
		windows, _ := n.Fmt(file, []byte("\uFEFF"+strings.ReplaceAll(unix, "\n", "\r\n")))
		if diff := cmp.Diff(string(once), string(windows)); diff != "" {
			t.Errorf("different line endings give a different layout:\n%s", diff)
		}
	}, n.in("fmt")...)
}

// bad checks the diagnostics of a file. A file with errors is never changed.
func (n *Notation) bad(t *testing.T) {
	listed := map[string]bool{}
	for _, c := range n.Codes {
		if listed[c.Name] || c.Meaning == "" {
			t.Errorf("%s is listed twice, or has no meaning", c.Name)
		}
		listed[c.Name] = true
	}
	Fixtures(t, func(t *testing.T, file string, text []byte) {
		_, found := n.Parse(file, text)
		for _, d := range found {
			if !listed[d.Code] {
				t.Errorf("%s is not in Codes", d.Code)
			}
			if len([]rune(d.Summary)) > 80 {
				t.Errorf("the summary is too long: %s", d.Summary)
			}
		}
		Expect(t, text, found)
		if !found.Errors() {
			return
		}
		if laidOut, _ := n.Fmt(file, text); string(laidOut) != string(text) {
			t.Error("Fmt changed a file with errors")
		}
	}, n.in("bad")...)
}

var want = regexp.MustCompile(`want(\+\d+)?: (\S+) ("(?:[^"\\]|\\.)*")`)

// Expect compares diagnostics with those that the comments of a text expect:
//
//	want: yaml-unknown-key "did you mean \"prompt\"?"
//
// expects one in its line, with the code and some of its words; want+2: expects it two lines below.
// Any other diagnostic is an error.
func Expect(t *testing.T, text []byte, found workflow.Diagnostics) {
	t.Helper()
	line := 0
	for content := range strings.SplitSeq(string(text), "\n") {
		line++
		for _, m := range want.FindAllStringSubmatch(content, -1) {
			below, _ := strconv.Atoi(m[1])
			words, err := strconv.Unquote(m[3])
			if err != nil {
				t.Fatalf("line %d: %v", line, err)
			}
			at := slices.IndexFunc(found, func(d workflow.Diagnostic) bool {
				return d.Line == line+below && d.Code == m[2] && strings.Contains(d.Summary+"; "+d.Detail, words)
			})
			if at < 0 {
				t.Errorf("line %d: want %s %q", line+below, m[2], words)
				continue
			}
			found = slices.Delete(slices.Clone(found), at, at+1)
		}
	}
	for _, d := range found {
		t.Errorf("unexpected: %s", d)
	}
}

// fixes checks that every fix removes its diagnostic.
func (n *Notation) fixes(t *testing.T) {
	fixed := 0
	Fixtures(t, func(t *testing.T, file string, text []byte) {
		_, found := n.Parse(file, text)
		found.Place(file, text)
		for _, d := range found {
			if d.Fix == nil {
				continue
			}
			fixed++
			_, left := n.Parse(file, workflow.Apply(text, d.Fix.Edits))
			if slices.ContainsFunc(left, func(l workflow.Diagnostic) bool {
				return l.Code == d.Code && l.Summary == d.Summary && l.Line == d.Line && l.Column == d.Column
			}) {
				t.Errorf("the fix does not remove %s", d)
			}
		}
	}, n.in("bad")...)
	if fixed < n.Fixes {
		t.Errorf("only %d mistakes have a fix", fixed)
	}
}
