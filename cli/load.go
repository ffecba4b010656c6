package cli

import (
	"os"
	"path/filepath"

	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/workflow"
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
	l, err := p.Load(nameOrFile)
	if err == nil && l.Bundle.Root == nil {
		suggestFile(l.Diagnostics, nameOrFile)
	}
	return l, err
}

// suggestFile names the nearest file for one that does not exist.
func suggestFile(found workflow.Diagnostics, file string) {
	if len(found) != 1 || found[0].Code != "workflow-unknown" || found[0].Line != 0 {
		return
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return
	}
	var names []string
	for _, e := range entries {
		names = append(names, filepath.Join(filepath.Dir(file), e.Name()))
	}
	if near := workflow.DidYouMean(filepath.Clean(file), names); near != "" {
		found[0].Detail = near
	}
}
