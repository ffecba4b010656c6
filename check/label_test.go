package check

import (
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

// An answer chooses the label that it equals, or the only one that it contains as a word.
func TestLabelOfAnAnswer(t *testing.T) {
	n := &node{}
	for _, label := range []string{"Yes", "No", "Maybe later"} {
		if hasWord("x", workflow.BareLabel("?")) {
			t.Error("a text contains a label that is only punctuation")
		}
		n.out = append(n.out, &edge{Edge: &workflow.Edge{On: workflow.OnLabel, Label: label}})
	}
	all := n.labels()
	for _, c := range []struct{ answer, want string }{
		{"yes", "Yes"}, {"YES", "Yes"}, {"Yes.", "Yes"}, {"well, yes", "Yes"}, {"not now", ""}, {"nope", ""}, {"yesterday", ""},
		{"yes and no", ""}, {"no, no", "No"}, {"maybe later", "Maybe later"}, {"perhaps maybe later", "Maybe later"}, {"", ""},
	} {
		if got := all.of(answer{c.answer}); got != c.want {
			t.Errorf("%q chooses %q, want %q", c.answer, got, c.want)
		}
	}
	n.out = append(n.out, &edge{Edge: &workflow.Edge{On: workflow.OnLabel, Label: "yes!"}})
	if got := n.labels().of(answer{"yes"}); got != "Yes" {
		t.Errorf("of two labels that are alike, an answer chooses %q", got)
	}
}
