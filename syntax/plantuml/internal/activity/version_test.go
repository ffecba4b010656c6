package activity

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/internal/tooltest"
	"github.com/hocket-dev/hocket/workflow"
)

// newForms are those that an older PlantUML refuses or reads differently, and oldForms are similar
// forms that it supports.
var (
	newForms = []string{
		":a; <<#red>>", ":a; << x >>", ":a; <<output>> <<#red>>", ":a\nb; <<#red>>", ":a; [[http://x.org]]", ":a\nb; [[http://x.org]]",
		"* a", "**a**", "- a <<x>>",
		":a;\nnote right <<x>>\nb\nend note", ":a;\nnote right <<x>> : b", "floating note <<x>>\nb\nend note\n:a;",
		"start <<#green>>\n:a;", ":a;\nstop <<#red>>", "fork <<x>>\n:a;\nend fork",
		"if (a) then (b) <<x>>\n:a;\nendif", "if (a) then (b)\n:a;\nendif <<x>>", "[[http://x.org]] if (a) then (b)\n:a;\nendif",
		"while (a) <<x>>\n:a;\nendwhile", "repeat <<x>>\n:a;\nrepeat while (b)", "switch (a) <<x>>\ncase (b)\n:a;\nendswitch",
		":a|\nb;", ":x\na}\nb;", ":| a | b |\n| c | d |;",
	}
	oldForms = []string{
		":a; <<task>>", ":a; <<x>>", ":a\nb; <<task>>", ":a\nb|;", "partition A <<x>> {\n:a;\n}", "group A <<x>>\n:a;\nend group",
		":a;\nnote right #red\nb\nend note", "if (a\nb) then (c)\n:x;\nendif", "-[#red]-> x;\n:a;", "repeat\n:a;\nbackward :b;\nrepeat while (c)",
	}
)

func TestOlderVersionsAreNamed(t *testing.T) {
	for _, text := range newForms {
		_, found := Parse(source.New("", []byte(marked(text))))
		if len(found) != 1 || found[0].Code != codeVersion || found[0].Severity != workflow.Warning {
			t.Errorf("%s\ngives %v", text, found)
		}
	}
	for _, text := range oldForms {
		if _, found := Parse(source.New("", []byte(marked(text)))); len(found) > 0 {
			t.Errorf("%s\ngives %v", text, found)
		}
	}
}

// The two versions of PlantUML differ exactly where Hocket says they do.
func TestOlderVersionsDiffer(t *testing.T) {
	var texts []string
	for _, text := range slices.Concat(newForms, oldForms) {
		texts = append(texts, marked(text))
	}
	now, before := tooltest.PlantUML[0].Read(t, texts...), tooltest.PlantUML[1].Read(t, texts...)
	for i, text := range texts {
		was, is := fmt.Sprint(before[i].Body), fmt.Sprint(now[i].Body)
		if same := before[i].Accepted() && was == is; same != (i >= len(newForms)) || !now[i].Accepted() {
			t.Errorf("%s\nis read as %s, and was as %s", text, is, was)
		}
	}
}

// Something that PlantUML reads differently is an error only if PlantUML then refuses the diagram
// or leaves a block open. A comment without an end, which PlantUML accepts, is also an error.
func TestErrorsAreWhatPlantUMLRefuses(t *testing.T) {
	tests := []struct {
		text, code string
		want       workflow.Severity
	}{
		{"#red:a;\n:b;", codeVersion, workflow.Warning},
		{"#red:a;", codeVersion, workflow.Error},
		{":a|\nif (b) then (c)\n:d;\nendif", codeVersion, workflow.Error},
		{":x;\n:a|\n:b;\n:c|\nfork\n:d;\nend fork\n:e;", codeVersion, workflow.Error},
		{"if (a) then (b)\n#red:c;\nendif\n:d;", codeVersion, workflow.Error},
		{"if (a) then (b) :c;\n:d (e)\nendif", codeSemicolon, workflow.Warning},
		{"if (a) then (b)\nelse (c) :d;\n:e (f)\nendif", codeSemicolon, workflow.Warning},
		{"if (a) then (b) :c;\nendif", codeJoined, workflow.Error},
		{":a;\n:b;\n/' c\n:d;", codeComment, workflow.Error},
	}
	var texts []string
	for _, tt := range tests {
		_, found := Parse(source.New("", []byte(marked(tt.text))))
		if len(found) == 0 || found[len(found)-1].Severity != tt.want || found[len(found)-1].Code != tt.code || found.Errors() != (tt.want == workflow.Error) {
			t.Errorf("%s\ngives %v", tt.text, found)
		}
		texts = append(texts, marked(tt.text))
	}
	for i, r := range newest.Read(t, texts...) {
		if refused := !r.Accepted() || len(r.Unclosed) > 0 || tests[i].code == codeComment; refused != (tests[i].want == workflow.Error) {
			t.Errorf("%s\nis refused: %v", tests[i].text, refused)
		}
	}
}
