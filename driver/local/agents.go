package local

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// Resolver finds what does the work of an agent. An [agent.Set] is one.
type Resolver interface {
	Resolve(name string) (*agent.Definition, agent.Executor, error)
}

// Executors are Agents that find an executor by the agent's name. dir is the
// project's root.
func Executors(r Resolver, dir string) Agents { return executors{r, dir} }

type executors struct {
	resolver Resolver
	dir      string
}

func (x executors) Run(ctx context.Context, run string, task *engine.StartTask, at Attempt) Outcome {
	def, exec, err := x.resolver.Resolve(task.Agent)
	if err != nil {
		return Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: err.Error(), Permanent: true}}
	}
	return execute(ctx, exec, agentTask(run, x.dir, def, task, at), at.Log)
}

// agentTask is a command of the engine in the words of executors.
func agentTask(run, dir string, def *agent.Definition, cmd *engine.StartTask, at Attempt) *agent.Task {
	t := &agent.Task{
		Run: run, Address: cmd.Address, Attempt: cmd.Attempt, Key: cmd.Key(run), Again: cmd.Again, Workflow: cmd.Workflow, Node: cmd.Node,
		Agent: def, Prompt: cmd.Prompt, Settings: def.With(cmd.Settings), Decide: cmd.Decide, Feedback: cmd.Feedback, Dir: dir,
		Ask: at.Ask, Artifacts: at.Artifacts,
	}
	if at.Keep != nil {
		t.KeepPrompt = func(text string) { at.Keep(driver.Prompt, []byte(text)) }
	}
	if cmd.Output != nil {
		t.Output = *cmd.Output
	}
	for _, in := range cmd.Inputs {
		t.Inputs = append(t.Inputs, agent.Input(in))
	}
	return t
}

// execute makes an attempt and puts its end into the engine's words.
func execute(ctx context.Context, exec agent.Executor, task *agent.Task, log agent.Log) Outcome {
	res, err := exec.Run(ctx, task, log)
	out := Outcome{Output: res.Output, Usage: engine.Usage(res.Usage)}
	if err != nil {
		out.Fault = faultOf(ctx, err)
	}
	return out
}

var faultKinds = map[agent.Kind]engine.FaultKind{
	agent.Failed:    engine.FaultError,
	agent.TimedOut:  engine.FaultTimeout,
	agent.BadOutput: engine.FaultBadOutput,
	agent.Quota:     engine.FaultQuota,
}

// faultOf is the fault of an attempt. What an attempt says after it was told to
// end is no failure of its own.
func faultOf(ctx context.Context, err error) *engine.Fault {
	if cause := context.Cause(ctx); cause != nil {
		return &engine.Fault{Kind: engine.FaultCancelled, Message: cause.Error()}
	}
	var known *agent.Error
	if !errors.As(err, &known) {
		return &engine.Fault{Kind: engine.FaultError, Message: err.Error()}
	}
	kind, ok := faultKinds[known.Kind]
	if !ok {
		kind = engine.FaultError
	}
	return &engine.Fault{Kind: kind, Message: known.Message, Permanent: known.Permanent, Until: known.Until}
}

// endedEvent is the event of an outcome, with everything in it as it will come
// back from the journal: a replay must see what the run saw.
func endedEvent(address string, attempt int, out Outcome) *engine.TaskEnded {
	ev := &engine.TaskEnded{Address: address, Attempt: attempt, Output: valid(out.Output), Usage: out.Usage}
	if c := ev.Usage.CostUSD; math.IsNaN(c) || math.IsInf(c, 0) {
		ev.Usage.CostUSD, ev.Usage.CostUnknown = 0, true
	}
	if out.Fault != nil {
		fault := *out.Fault
		fault.Message, fault.Until = valid(fault.Message), moment(fault.Until)
		ev.Fault = &fault
	}
	return ev
}

// valid replaces what is not UTF-8, as JSON does.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// moment is a time as the journal keeps it.
func moment(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Round(0).UTC()
}
