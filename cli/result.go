package cli

import (
	"context"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// runResult is what run, resume, show and their kin print with --json.
type runResult struct {
	RunID    string       `json:"run_id"`
	Workflow string       `json:"workflow"`
	Digest   string       `json:"digest"`
	Status   string       `json:"status"`
	Output   any          `json:"output"`
	Error    *string      `json:"error"` // why it failed
	Steps    []stepResult `json:"steps"`
	Warnings []string     `json:"warnings"`
	Usage    usageResult  `json:"usage"`
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

	Usage     *stepUsage `json:"usage,omitempty"`      // of a step that used something
	Model     string     `json:"model,omitempty"`      // that did the work, as its provider names it
	SessionID string     `json:"session_id,omitempty"` // of the conversation with the agent, if it was kept
	Artifacts []string   `json:"artifacts,omitempty"`  // the files that its attempts left
}

type stepUsage struct {
	CostUSD   *float64 `json:"cost_usd"` // null: some of it is not known
	TokensIn  int64    `json:"tokens_in"`
	TokensOut int64    `json:"tokens_out"`
}

type usageResult struct {
	Steps int `json:"steps"`
	stepUsage
}

func newRunResult(ctx context.Context, r *hocket.Run, res engine.Result, workflow, digest string) runResult {
	out := runResult{
		RunID: res.Run, Workflow: workflow, Digest: digest, Status: string(res.Status), Output: res.Output,
		Steps: make([]stepResult, len(res.Steps)), Warnings: append([]string{}, res.Warnings...), Usage: usageResult{res.Usage.Steps, newUsage(res.Usage.Usage)},
	}
	if res.Error != "" {
		out.Error = &res.Error
	}
	for i, s := range res.Steps {
		out.Steps[i] = newStepResult(ctx, r, s)
	}
	return out
}

func newStepResult(ctx context.Context, r *hocket.Run, s engine.StepResult) stepResult {
	out := stepResult{
		Address: s.Address, Node: s.Node, Agent: s.Agent, Status: string(s.Status), Output: s.Output,
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
	return out
}

func newUsage(u engine.Usage) stepUsage {
	out := stepUsage{TokensIn: u.TokensIn, TokensOut: u.TokensOut}
	if !u.CostUnknown {
		out.CostUSD = &u.CostUSD
	}
	return out
}

// exitFor is the exit code for the status of a run.
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
