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

// Options configure how a CLI is run. All fields but its manifest have a default.
type Options struct {
	Manifest *Manifest // nil: the built-in one named Builtin, read when it is needed
	Builtin  string
	Env      []string      // base environment of the CLI; nil: that of this process
	Grace    time.Duration // from SIGTERM to SIGKILL; zero: 5 s
	Prices   agent.Prices  // of models, for CLIs that report only tokens; nil: none is known
	// Dir is where the files of runs and the known versions are stored, private to the
	// user; "" means the user's cache directory. A user who has none gets a new directory
	// for each run, because a name in a shared directory may belong to another user.
	Dir string
	// Secret lists variables that the CLI does not see in an untrusted project, unless they
	// are its own.
	Secret []string
	// Converse drives a CLI through a conversation in which it can ask; nil means that none
	// is supported.
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

// New returns the executor for a CLI.
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

// Manifest returns the manifest of the CLI.
func (x *Executor) Manifest() *Manifest { return x.m() }

// Traits describes the CLI. It does not load the manifest, which is loaded only for a CLI
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
		Stays:       true,
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

// resumes reports whether the CLI has the conversation of the task. An id that looks like
// an option is not accepted. Most CLIs find a conversation only in the directory in which it
// took place; opencode even works there instead of where it is started.
func (x *Executor) resumes(task *agent.Task) bool {
	said := task.Conversation
	if said == nil || said.Native == "" || said.Native[0] == '-' || !x.m().Resumes() && x.m().acp == nil {
		return false
	}
	if said.Dir == "" || said.Dir == where(task) {
		return true
	}
	allowed, _ := x.m().permit(task.Agent.Permissions) // what is wrong with them is reported by Run
	return x.m().roams && !x.m().talks(allowed.mode)
}

// where returns the directory in which the CLI works.
func where(task *agent.Task) string {
	dir, _ := task.Settings["dir"].(string)
	return filepath.Join(task.Dir, filepath.FromSlash(dir))
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

// acpPath returns the program for a conversation; "" if it does not exist.
func (x *Executor) acpPath() string {
	programs := x.m().acp.programs
	if len(programs) == 0 {
		programs = x.m().Programs
	}
	return lookPath(x.m().root, programs, x.env)
}

// Version returns the version of the installed program; "" if it reports none. The error
// says that the program is missing or does not start or, together with a version, that the
// version is too old to have been tested. A program that a project's own manifest names is
// not started: it may do anything, and a check should start nothing.
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
	dir := os.TempDir() // a built-in CLI uses nothing from the project to report its version
	if x.m().root != "" {
		dir = x.m().root // what its arguments name was approved relative to that directory
	}
	version, err := x.versions.of(path, x.m().versionArgs, func() (string, error) {
		return askVersion(ctx, path, x.m().versionArgs, with(x.env, x.m().env, values{}), dir)
	})
	switch {
	case ctx.Err() != nil:
		return "", agent.Interrupted(ctx)
	case err != nil:
		return "", agent.Errorf("%s does not report its version: %v", x.m().Name, err)
	case version != "" && x.m().Oldest != "" && older(version, x.m().Oldest):
		return version, x.m().untried(version)
	}
	return version, nil
}

// Run runs a task with the CLI.
func (x *Executor) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	if !x.resumes(task) {
		anew := *task // the driver's task is not modified
		anew.Conversation, task = nil, &anew
	}
	res, err := x.run(ctx, task, log)
	if res.Conversation != nil {
		res.Conversation.Dir = where(task)
	}
	return res, err
}

func (x *Executor) run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
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

// program finds the CLI. A version older than the tested ones is logged.
func (x *Executor) program(ctx context.Context, root string, set *settings, log agent.Log) (string, error) {
	path := lookPath(x.m().root, x.m().Programs, x.env)
	if set.Program != "" {
		path = lookPath(root, []string{set.Program}, x.env)
	}
	switch {
	case path == "" && set.Program != "":
		return "", agent.Permanentf("program %q does not exist or is not executable", set.Program)
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

// headless runs the command to its end and parses its output.
func (x *Executor) headless(ctx context.Context, task *agent.Task, set *settings, cmd *process.Command, l *launch, log agent.Log) (agent.Result, error) {
	r := &reading{
		m: x.m(), task: task, log: agent.NewLines(log), limit: task.Agent.OutputLimit(set.MaxOutputKB, defaultOutputKB), budget: task.Agent.Budget,
		prices: x.o.Prices, now: time.Now, model: l.model, before: before(task),
	}
	errs := complaints{log: r.log, rules: x.m().complaints}
	stdin, _ := x.m().stdin.text(l.values) // "": no version check
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

// before returns what the conversation of a task has used so far.
func before(task *agent.Task) agent.Usage {
	if task.Conversation == nil {
		return agent.Usage{}
	}
	return task.Conversation.Spent
}
