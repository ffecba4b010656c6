package cli

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/process"
)

// Options say how a CLI is run. All but its manifest have a default.
type Options struct {
	Manifest *Manifest // nil: the built-in one of the name Builtin, read when it is needed
	Builtin  string
	Env      []string      // environment of the CLI, before its own; nil: this process's
	Grace    time.Duration // from SIGTERM to SIGKILL; zero: 5 s
	Prices   agent.Prices  // of models, for CLIs that tell tokens only; nil: none is known
	// Dir is where the files of runs and the known versions are kept, private to the
	// user; "": the user's directory for caches. A user who has none gets a new one for
	// each run: a name in a directory of all users may be taken by another one.
	Dir string
	// Secret are variables that the CLI does not see in a project that nobody has trusted,
	// unless they are its own.
	Secret []string
	// Converse drives a CLI through a conversation in which it can ask; nil: none can.
	Converse Driver
}

// Driver runs a task through a conversation with the CLI.
type Driver func(ctx context.Context, start *Start, task *agent.Task, log agent.Log) (agent.Result, error)

// Executor runs one CLI. It is safe for concurrent use.
type Executor struct {
	o        Options
	m        func() *Manifest
	env      []string
	schema   *agent.Schema
	versions *versions
}

var _ agent.Executor = (*Executor)(nil)

// New makes the executor of a CLI.
func New(o Options) *Executor {
	x := &Executor{o: o, env: o.Env, m: sync.OnceValue(func() *Manifest { return BuiltinManifest(o.Builtin) })}
	if o.Manifest != nil {
		x.m = func() *Manifest { return o.Manifest }
	}
	if x.env == nil {
		x.env = os.Environ()
	}
	if x.o.Dir == "" {
		if cache, err := os.UserCacheDir(); err == nil {
			x.o.Dir = filepath.Join(cache, "hocket", "cli")
		}
	}
	x.versions = &versions{}
	if x.o.Dir != "" {
		x.versions.file = filepath.Join(x.o.Dir, "versions.json")
	}
	x.schema = agent.NewSchema(schema())
	return x
}

// Manifest is that of the CLI.
func (x *Executor) Manifest() *Manifest { return x.m() }

// Traits describes the CLI. It does not read the manifest, which is read only for a CLI
// that is used.
func (x *Executor) Traits() agent.Traits {
	about := "The CLI agent " + x.o.Builtin
	if x.o.Manifest != nil {
		about = "The CLI agent " + x.o.Manifest.Name + " of the project"
	}
	return agent.Traits{
		About:       about,
		Settings:    x.schema,
		Supports:    x.supports,
		Unfollowed:  x.unfollowed,
		Permissions: x.checkPermissions,
		Missing:     x.missing,
		Version:     x.Version,
		Prompted:    true,
		Resumes:     x.resumes,
		Account:     func(*agent.Task) string { return x.m().Account },
		Unbounded:   x.unbounded,
		Powers:      x.powers,
		Fixed:       []string{"program", "args", "env"},
	}
}

// resumes reports whether the CLI has the conversation of the task. What it would take
// for an option is not the name of one.
func (x *Executor) resumes(task *agent.Task) bool {
	return task.Conversation != nil && task.Conversation.Native != "" && task.Conversation.Native[0] != '-' && (x.m().Resumes() || x.m().acp != nil)
}

// missing reports that the program is not installed, and how to get it.
func (x *Executor) missing() string {
	if x.m().headless && lookPath(x.m().root, x.m().Programs, x.env) != "" || x.converses() && x.acpPath() != "" {
		return ""
	}
	return x.m().missing()
}

func (m *Manifest) missing() string {
	text := m.Programs[0] + " is not installed, or not on the PATH"
	if m.Install != "" {
		text += "; " + m.Install
	}
	return text
}

func (x *Executor) converses() bool { return x.m().acp != nil && x.o.Converse != nil }

// acpPath is the program for a conversation; "" it is not there.
func (x *Executor) acpPath() string {
	programs := x.m().acp.programs
	if len(programs) == 0 {
		programs = x.m().Programs
	}
	return lookPath(x.m().root, programs, x.env)
}

// Version is the version of the program that is installed; "" it tells none. The error
// says that it is missing or does not start, or, beside a version, that nobody has tried
// one that old. A program that a project's own
// manifest names is not started for that: it may do anything, and to look starts nothing.
func (x *Executor) Version(ctx context.Context) (string, error) {
	if x.o.Manifest != nil {
		return "", nil
	}
	path := lookPath("", x.m().Programs, x.env)
	if path == "" {
		return "", agent.Permanentf("%s", x.m().missing())
	}
	return x.versionOf(ctx, path)
}

func (x *Executor) versionOf(ctx context.Context, path string) (string, error) {
	if len(x.m().versionArgs) == 0 {
		return "", nil
	}
	dir := os.TempDir() // a CLI that is built in uses nothing of a project to tell its version
	if x.m().root != "" {
		dir = x.m().root // what its arguments name was approved as seen from there
	}
	version, err := x.versions.of(path, x.m().versionArgs, func() (string, error) {
		return askVersion(ctx, path, x.m().versionArgs, with(x.env, x.m().env, values{}), dir)
	})
	switch {
	case ctx.Err() != nil:
		return "", agent.Interrupted(ctx)
	case err != nil:
		return "", agent.Errorf("%s does not tell its version: %v", x.m().Name, err)
	case version != "" && x.m().Oldest != "" && older(version, x.m().Oldest):
		return version, x.m().untried(version)
	}
	return version, nil
}

// Run has the CLI do a task.
func (x *Executor) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	var set settings
	if err := x.schema.Decode(task.Settings, &set); err != nil {
		return agent.Result{}, err
	}
	allowed, problems := x.m().permit(task.Agent.Permissions)
	if len(problems) > 0 {
		return agent.Result{}, refuse(problems)
	}
	if x.m().talks(allowed.mode) {
		return x.converse(ctx, task, &set, allowed, log)
	}
	path, err := x.program(ctx, task.Dir, &set, log)
	if err != nil {
		return agent.Result{}, err
	}
	l, err := x.prepare(ctx, task, &set, allowed, log)
	if err != nil {
		return agent.Result{}, err
	}
	defer l.close()
	return x.headless(ctx, task, &set, l.command(path, arguments(x.m().args, l.values), l.env(x.m().env)), l, log)
}

// program finds the CLI. That it is older than what was tried is said in the log.
func (x *Executor) program(ctx context.Context, root string, set *settings, log agent.Log) (string, error) {
	path := lookPath(x.m().root, x.m().Programs, x.env)
	if set.Program != "" {
		path = lookPath(root, []string{set.Program}, x.env)
	}
	switch {
	case path == "" && set.Program != "":
		return "", agent.Permanentf("program %q is not there, or may not be executed", set.Program)
	case path == "":
		return "", agent.Permanentf("%s", x.m().missing())
	case set.AnyVersion:
		return path, nil
	}
	version, err := x.versionOf(ctx, path)
	if version != "" && err != nil {
		log([]byte("warning: " + err.Error() + "\n"))
		err = nil
	}
	return path, err
}

// headless runs the command to its end and reads what it says.
func (x *Executor) headless(ctx context.Context, task *agent.Task, set *settings, cmd *process.Command, l *launch, log agent.Log) (agent.Result, error) {
	r := &reading{
		m: x.m(), task: task, log: agent.NewLines(log), limit: task.Agent.OutputLimit(set.MaxOutputKB, defaultOutputKB), budget: task.Agent.Budget,
		prices: x.o.Prices, now: time.Now, model: l.model, before: before(task),
	}
	errs := complaints{log: r.log, rules: x.m().complaints}
	stdin, _ := x.m().stdin.text(l.values) // "": it is not wanted
	err := cmd.Run(ctx, stdin, r.take, errs.add)
	last := r.end()
	if wrong := errs.end(); err == nil {
		err = wrong
	}
	if x.m().reply.file != "" && last == nil {
		last = r.file(l.tmp)
	}
	if err == nil {
		err = last
	}
	r.endModel()
	o := &outcome{m: x.m(), r: r, err: err, stderr: &errs.said, program: cmd.Cmd.Path, started: cmd.Cmd.Process != nil}
	return o.result(ctx, l)
}

// before is what the conversation of a task used until now.
func before(task *agent.Task) agent.Usage {
	if task.Conversation == nil {
		return agent.Usage{}
	}
	return task.Conversation.Spent
}
