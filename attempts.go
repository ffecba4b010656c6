package hocket

import (
	"context"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/trace"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// lanes runs the attempts of a run: it resolves the agent of a task, using the roles that
// its workflow declares, and runs it.
type lanes struct {
	agents    *agent.Set
	pin       *driver.Pin
	state     string // where the run is stored
	place     *workplace
	isolation *isolation
	trial     *Trial // nil: attempts are real
	trusted   pinnedTrust
	current   func() trust.Powers // what agents can currently use of the project

	detaching Detaching        // nil: work cannot be detached
	handed    *attempt.Options // for work that is handed off
	telemetry *trace.Config    // where spans are exported to
}

func (l *lanes) Run(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
	role := l.workflow(task.Workflow).RoleOf(task.Agent)
	def, exec, err := l.agents.ResolveLane(task.Agent, role)
	if err != nil {
		return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: err.Error(), Permanent: true}}
	}
	def = def.Within(task.May)
	if at.HandOff != nil {
		at.HandOff = l.estimated(at.HandOff)
	}
	return l.isolation.run(ctx, run, task, at, nil, func(ctx context.Context, dir string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
		return driver.Execute(l.within(ctx, run, task), attempt.Wrap(l.employ(exec), l.handed), def, dir, run, task, at)
	})
}

// scripted makes an attempt with a reply that stands in for the agent. Work that the reply hands off
// is handed off like that of the agent.
func (l *lanes) scripted(ctx context.Context, exec agent.Executor, run string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
	if at.HandOff != nil {
		at.HandOff = l.estimated(at.HandOff)
	}
	return l.isolation.run(ctx, run, task, at, exec, func(ctx context.Context, dir string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
		if l.trial == nil && task.Workspace == "" && task.Within == "" && scripted.ChangesFiles(exec) {
			return driver.Outcome{Fault: &engine.Fault{
				Kind: engine.FaultError, Permanent: true,
				Message: "its reply changes files, which replies do not do in the project: give the step a workspace of its own",
			}}
		}
		return driver.Execute(l.within(ctx, run, task), attempt.Scripted(exec, l.handed), driver.Scripted(task), dir, run, task, at)
	})
}

// within returns the context of what an attempt starts.
func (l *lanes) within(ctx context.Context, run string, task *engine.StartTask) context.Context {
	return process.WithTrace(process.WithState(ctx, l.state), parentOf(l.telemetry, run, task))
}

// employ returns an executor that does no more than the user has approved, and shows no
// secrets.
func (l *lanes) employ(exec agent.Executor) agent.Executor {
	return l.place.Employ(l.trial.stand(held{exec, l.trusted, l.current, joined(l.telemetry)}))
}

// estimated adds to work that is handed off what is known about its agent.
func (l *lanes) estimated(handOff handOff) handOff {
	return func(ctx context.Context, ev *engine.HandoffAsked) (*engine.Return, error) {
		if ev.Definition == nil || ev.Facts != nil { // it asks for a result, or needs no agent
			return handOff(ctx, ev)
		}
		for _, n := range ev.Definition.Body.Nodes {
			facts := handedFacts(l.agents, n.Task(), l.pin.Bundle.Root.RoleOf(n.Task().Agent), ev.Definition.Limits)
			ev.Facts = &facts
		}
		return handOff(ctx, ev)
	}
}

type handOff = func(context.Context, *engine.HandoffAsked) (*engine.Return, error)

// workflow returns the workflow that contains a task.
func (l *lanes) workflow(name string) *workflow.Workflow {
	if root := l.pin.Bundle.Root; root.Name == name {
		return root
	}
	for _, called := range l.pin.Bundle.Called {
		if called.Name == name {
			return called
		}
	}
	return l.pin.Bundle.Root
}
