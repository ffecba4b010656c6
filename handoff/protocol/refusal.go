package protocol

import (
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Reason sums up why a handoff is refused, in the words that the protocol defines.
type Reason struct{ Title, Advice string }

// Refusal returns the reason for errors in a file.
func Refusal(file string, found workflow.Diagnostics) Reason {
	name := filepath.Base(file)
	title := "XML handoff validation failed"
	for _, d := range found {
		switch {
		case d.Severity != workflow.Error:
		case strings.HasPrefix(d.Code, "xml-"):
			return Reason{"Invalid XML handoff in " + name, "Fix XML syntax errors or remove XML block to proceed"}
		case d.Code == codeElement || d.Code == codeMissing || d.Code == codeValue || d.Code == codeAttribute:
			title = "XML handoff validation failed (schema violation)"
		}
	}
	return Reason{title, "Fix the values in " + name + ", or read the schema: hocket handoff schema"}
}
