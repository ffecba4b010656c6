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

// openProject opens the project that contains -C or the current directory. Later calls
// return the same project.
func (a *app) openProject() (*hocket.Project, error) {
	if len(a.opened) > 0 {
		return a.opened[len(a.opened)-1], nil
	}
	return a.reopenProject()
}

// reopenProject opens the project again, with its current files.
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
	p, err := a.open(dir, a.hostOptions())
	var none *hocket.NoDirectoryError
	if errors.As(err, &none) {
		return nil, usagef("pass an existing directory with -C", "%v", err)
	}
	return p, err
}

// hostOptions are those of the projects that this process opens.
func (a *app) hostOptions() hocket.Options {
	return hocket.Options{Via: "cli", Trust: a.decideTrust, TrustDigest: cmp.Or(a.trusted, os.Getenv("HOCKET_TRUST")), Agents: a.with.Agents}
}

// withRun finds a run by its id or a prefix of it.
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

// noRun turns an unknown run into a usage error that suggests a similar id.
func noRun(ctx context.Context, p *hocket.Project, err error) error {
	var unknown *hocket.UnknownRunError
	if !errors.As(err, &unknown) {
		return err
	}
	hint := "run `hocket runs` to list the runs of this project"
	if len(unknown.Candidates) > 0 {
		return usagef("use a longer prefix of the id", "%v", err)
	}
	if p.HasRunHere(ctx, unknown.ID) {
		return usagef("it is on this machine, from before the project had a driver: put HOCKET_DRIVER=local in front of the command", "%v", err)
	}
	runs, _ := p.Runs(ctx, hocket.Filter{Limit: 200}) // without them, there is no suggestion
	ids := make([]string, len(runs))
	for i, r := range runs {
		ids[i] = r.ID
	}
	if near := workflow.DidYouMean(unknown.ID, ids); near != "" {
		hint = near
	}
	return usagef(hint, "%v", err)
}

// path resolves a file on the command line: relative to -C, otherwise to the current
// directory.
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
