package cli

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"runtime"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/workflow"
)

// openProject opens the project around -C or the current directory.
func (a *app) openProject() (*project.Project, error) {
	dir := a.dir
	if dir == "" {
		dir = "."
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, usagef("-C names the directory of a project", "there is no directory %s", dir)
	}
	p, err := project.Open(dir, project.Options{State: a.state, StateHome: stateHome(), Executors: a.executors})
	if err == nil {
		p.Report(a.unknownTools(p))
	}
	return p, err
}

// unknownTools finds the tools that agents name and the project does not have. An
// agent that brings tools of its own may mean one of those.
func (a *app) unknownTools(p *project.Project) workflow.Diagnostics {
	var found workflow.Diagnostics
	for _, d := range p.Agents.Definitions() {
		if !p.Agents.Traits(d.Agent).CallsTools {
			continue
		}
		for _, name := range d.Tools {
			var unknown *tool.UnknownError
			if _, err := a.tools.Tool(name); errors.As(err, &unknown) {
				found = append(found, workflow.Errorf(d.At("tools"), agent.CodeDefinition, unknown.Hint(), "%q names the tool %q, which the project does not have", d.Name, name))
			}
		}
	}
	return found
}

// stateDir is where the project's runs are kept.
func (a *app) stateDir() (string, error) {
	if a.state != "" {
		return a.state, nil
	}
	p, err := a.openProject()
	if err != nil {
		return "", err
	}
	return p.State, needState(p)
}

// needState refuses to keep runs where nobody said.
func needState(p *project.Project) error {
	if !filepath.IsAbs(p.State) && stateHome() == "" {
		return usagef("set HOME or XDG_STATE_HOME, or give --state DIR", "there is no home directory to keep runs in")
	}
	return nil
}

// stateHome is the user's directory for state, as the system wants it.
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

// path is where a file on the command line is: seen from -C, else from here.
func (a *app) path(file string) string {
	if a.dir == "" || filepath.IsAbs(file) {
		return file
	}
	below := filepath.Join(a.dir, file)
	if _, err := os.Stat(below); err != nil {
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return below
}
