package syntax_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/syntax/internal/tooltest"
	"github.com/hocket-dev/hocket/workflow"
)

// notFixed are the files that the real tool refuses after `check --fix`.
var notFixed = map[string]string{
	"puml/wild-83aaecf09af9.puml": "a file that it includes is missing",
	"puml/wild-adc5ed298e26.puml": "a file that it includes is missing",
	"puml/test-a37868de483f.puml": "it ends blocks that nothing opens, and what was meant is not known",
	"puml/wild-c062533a07da.puml": "its notes name the step that they belong to, and would lose the name",
}

// lostWords are words of a broken file that are missing in the fixed one.
var lostWords = map[string]string{
	"md/c95132dde8e2.md": "text", // after a fence that was meant to close a block
}

// The real tool accepts the files that it refused after `check --fix`, which keeps what the author
// wrote and what Hocket read.
func TestProofRepair(t *testing.T) {
	for _, s := range brokenFiles(t) {
		accepted, files := 0, s.diagrams
		fixed := fix(t, files)
		for i, readings := range newest[s.ending].ReadFiles(t, s.ending, fixed...) {
			f, text := files[i], []byte(fixed[i])
			taken := !slices.ContainsFunc(readings, func(r tooltest.Reading) bool {
				return !r.OK || !r.Accepted() && s.ending != ".md" // which may have diagrams of other types
			})
			if _, listed := notFixed[f.name]; taken == listed {
				t.Errorf("%s: taken %v after --fix\n%v\n%s", f.name, taken, readings, cmp.Diff(string(f.text), string(text)))
			}
			if !taken {
				continue
			}
			accepted++
			if got := lost(f.text, text); got != lostWords[f.name] {
				t.Errorf("%s: lost are %q\n%s", f.name, got, cmp.Diff(string(f.text), string(text)))
			}
			was, _ := syntax.Parse(f.file, f.text)
			is, _ := syntax.Parse(f.file, text)
			if workflow.Digest(was) != workflow.Digest(is) {
				t.Errorf("%s: what it means after --fix\n%s", f.name, cmp.Diff(workflow.Print(was), workflow.Print(is)))
			}
		}
		t.Logf("%s: %d of %d that are refused are accepted after --fix", s.name, accepted, len(files))
		if strings.HasPrefix(s.name, "Mermaid") && accepted*10 < len(files)*9 {
			t.Errorf("less than nine of ten are accepted")
		}
	}
}

type brokenSet struct {
	name, ending string
	diagrams     []diagram
}

// brokenFiles are whole files whose diagram the newest tool refuses.
func brokenFiles(t *testing.T) []brokenSet {
	t.Helper()
	index := map[string]diagram{}
	for _, f := range drawings(t) {
		index[filepath.Base(filepath.Dir(f.name))+"/"+f.file] = f
	}
	charts, pages := brokenSet{name: "Mermaid", ending: ".mmd"}, brokenSet{name: "Mermaid in Markdown", ending: ".md"}
	activities, bare := brokenSet{name: "PlantUML", ending: ".puml"}, brokenSet{name: "PlantUML without markers", ending: ".puml"}
	eachLine(t, filepath.Join(shared, "corpus/INDEX.tsv"), func(line []byte) {
		columns := strings.Split(string(line), "\t")
		f, ok := index[columns[0]]
		if !ok {
			return
		}
		f.name = columns[0]
		refused := strings.HasPrefix(columns[2], "12.3.0=ERR") || strings.HasPrefix(columns[2], "1.2026.8=ERR")
		switch {
		case strings.HasPrefix(f.name, "md/") && !strings.Contains(columns[2], " 0 ERR"):
			pages.diagrams = append(pages.diagrams, f)
		case strings.HasPrefix(f.name, "mermaid/") && refused:
			charts.diagrams = append(charts.diagrams, f)
		case strings.HasPrefix(f.name, "puml/") && refused:
			activities.diagrams = append(activities.diagrams, f)
		case strings.HasPrefix(f.name, "puml/") && !bytes.Contains(f.text, []byte("@startuml")):
			bare.diagrams = append(bare.diagrams, f)
		}
	})
	return []brokenSet{charts, pages, activities, bare}
}

// fix runs the command that fixes files.
func fix(t *testing.T, files []diagram) []string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"check", "--fix"}
	for i, f := range files {
		name := fmt.Sprintf("%d-%s", i, f.file)
		args = append(args, name)
		if err := os.WriteFile(filepath.Join(dir, name), f.text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hocket(dir, args...)
	var fixed []string
	for _, name := range args[2:] {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		fixed = append(fixed, string(text))
	}
	return fixed
}

// lost returns the words of a text that occur less often in another.
func lost(text, in []byte) string {
	words := func(b []byte) []string {
		return strings.FieldsFunc(string(b), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	have := map[string]int{}
	for _, w := range words(in) {
		have[w]++
	}
	var missing []string
	for _, w := range words(text) {
		if have[w]--; have[w] < 0 {
			missing = append(missing, w)
		}
	}
	slices.Sort(missing)
	return strings.Join(missing, " ")
}

// For a file that the real tool accepts, `check --fix` changes how the tool reads it only where a
// warning says that the tool does not read what was meant.
func TestProofFixOfValidFiles(t *testing.T) {
	all := drawings(t)
	fixed := fix(t, all)
	changed, other := 0, 0
	for ending, tool := range newest {
		var files []diagram
		var was, is []string
		for i, f := range all {
			if filepath.Ext(f.file) == ending && string(f.text) != fixed[i] {
				files, was, is = append(files, f), append(was, string(f.text)), append(is, fixed[i])
			}
		}
		if len(files) == 0 {
			continue
		}
		readings := tool.ReadFiles(t, ending, append(was, is...)...)
		for i, f := range files {
			found, _ := syntax.Diagram(f.file, f.text)
			if found.Errors() {
				continue // it is refused, or PlantUML does not notice the mistake
			}
			changed++
			if cmp.Equal(readings[i], readings[len(files)+i]) {
				continue
			}
			other++
			if !misread(found) {
				t.Errorf("%s is read differently after --fix, without a warning:\n%s", f.name, cmp.Diff(string(f.text), is[i]))
			}
		}
	}
	t.Logf("--fix changes %d valid files of %d, and what the real tool reads in %d of them, each with a warning", changed, len(all), other)
}

// misread reports whether a warning that can be fixed is about the diagram.
func misread(found workflow.Diagnostics) bool {
	for _, d := range found {
		if d.Severity == workflow.Warning && d.Fix != nil {
			return true
		}
	}
	return false
}
