package scripted

import (
	"context"
	"time"

	"github.com/hocket-dev/hocket/agent"
)

// Reply is one entry: what an agent returns for one attempt, or a person answers.
type Reply struct {
	Output     string        `json:"output,omitempty"`
	Delay      time.Duration `json:"delay,omitempty"` // before the reply
	CostUSD    float64       `json:"cost_usd,omitempty"`
	TokensIn   int64         `json:"tokens_in,omitempty"`
	TokensOut  int64         `json:"tokens_out,omitempty"`
	Error      string        `json:"error,omitempty"`       // the attempt fails with this text
	Permanent  bool          `json:"permanent,omitempty"`   // the failure is not retried
	RetryAfter time.Duration `json:"retry_after,omitempty"` // the failure is a quota that is reset after this
}

var _ agent.Executor = Reply{}

// Run waits for the delay and returns the reply.
func (r Reply) Run(ctx context.Context, _ *agent.Task, log agent.Log) (agent.Result, error) {
	if err := r.wait(ctx); err != nil {
		return agent.Result{}, err
	}
	used := agent.Usage{CostUSD: r.CostUSD, TokensIn: r.TokensIn, TokensOut: r.TokensOut}
	if r.Error != "" {
		return agent.Result{Usage: used}, r.failure()
	}
	log([]byte(r.Output + "\n"))
	return agent.Result{Output: r.Output, Usage: used}, nil
}

// Traits returns the zero value: a scripted step may have any settings, because it
// keeps those of the agent that it replaces.
func (Reply) Traits() agent.Traits { return agent.Traits{} }

func (r Reply) wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return agent.Interrupted(ctx)
	}
	if r.Delay == 0 {
		return nil
	}
	timer := time.NewTimer(r.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return agent.Interrupted(ctx)
	}
}

func (r Reply) failure() *agent.Error {
	e := &agent.Error{Kind: agent.Failed, Message: r.Error, Permanent: r.Permanent}
	if r.RetryAfter > 0 {
		e.Kind, e.Until = agent.Quota, time.Now().Add(r.RetryAfter)
	}
	return e
}
