package plantuml

import (
	"testing"

	"github.com/hocket-dev/hocket/workflow/expr"
)

// What compares is a condition, also where it is written wrongly.
func TestWrongConditionsAreConditions(t *testing.T) {
	for text, want := range map[string]bool{
		`status = "ok"?`: true, "n=3": true, "score >> 8": true, "score > 8?": true, "good": false,
		"true": true, "the log contains errors?": false, "log contains errors": true,
		"Is it Latin?": false, "ready now": false,
	} {
		if got := testOf(text) == expr.ConditionTest; got != want {
			t.Errorf("%q is a condition: %t", text, got)
		}
	}
}
