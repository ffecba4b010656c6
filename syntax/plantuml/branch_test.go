package plantuml

import (
	"testing"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// A comparison is a condition even if it is misspelled.
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

// Problems with an agent are reported at the lane that names it.
func TestLaneNamesTheAgent(t *testing.T) {
	w, found := Parse("f.puml", []byte("@startuml\n|writer|\n|editor|\nstart\n:Read;\nif (Good?) then (yes)\n:Print;\nendif\n|writer|\n:Write;\nstop\n@enduml\n"))
	if found.Errors() {
		t.Fatal(found)
	}
	lines := map[string]int{"read": 3, "choice": 3, "print": 3, "write": 2}
	w.Body.WalkTasks(func(n *workflow.Node, task *workflow.Task) {
		if task.Pos.Line != lines[n.ID] {
			t.Errorf("%s is named at %v", n.ID, task.Pos)
		}
	})
}
