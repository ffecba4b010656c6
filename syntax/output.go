package syntax

import (
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// ReadOutput reads what a step says of its output, for files that say so in the
// words of the YAML notation.
func ReadOutput(n strictyaml.Node) workflow.Output { return yaml.ReadOutput(n) }
