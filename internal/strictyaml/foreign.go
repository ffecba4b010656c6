package strictyaml

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// foreign are words that people bring along from other tools, or from another
// notation, with the keys that mean the same.
var foreign = map[string]string{
	"title": "name", "allowCustomInput": "custom", "onTimeout": "on_timeout", "onError": "on_error", "input": "inputs",
	"depends": "needs", "depends_on": "needs", "dependsOn": "needs", "if": "when", "condition": "when",
	"max_iterations": "max", "maxIterations": "max", "max_concurrency": "max_parallel", "maxConcurrency": "max_parallel",
}

// translated is an unknown key with the one that means the same.
func (m *Map) translated(d workflow.Diagnostic, written string) workflow.Diagnostic {
	if ours := foreign[written]; slices.Contains(m.known, ours) {
		d = d.Instead(written, ours)
		d.Detail = `it is called "` + ours + `" here`
	}
	return d
}
