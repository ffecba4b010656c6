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

// models: whatever a model holds, the notation can say it.
func (n *Notation) models(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { n.written(t, modelgen.Workflow().Draw(t, "workflow")) })
}

// Untidy makes disorder in files that are right.
type Untidy struct {
	// Disturb changes the layout of a text. Where that changes what it means, the
	// suite compares with the changed meaning; where it is no longer a workflow,
	// the text is passed by.
	Disturb func(t *rapid.T, text string) string
	// Comment begins one: Fmt loses none.
	Comment string
	// Least is how many of a hundred texts are workflows and not tidy.
	Least int
}

// untidy: Fmt puts files in order and keeps what they mean, and their comments.
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
		t.Errorf("only %d files were laid out", laidOut)
	}
}

// examples: every example becomes a file of this notation, and comes back as it was.
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
			t.Error("it comes back as something else")
		}
	}, "../../examples/*.yml")
}

// Foreign reads files that nobody wrote for Hocket to their end. What is right in
// them can be written and laid out. Some of a hundred files are right, at least.
// Where there are no such files the test is skipped.
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
		t.Error("those are too few")
	}
}

// failer is a test, or one draw of a random one.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// written returns what Format makes of a model: it means the model, and is laid out.
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

// means demands that a text is read as a model.
func (n *Notation) means(t failer, file string, text []byte, w *workflow.Workflow) {
	t.Helper()
	got, found := n.Parse(file, text)
	if found.Errors() {
		t.Fatalf("%s\n%s", found, short(string(text)))
	}
	if diff := cmp.Diff(workflow.Print(w), workflow.Print(got)); diff != "" {
		t.Fatalf("it means something else (-want +got):\n%s\n%s", short(diff), short(string(text)))
	}
	kept := titles(got)
	for title, given := range titles(w) {
		if given && !kept[title] {
			t.Fatalf("the title is lost of %s\n%s", title, short(string(text)))
		}
	}
}

// titles returns those of the steps, which a digest does not see.
func titles(w *workflow.Workflow) map[string]bool {
	all := map[string]bool{}
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { all[n.ID+": "+n.Title] = n.Title != "" })
	return all
}

// settled demands that Fmt changes nothing.
func (n *Notation) settled(t failer, file string, text []byte) {
	t.Helper()
	if again, found := n.Fmt(file, text); found.Errors() || string(again) != string(text) {
		t.Fatalf("Fmt changes what is in order: %v\n%s", found, short(cmp.Diff(string(text), string(again))))
	}
}

// short cuts long lines, so that a failure can be read.
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
