package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/outbound"
	"github.com/hocket-dev/hocket/workflow"
)

// Options select the browser and what it may reach. The zero value is the default.
type Options struct {
	Path    string          // of the browser, or its name; "": the first that is found
	Network outbound.Policy // what every task may reach in addition to public addresses
}

// Browser drives Chromium. It is safe for concurrent use: every attempt has a browser of
// its own.
type Browser struct {
	options Options
	schema  *agent.Schema
}

var _ agent.Executor = (*Browser)(nil)

// New returns the executor.
func New(o Options) *Browser {
	return &Browser{options: o, schema: agent.NewSchema(schema())}
}

// Traits describes the executor.
func (b *Browser) Traits() agent.Traits {
	return agent.Traits{
		Configured: true,
		About:      "Opens, reads and operates web pages", Settings: b.schema,
		Stays: true, Missing: b.missing, Exact: exact, Tools: b.tools,
		Does: func(map[string]any) []agent.Power { return []agent.Power{agent.MayReach} },
	}
}

// missing reports that there is no browser, and how to get one.
func (b *Browser) missing() string {
	switch {
	case find(b.options.Path) != "":
		return ""
	case b.options.Path != "":
		return fmt.Sprintf("browser %q not found; name one that is installed, or %s", b.options.Path, install())
	}
	return "Chromium is not installed; " + install()
}

// exact reports whether the settings of a task say what to do. Otherwise a model with the
// tools works from its prompt.
func exact(task *agent.Task) bool {
	_, steps := task.Settings["steps"]
	_, url := task.Settings["url"]
	return steps || url
}

// Run performs the steps of the settings in a new browser.
func (b *Browser) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	plan, err := b.plan(task)
	if err != nil {
		return agent.Result{}, err
	}
	s, err := b.start(ctx, task, plan.network, nil, log)
	if err != nil {
		return agent.Result{}, err
	}
	defer s.close()
	output, err := plan.run(ctx, s, task)
	return agent.Result{Output: output}, err
}

// start starts a browser for an attempt.
func (b *Browser) start(ctx context.Context, task *agent.Task, network outbound.Policy, permit func(string) error, log agent.Log) (*session, error) {
	if ctx.Err() != nil {
		return nil, agent.Interrupted(ctx)
	}
	path := find(b.options.Path)
	if path == "" {
		return nil, agent.Permanentf("%s", b.missing())
	}
	network = network.Or(b.options.Network)
	return start(ctx, launch{
		path: path, policy: network, permit: permit, key: task.Key, sandbox: os.Geteuid() != 0,
	}, log)
}

// run performs all steps in a browser and returns the output.
func (p *plan) run(ctx context.Context, s *session, task *agent.Task) (string, error) {
	r := &runner{session: s, task: task, limit: p.limit}
	given := map[string]any{}
	for i := range p.steps {
		step := &p.steps[i]
		s.logf("%s %s", step.Action, step.about())
		within, cancel := s.within(ctx, step.patience)
		value, err := r.perform(within, step)
		if err != nil {
			err = explain(ctx, within, fmt.Sprintf("step %d (%s)", i+1, step.Action), step.patience, err)
		}
		cancel()
		if err != nil {
			return "", err
		}
		if step.gives() {
			given[step.key()] = value
		}
	}
	return p.output(given)
}

// runner performs the steps of one attempt.
type runner struct {
	session *session
	task    *agent.Task
	limit   int // limit for the output, in bytes
}

// within returns a context for one action: it ends with the attempt, after the timeout, and
// when the page or the browser is gone.
func (s *session) within(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	crashed, fail := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.broken, func() { fail(context.Cause(s.broken)) })
	return crashed, func() { stop(); cancel() }
}

// explain explains to the author of the workflow why an action failed.
func explain(ctx, within context.Context, what string, patience time.Duration, err error) error {
	var known *agent.Error
	var lost missingError
	switch {
	case ctx.Err() != nil:
		return agent.Interrupted(ctx)
	case errors.As(err, &known):
		return &agent.Error{Kind: known.Kind, Message: what + ": " + known.Message, Permanent: known.Permanent, Until: known.Until}
	case errors.As(err, &lost):
		return agent.Errorf("%s: %v, after %s", what, lost, workflow.FormatDuration(patience))
	case errors.Is(context.Cause(within), errCrashed), errors.Is(context.Cause(within), errEnded):
		return agent.Errorf("%s: %v", what, context.Cause(within))
	case errors.Is(within.Err(), context.DeadlineExceeded):
		return &agent.Error{Kind: agent.TimedOut, Message: fmt.Sprintf("%s: the page did not answer within %s; raise timeout if it needs longer", what, workflow.FormatDuration(patience))}
	case errors.Is(err, context.Canceled): // the client noticed it first
		return agent.Errorf("%s: %v", what, errEnded)
	}
	return agent.Errorf("%s: %v", what, err)
}

// output returns what the steps returned.
func (p *plan) output(given map[string]any) (string, error) {
	giving := slices.DeleteFunc(slices.Clone(p.steps), func(s step) bool { return !s.gives() })
	if len(giving) == 0 {
		return "", nil
	}
	output := workflow.FormatJSON(given)
	if len(giving) == 1 && giving[0].As == "" {
		output = workflow.FormatText(given[giving[0].key()])
	}
	if len(output) > p.limit {
		return "", tooMuch(p.limit)
	}
	return output, nil
}

func tooMuch(limit int) error {
	return agent.Permanentf("the output of the page exceeds %d KiB; select less with a selector, or raise max_output_kb", limit>>10)
}
