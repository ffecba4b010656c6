package hocket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/driver"
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

// ElsewhereError reports that another machine has what a step has made.
type ElsewhereError struct {
	What   string
	Worker string // the name of the worker that has it; "": unknown
}

func (e *ElsewhereError) Error() string {
	if e.Worker == "" {
		return e.What + " is not on this machine"
	}
	return fmt.Sprintf("%s is not on this machine: worker %s has it", e.What, e.Worker)
}

// Hint returns what to do about it.
func (e *ElsewhereError) Hint() string {
	if e.Worker == "" {
		return "run the same command on the machine where the steps of the run have worked"
	}
	return "run the same command in the directory of that worker"
}

// elsewhere returns an [ElsewhereError] with the worker that has the files of the run.
func (r *Run) elsewhere(ctx context.Context, format string, args ...any) error {
	info, err := r.d.Info(ctx, r.id)
	return cmp.Or(err, error(&ElsewhereError{fmt.Sprintf(format, args...), info.Home}))
}

// Made names what was made in a workspace.
type Made struct {
	// Address is that of a step. Without it, everything is meant that has led to the last workspace of the run.
	Address string
	// Attempt is what one attempt has left, even if it failed. Zero means what the step has made.
	Attempt int
	// Interruption is what the attempt had left when it was interrupted for the nth time. Zero means what it left
	// in the end.
	Interruption int
}

// Diff returns what was changed. The patch has at most about limit bytes.
func (r *Run) Diff(ctx context.Context, m Made, limit int) (Diff, error) {
	store, from, to, err := r.made(ctx, m)
	if err != nil {
		return Diff{}, err
	}
	return store.Diff(ctx, from, to, limit)
}

// Unmerged returns the steps whose changes are not part of what [Run.Diff] shows without an address, because no step has merged them with it,
// and the step whose workspace that shows.
func (r *Run) Unmerged(ctx context.Context) (last string, others []string, err error) {
	state, err := r.State(ctx)
	if err != nil {
		return "", nil, err
	}
	var commits []string
	made := map[string]string{} // by which step
	for _, step := range state.Result.Steps {
		if step.Workspace == "" {
			continue
		}
		commits = append(commits, step.Workspace)
		if made[step.Workspace] == "" { // others, such as a landing, pass it on
			made[step.Workspace] = step.Address
		}
	}
	if len(made) < 2 {
		return "", nil, nil
	}
	store, err := r.p.workspaces(ctx)
	if err != nil {
		return "", nil, err
	}
	shown := commits[len(commits)-1]
	apart, err := store.Apart(ctx, shown, commits)
	for _, step := range state.Result.Steps {
		if slices.Contains(apart, step.Workspace) && made[step.Workspace] == step.Address {
			others = append(others, step.Address)
		}
	}
	return made[shown], others, err
}

// FileChange is a file that an attempt changed in its workspace.
type FileChange = workspace.Change

// FileVersion is what a file was before or after a change.
type FileVersion = workspace.Version

// Changes returns what an attempt changed in its workspace, if that is on this machine. Contents have at most so many bytes.
// There is one list, unless the attempt is a merge that resolved several conflicts, one after the other: then each has its own.
func (r *Run) Changes(ctx context.Context, address string, attempt, most int) (rounds [][]FileChange, err error) {
	store, _, _, err := r.made(ctx, Made{Address: address, Attempt: attempt})
	if err != nil {
		return nil, err
	}
	all, err := store.Rounds(ctx, workspace.Attempt{Run: r.id, Address: address, Number: attempt})
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		changes, err := store.Changes(ctx, one.Base, one.Commit, most)
		if err != nil {
			return nil, err
		}
		rounds = append(rounds, changes)
	}
	return rounds, nil
}

// ChangesSince returns how what an attempt left differs from the files that the run began with, if they are on this machine.
func (r *Run) ChangesSince(ctx context.Context, address string, attempt, most int) ([]FileChange, error) {
	store, _, to, err := r.made(ctx, Made{Address: address, Attempt: attempt})
	if err != nil {
		return nil, err
	}
	base, err := store.Base(ctx, r.id)
	if err != nil || base == "" {
		return nil, err
	}
	return store.Changes(ctx, base, to, most)
}

// FirstPort returns the first of the ports that an attempt had in its workspace. The error is a *[NoWorkspaceError] if it had none.
func (r *Run) FirstPort(ctx context.Context, address string, attempt int) (int, error) {
	store, _, _, err := r.made(ctx, Made{Address: address, Attempt: attempt})
	if err != nil {
		return 0, err
	}
	return store.FirstPort(workspace.Attempt{Run: r.id, Address: address, Number: attempt})
}

// Files returns some files of the workspace that a step has made, by path; those that are not in it are missing. Contents have at most so
// many bytes.
func (r *Run) Files(ctx context.Context, address string, paths []string, most int) (map[string]*FileVersion, error) {
	store, _, to, err := r.made(ctx, Made{Address: address})
	if err != nil {
		return nil, err
	}
	return store.Files(ctx, to, paths, most)
}

// Interruptions returns how often an attempt was interrupted when it had changed files, and was made again.
func (r *Run) Interruptions(ctx context.Context, address string, attempt int) (int, error) {
	store, err := r.p.workspaces(ctx)
	if err != nil {
		return 0, err
	}
	all, err := store.Interruptions(ctx, workspace.Attempt{Run: r.id, Address: address, Number: attempt})
	return len(all), err
}

// made returns with what a step began and ended.
func (r *Run) made(ctx context.Context, m Made) (store *workspace.Store, from, to string, err error) {
	if store, err = r.p.workspaces(ctx); err != nil {
		return nil, "", "", err
	}
	if m.Attempt > 0 {
		from, to, err = r.left(ctx, store, m)
		return store, from, to, err
	}
	state, err := r.State(ctx)
	if err != nil {
		return nil, "", "", err
	}
	by := ""
	for _, step := range slices.Backward(state.Result.Steps) {
		if step.Workspace == "" || m.Address != "" && step.Address != m.Address {
			continue
		}
		by = step.Address
		if to = step.Workspace; m.Address != "" { // a merge has no directory, and brings everything since the base
			from, _, err = store.Collected(ctx, workspace.Attempt{Run: r.id, Address: m.Address, Number: step.Attempts})
		}
		break
	}
	switch {
	case err != nil:
		return nil, "", "", err
	case to == "":
		return nil, "", "", &NoWorkspaceError{Run: r.id, Address: m.Address}
	}
	if here, err := store.Has(ctx, to); err != nil || !here {
		return nil, "", "", cmp.Or(err, r.elsewhere(ctx, "what step %s of run %s has made", by, r.id))
	}
	if from == "" {
		if from, err = store.Base(ctx, r.id); err == nil && from == "" {
			err = r.elsewhere(ctx, "what the project was when run %s began", r.id)
		}
	}
	return store, from, to, err
}

// left returns with what an attempt began, and what it left. If it has not ended, what is there now is recorded first.
func (r *Run) left(ctx context.Context, store *workspace.Store, m Made) (from, to string, err error) {
	a := workspace.Attempt{Run: r.id, Address: m.Address, Number: m.Attempt}
	none := &NoWorkspaceError{r.id, m.Address, m.Attempt}
	if m.Interruption > 0 {
		all, err := store.Interruptions(ctx, a)
		if err != nil || len(all) < m.Interruption {
			return "", "", cmp.Or(err, r.unleft(ctx, store, none))
		}
		i := all[m.Interruption-1]
		return i.Base, i.Commit, nil
	}
	busy := store.Recover(ctx, a)
	if busy != nil && !errors.Is(busy, workspace.ErrInUse) {
		return "", "", busy
	}
	from, to, err = store.Collected(ctx, a)
	switch {
	case err != nil || to != "":
	case busy != nil:
		err = fmt.Errorf("attempt %d of %s is at work: what it leaves is recorded when it ends", m.Attempt, m.Address)
	default:
		err = r.unleft(ctx, store, none)
	}
	return from, to, err
}

// unleft returns why nothing of an attempt is here: it has left nothing, or its worker is elsewhere.
func (r *Run) unleft(ctx context.Context, store *workspace.Store, none *NoWorkspaceError) error {
	info, err := r.d.Info(ctx, r.id)
	if err != nil || info.Home == "" || info.Home == r.p.WorkerName() {
		return cmp.Or(err, error(none))
	}
	state, err := r.State(ctx)
	if err != nil {
		return err
	}
	for _, step := range state.Result.Steps { // what another attempt or step has made says whether this is the worker, by another name
		if step.Workspace == "" {
			continue
		}
		if here, err := store.Has(ctx, step.Workspace); here || err != nil {
			return cmp.Or(err, error(none))
		}
	}
	return &ElsewhereError{fmt.Sprintf("what attempt %d of %s in run %s may have left", none.Attempt, none.Address, none.Run), info.Home}
}

// OpenWorkspace returns a directory with what was made. It is a copy: changes in it change nothing else, and are not recorded. A copy
// that was changed is never removed; opening the same again returns it as it is.
func (r *Run) OpenWorkspace(ctx context.Context, m Made) (string, error) {
	store, _, to, err := r.made(ctx, m)
	if err != nil {
		return "", err
	}
	return store.OpenCopy(ctx, workspace.Attempt{Run: r.id, Address: m.Address, Number: max(1, m.Attempt)}, to)
}

// withdraw takes back what the run has landed only partly, because its process was killed, and says so.
func (r *Run) withdraw(ctx context.Context) (note string, err error) {
	p, err := r.partlyLanded(ctx)
	if p == nil || err != nil {
		return "", err
	}
	store, err := p.workspaces(ctx)
	if err != nil {
		return "", err
	}
	ended, err := store.Withdraw(ctx, r.id)
	var notes []string
	for _, e := range ended {
		notes = append(notes, e.String())
	}
	return strings.Join(notes, "\n"), err
}

// withdrawn is withdraw after the end of the run. That is recorded whether it succeeds or not, so what is wrong with it is only said: whatever
// captures the project tries again.
func (r *Run) withdrawn(ctx context.Context) (note string) {
	note, err := r.withdraw(ctx)
	if err != nil {
		note = strings.Trim(note+"\n"+err.Error(), "\n")
	}
	return note
}

// partlyLanded returns the project of the run if the run is landing something or was killed while it did, nil otherwise.
func (r *Run) partlyLanded(ctx context.Context) (*Project, error) {
	if len(workspace.Unfinished(r.p.workspaceDir(), r.id)) == 0 { // nearly always
		return nil, nil //nolint:nilnil // there is none
	}
	pin, err := r.pinned(ctx)
	if err != nil {
		return nil, err
	}
	return r.p.at(r.id, pin.Dir)
}

// HalfLanded reports whether the run's process was killed while it landed a change, so that a part of that is in the checkout.
func (r *Run) HalfLanded(ctx context.Context) (bool, error) {
	p, err := r.partlyLanded(ctx)
	if p == nil || err != nil {
		return false, err
	}
	run, err := p.HalfLanded(ctx)
	return run == r.id, err
}

// HalfLanded returns the run whose process was killed while it landed a change, so that a part of that is in the checkout; "" if
// there is none.
func (p *Project) HalfLanded(ctx context.Context) (run string, err error) {
	if !workspace.AnyInterrupted(landingLocks()) { // nearly always; git is not started in a project that is not trusted
		return "", nil
	}
	err = p.ifIsolated(ctx, func(s *workspace.Store) error {
		run, err = s.Interrupted()
		return err
	})
	return run, err
}

// Workspaces returns the directories of steps that have their own workspaces.
func (p *Project) Workspaces(ctx context.Context) (all []Workspace, err error) {
	err = p.ifIsolated(ctx, func(s *workspace.Store) error {
		all, err = s.List(ctx)
		return err
	})
	return all, err
}

// RemoveWorkspaces removes the directories of the workspaces of a run, or of all if it is "", and returns how many bytes that has freed. It never
// removes one that is in use, or whose files are not recorded, or a copy that a person has changed. What a run has left that is over is recorded
// first. A run counts as over if it is named, and is not known here or cannot be read.
func (p *Project) RemoveWorkspaces(ctx context.Context, run string) (freed int64, err error) {
	before := workspace.Size(p.workspaceDir())
	lost := run != "" && p.isLost(ctx, run)
	err = p.cleanWorkspaces(ctx, func(w Workspace, over bool) bool {
		return (run == "" || w.Run == run) && (over || lost || w.Captured != "" || w.Opened)
	})
	return max(0, before-workspace.Size(p.workspaceDir())), err // steps may work meanwhile
}

// isLost reports whether a run is not known here, or cannot be read.
func (p *Project) isLost(ctx context.Context, run string) bool {
	d, err := p.runs()
	if err != nil {
		return false
	}
	info, err := d.Info(ctx, run)
	return errors.As(err, new(*driver.UnknownRunError)) || err == nil && info.Status == Damaged
}

// cleanWorkspaces removes directories of workspaces, which are chosen also by whether their run is over.
func (p *Project) cleanWorkspaces(ctx context.Context, which func(w Workspace, over bool) bool) error {
	return p.ifIsolated(ctx, func(s *workspace.Store) error {
		over, err := p.over(ctx, s)
		if err != nil {
			return err
		}
		return s.Clean(ctx, func(w Workspace) bool { return which(w, over[w.Run]) })
	})
}

// over returns which of the runs with directories are over, so that nobody works there: no agent, and no person who resolves a conflict.
// Only those are that are known to have ended, or to have been deleted. A run of which nothing is known may be in progress: on another
// server, or with another driver, since those of one project share their workspaces.
func (p *Project) over(ctx context.Context, s *workspace.Store) (map[string]bool, error) {
	runs, err := s.Runs()
	if len(runs) == 0 || err != nil {
		return nil, err
	}
	d, err := p.runs()
	if err != nil {
		return nil, err
	}
	open, err := d.Runs(ctx, Filter{Status: []engine.Status{engine.Running, engine.Waiting}})
	if err != nil {
		return nil, err
	}
	deleted, err := p.deletions(d).all()
	if err != nil {
		return nil, err
	}
	over := map[string]bool{}
	for _, run := range runs {
		if slices.ContainsFunc(open, func(i Info) bool { return i.ID == run }) {
			continue
		}
		info, err := d.Info(ctx, run) // a list may be a moment behind
		over[run] = err == nil && hasEnded(info) || errors.As(err, new(*driver.UnknownRunError)) && slices.Contains(deleted, run)
	}
	return over, nil
}

// hasEnded reports whether a run is known to have ended. Of a damaged one nobody knows that: this machine may only lack the key.
func hasEnded(i Info) bool { return i.Status.Done() && i.Status != Damaged }

// WorkspaceSize returns how many bytes workspaces and what they have made take.
func (p *Project) WorkspaceSize() int64 { return workspace.Size(p.workspaceDir()) }
