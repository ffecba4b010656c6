package cli

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/hocket-dev/hocket/project"
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
	return project.Open(dir, project.Options{State: a.state, StateHome: stateHome(), Executors: executors()})
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
	return p.State, nil
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
		return filepath.Join(os.TempDir(), "hocket-state")
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
