package hocket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hocket-dev/hocket/agent"
	agentcli "github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Options configure [Open]. The zero value is the default.
type Options struct {
	// State is the directory for runs, sessions and memories. "" means a directory for
	// this project below the user's state directory.
	State string
	// Agents are your own executors, by the names that steps and agent definitions use.
	Agents map[string]agent.Executor
	// Drivers store and drive runs, by the names that config.yml uses for its driver.
	// By default, runs are stored in a journal in the state directory and driven in
	// this process.
	Drivers map[string]OpenDriver
	// Local means that runs are stored and driven on this machine even if config.yml names a driver, for instance to
	// look at those from before it did.
	Local bool
	// Trust decides whether to trust a project whose files can do something that the
	// user has not approved. If nil, operations that need trust return the
	// *[UntrustedError].
	Trust func(ctx context.Context, e *UntrustedError) (bool, error)
	// TrustDigest approves exactly the powers with this digest, for this process.
	TrustDigest string
	// Planner writes new plans for runs in which a step with on_error: replan has failed. If nil, a
	// person does.
	Planner Planner
	// By is who starts, answers and cancels, and Via is how; both are recorded. The
	// defaults are the user of this process and "go". See also [Project.As].
	By, Via string
	// Trial makes runs tests, which replace the time, the directory and the executors; nil: they are real.
	Trial *Trial
	// Metrics is an address at which a driver that has figures serves them to Prometheus. "" means nowhere.
	Metrics string

	root string // of the project, if known; see at
}

// Project is an open project. It is safe for concurrent use.
type Project struct {
	*core
	owner driver.Owner // who acts, and how
	still *snapshot    // the files to use; nil: those of the last Reload
}

// core is what all handles of one open project share.
type core struct {
	o   Options
	dir string // where it was opened

	reading sync.Mutex // Reload
	newest  atomic.Pointer[snapshot]

	opened sync.Mutex // guards the fields below
	driver driver.Driver
	closed bool
	agreed trust.Powers // of drivers, approved for this process

	secretsAgreed atomic.Pointer[trust.Powers] // approved for this process; see mayRead

	exports   *exporting // nil: nothing was exported yet
	detaching Detaching

	driving sync.WaitGroup // runs that are driven here
}

// snapshot is the content of the project's own files at one time. It is immutable.
type snapshot struct {
	files   *project.Project
	secrets *secret.Store
	// secretPowers returns what the project's configuration does with secrets from outside of it.
	secretPowers func() trust.Powers
	tools        *tool.Set
	manifests    []*agentcli.Manifest // of the project's own CLIs
	wrong        workflow.Diagnostics // in the files of tools

	generated []*project.Generated // what models wrote
	known     *trust.Definitions   // what people decided about it; nil: nothing
}

// Open opens the project that contains a directory: the nearest directory, from there
// upwards, that has .hocket or .glee, otherwise the directory itself. Mistakes in its files do
// not make it fail; [Project.Diagnostics] returns them. Open does not start or create
// anything.
func Open(dir string, o Options) (*Project, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, &NoDirectoryError{dir}
	}
	p := (&Project{core: &core{o: o, dir: dir}, owner: driver.Owner{By: UserName(), Via: "go"}}).As(o.By, o.Via)
	if err := p.Reload(); err != nil {
		return nil, err
	}
	return p, nil
}

// As returns the same open project for another user: by is recorded as who starts,
// answers, cancels, raises and forks, and via as how, such as "http". "" keeps the current
// value.
func (p *Project) As(by, via string) *Project {
	as := *p
	as.owner.By, as.owner.Via = cmp.Or(by, p.owner.By), cmp.Or(via, p.owner.Via)
	return &as
}

// Reload reads the project's own files again: its configuration, agents, tools and CLIs.
// Workflows that were loaded before, and runs that are being driven, keep the old ones. If
// it returns an error, such as an *[InvalidError], nothing changes. A change of the driver
// takes effect when the project is opened again.
func (p *Project) Reload() error {
	p.reading.Lock()
	defer p.reading.Unlock()
	root, state := p.o.root, p.o.State
	if before := p.newest.Load(); before != nil { // even if there is another .hocket above or below by now
		root, state = before.files.Root, before.files.State
	}
	s := &snapshot{}
	s.secretPowers = sync.OnceValue(func() trust.Powers {
		return slices.DeleteFunc(s.files.Equipment(), func(power trust.Power) bool { return power.Kind != trust.Secret && power.Kind != trust.Address })
	})
	files, err := project.Open(p.dir, project.Options{
		Root: root, State: state, Shared: p.o.State != "", StateHome: stateHome(), User: userConfig(), Reserved: sorted.Keys(p.o.Agents),
		Away: p.o.Trial != nil && p.o.Trial.Absent, Local: p.o.Local,
		Executors: func(root string, c project.Config) (map[string]agent.Executor, workflow.Diagnostics, error) {
			return s.executors(root, c, p.o.Agents, func(file string) bool { return p.mayRead(s, file) })
		},
	})
	if err != nil {
		return err
	}
	s.files = files
	s.admitAgents()
	files.Report(s.unknownTools())
	files.Report(s.wrongTools())
	files.AddPowers(s.tools.Powers)
	files.AddPowers(func() trust.Powers { return agentcli.Powers(files.Root, s.manifests) })
	if found := files.Diagnostics(); found.Errors() && p.newest.Load() != nil {
		return &InvalidError{found}
	}
	p.newest.Store(s)
	return nil
}

// now returns the project's files as of the last Reload, or those of steady.
func (p *Project) now() *snapshot {
	if p.still != nil {
		return p.still
	}
	return p.newest.Load()
}

// steady returns the project with its current files, unaffected by a later Reload: a
// decision about one version of the files must not be applied to another.
func (p *Project) steady() *Project {
	same := *p
	same.still = p.now()
	return &same
}

// NoDirectoryError reports that the directory of a project does not exist.
type NoDirectoryError struct{ Dir string }

func (e *NoDirectoryError) Error() string { return "no such directory: " + e.Dir }

// Close closes the project: it waits for the runs that Start, Resume or Drive drive here,
// and no new ones can start. To stop them earlier, cancel their contexts.
func (p *Project) Close() error {
	p.opened.Lock()
	p.closed = true
	p.opened.Unlock()
	p.driving.Wait()
	p.opened.Lock()
	defer p.opened.Unlock()
	if p.exports != nil {
		p.exports.x.Close()
		p.exports = nil
	}
	if p.driver == nil {
		return nil
	}
	d := p.driver
	p.driver = nil
	return d.Close()
}

// drives makes Close wait until the returned function is called.
func (p *Project) drives() (func(), error) {
	p.opened.Lock()
	defer p.opened.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	p.driving.Add(1)
	return p.driving.Done, nil
}

// Root returns the absolute path of the project's directory.
func (p *Project) Root() string { return p.now().files.Root }

// State returns the directory for the project's runs, sessions and memories. It may not
// exist yet.
func (p *Project) State() string { return p.now().files.State }

// Config returns the configuration of the project.
func (p *Project) Config() project.Config { return p.now().files.Config }

// Agents returns all agents that steps can use: the project's own and the built-in ones.
func (p *Project) Agents() *agent.Set { return p.now().files.Agents }

// Diagnostics returns the mistakes in the project's own files: its configuration, agents,
// CLIs and tools.
func (p *Project) Diagnostics() workflow.Diagnostics { return p.now().files.Diagnostics() }

// Workflows returns the names of the project's workflows.
func (p *Project) Workflows() []string {
	return p.now().files.Names()
}

// GeneratedWorkflows returns the names of the workflows that models wrote, approved or not, except for
// those that a workflow of the project has.
func (p *Project) GeneratedWorkflows() (names []string) {
	p = p.steady()
	own := p.Workflows()
	for _, g := range p.now().generated {
		if g.Kind == WorkflowKind && !slices.Contains(own, g.ID) {
			names = append(names, g.ID)
		}
	}
	return names
}

// ReadFile reads a file that the user named. A symbolic link in the project must not
// leave it. The error is a *[project.ReadError].
func (p *Project) ReadFile(file string) ([]byte, error) {
	return p.now().files.ReadNamed(file)
}

// runs returns the driver of the project's runs.
func (p *Project) runs() (driver.Driver, error) {
	p.opened.Lock()
	defer p.opened.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if p.driver != nil {
		return p.driver, nil
	}
	if p.o.State == "" && !filepath.IsAbs(p.State()) {
		return nil, &NoHomeError{}
	}
	d, err := p.openDriver(p.State(), false)
	if err != nil {
		return nil, err
	}
	p.driver = d
	return d, nil
}

// ErrClosed reports that a project was closed.
var ErrClosed = errors.New("hocket: the project is closed")

// NoHomeError reports that there is no directory to store runs in.
type NoHomeError struct{}

func (*NoHomeError) Error() string { return "cannot store runs: there is no home directory" }

// Hint returns what to do about it.
func (*NoHomeError) Hint() string { return "set HOME or XDG_STATE_HOME, or pass a state directory" }

// UserName returns the name of the user of this process.
func UserName() string {
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

// UserState returns the directory for what belongs to the user and to no project. The error is a
// *[NoHomeError].
func UserState() (string, error) {
	home := stateHome()
	if home == "" {
		return "", &NoHomeError{}
	}
	return filepath.Join(home, "hocket"), nil
}

// stateHome returns the user's state directory by the conventions of the system, "" if
// there is none.
func stateHome() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if dir := os.Getenv("LOCALAPPDATA"); dir != "" && runtime.GOOS == "windows" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		// Ask the system instead of guessing: another user could have created a guessed
		// directory.
		u, err := user.Current()
		if err != nil || !filepath.IsAbs(u.HomeDir) {
			return ""
		}
		home = u.HomeDir
	}
	return filepath.Join(home, ".local", "state")
}

// unknownTools finds the tools that agents use and the project does not have. An agent
// whose executor has its own tools may mean one of those.
func (s *snapshot) unknownTools() workflow.Diagnostics {
	var found workflow.Diagnostics
	for _, d := range s.files.Agents.Definitions() {
		if !s.files.Agents.Traits(d.Agent).CallsTools {
			continue
		}
		for _, name := range d.Tools {
			var unknown *tool.UnknownError
			if _, err := s.tools.Tool(name); errors.As(err, &unknown) {
				found = append(found, workflow.Errorf(d.At("tools"), agent.CodeDefinition, unknown.Hint(), "agent %q uses the unknown tool %q", d.Name, name))
			}
		}
	}
	return found
}

// wrongTools returns the mistakes in the files of tools. A tool that no agent uses does
// not prevent anything from running.
func (s *snapshot) wrongTools() workflow.Diagnostics {
	found := slices.Clone(s.wrong)
	for i, d := range found {
		name := filepath.Base(filepath.Dir(d.Pos.File))
		used := slices.ContainsFunc(s.files.Agents.Definitions(), func(a *agent.Definition) bool { return slices.Contains(a.Tools, name) })
		if d.Severity == workflow.Error && !used {
			found[i].Severity = workflow.Warning
		}
	}
	return found
}
