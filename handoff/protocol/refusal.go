package protocol

import (
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Reason sums up why a handoff is refused, in the words that the protocol defines.
type Reason struct{ Title, Advice string }

// Refusal returns the reason for the errors in a file, or in the first file that has any.
func Refusal(found workflow.Diagnostics) Reason {
	name := ""
	title := "XML handoff validation failed"
	for _, d := range found {
		if d.Severity != workflow.Error {
			continue
		}
		if name == "" {
			name = filepath.Base(d.File)
		}
		switch {
		case strings.HasPrefix(d.Code, "xml-"):
			return Reason{"Invalid XML handoff in " + name, "Fix XML syntax errors or remove XML block to proceed"}
		case d.Code == codeElement || d.Code == codeMissing || d.Code == codeValue || d.Code == codeAttribute:
			title = "XML handoff validation failed (schema violation)"
		}
	}
	return Reason{title, "Fix the values in " + name + ", or read the schema: hocket handoff schema"}
}
