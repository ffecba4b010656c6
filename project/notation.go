package project

import (
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// extensions are the endings of workflow files.
var extensions = []string{".yml", ".yaml"}

// parse reads a workflow in the notation of its file.
func parse(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics) {
	return yaml.Parse(file, text)
}
