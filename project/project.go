package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Options is what the caller knows and a project cannot find on disk.
type Options struct {
	// State is where runs are kept. "": a directory of this project's own
	// below StateHome.
	State string
	// Shared says that State may have the runs of other projects, so that this one
	// does not say which of them are kept.
	Shared bool
	// User is the user's own config.yml, for what no project may set; "": there is none.
	User string
	// StateHome is the user's directory for state: XDG_STATE_HOME, or
	// ~/.local/state.
	StateHome string
	// Executors carry out tasks, by the names under which agents ask for them. They
	// are made from what the project says; what is wrong with that is in the
	// diagnostics.
	Executors func(root string, c Config) (map[string]agent.Executor, workflow.Diagnostics, error)
	// Root is the project's directory. "": it is looked for, from the directory that is
	// opened upwards.
	Root string
	// Reserved are names of executors that no file of the project can take.
	Reserved []string
}

// Fixed are executors that do not depend on the project.
func Fixed(executors map[string]agent.Executor) func(string, Config) (map[string]agent.Executor, workflow.Diagnostics, error) {
	return func(string, Config) (map[string]agent.Executor, workflow.Diagnostics, error) {
		return executors, nil, nil
	}
}

// Project is a directory with workflows and agents. Once it is opened, and the caller has
// added what only the caller knows, it does not change: it is safe for concurrent use.
type Project struct {
	Root   string // absolute, without links
	Config Config
	Agents *agent.Set
	State  string // where its runs are kept; may not exist yet
	// Sources are the texts of its own files, by the names that they have in
	// positions.
	Sources map[string][]byte

	dir         string   // where relative paths begin
	spelled     string   // Root as the user wrote it
	id          string   // of the directory Root, see site
	home        string   // of the state directories of projects; "": the user named one
	homes       []string // .hocket and .glee, those that exist
	executors   map[string]agent.Executor
	reserved    []string
	definitions []*agent.Definition
	found       workflow.Diagnostics
	powers      []func() trust.Powers   // that others find
	at          map[string]workflow.Pos // where config.yml says what needs trust, such as mcp.NAME
}

// Open opens the project around a directory: the nearest directory upward that
// has .hocket or .glee, else the directory itself. What is wrong with its files
// is in Diagnostics; an error is one of the machine.
func Open(dir string, o Options) (*Project, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("project: %w", err)
	}
	if info, err := os.Stat(abs); err != nil {
		return nil, fmt.Errorf("project: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("project: %s is not a directory", dir)
	}
	p := &Project{dir: dir, Root: o.Root, Config: defaultConfig(), State: o.State, reserved: o.Reserved, Sources: make(map[string][]byte), at: map[string]workflow.Pos{}}
	if p.Root == "" {
		p.Root = findRoot(abs)
	}
	p.spelled = p.Root
	if real, err := filepath.EvalSymlinks(p.Root); err == nil {
		p.Root = real
	}
	p.id, p.homes = projectfile.Identity(p.Root), p.homesIn(p.Root)
	if p.State == "" {
		p.home = filepath.Join(o.StateHome, "hocket")
		p.State = stateOf(p.home, p.Root, p.id, p.spelled, abs)
	}
	if err := p.readConfig(o); err != nil {
		return nil, err
	}
	if o.Executors != nil {
		executors, found, err := o.Executors(p.Root, p.Config)
		if err != nil {
			return nil, err
		}
		p.executors, p.found = executors, append(p.found, found...)
	}
	return p, p.readAgents(p.homes)
}

// Executors are all that can carry out tasks here, by name.
func (p *Project) Executors() map[string]agent.Executor { return p.executors }

// homesIn are the directories of a project that stand in a directory. One that is a link
// may lead anywhere, and is refused.
func (p *Project) homesIn(dir string) []string {
	homes, links := agent.HomesIn(dir)
	for _, link := range links {
		p.refuse(link, "put the folder itself there", "%s is a link", filepath.Base(link))
	}
	return homes
}

// refuse reports a file of the project that is not opened.
func (p *Project) refuse(file, detail, summary string, args ...any) {
	d := workflow.Errorf(workflow.Pos{File: file}, codeLink, detail, summary, args...)
	if !slices.ContainsFunc(p.found, func(o workflow.Diagnostic) bool { return o.Code == d.Code && o.Pos == d.Pos }) {
		p.found = append(p.found, d)
	}
}

// unusable says whether a file was not read because of what it is, and reports it.
func (p *Project) unusable(file string, err error) bool {
	var outside *projectfile.OutsideError
	switch {
	case errors.As(err, &outside):
		p.refuse(file, "put the file itself there: what a link leads to is not part of the project", "%s is a link that leads out of the project", filepath.Base(file))
	case errors.Is(err, projectfile.ErrNotFile):
		p.refuse(file, "put a text file there", "%s is %v", filepath.Base(file), projectfile.ErrNotFile)
	default:
		return false
	}
	return true
}

// Diagnostics are the mistakes in the project's own files: config.yml and the
// agents.
func (p *Project) Diagnostics() workflow.Diagnostics { return p.found }

// findRoot is the nearest directory from one upwards that is a project, as the path is
// written or where its links lead, else the directory itself.
func findRoot(dir string) string {
	root, found := findUpward(dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil && !found {
		root, _ = findUpward(real)
	}
	return root
}

// findUpward is the nearest directory from one upwards that is a project. Further up a
// stranger may have put one, as into /tmp, and with it programs that would be run: who
// works in a directory has only meant what is theirs.
func findUpward(dir string) (root string, found bool) {
	for at := dir; ; at = filepath.Dir(at) {
		for _, name := range agent.Homes {
			if home := filepath.Join(at, name); isDir(home) && (at == dir || !foreign(home, dir)) {
				return at, true
			}
		}
		if at == filepath.Dir(at) {
			return dir, false
		}
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// key names a project among others: readable, and different for different
// places.
func key(root string) string {
	sum := sha256.Sum256([]byte(root))
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, filepath.Base(root))
	return strings.Trim(name, ".-") + "-" + hex.EncodeToString(sum[:6])
}

// readConfig reads the config.yml of the first directory that has one, and that of the
// user, which counts more.
func (p *Project) readConfig(o Options) error {
	for _, home := range p.homes {
		file := filepath.Join(home, "config.yml")
		text, err := p.read(file)
		if os.IsNotExist(err) || p.unusable(file, err) {
			continue
		}
		if err != nil {
			return err
		}
		config, found := readConfig(file, text, p.at)
		if filepath.Base(home) == ".glee" {
			found = tolerated(found)
		}
		p.Config, p.found = config, append(p.found, found...)
		break
	}
	if o.Shared {
		p.Config.Retention = Retention{}
	}
	if o.User == "" {
		return nil
	}
	text, err := os.ReadFile(o.User)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("project: %w", err)
	}
	p.Sources[o.User] = text
	p.found = append(p.found, p.Config.readUser(o.User, text)...)
	return nil
}

// tolerated are the mistakes of a configuration that Glee itself wrote: it has keys of its
// own, which say nothing here.
func tolerated(found workflow.Diagnostics) workflow.Diagnostics {
	for i, d := range found {
		if d.Code == "yaml-unknown-key" {
			found[i] = workflow.Warningf(d.Pos, d.Code, "it has no effect here; "+d.Detail, "%s", d.Summary)
		}
	}
	return found
}

// read reads a file of the project, or of one of the directories, and keeps its text.
func (p *Project) read(file string, in ...string) ([]byte, error) {
	text, err := projectfile.Read(file, append(in, p.Root)...)
	return p.keep(file, text, err)
}

// ReadNamed reads a file that the user named. One inside of the project does not lead out
// of it, and another one not out of its repository or folder.
func (p *Project) ReadNamed(file string) ([]byte, error) {
	if isBelow(p.Root, file) || isBelow(p.spelled, file) {
		return projectfile.Read(file, p.Root)
	}
	return projectfile.ReadNamed(file)
}

func (p *Project) keep(file string, text []byte, err error) ([]byte, error) {
	if os.IsNotExist(err) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("project: %w", err)
	}
	p.Sources[file] = text
	return text, nil
}
