package agent

import (
	"fmt"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// CodeReserved is the code of a name in a project file that is reserved for an executor of
// the program.
const CodeReserved = "agent-reserved"

// Reserved reports the reserved names that a definition uses. They refer to the executor
// anyway.
func (s *Set) Reserved(d *Definition) workflow.Diagnostics {
	var found workflow.Diagnostics
	report := func(pos workflow.Pos, what, name string) {
		if !d.Builtin && slices.Contains(s.reserved, name) {
			found = append(found, ReservedName(pos, what, name))
		}
	}
	report(d.Pos, "agent name", d.Name)
	if d.ID != d.Name {
		report(workflow.Pos{File: d.Pos.File, Line: 1, Column: 1}, "file name", d.ID)
	}
	report(d.At("role"), "role", d.Role)
	return found
}

// ReservedName returns the diagnostic for a reserved name in a project file. What describes
// the name, such as "agent name".
func ReservedName(pos workflow.Pos, what, name string) workflow.Diagnostic {
	return workflow.Errorf(pos, CodeReserved, fmt.Sprintf("choose another name: %q is an executor of the program that opened the project", name),
		"the %s %q is reserved", what, name)
}
