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

// Clock is the time at which replies come.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or when ctx is done.
	Sleep(ctx context.Context, d time.Duration)
}

// timed is a reply that comes at its time.
type timed struct {
	Reply
	clock Clock
}

var (
	_ agent.Executor = Reply{}
	_ agent.Executor = timed{}
)

// Run waits for the delay and returns the reply.
func (r Reply) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	return timed{r, systemClock{}}.Run(ctx, task, log)
}

// Run waits for the delay and returns the reply.
func (r timed) Run(ctx context.Context, _ *agent.Task, log agent.Log) (agent.Result, error) {
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

func (r timed) wait(ctx context.Context) error {
	if r.Delay > 0 {
		r.clock.Sleep(ctx, r.Delay)
	}
	if ctx.Err() != nil {
		return agent.Interrupted(ctx)
	}
	return nil
}

func (r timed) failure() *agent.Error {
	e := &agent.Error{Kind: agent.Failed, Message: r.Error, Permanent: r.Permanent}
	if r.RetryAfter > 0 {
		e.Kind, e.Until = agent.Quota, r.clock.Now().Add(r.RetryAfter)
	}
	return e
}

// systemClock is the time of this machine.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
