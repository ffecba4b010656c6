package cli

import (
	"bufio"
	"context"
	"errors"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// runHead, the steps and runTail together are the object that run, resume, show and
// similar commands print with --json.
type runHead struct {
	RunID    string  `json:"run_id"`
	Workflow string  `json:"workflow"`
	Digest   string  `json:"digest"`
	Status   string  `json:"status"`
	Output   any     `json:"output"`
	Error    *string `json:"error"` // why the run failed
}

type runTail struct {
	Warnings []string    `json:"warnings"`
	Usage    usageResult `json:"usage"`
}

type stepResult struct {
	Address    string  `json:"address"`
	Node       string  `json:"node"`
	Agent      string  `json:"agent"`
	Status     string  `json:"status"`
	Output     any     `json:"output"`
	Error      *string `json:"error"`
	DurationMS int64   `json:"duration_ms"`
	Attempts   int     `json:"attempts"`
	Iteration  int     `json:"iteration"`
	StepIndex  int     `json:"step_index"`

	Usage     *stepUsage `json:"usage,omitempty"`      // nil if the step used nothing
	Model     string     `json:"model,omitempty"`      // as its provider names it
	SessionID string     `json:"session_id,omitempty"` // of the conversation with the agent, if it is stored
	Artifacts []string   `json:"artifacts,omitempty"`  // files that its attempts created
}

type stepUsage struct {
	CostUSD   *float64 `json:"cost_usd"` // null: partly unknown
	TokensIn  int64    `json:"tokens_in"`
	TokensOut int64    `json:"tokens_out"`
}

type usageResult struct {
	Steps int `json:"steps"`
	stepUsage
	Planning *stepUsage `json:"planning,omitempty"` // the part with which new plans were made; nil if there is none
}

func newHead(res engine.Result, workflow, digest string) runHead {
	out := runHead{RunID: res.Run, Workflow: workflow, Digest: digest, Status: string(res.Status), Output: res.Output}
	if res.Error != "" {
		out.Error = &res.Error
	}
	return out
}

func newTail(res engine.Result) runTail {
	used := usageResult{Steps: res.Usage.Steps, stepUsage: newUsage(res.Usage.Usage)}
	if res.Usage.Planning != (engine.Usage{}) {
		planning := newUsage(res.Usage.Planning)
		used.Planning = &planning
	}
	return runTail{append([]string{}, res.Warnings...), used}
}

// printRun prints a run as one object. It loads the outputs of the steps one at a time,
// as together they may not fit into memory.
func (a *app) printRun(ctx context.Context, r *hocket.Run, head runHead, steps []engine.StepResult, tail any) error {
	first, err := a.encodeJSON(head, "")
	if err != nil {
		return err
	}
	last, err := a.encodeJSON(tail, "")
	if err != nil {
		return err
	}
	key, indent, end := `,"steps":[`, "", "]"
	if a.outStyle.Width > 0 {
		key, indent = ",\n  \"steps\": [", "\n    "
		if len(steps) > 0 {
			end = "\n  ]"
		}
	}
	out := bufio.NewWriter(a.std.Out)
	put := func(texts ...string) { _, _ = out.WriteString(a.outText(strings.Join(texts, ""))) } // Flush reports the error
	put(strings.TrimRight(first, "\n}"), key)
	for i, s := range steps {
		step, err := newStepResult(ctx, r, s)
		var text string
		if err == nil {
			text, err = a.encodeJSON(step, strings.TrimPrefix(indent, "\n"))
		}
		if err != nil {
			put("\n") // the error starts on a new line
			return errors.Join(err, out.Flush())
		}
		if i > 0 {
			put(",")
		}
		put(indent, text)
	}
	put(end, ",", strings.TrimPrefix(last, "{"), "\n")
	return a.unread(out.Flush())
}

func newStepResult(ctx context.Context, r *hocket.Run, s engine.StepResult) (stepResult, error) {
	output, err := s.Value()
	out := stepResult{
		Address: s.Address, Node: s.Node, Agent: s.Agent, Status: string(s.Status), Output: output,
		DurationMS: s.DurationMS, Attempts: s.Attempts, Iteration: s.Iteration, StepIndex: s.StepIndex,
	}
	if s.Error != "" {
		out.Error = &s.Error
	}
	if s.Usage != (engine.Usage{}) {
		used := newUsage(s.Usage)
		out.Usage = &used
	}
	if s.Agent != "" && s.Attempts > 0 {
		out.SessionID = r.SessionOf(ctx, s)
		out.Artifacts, out.Model = keptOf(ctx, r, s)
	}
	return out, err
}

func newUsage(u engine.Usage) stepUsage {
	out := stepUsage{TokensIn: u.TokensIn, TokensOut: u.TokensOut}
	if !u.CostUnknown {
		out.CostUSD = &u.CostUSD
	}
	return out
}

// exitFor returns the exit code for the status of a run.
func exitFor(s engine.Status) error {
	switch s {
	case engine.Success, engine.Partial:
		return nil
	case engine.Failed, engine.TimedOut, engine.Cancelled, engine.Skipped:
		return exitError(exitFailed)
	case engine.Waiting:
		return exitError(exitWaits)
	case engine.Running:
		return exitError(exitInterrupted)
	}
	return exitError(exitFailed)
}
