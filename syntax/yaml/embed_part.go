package yaml

import (
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Parts of the keys of a step, for a notation that has other names for some of them.

// ReadOutputMap reads the long form of an output.
func ReadOutputMap(m *strictyaml.Map) workflow.Output { return readOutputMap(m) }

// ReadOnError reads continue, stop, skip_dependents or replan.
func ReadOnError(n strictyaml.Node) workflow.OnError { return readOnError(n) }

// ReadSetting adds a setting to those of a task.
func ReadSetting(e strictyaml.Entry, t *workflow.Task) {
	if t.Settings == nil {
		t.Settings = map[string]any{}
	}
	readSetting(e, 1, t)
}
