package hocket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Options say how a project is opened. The zero value is the default.
type Options struct {
	// State is where runs, sessions and memories are kept. "": a directory of this
	// project below the user's state directory.
	State string
	// Agents are executors of your own, by the names under which steps and agent
	// definitions use them.
	Agents map[string]agent.Executor
	// Drivers keep and drive runs, by the names that config.yml gives under
	// driver. Without one, runs are kept in a journal in the state directory and
	// driven in this process.
	Drivers map[string]OpenDriver
	// Trust decides about a project whose files can do something that the user has
	// not approved. Nil: whatever needs trust returns the *[UntrustedError].
	Trust func(ctx context.Context, e *UntrustedError) (bool, error)
	// TrustDigest approves exactly the powers with this digest, for this process.
	TrustDigest string
	// By is who starts, answers and cancels, and Via how: both are recorded. "":
	// the user of this process, and "go". [Project.As] acts for somebody else.
	By, Via string

	root string // of the project, if it is known; see at
}

// OpenDriver opens a driver for the state directory of a project.
type OpenDriver func(state string) (driver.Driver, error)

// Project is an open project. It is safe for concurrent use.
type Project struct {
	*core
	owner driver.Owner // who acts, and how
	still *snapshot    // the files as they are to be seen; nil: as they were read last
}

// core is what everybody shares who uses one open project.
type core struct {
	o   Options
	dir string // where it was opened

	reading sync.Mutex // Reload
	newest  atomic.Pointer[snapshot]

	opened sync.Mutex // of what follows
	driver driver.Driver
	closed bool

	driving sync.WaitGroup // runs that are driven here
}

// snapshot is the project's own files as they were read at one time. It does not
// change.
type snapshot struct {
	files     *project.Project
	secrets   *secret.Store
	tools     *tool.Set
	manifests []*agentcli.Manifest // of the project's own CLIs
	wrong     workflow.Diagnostics // in the files of tools
}

// Open opens the project around a directory: the nearest directory upward that
// has .hocket or .glee, else the directory itself. Mistakes in its files are in
// [Project.Diagnostics]; they do not keep it from opening. Nothing is started or
// created.
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

// As is the same open project for somebody else: by is who starts, answers, cancels,
// raises and forks, and via how, such as "http". "" leaves what was said before. Runs
// that are found or started through it are acted on in that name.
func (p *Project) As(by, via string) *Project {
	as := *p
	as.owner.By, as.owner.Via = cmp.Or(by, p.owner.By), cmp.Or(via, p.owner.Via)
	return &as
}

// Reload reads the project's own files again: its configuration, agents, tools and
// CLIs. Workflows that were loaded before, and runs that are being driven, keep what
// they have. With an error, such as an *[InvalidError], everything stays as it was. A driver that config.yml names
// anew is used when the project is opened again.
func (p *Project) Reload() error {
	p.reading.Lock()
	defer p.reading.Unlock()
	root, state := p.o.root, p.o.State
	if before := p.newest.Load(); before != nil { // whatever was made above or below it since
		root, state = before.files.Root, before.files.State
	}
	s := &snapshot{}
	files, err := project.Open(p.dir, project.Options{
		Root: root, State: state, Shared: p.o.State != "", StateHome: stateHome(), User: userConfig(), Reserved: slices.Sorted(maps.Keys(p.o.Agents)),
		Executors: func(root string, c project.Config) (map[string]agent.Executor, workflow.Diagnostics, error) {
			return s.executors(root, c, p.o.Agents)
		},
	})
	if err != nil {
		return err
	}
	s.files = files
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

// now is the project's files as they were read last, or as they are to be seen.
func (p *Project) now() *snapshot {
	if p.still != nil {
		return p.still
	}
	return p.newest.Load()
}

// steady is the project with its files as they are now, whatever is read later: what
// is decided about one reading must not be done with another.
func (p *Project) steady() *Project {
	same := *p
	same.still = p.now()
	return &same
}

// NoDirectoryError says that the directory of a project does not exist.
type NoDirectoryError struct{ Dir string }

func (e *NoDirectoryError) Error() string { return "there is no directory " + e.Dir }

// Close closes the project: it waits for the runs that are driven here, by Start,
// Resume or Drive, and no others are begun. To stop them before, cancel the contexts
// that they were started with.
func (p *Project) Close() error {
	p.opened.Lock()
	p.closed = true
	p.opened.Unlock()
	p.driving.Wait()
	p.opened.Lock()
	defer p.opened.Unlock()
	if p.driver == nil {
		return nil
	}
	d := p.driver
	p.driver = nil
	return d.Close()
}

// drives has Close wait until the returned function is called.
func (p *Project) drives() (func(), error) {
	p.opened.Lock()
	defer p.opened.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	p.driving.Add(1)
	return p.driving.Done, nil
}

// Root is the project's directory, absolute.
func (p *Project) Root() string { return p.now().files.Root }

// State is where the project's runs, sessions and memories are kept. It may not
// exist yet.
func (p *Project) State() string { return p.now().files.State }

// Config is what the project sets for all its workflows.
func (p *Project) Config() project.Config { return p.now().files.Config }

// Agents are all agents that steps can name: the project's own and the built-in
// ones.
func (p *Project) Agents() *agent.Set { return p.now().files.Agents }

// Diagnostics are the mistakes in the project's own files: its configuration,
// agents, CLIs and tools.
func (p *Project) Diagnostics() workflow.Diagnostics { return p.now().files.Diagnostics() }

// Workflows are the names of the project's workflows.
func (p *Project) Workflows() []string {
	return p.now().files.Names()
}

// ReadFile reads a file that the user named. One in the project does not lead out of
// it by a link.
func (p *Project) ReadFile(file string) ([]byte, error) {
	return p.now().files.ReadNamed(file)
}

// runs is the driver of the project's runs.
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
	open, err := p.openDriver()
	if err != nil {
		return nil, err
	}
	d, err := open(p.State())
	if err != nil {
		return nil, err
	}
	p.driver = d
	return d, nil
}

// ErrClosed says that a project was closed.
var ErrClosed = errors.New("hocket: the project is closed")

func (p *Project) openDriver() (OpenDriver, error) {
	name := p.Config().Driver
	if name == "" {
		return func(state string) (driver.Driver, error) { return local.Open(state, local.Options{}) }, nil
	}
	if open := p.o.Drivers[name]; open != nil {
		return open, nil
	}
	return nil, &UnknownDriverError{name}
}

// UnknownDriverError says that this program does not have the driver that a
// project asks for.
type UnknownDriverError struct{ Name string }

func (e *UnknownDriverError) Error() string {
	return fmt.Sprintf("the project asks for the driver %q, which this program does not have", e.Name)
}

// Hint says what to do about it.
func (e *UnknownDriverError) Hint() string {
	return "use a program that has it, or remove `driver` from config.yml to run on this machine"
}

// CheckRuns reads everything that is kept about runs, and returns how many there
// are; -1: nothing was ever kept.
func (p *Project) CheckRuns(ctx context.Context) (int, error) {
	d, err := p.runs()
	if err != nil {
		return 0, err
	}
	if c, ok := d.(interface {
		Check(ctx context.Context) (int, error)
	}); ok {
		return c.Check(ctx)
	}
	all, err := d.Runs(ctx, Filter{})
	return len(all), err
}

// NoHomeError says that there is no place to keep runs.
type NoHomeError struct{}

func (*NoHomeError) Error() string { return "there is no home directory to keep runs in" }

// Hint says what to do about it.
func (*NoHomeError) Hint() string { return "set HOME or XDG_STATE_HOME, or name a state directory" }

// UserName is the user of this process.
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

// stateHome is the user's directory for state, as the system wants it; "": the
// user has none.
func stateHome() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if dir := os.Getenv("LOCALAPPDATA"); dir != "" && runtime.GOOS == "windows" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		// The system knows it without the environment. A directory that others
		// could have made is no place for runs.
		u, err := user.Current()
		if err != nil || !filepath.IsAbs(u.HomeDir) {
			return ""
		}
		home = u.HomeDir
	}
	return filepath.Join(home, ".local", "state")
}

// unknownTools finds the tools that agents name and the project does not have. An
// agent that brings tools of its own may mean one of those.
func (s *snapshot) unknownTools() workflow.Diagnostics {
	var found workflow.Diagnostics
	for _, d := range s.files.Agents.Definitions() {
		if !s.files.Agents.Traits(d.Agent).CallsTools {
			continue
		}
		for _, name := range d.Tools {
			var unknown *tool.UnknownError
			if _, err := s.tools.Tool(name); errors.As(err, &unknown) {
				found = append(found, workflow.Errorf(d.At("tools"), agent.CodeDefinition, unknown.Hint(), "%q names the tool %q, which the project does not have", d.Name, name))
			}
		}
	}
	return found
}

// wrongTools are the mistakes in the files of tools. One that no agent names does not
// keep anything from running.
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
