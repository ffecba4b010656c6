package shell

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/internal/process"
)

// Options say how commands are run. The zero value is the default.
type Options struct {
	Env   []string      // environment of every command, before its own; nil: this process's
	Grace time.Duration // from SIGTERM to SIGKILL; zero: 5 s
	// Secret are variables that a command of a model does not see, besides those whose
	// names say so. In a project that nobody has trusted no command sees them.
	Secret []string
}

// Shell runs commands. It is safe for concurrent use.
type Shell struct {
	env    []string
	grace  time.Duration
	secret []string
	usual  func() []string // of env: what steps of an untrusted project see
	schema *agent.Schema
}

var _ agent.Executor = (*Shell)(nil)

// New makes the executor.
func New(o Options) *Shell {
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	s := newShell(env, o.Secret, o.Grace)
	s.schema = agent.NewSchema(schema())
	return s
}

func newShell(env, names []string, grace time.Duration) *Shell {
	usual := func() []string {
		kept, _ := secret.Usual(env, names...)
		return kept
	}
	return &Shell{env: env, secret: names, usual: sync.OnceValue(usual), grace: grace}
}

// Traits describes it. A command finds the prompt of its agent on standard input.
func (s *Shell) Traits() agent.Traits {
	return agent.Traits{About: "Runs commands", Settings: s.schema, Exact: exact, Tools: s.tools, Supports: agent.Keys("prompt"), Does: does}
}

// Run runs the command that the settings describe, to its end.
func (s *Shell) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	var set settings
	if err := s.schema.Decode(task.Settings, &set); err != nil {
		return agent.Result{}, err
	}
	cmd, err := s.command(task, &set)
	if err != nil {
		return agent.Result{}, err
	}
	out := &capture{log: log, out: process.Output{Limit: task.Agent.OutputLimit(set.MaxOutputKB, defaultOutputKB)}}
	p := &process.Command{Cmd: cmd, Key: task.Key, Grace: s.grace}
	if err := p.Run(ctx, input(task, &set), out.stdout, out.stderr); err != nil {
		return agent.Result{}, failure(ctx, cmd, out, err)
	}
	output, err := out.output()
	return agent.Result{Output: output}, err
}

// command is the process to start, with its place and its environment.
func (s *Shell) command(task *agent.Task, set *settings) (*exec.Cmd, error) {
	argv, err := set.argv(task.Dir)
	if err != nil {
		return nil, err
	}
	dir, err := set.workDir(task.Dir)
	if err != nil {
		return nil, err
	}
	base := s.env
	if task.Untrusted {
		base = s.usual()
	}
	env, err := environment(base, task, set.Env, dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	return cmd, nil
}

// does: a command can do whatever the user can.
func does(map[string]any) []agent.Power { return []agent.Power{agent.MayRun} }

// input is what the command finds on standard input.
func input(task *agent.Task, set *settings) string {
	if set.Stdin != nil {
		return string(*set.Stdin)
	}
	if task.Agent != nil && task.Agent.Prompt != "" && task.Prompt != "" {
		return strings.TrimRight(task.Agent.Prompt, "\n") + "\n\n" + task.Prompt
	}
	if task.Agent != nil && task.Prompt == "" {
		return task.Agent.Prompt
	}
	return task.Prompt
}

// failure says why a command failed, in words for the author of the workflow.
func failure(ctx context.Context, cmd *exec.Cmd, out *capture, err error) error {
	var exit *exec.ExitError
	switch {
	case errors.Is(err, process.ErrTooMuch):
		return agent.Permanentf("the output is over %d KiB; raise max_output_kb, or print less", out.out.Limit>>10)
	case ctx.Err() != nil:
		return agent.Interrupted(ctx)
	case errors.As(err, &exit):
		return agent.Errorf("%s%s", exit.ProcessState, out.lastWords())
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return agent.Permanentf("command %q is not there; is it installed, and on the PATH?", cmd.Path)
	case errors.Is(err, fs.ErrPermission):
		return agent.Permanentf("command %q may not be executed", cmd.Path)
	case errors.Is(err, syscall.E2BIG):
		return agent.Permanentf("the arguments and the environment are larger than the system allows; pass large values by the stdin setting")
	default:
		return agent.Errorf("command %q: %v", cmd.Path, err)
	}
}
