package notationtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/syntax/internal/modelgen"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// models: the notation can express every model.
func (n *Notation) models(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { n.written(t, modelgen.Workflow().Draw(t, "workflow")) })
}

// Untidy disturbs the layout of valid files.
type Untidy struct {
	// Disturb changes the layout of a text. If that changes its meaning, the suite compares with
	// the changed meaning; if the result is not a workflow, the text is skipped.
	Disturb func(t *rapid.T, text string) string
	// Comment begins a comment. Fmt must not lose any.
	Comment string
	// Least is the minimum number of texts out of a hundred that are untidy workflows.
	Least int
}

// untidy: Fmt cleans up files, and keeps their meaning and their comments.
func (n *Notation) untidy(t *testing.T) {
	files, laidOut := glob(t, n.in("ok")...), 0
	rapid.Check(t, func(t *rapid.T) {
		original, err := os.ReadFile(rapid.SampledFrom(files).Draw(t, "file"))
		if err != nil {
			t.Fatal(err)
		}
		text := n.Untidy.Disturb(t, string(original))
		once, found := n.Fmt(n.file(), []byte(text))
		if found.Errors() {
			t.Skip("no longer a workflow")
		}
		before, _ := n.Parse(n.file(), []byte(text))
		n.means(t, n.file(), once, before)
		if a, b := strings.Count(text, n.Untidy.Comment), strings.Count(string(once), n.Untidy.Comment); a != b {
			t.Fatalf("%d comments became %d:\n%s", a, b, once)
		}
		n.settled(t, n.file(), once)
		if string(once) != text {
			laidOut++
		}
	})
	if laidOut < n.Untidy.Least && !testing.Short() {
		t.Errorf("only %d files were changed by Fmt", laidOut)
	}
}

// examples: every example can be written in this notation, and stays the same when it is converted
// back.
func (n *Notation) examples(t *testing.T) {
	Fixtures(t, func(t *testing.T, file string, text []byte) {
		w, found := yaml.Parse(file, text)
		if found.Errors() {
			t.Fatal(found)
		}
		again, _ := n.Parse(n.file(), n.written(t, w))
		back, err := yaml.Format(again)
		if err != nil {
			t.Fatal(err)
		}
		if last, _ := yaml.Parse(file, back); workflow.Digest(last) != workflow.Digest(w) {
			t.Error("the workflow changed on the way to this notation and back")
		}
	}, "../../examples/*.yml")
}

// Foreign parses files that were not written for Hocket. Those without errors can be written and
// formatted. right is the minimum percentage of files without errors. If there are no such files,
// the test is skipped.
func (n *Notation) Foreign(t *testing.T, right int, patterns ...string) {
	files, clean := []string{}, 0
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skip("a collection of files is missing that is not part of the project")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w, found := n.Parse(file, text)
		if found.Errors() {
			continue
		}
		clean++
		t.Run(filepath.Base(file), func(t *testing.T) {
			n.written(t, w)
			laidOut, _ := n.Fmt(file, text)
			n.means(t, file, laidOut, w)
		})
	}
	t.Logf("%d of %d files are workflows without errors", clean, len(files))
	if clean*100 < len(files)*right {
		t.Error("that is too few")
	}
}

// failer is a test, or one draw of a property test.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// written returns the output of Format for a model. It must have the meaning of the model and be
// formatted.
func (n *Notation) written(t failer, w *workflow.Workflow) []byte {
	t.Helper()
	text, err := n.Format(w)
	if err != nil {
		t.Fatalf("%v\n%s", err, short(workflow.Print(w)))
	}
	n.means(t, n.file(), text, w)
	n.settled(t, n.file(), text)
	return text
}

// means fails unless a text is parsed as a model.
func (n *Notation) means(t failer, file string, text []byte, w *workflow.Workflow) {
	t.Helper()
	got, found := n.Parse(file, text)
	if found.Errors() {
		t.Fatalf("%s\n%s", found, short(string(text)))
	}
	if diff := cmp.Diff(workflow.Print(w), workflow.Print(got)); diff != "" {
		t.Fatalf("the model changed (-want +got):\n%s\n%s", short(diff), short(string(text)))
	}
	kept := titles(got)
	for title, given := range titles(w) {
		if given && !kept[title] {
			t.Fatalf("the title is lost: %s\n%s", title, short(string(text)))
		}
	}
}

// titles returns the titles of the steps, which are not part of the digest.
func titles(w *workflow.Workflow) map[string]bool {
	all := map[string]bool{}
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { all[n.ID+": "+n.Title] = n.Title != "" })
	return all
}

// settled fails if Fmt changes the text.
func (n *Notation) settled(t failer, file string, text []byte) {
	t.Helper()
	if again, found := n.Fmt(file, text); found.Errors() || string(again) != string(text) {
		t.Fatalf("Fmt changes a formatted file: %v\n%s", found, short(cmp.Diff(string(text), string(again))))
	}
}

// short cuts long lines, so that a failure is readable.
func short(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if len(line) > 200 {
			line = line[:200] + "…\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
