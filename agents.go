package hocket

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/importer"
	"github.com/hocket-dev/hocket/project"
)

// Imported is the result of importing one agent.
type Imported = importer.Outcome

// ImportAction is what was done with it.
type ImportAction = importer.Action

// ImportLost is a key of an agent that could not be imported, and why.
type ImportLost = importer.Lost

// ImportChange is a key of an agent whose value has changed.
type ImportChange = importer.Change

// What import does with an agent.
const (
	ImportMade      = importer.Made
	ImportUpdated   = importer.Updated
	ImportUnchanged = importer.Unchanged
	ImportKept      = importer.Kept
	ImportRefused   = importer.Refused
	ImportGone      = importer.Gone
)

// ImportOptions configure [Project.ImportAgents].
type ImportOptions struct {
	From      []string // programs, of [ImportFormats]
	User      bool     // also from the user's home directory
	Overwrite bool     // replace agents that the user has edited
	DryRun    bool     // write nothing
}

// ImportFormats returns the programs whose agents can be imported.
func ImportFormats() []string { return importer.Formats() }

// ImportAgents converts the agents of other programs into definitions of the project. An
// imported agent never gets more permissions than it had.
func (p *Project) ImportAgents(o ImportOptions) ([]Imported, error) {
	found, err := p.findAgents(o)
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(p.Agents().Definitions(), func(d *agent.Definition) bool { return d.Builtin })
	return importer.Import(found, o.From, importer.Options{
		Dir: p.agentsDir(), Agents: own, Executors: p.Agents().Executors(),
		Now: time.Now(), User: o.User, Overwrite: o.Overwrite, DryRun: o.DryRun,
	})
}

func (p *Project) findAgents(o ImportOptions) ([]importer.Found, error) {
	root, err := os.OpenRoot(p.Root()) // does not follow symbolic links that leave the project
	if err != nil {
		return nil, err
	}
	defer root.Close()
	places := []importer.Place{{FS: root.FS()}}
	if o.User {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, &NoHomeError{}
		}
		if filepath.Clean(home) != p.Root() {
			places = append(places, importer.Place{FS: os.DirFS(home), User: true})
		}
	}
	var all []importer.Found
	for _, from := range o.From {
		for _, place := range places {
			found, err := importer.Find(from, place, p.importTarget())
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// importTarget describes what the executors support, and what the project has.
func (p *Project) importTarget() importer.Target {
	set := p.Agents()
	return importer.Target{
		Serves: func(name string) bool {
			return slices.ContainsFunc(p.Servers(), func(s project.Server) bool { return s.Name == name })
		},
		Ignored: func(d *agent.Definition) []string {
			var keys []string
			for _, problem := range set.Ignored(d) {
				keys = append(keys, problem.Path[0])
			}
			return keys
		},
		Unenforced: func(d *agent.Definition) []string {
			var problems []string
			for _, problem := range set.CheckPermissions(d) {
				problems = append(problems, problem.String())
			}
			return problems
		},
		Knows: func(name string) bool { return slices.Contains(set.Executors(), name) },
		Takes: func(executor, setting string, value any) bool {
			problems := set.ValidateSettings(&agent.Definition{Agent: executor}, map[string]any{setting: value})
			return !slices.ContainsFunc(problems, func(p agent.Problem) bool { return len(p.Path) > 0 && p.Path[0] == setting })
		},
	}
}

// agentsDir is the directory for new agents.
func (p *Project) agentsDir() string { return filepath.Join(p.Root(), ".hocket", "agents") }

// IsAgentName reports whether a name is valid for an agent: it is also a file name.
func IsAgentName(name string) bool { return importer.IsID(name) }

// NewAgent writes the definition of a new agent and returns its file. It never changes an
// existing file.
func (p *Project) NewAgent(d *agent.Definition) (string, error) {
	if !IsAgentName(d.Name) {
		return "", fmt.Errorf("hocket: invalid agent name %q", d.Name)
	}
	file := filepath.Join(p.agentsDir(), d.Name+".yml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return file, err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return file, err
	}
	_, err = f.Write(importer.Text(d))
	if wrong := f.Close(); err == nil {
		err = wrong
	}
	return file, err
}

// Executors returns all executors by name.
func (p *Project) Executors() map[string]agent.Executor { return p.now().files.Executors() }

func quoted(name string) string { return strconv.Quote(name) }
