package cli

import (
	"context"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/agent"
)

// converse runs a task through a driver that talks to the CLI.
func (x *Executor) converse(ctx context.Context, task *agent.Task, set *settings, allowed permissions, log agent.Log) (agent.Result, error) {
	if x.m().acp == nil || x.o.Converse == nil {
		return agent.Result{}, agent.Permanentf("%s cannot ask before it acts; choose one of the modes %s under `permissions`", x.m().Name, x.m().modes())
	}
	path := x.acpPath()
	if set.Program != "" {
		path = lookPath(task.Dir, []string{set.Program}, x.env)
	}
	if path == "" {
		return agent.Result{}, agent.Permanentf("%s", x.m().missingForTalk())
	}
	task = impatient(task)
	l, err := x.prepare(ctx, task, set, allowed, log)
	if err != nil {
		return agent.Result{}, err
	}
	defer l.close()
	filled, _ := fill(x.m().acp.meta, l.values)
	meta, _ := filled.(map[string]any) // otherwise there is nothing to report
	start := &Start{
		Manifest: x.m(), Quirks: x.m().acp.quirks, Dir: l.dir, Model: l.model, Mode: allowed.mode, Servers: l.servers, Prices: x.o.Prices, Now: time.Now,
		Meta: meta, Permissions: allowed.common,
		Command:  l.command(path, arguments(x.m().acp.args, l.values), l.env(slices.Concat(x.m().env, x.m().acp.env))),
		MaxBytes: task.Agent.OutputLimit(set.MaxOutputKB, defaultOutputKB),
	}
	return x.o.Converse(ctx, start, task, log)
}

// talkPatience is how long a call may take in a conversation if it can be continued. The protocol
// has no way to say how long a CLI should wait; codex and goose give up after five minutes.
const talkPatience = 270 * time.Second

// impatient returns a task whose tools return before the CLI gives up, if that loses nothing.
func impatient(task *agent.Task) *agent.Task {
	own := *task
	own.Tools = slices.Clone(task.Tools)
	for i := range own.Tools {
		call := own.Tools[i].Call
		if !own.Tools[i].Resumes {
			continue
		}
		own.Tools[i].Call = func(ctx context.Context, args map[string]any, task *agent.Task, log agent.Log) (string, error) {
			ctx, stop := context.WithTimeout(ctx, talkPatience)
			defer stop()
			return call(ctx, args, task, log)
		}
	}
	return &own
}

func (m *Manifest) missingForTalk() string {
	if len(m.acp.programs) == 0 {
		return m.missing()
	}
	text := m.acp.programs[0] + " is not installed, or not on the PATH: " + m.Name + " needs it to ask before it acts"
	if m.acp.install != "" {
		text += "; " + m.acp.install
	}
	return text
}

// Failure returns the error of a task whose CLI reported a failure, by its message and by
// an HTTP status, which is zero if there is none.
func (s *Start) Failure(words string, status int) *agent.Error {
	return s.Manifest.failure(Failure, words, status, time.Time{}, s.Now())
}
