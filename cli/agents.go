package cli

import (
	"context"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/file"
	"github.com/hocket-dev/hocket/agent/http"
	"github.com/hocket-dev/hocket/agent/shell"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/workflow"
)

// executors are all that can do the work of a task in a project, by the names
// under which agents ask for them. This is the one place that lists them.
func executors(_ string, _ project.Config) (map[string]agent.Executor, workflow.Diagnostics, error) {
	return map[string]agent.Executor{
		"file":  file.New(),
		"http":  http.New(http.Options{}),
		"shell": shell.New(shell.Options{}),
	}, nil, nil
}

// laneAgents resolve the agent of a task with what its workflow says about the
// name.
type laneAgents struct {
	set   *agent.Set
	pin   *journal.Pin
	place *workplace
}

func (l laneAgents) Run(ctx context.Context, run string, task *engine.StartTask, at local.Attempt) local.Outcome {
	w := l.pin.Bundle.Root
	if w.Name != task.Workflow {
		for _, called := range l.pin.Bundle.Called {
			if called.Name == task.Workflow {
				w = called
			}
		}
	}
	return local.Executors(lanes{l.set, l.place, w}, l.pin.Dir).Run(ctx, run, task, at)
}

// lanes are the agents of one workflow.
type lanes struct {
	set   *agent.Set
	place *workplace
	w     *workflow.Workflow
}

func (l lanes) Resolve(name string) (*agent.Definition, agent.Executor, error) {
	def, exec, err := l.set.ResolveLane(name, roleOf(l.w, name))
	if err != nil {
		return def, nil, err
	}
	return def, l.place.Employ(exec), nil
}

func roleOf(w *workflow.Workflow, name string) string {
	for _, lane := range w.Agents {
		if lane.Name == name {
			return lane.Role
		}
	}
	return ""
}
