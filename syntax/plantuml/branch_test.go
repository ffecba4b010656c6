package plantuml

import "testing"

// What compares is a condition, also where it is written wrongly.
func TestWrongConditionsAreConditions(t *testing.T) {
	for text, want := range map[string]bool{
		`status = "ok"?`: true, "n=3": true, "score >> 8": true, "score > 8?": true, "good": true,
		"Is it Latin?": false, "ready now": false,
	} {
		if got := isCondition(text); got != want {
			t.Errorf("%q is a condition: %t", text, got)
		}
	}
}
