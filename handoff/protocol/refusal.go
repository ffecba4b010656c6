package protocol

import (
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Reason summarizes why a handoff is refused, with the wording that the protocol defines.
type Reason struct{ Title, Advice string } // Advice is "" if each error has its own

// Refusal returns the reason for the errors in a file, or in the first file that has any.
func Refusal(found workflow.Diagnostics) Reason {
	name := ""
	title := "XML handoff validation failed"
	advice := ""
	for _, d := range found {
		if d.Severity != workflow.Error {
			continue
		}
		if name == "" {
			name = filepath.Base(d.File)
		}
		if strings.HasPrefix(d.Code, "handoff-") && d.Code != CodeSession { // session errors are not about the schema
			advice = "Fix the values in " + name + ", or read the schema: hocket handoff schema"
		}
		switch {
		case strings.HasPrefix(d.Code, "xml-"):
			return Reason{"Invalid XML handoff in " + name, "Fix XML syntax errors or remove XML block to proceed"}
		case d.Code == CodeElement || d.Code == CodeMissing || d.Code == CodeValue || d.Code == CodeAttribute:
			title = "XML handoff validation failed (schema violation)"
		}
	}
	if advice == "" { // it is valid, but no agent can do it
		title = "The handoff cannot be carried out"
	}
	return Reason{title, advice}
}
