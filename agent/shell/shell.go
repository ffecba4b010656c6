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

// Options configure how commands are run. The zero value is the default.
type Options struct {
	Env   []string      // base environment of every command; nil: that of this process
	Grace time.Duration // from SIGTERM to SIGKILL; zero: 5 s
	// Secret lists variables that a model's commands do not see, in addition to those whose
	// names indicate a secret. In an untrusted project no command sees them.
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

// New returns the executor.
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

// Traits describes the executor. A command gets the prompt of its agent on standard input.
func (s *Shell) Traits() agent.Traits {
	return agent.Traits{About: "Runs commands", Settings: s.schema, Stays: true, Exact: exact, Tools: s.tools, Supports: agent.Keys("prompt"), Does: does}
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
	limit, err := task.Limit()
	if err != nil {
		return agent.Result{}, err
	}
	out := &capture{log: log, out: process.Output{Limit: task.Agent.OutputLimit(set.MaxOutputKB, defaultOutputKB)}}
	p := &process.Command{Cmd: cmd, Key: task.Key, Grace: s.grace, Limit: limit}
	if err := p.Run(ctx, input(task, &set), out.stdout, out.stderr); err != nil {
		return agent.Result{}, failure(ctx, cmd, out, err)
	}
	output, err := out.output()
	return agent.Result{Output: output}, err
}

// command returns the process to start, with its directory and environment.
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

// does reports that a command can do whatever the user can.
func does(map[string]any) []agent.Power { return []agent.Power{agent.MayRun} }

// input returns the standard input of the command.
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

// failure explains to the author of the workflow why a command failed.
func failure(ctx context.Context, cmd *exec.Cmd, out *capture, err error) error {
	var exit *exec.ExitError
	switch {
	case errors.Is(err, process.ErrTooMuch):
		return agent.Permanentf("the output exceeds %d KiB; raise max_output_kb, or print less", out.out.Limit>>10)
	case ctx.Err() != nil:
		return agent.Interrupted(ctx)
	case errors.As(err, &exit):
		return agent.Errorf("%s%s", exit.ProcessState, out.lastWords())
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return agent.Permanentf("command %q not found; check that it is installed and on the PATH", cmd.Path)
	case errors.Is(err, fs.ErrPermission):
		return agent.Permanentf("command %q is not executable", cmd.Path)
	case errors.Is(err, syscall.E2BIG):
		return agent.Permanentf("the arguments and the environment exceed the system limit; pass large values with the stdin setting")
	default:
		return agent.Errorf("command %q: %v", cmd.Path, err)
	}
}
