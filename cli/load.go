package cli

import (
	"path/filepath"

	"github.com/hocket-dev/hocket/project"
)

// load reads a workflow, by file or by name, with all that it calls.
func (a *app) load(nameOrFile string) (*project.Loaded, error) {
	p, err := a.openProject()
	if err != nil {
		return nil, err
	}
	return a.loadFrom(p, nameOrFile)
}

func (a *app) loadFrom(p *project.Project, nameOrFile string) (*project.Loaded, error) {
	if file := a.path(nameOrFile); a.dir != "" && isFile(file) {
		abs, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		nameOrFile = abs
	}
	return p.Load(nameOrFile)
}
