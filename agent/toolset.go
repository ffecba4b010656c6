package agent

import "strings"

// Toolset gives the tools with which a model does the work of an executor, for one
// attempt. done ends what they hold; it is never nil where there is no error.
type Toolset func(task *Task) (tools []Tool, done func(), err error)

// Permitted are the permissions of the agent of a task. The error is permanent.
func (t *Task) Permitted() (Permissions, error) {
	var written map[string]any
	if t.Agent != nil {
		written = t.Agent.Permissions
	}
	permissions, problems := ReadPermissions(written)
	if len(problems) == 0 {
		return permissions, nil
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return permissions, Permanentf("permissions: %s", strings.Join(lines, "; "))
}
