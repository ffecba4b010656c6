package agent

import "strings"

// Equipped is an executor whose work a model can do as well, with tools.
type Equipped interface {
	Executor
	// Exact says whether the settings of a task say what to do. Otherwise its
	// prompt does, and it takes a model.
	Exact(task *Task) bool
	// Tools are those for one attempt of a model. done ends what they hold; it is
	// never nil where there is no error.
	Tools(task *Task) (tools []Tool, done func(), err error)
}

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
