package driver

import (
	"context"
	"errors"
	"slices"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/sorted"
)

// agentTask converts a command of the engine to a task for executors.
func agentTask(run, dir string, def *agent.Definition, cmd *engine.StartTask, at Attempt) *agent.Task {
	t := &agent.Task{
		Run: run, Address: cmd.Address, Attempt: cmd.Attempt, Key: cmd.Key(run), Workflow: cmd.Workflow, Node: cmd.Node,
		Agent: def, Prompt: cmd.Prompt, Settings: def.With(cmd.Settings), Written: def.With(cmd.Written), Decide: cmd.Decide, Asks: cmd.Asks, Feedback: cmd.Feedback, Comment: cmd.Comment, Dir: dir,
		Ask: at.Ask, Artifacts: at.Artifacts,
	}
	if cmd.Handoffs != nil && at.HandOff != nil {
		t.Handoffs, t.HandOff = cmd.Handoffs, handingOff(at.HandOff)
	}
	for _, h := range cmd.Handed {
		t.Handed = append(t.Handed, handedOff(h))
	}
	if at.Keep != nil {
		t.KeepPrompt = func(text string) { at.Keep(Prompt, []byte(text)) }
		t.KeepEntry = agent.Transcript(func(line []byte) { at.Keep(Transcript, line) })
	}
	if at.Note != nil {
		t.NoteSession = func(id string) { at.Note(id, "") }
		t.NoteModel = func(model string) { at.Note("", model) }
	}
	if cmd.Output != nil {
		t.Output = *cmd.Output
	}
	for _, r := range cmd.Received {
		t.Received = append(t.Received, agent.Received(r))
	}
	if cmd.Previous != "" {
		t.Received = append(t.Received, agent.Received{Step: cmd.Node, Output: cmd.Previous})
	}
	for _, in := range cmd.Inputs {
		t.Inputs = append(t.Inputs, agent.Input(in))
	}
	for _, name := range sorted.Keys(def.Inputs) {
		given := slices.ContainsFunc(t.Inputs, func(in agent.Input) bool { return in.Name == name })
		if value := def.Inputs[name]; value != nil && !given {
			t.Inputs = append(t.Inputs, agent.Input{Name: name, Value: value})
		}
	}
	return t
}

// Scripted returns the definition of an agent whose reply is scripted: it need not exist.
func Scripted(task *engine.StartTask) *agent.Definition {
	return &agent.Definition{Name: task.Agent, Builtin: true}
}

// Execute makes an attempt with an executor, and converts its result for the engine.
func Execute(ctx context.Context, exec agent.Executor, def *agent.Definition, dir, run string, task *engine.StartTask, at Attempt) Outcome {
	res, err := exec.Run(ctx, agentTask(run, dir, def, task, at), at.Log)
	out := Outcome{Output: res.Output, Usage: res.Usage, Agent: def.Name, Warning: res.Warning, Found: res.Found}
	if err != nil {
		out.Fault = FaultOf(ctx, err)
	}
	return out
}

var faultKinds = map[agent.Kind]engine.FaultKind{
	agent.Failed:    engine.FaultError,
	agent.TimedOut:  engine.FaultTimeout,
	agent.BadOutput: engine.FaultBadOutput,
	agent.Quota:     engine.FaultQuota,
}

// FaultOf returns the fault of an attempt. What an attempt reports after it was told to
// stop is not a failure of its own.
func FaultOf(ctx context.Context, err error) *engine.Fault {
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
