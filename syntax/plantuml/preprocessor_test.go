package plantuml_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/plantuml"
	"github.com/hocket-dev/hocket/workflow"
)

// The result of the preprocessor is not known, so nothing in the file is reported as a mistake: the
// file is not checked.
func TestPreprocessorIsNotChecked(t *testing.T) {
	tests := []struct {
		lines    string
		workflow workflow.Severity
	}{
		{"!include style.puml", workflow.Warning},
		{"!theme mine from themes", workflow.Warning},
		{"!assert $x == 1", workflow.Error},
		{"!include C4.puml\nPerson(a, b)", workflow.Error},
		{"!define STEP(x) :x;\nSTEP(a)", workflow.Error},
		{"!$x = \"a\"", workflow.Error},
		{"!procedure $p($a)\n:$a;\n!endprocedure\n$p(\"a\")", workflow.Error},
		{"!include a.puml\n!if (1)\nif (x) then\n!endif", workflow.Error},
	}
	for _, tt := range tests {
		text := []byte("@startuml\n|writer|\n" + tt.lines + "\n:Write;\n@enduml\n")
		_, found := plantuml.Parse("a.puml", text)
		if len(found) != 1 || !strings.HasPrefix(found[0].Summary, "not checked: ") || found[0].Severity != tt.workflow {
			t.Errorf("%s: a workflow has\n%v", tt.lines, found)
		}
		found = plantuml.Diagram("a.puml", text)
		if len(found) != 1 || !strings.HasPrefix(found[0].Summary, "not checked: ") || found[0].Severity != workflow.Warning {
			t.Errorf("%s: a diagram has\n%v", tt.lines, found)
		}
	}
}
