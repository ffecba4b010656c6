package syntax

import (
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// ReadOutput reads the output section of a step, for files that use the keys of the YAML
// notation.
func ReadOutput(n strictyaml.Node) workflow.Output { return yaml.ReadOutput(n) }
