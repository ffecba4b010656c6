package draw

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/workflow"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestDrawings(t *testing.T) {
	tests := []struct {
		workflow *workflow.Workflow
		forms    []string
	}{
		{chain(), []string{"tree", "mermaid", "plantuml", "dot"}},
		{release(), []string{"tree", "mermaid", "plantuml", "dot"}},
		{book(), []string{"tree", "mermaid"}},
		{pipeline(), []string{"tree"}},
	}
	for _, test := range tests {
		for _, form := range test.forms {
			t.Run(test.workflow.Name+"."+form, func(t *testing.T) {
				got, err := Draw(t.Context(), test.workflow, form, Fold{})
				if err != nil {
					t.Fatal(err)
				}
				golden(t, test.workflow.Name+"."+form, got)
			})
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestEveryFormIsDeterministic(t *testing.T) {
	for _, form := range Forms() {
		first, _ := Draw(t.Context(), release(), form, Fold{})
		again, _ := Draw(t.Context(), release(), form, Fold{})
		if first != again || !strings.HasSuffix(first, "\n") {
			t.Errorf("%s: two drawings of one workflow differ, or the last line is open", form)
		}
	}
}

func TestUnknownFormNamesTheNearest(t *testing.T) {
	_, err := Draw(t.Context(), chain(), "svgg", Fold{})
	if err == nil || err.Error() != `draw: unknown format "svgg"; did you mean "svg"?` {
		t.Errorf("got %v", err)
	}
}

// Text of an author never becomes a statement in the language of the drawing: the number of lines
// is the same as with harmless text, and each line begins as it should.
func TestHostileTextStaysText(t *testing.T) {
	tests := []struct {
		form, line string
	}{
		{"mermaid", `^(flowchart TD| *n\d+_\w*(\W+"[^"]*"\W+| -->(\|"[^"]*"\|)? n\d+_\w*)| *subgraph n\d+_\w* \["[^"]*"\]| *end)$`},
		{"plantuml", `^(@startuml|hide empty description|title [^"'!@]*| *state ("[^"'!@]*" as )?n\d+_\w*( \{| <<\w+>>)?| *\}|n\d+_\w* --> n\d+_\w*( : [^"'!@]*)?|@enduml)$`},
	}
	for _, test := range tests {
		got, _ := Draw(t.Context(), hostile(), test.form, Fold{})
		line := regexp.MustCompile(test.line)
		for s := range strings.SplitSeq(strings.TrimSuffix(got, "\n"), "\n") {
			if !line.MatchString(s) {
				t.Errorf("%s: unexpected line %q", test.form, s)
			}
		}
		if test.form == "mermaid" && strings.Contains(got, "direction LR") {
			t.Error("mermaid: a title is a statement")
		}
	}
}

// A quoted string of Graphviz ends at the first quote without a backslash before it.
func TestHostileTextStaysInQuotesOfDOT(t *testing.T) {
	outside := regexp.MustCompile(`"(\\.|[^"\\])*"`).ReplaceAllString(DOT(hostile()), "S")
	if strings.ContainsAny(outside, `"\<`) {
		t.Errorf("text outside of quotes:\n%s", outside)
	}
	for s := range strings.SplitSeq(strings.TrimSpace(outside), "\n") {
		if s = strings.TrimSpace(s); !strings.HasSuffix(s, ";") && !strings.HasSuffix(s, "{") && s != "}" {
			t.Errorf("unexpected line %q", s)
		}
	}
}
