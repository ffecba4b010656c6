package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/workflow"
)

// openProject opens the project around -C or the current directory. Later calls
// give the same one.
func (a *app) openProject() (*hocket.Project, error) {
	if len(a.opened) > 0 {
		return a.opened[len(a.opened)-1], nil
	}
	return a.reopenProject()
}

// reopenProject opens the project as its files are now.
func (a *app) reopenProject() (*hocket.Project, error) {
	dir := a.dir
	if dir == "" {
		dir = "."
	}
	digest := cmp.Or(a.trusted, os.Getenv("HOCKET_TRUST"))
	if digest != "" {
		if err := a.onlyPerson("--trust"); err != nil {
			return nil, err
		}
	}
	p, err := hocket.Open(dir, hocket.Options{State: a.state, Agents: a.with.Agents, Drivers: a.with.Drivers, Via: "cli", Trust: a.decideTrust, TrustDigest: digest})
	var none *hocket.NoDirectoryError
	if errors.As(err, &none) {
		return nil, usagef("-C names the directory of a project", "%v", err)
	}
	if err != nil {
		return nil, err
	}
	a.opened = append(a.opened, p)
	return p, nil
}

// withRun finds a run by its id or the beginning of it.
func (a *app) withRun(ctx context.Context, id string, do func(r *hocket.Run) error) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	r, err := p.Run(ctx, id)
	if err != nil {
		return noRun(ctx, p, err)
	}
	return do(r)
}

// noRun explains that a run was not found: exit code 2, with the nearest ids.
func noRun(ctx context.Context, p *hocket.Project, err error) error {
	var unknown *hocket.UnknownRunError
	if !errors.As(err, &unknown) {
		return err
	}
	hint := "`hocket runs` lists the runs of this project"
	if len(unknown.Candidates) > 0 {
		return usagef("write more of the id", "%v", err)
	}
	runs, _ := p.Runs(ctx, hocket.Filter{Limit: 200}) // none where they cannot be read
	ids := make([]string, len(runs))
	for i, r := range runs {
		ids[i] = r.ID
	}
	if near := workflow.DidYouMean(unknown.ID, ids); near != "" {
		hint = near
	}
	return usagef(hint, "%v", err)
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
