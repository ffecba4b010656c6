package project

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// Options is what the caller knows and a project cannot find on disk.
type Options struct {
	// State is where runs are kept. "": a directory of this project's own
	// below StateHome.
	State string
	// StateHome is the user's directory for state: XDG_STATE_HOME, or
	// ~/.local/state.
	StateHome string
	// Executors carry out tasks, by the names under which agents ask for them. They
	// are made from what the project says; what is wrong with that is in the
	// diagnostics.
	Executors func(root string, c Config) (map[string]agent.Executor, workflow.Diagnostics, error)
	// Reserved are names of executors that no file of the project can take.
	Reserved []string
}

// Fixed are executors that do not depend on the project.
func Fixed(executors map[string]agent.Executor) func(string, Config) (map[string]agent.Executor, workflow.Diagnostics, error) {
	return func(string, Config) (map[string]agent.Executor, workflow.Diagnostics, error) {
		return executors, nil, nil
	}
}

// Project is a directory with workflows and agents. It is not safe for
// concurrent use.
type Project struct {
	Root   string // absolute
	Config Config
	Agents *agent.Set
	State  string // where its runs are kept; may not exist yet
	// Sources is the text of every file that was read, by the name it has in
	// positions.
	Sources map[string][]byte

	dir         string   // where relative paths begin
	homes       []string // .hocket and .glee, those that exist
	executors   map[string]agent.Executor
	reserved    []string
	definitions []*agent.Definition
	found       workflow.Diagnostics
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
	p := &Project{dir: dir, Root: findRoot(abs), Config: defaultConfig(), State: o.State, reserved: o.Reserved, Sources: make(map[string][]byte)}
	p.homes = homesIn(p.Root)
	if p.State == "" {
		p.State = filepath.Join(o.StateHome, "hocket", key(p.Root))
	}
	if err := p.readConfig(); err != nil {
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

// homesIn are the directories of a project that stand in a directory.
func homesIn(dir string) []string {
	var homes []string
	for _, name := range agent.Homes {
		if home := filepath.Join(dir, name); isDir(home) {
			homes = append(homes, home)
		}
	}
	return homes
}

// Diagnostics are the mistakes in the project's own files: config.yml and the
// agents.
func (p *Project) Diagnostics() workflow.Diagnostics { return p.found }

// findRoot is the nearest directory from one upwards that is a project. Further up a
// stranger may have put one, as into /tmp, and with it programs that would be run: who
// works in a directory has only meant what is theirs.
func findRoot(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		for _, name := range agent.Homes {
			if home := filepath.Join(at, name); isDir(home) && (at == dir || !foreign(home, dir)) {
				return at
			}
		}
		if at == filepath.Dir(at) {
			return dir
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

// readConfig reads the config.yml of the first directory that has one.
func (p *Project) readConfig() error {
	for _, home := range p.homes {
		file := filepath.Join(home, "config.yml")
		text, err := p.read(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		p.Config, p.found = readConfig(file, text)
		return nil
	}
	return nil
}

// read reads a file and keeps its text, so that diagnostics can show it.
func (p *Project) read(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("project: %w", err)
	}
	p.Sources[file] = text
	return text, nil
}
