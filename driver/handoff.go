package driver

import (
	"cmp"
	"context"
	"strconv"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// handoffName is the name of the workflow for work that was handed off, and of its step until the
// engine gives the step an id. The task refers to its texts as inputs, so that they are not read as
// templates.
const handoffName, promptInput, settingsInput = "handoff", "prompt", "settings"

// handingOff lets an executor hand work off.
func handingOff(handOff func(context.Context, *engine.HandoffAsked) (*engine.Return, error)) agent.HandOffFunc {
	return func(ctx context.Context, h agent.Handoff) (agent.Handed, error) {
		c, err := handOff(ctx, handoffAsked(h))
		if err != nil {
			return agent.Handed{}, err
		}
		output, err := c.Value()
		if err != nil {
			return agent.Handed{}, err
		}
		h.ID = c.ID
		return resulting(agent.Handed{Handoff: h}, c.Status, output, c.Error), nil
	}
}

// handoffAsked returns the event for work that an executor hands off. The driver adds the attempt.
func handoffAsked(h agent.Handoff) *engine.HandoffAsked {
	if h.ID != "" {
		return &engine.HandoffAsked{Blocking: h.Blocking, ID: h.ID}
	}
	task := &workflow.Task{Agent: h.To, Prompt: workflow.Template{Text: "${inputs." + promptInput + "}"}}
	inputs := map[string]any{promptInput: h.Prompt}
	if len(h.Settings) > 0 {
		inputs[settingsInput] = h.Settings
		task.Settings = map[string]any{}
	}
	for _, key := range sorted.Keys(h.Settings) {
		task.Settings[key] = "${inputs." + settingsInput + "[" + strconv.Quote(key) + "]}"
	}
	ev := &engine.HandoffAsked{
		Blocking: h.Blocking, Inputs: inputs, Key: h.Key, Detach: h.Detach,
		Definition: &workflow.Workflow{Name: handoffName, Limits: h.Limits, Body: workflow.Graph{Nodes: []workflow.Node{
			{ID: handoffName, Step: task, Retry: workflow.Retry{Attempts: h.Attempts}},
		}}},
	}
	if h.May != nil {
		ev.Facts = &engine.TaskFacts{May: *h.May, Repeats: true}
	}
	return ev
}

// handedOff converts the result of a handoff for the attempt.
func handedOff(h engine.Handed) agent.Handed {
	prompt, _ := h.Inputs[promptInput].(string)
	settings, _ := h.Inputs[settingsInput].(map[string]any)
	work := agent.Handoff{ID: h.ID, To: h.Agent, Prompt: prompt, Settings: settings, Blocking: true, Key: h.Key}
	return resulting(agent.Handed{Handoff: work}, h.Status, h.Output, h.Error)
}

func resulting(h agent.Handed, status engine.Status, output any, reason string) agent.Handed {
	switch status {
	case engine.Running:
		h.Running = true
	case engine.Success:
		h.Output = workflow.FormatText(output)
	case engine.Waiting, engine.Partial, engine.Failed, engine.TimedOut, engine.Skipped, engine.Cancelled:
		h.Error = cmp.Or(reason, string(status))
	}
	return h
}
