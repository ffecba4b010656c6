package scripted

import (
	"context"
	"os"
	"path"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/sorted"
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
	// Files are what the attempt, even one that fails, leaves in its directory, by path; nil deletes a file.
	Files map[string]*string `json:"files,omitempty"`
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
	clock  Clock
	forAll bool // it is for every step that has no entry
}

var (
	_ agent.Executor = Reply{}
	_ agent.Executor = timed{}
)

// Run waits for the delay and returns the reply.
func (r Reply) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	return timed{r, systemClock{}, false}.Run(ctx, task, log)
}

// Run waits for the delay and returns the reply.
func (r timed) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	if err := r.wait(ctx); err != nil {
		return agent.Result{}, err
	}
	if err := r.change(task.Dir); err != nil {
		return agent.Result{}, agent.Permanentf("the files of the reply: %v", err)
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

// ChangesFiles reports whether an executor is a reply that changes files.
func ChangesFiles(exec agent.Executor) bool {
	switch r := exec.(type) {
	case timed:
		return len(r.Files) > 0
	case Reply:
		return len(r.Files) > 0
	}
	return false
}

// IsForAll reports whether an executor is a reply of "*". It is no answer of a person.
func IsForAll(exec agent.Executor) bool {
	r, ok := exec.(timed)
	return ok && r.forAll
}

// change writes and deletes the files of the reply. Nothing outside of the directory can be reached, and no
// repository of git.
func (r Reply) change(dir string) error {
	if len(r.Files) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range sorted.Keys(r.Files) {
		if err := changeFile(root, name, r.Files[name]); err != nil {
			return err
		}
	}
	return nil
}

func changeFile(root *os.Root, name string, text *string) error {
	if err := projectfile.CheckPath(name); err != nil {
		return err
	}
	if err := projectfile.NoLinks(root, name); err != nil {
		return err
	}
	if text == nil {
		return root.Remove(name)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return root.WriteFile(name, []byte(*text), 0o644)
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
