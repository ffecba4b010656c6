package hocket

import (
	"context"
	"fmt"
	"slices"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workspace"
)

// Workspace is the directory of a step that has its own.
type Workspace = workspace.Info

// Diff is what differs between two workspaces.
type Diff = workspace.Diff

// NoWorkspaceError reports that a step has made no workspace.
type NoWorkspaceError struct {
	Run, Address string
	Attempt      int // 0: any
}

func (e *NoWorkspaceError) Error() string {
	switch {
	case e.Address == "":
		return fmt.Sprintf("no step of run %s has made a workspace", e.Run)
	case e.Attempt > 0:
		return fmt.Sprintf("attempt %d of %s in run %s has left no workspace", e.Attempt, e.Address, e.Run)
	}
	return fmt.Sprintf("step %s of run %s has made no workspace", e.Address, e.Run)
}

// Diff returns what a step has changed or, with an attempt, what that attempt has left, even if it failed. Without an
// address, it returns everything that has led to the last workspace of the run. The patch has at most about limit bytes.
func (r *Run) Diff(ctx context.Context, address string, attempt, limit int) (Diff, error) {
	store, from, to, err := r.made(ctx, address, attempt)
	if err != nil {
		return Diff{}, err
	}
	return store.Diff(ctx, from, to, limit)
}

// made returns with what a step began and ended.
func (r *Run) made(ctx context.Context, address string, attempt int) (store *workspace.Store, from, to string, err error) {
	if store, err = r.p.workspaces(ctx); err != nil {
		return nil, "", "", err
	}
	if attempt > 0 {
		from, to, err = store.Collected(ctx, workspace.Attempt{Run: r.id, Address: address, Number: attempt})
		if err == nil && to == "" {
			err = &NoWorkspaceError{r.id, address, attempt}
		}
		return store, from, to, err
	}
	state, err := r.State(ctx)
	if err != nil {
		return nil, "", "", err
	}
	for _, step := range slices.Backward(state.Result.Steps) {
		if step.Workspace == "" || address != "" && step.Address != address {
			continue
		}
		if to = step.Workspace; address != "" { // a merge has no directory, and brings everything since the base
			from, _, err = store.Collected(ctx, workspace.Attempt{Run: r.id, Address: address, Number: step.Attempts})
		}
		break
	}
	switch {
	case err != nil:
		return nil, "", "", err
	case to == "":
		return nil, "", "", &NoWorkspaceError{Run: r.id, Address: address}
	case from == "":
		from, err = store.Base(ctx, r.id)
	}
	return store, from, to, err
}

// OpenWorkspace returns a directory with what a step has made or, with an attempt, what that attempt has left. It is a copy:
// changes in it change nothing else.
func (r *Run) OpenWorkspace(ctx context.Context, address string, attempt int) (string, error) {
	store, _, to, err := r.made(ctx, address, attempt)
	if err != nil {
		return "", err
	}
	w, err := store.Checkout(ctx, workspace.Attempt{Run: r.id, Address: fmt.Sprintf("opened %s", address), Number: max(1, attempt)}, to)
	if err != nil {
		return "", err
	}
	defer w.Close()
	_, err = w.Collect(ctx, "opened") // so that it can be removed
	return w.Dir, err
}

// Workspaces returns the directories of steps that have their own workspaces.
func (p *Project) Workspaces(ctx context.Context) (all []Workspace, err error) {
	err = p.ifIsolated(ctx, func(s *workspace.Store) error {
		all, err = s.List(ctx)
		return err
	})
	return all, err
}

// RemoveWorkspaces removes directories of workspaces, and returns how many bytes that has freed. It never removes one
// that is in use, or whose files are not recorded; those of runs that have ended are recorded first.
func (p *Project) RemoveWorkspaces(ctx context.Context, which func(Workspace) bool) (freed int64, err error) {
	err = p.ifIsolated(ctx, func(s *workspace.Store) error {
		open, err := p.Runs(ctx, Filter{Status: []engine.Status{engine.Running, engine.Waiting}})
		if err != nil {
			return err
		}
		recordLeft(ctx, s, func(w Workspace) bool {
			return which(w) && !slices.ContainsFunc(open, func(r Info) bool { return r.ID == w.Run })
		})
		freed, err = s.Clean(ctx, which)
		return err
	})
	return freed, err
}

// recordLeft records what is in directories of runs that have ended, which nobody did when an attempt was killed, or when
// the run was cancelled while a person worked there. A directory that cannot be recorded is kept.
func recordLeft(ctx context.Context, s *workspace.Store, which func(Workspace) bool) {
	all, _ := s.List(ctx)
	for _, info := range all {
		if info.InUse || info.Captured != "" || !which(info) {
			continue
		}
		if w, err := s.Reopen(info.Attempt, info.Base); err == nil && w != nil {
			_, _ = w.Collect(ctx, fmt.Sprintf("%s, attempt %d, after the run", info.Address, info.Number))
			_ = w.Close()
		}
	}
}

// WorkspaceSize returns how many bytes workspaces and what they have made take.
func (p *Project) WorkspaceSize() int64 { return workspace.Size(p.workspaceDir()) }
