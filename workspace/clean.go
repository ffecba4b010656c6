package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
)

// Info describes the directory of a workspace.
type Info struct {
	Attempt            // the last that used it
	Dir      string    // what is removed
	Base     string    // what was checked out
	Captured string    // what was collected; "": it was not
	Left     []string  // directories of attempts that could not be captured, and what else was saved in Dir; they are never removed
	InUse    bool      // an attempt works in it
	Size     int64     // bytes of all files
	Created  time.Time // or collected
	Problem  string    // why the rest is not known; "": it is
	Opened   bool      // a copy for a person, see [Store.OpenCopy]
	Edited   bool      // a copy that a person has changed: only List says so
	Kept     string    // why it could not be removed when that was tried; "": it was not
}

// List returns all workspaces.
func (s *Store) List(ctx context.Context) ([]Info, error) {
	all, err := s.list(ctx)
	for i := range all {
		info := &all[i]
		info.Size = Size(info.Dir)
		info.Edited = info.Opened && isEdited(info.Dir)
	}
	return all, err
}

// list is List without sizes, for which it would have to look at every file.
func (s *Store) list(ctx context.Context) ([]Info, error) {
	homes, err := filepath.Glob(filepath.Join(globEscape(s.dir), "work", "*", "*"))
	if err != nil {
		return nil, err
	}
	var all []Info
	for _, home := range homes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if isDirectory(filepath.Dir(home)) != nil || isDirectory(home) != nil {
			continue // a lock, or a link, which is not ours
		}
		info, err := s.info(home)
		if errors.Is(err, os.ErrNotExist) {
			if left, err := leftIn(home); err == nil && left == nil && !hasTree(home) {
				continue // it was removed meanwhile, or has just begun
			}
			err = &unmarkedError{home}
		}
		if err != nil { // the marker is damaged: the directory is listed, and never removed
			info = Info{Attempt: Attempt{Run: filepath.Base(filepath.Dir(home)), Address: filepath.Base(home)}, Dir: home, Problem: err.Error()}
		}
		lock, err := filelock.Take(home + ".lock")
		if info.InUse = errors.Is(err, filelock.ErrLocked); !info.InUse {
			if err == nil {
				err = lock.Release()
			}
			if err != nil {
				info.Problem = err.Error()
			}
		}
		all = append(all, info.asCopy())
	}
	return all, nil
}

// unmarkedError means that a directory has files, but no marker that says whose they are. No process that is killed leaves that, because
// the marker is written first and removed last. So somebody has removed it, or a power failure has.
type unmarkedError struct{ home string }

func (e *unmarkedError) Error() string {
	return filepath.Join(e.home, markerName) + " is missing, so what is in that directory may be recorded nowhere else"
}

// hasTree reports whether there may be files in the directory of a workspace.
func hasTree(home string) bool {
	_, err := os.Lstat(treeIn(home))
	_, gone := os.Lstat(goneIn(home))
	return !errors.Is(err, os.ErrNotExist) || !errors.Is(gone, os.ErrNotExist)
}

func (s *Store) info(home string) (Info, error) {
	m, err := readMarker(home)
	if err != nil {
		return Info{}, err
	}
	info := Info{Attempt: m.Attempt, Dir: home, Base: m.Base, Captured: m.Captured, Created: m.Created, Kept: m.Kept}
	info.Left, err = leftIn(home)
	return info, err
}

// leftIn returns what is in the directory of a workspace beside what Hocket needs there: the directories of attempts that could not be
// captured, and what a person has created.
func leftIn(home string) (left []string, err error) {
	entries, err := os.ReadDir(home)
	for _, name := range others(entries) {
		left = append(left, filepath.Join(home, name))
	}
	return left, ignoreMissing(err)
}

// others returns the names of those entries of the directory of a workspace that Hocket does not need.
func others(entries []fs.DirEntry) (names []string) {
	for _, e := range entries {
		if !isOurs(e) {
			names = append(names, e.Name())
		}
	}
	return names
}

func globEscape(path string) string {
	if os.PathSeparator == '\\' {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// Size returns how many bytes everything in a directory has, such as that of a store. It need not exist.
func Size(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil // what vanishes meanwhile has no size
	})
	return size
}

// leftovers is how old something unfinished is when no process can need it any more.
const leftovers = time.Hour

// Clean removes workspaces of the caller's choice. It removes only directories that
// have our marker and are not in use, and no copy that a person has changed. What was changed in a directory since its attempt ended is
// captured first; if that fails, it stays. If one cannot be removed, the others are. Clean also removes what processes left that
// were killed, setup results that were not used for a month, and objects that no run needs.
func (s *Store) Clean(ctx context.Context, remove func(Info) bool) error {
	all, err := s.list(ctx)
	if err != nil {
		return s.reason(err)
	}
	removeOlder(filepath.Join(s.dir, "temp"), leftovers)
	removeOlder(filepath.Join(s.dir, "setup"), unusedSetups)
	s.removeUnfinished()
	s.removeRefLocks()
	var homes []string
	for _, info := range all {
		if !info.InUse && remove(info) {
			homes = append(homes, info.Dir)
		}
	}
	err = s.removeHomes(ctx, homes, remove)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(err, s.removalReason(s.releaseProvisional(ctx)), s.removalReason(s.collectGarbage(ctx, leftovers)), s.removalReason(s.packManyRefs(ctx)))
}

// removeHomes removes workspaces like removeHome. What has to be recorded first may find no space on a full disk, so it is tried again when the
// others are removed.
func (s *Store) removeHomes(ctx context.Context, homes []string, remove func(Info) bool) error {
	failed := make([]error, len(homes))
	var removing sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, home := range homes {
		slots <- struct{}{}
		removing.Go(func() {
			failed[i] = s.removeHome(ctx, home, remove)
			<-slots
		})
		if ctx.Err() != nil {
			break
		}
	}
	removing.Wait()
	for i, home := range homes {
		if errors.Is(failed[i], syscall.ENOSPC) && ctx.Err() == nil {
			failed[i] = s.removeHome(ctx, home, remove)
		}
		failed[i] = s.removalReason(failed[i])
	}
	return errors.Join(failed...)
}

// removeHome removes a workspace if it may be removed, and is still of the caller's choice: another attempt may have begun since it was
// listed.
func (s *Store) removeHome(ctx context.Context, home string, remove func(Info) bool) error {
	if rel, err := filepath.Rel(filepath.Join(s.dir, "work"), home); err != nil || !filepath.IsLocal(rel) {
		return errors.New("not a workspace: " + home)
	}
	lock, err := filelock.Take(home + ".lock")
	if errors.Is(err, filelock.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(s.removeUnused(ctx, home, remove), lock.Release(), removeEmpty(filepath.Dir(home)))
}

func (s *Store) removeUnused(ctx context.Context, home string, remove func(Info) bool) error {
	for _, dir := range []string{filepath.Dir(home), home} {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() { // nor a symbolic link
			return ignoreMissing(err)
		}
	}
	m, err := readMarker(home)
	begun := !errors.Is(err, os.ErrNotExist)
	if begun && err != nil {
		return nil //nolint:nilerr // a damaged marker does not say what is in the directory
	}
	if !begun && hasTree(home) {
		return nil // see unmarkedError
	}
	if begun {
		if info, err := s.info(home); err != nil || !remove(info.asCopy()) {
			return err
		}
	}
	if _, err := s.endCommands(home); err != nil {
		return err
	}
	if begun {
		if err := s.removeFiles(ctx, home, m); err != nil {
			return err
		}
	}
	if err := s.removeIn(asideName, filepath.Base(filepath.Dir(home)), filepath.Base(home)); err != nil {
		return err
	}
	if left, err := leftIn(home); err != nil || len(left) > 0 || hasTree(home) {
		return err
	}
	return removeRest(home)
}

// removeFiles removes the tree of a workspace. If something in it would be lost, it stays, and the marker says why.
func (s *Store) removeFiles(ctx context.Context, home string, m marker) error {
	if _, err := settle(home, m); err != nil {
		return err
	}
	if !hasTree(home) {
		return nil
	}
	left, err := s.retire(ctx, home, m)
	switch {
	case err == nil || left != "" || errors.Is(err, syscall.ENOSPC): // that is not so for long
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	m.Kept = s.reason(err).Error()
	return m.write(s, home)
}

// removeEmpty removes a directory if nothing is in it.
func removeEmpty(dir string) error {
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return ignoreMissing(err) // another call may have removed it
	}
	_ = os.Remove(dir) // somebody may use it again
	return nil
}

// removeOlder removes what is in one of our directories. If that has become a link, it does nothing.
func removeOlder(dir string, age time.Duration) {
	if isDirectory(dir) != nil {
		return
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > age {
			_ = removeAll(filepath.Join(dir, e.Name()))
		}
	}
}

// provisional is what the names of runs begin with that have no id yet. A time follows.
const (
	provisional = "start-"
	startTime   = "20060102T150405"
)

// Provisional returns a name for a run that has no id yet. What is kept under it is released after an hour, in case
// that its process was killed.
func Provisional() string { return provisional + time.Now().UTC().Format(startTime+".000000000") }

// releaseProvisional releases what processes kept for runs that they could not record.
func (s *Store) releaseProvisional(ctx context.Context) error {
	for _, g := range s.places() {
		refs, err := g.out(ctx, "for-each-ref", "--format=%(refname)", "refs/hocket/"+provisional+"*/base")
		if err != nil {
			return err
		}
		for ref := range strings.FieldsSeq(refs) {
			at := strings.TrimPrefix(ref, "refs/hocket/"+provisional)
			began, err := time.Parse(startTime, at[:min(len(at), len(startTime))])
			if err != nil || time.Since(began) < leftovers { // a run of a workflow with that name, or one that just begins
				continue
			}
			if err := g.deleteRefs(ctx, strings.TrimSuffix(ref, "base")); err != nil {
				return err
			}
		}
	}
	return nil
}

// Release forgets a run: its workspaces, except for those in use or that cannot be captured and copies that a person has changed, its commits, its
// landings, and the ref in the user's repository.
func (s *Store) Release(ctx context.Context, run string) error {
	return s.removalReason(s.release(ctx, run))
}

func (s *Store) release(ctx context.Context, run string) error {
	if _, err := s.Withdraw(ctx, run); err != nil {
		return err
	}
	homes, err := s.homes(run)
	err = errors.Join(err, s.removeHomes(ctx, homes, func(Info) bool { return true }))
	landings, wrong := filepath.Glob(filepath.Join(globEscape(s.dir), "land", nameOf(run)+".*"))
	err = errors.Join(err, wrong)
	for _, dir := range landings {
		err = errors.Join(err, removeAll(dir))
	}
	err = errors.Join(err, s.removeIn(asideName, nameOf(run)), s.removeIn(portNotes, nameOf(run)))
	for _, g := range s.places() {
		err = errors.Join(err, g.deleteRefs(ctx, refsOf(run)))
	}
	return err
}

// homes returns where a run has or had workspaces, also those of which a process that was killed has made only the lock.
func (s *Store) homes(run string) (homes []string, err error) {
	dir := filepath.Join(s.dir, "work", nameOf(run))
	if isDirectory(dir) != nil {
		return nil, nil // there is none, or a link, which is not ours
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		homes = append(homes, filepath.Join(dir, strings.TrimSuffix(e.Name(), ".lock")))
	}
	slices.Sort(homes)
	return slices.Compact(homes), err
}

func (g git) deleteRefs(ctx context.Context, prefix string) error {
	refs, err := g.out(ctx, "for-each-ref", "--format=delete %(refname)", prefix)
	if err != nil || refs == "" {
		return err
	}
	_, err = g.input(ctx, refs+"\n", "update-ref", "--stdin")
	return err
}

// maxPacks is how many packs the store has before they become one.
const maxPacks = 20

// collectGarbage replaces the packs of the store by one with what its refs need. It is not git gc:
// that would drop objects that the user's repository happens to have, too, and may prune later, or
// copy all of the user's history. Packs that are younger than the given age stay, since a commit is
// packed before its ref is written.
func (s *Store) collectGarbage(ctx context.Context, age time.Duration) error {
	dir := filepath.Join(s.dir, "store.git", "objects", "pack")
	old, err := filepath.Glob(filepath.Join(globEscape(dir), "pack-*.pack"))
	old = slices.DeleteFunc(old, func(pack string) bool {
		info, err := os.Stat(pack)
		return err != nil || time.Since(info.ModTime()) < age
	})
	if err != nil || len(old) < maxPacks { // in a busy hour, each call would copy everything and remove nothing
		return err
	}
	lock, err := filelock.Take(filepath.Join(s.dir, "garbage.lock"))
	if errors.Is(err, filelock.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Release()
	revs, err := s.refs.out(ctx, "for-each-ref", "--format=%(objectname)", "refs/hocket/")
	if err != nil {
		return err
	}
	if s.user != nil {
		kept, err := s.user.out(ctx, "for-each-ref", "--format=^%(objectname)", "refs/hocket/")
		if err != nil {
			return err
		}
		revs += "\n" + kept
	}
	name, err := s.packAll(ctx, revs)
	if err != nil {
		return err
	}
	old = slices.DeleteFunc(old, func(pack string) bool { return pack == filepath.Join(dir, "pack-"+name+".pack") })
	for _, pack := range old { // the index last: without its pack it is ignored
		if info, stat := os.Stat(pack); stat != nil || time.Since(info.ModTime()) < age { // the same was captured again since
			continue
		}
		base := strings.TrimSuffix(pack, ".pack")
		err = errors.Join(err, os.Remove(pack), ignoreMissing(os.Remove(base+".rev")), ignoreMissing(os.Remove(base+".idx")))
	}
	return err
}

// packAll writes a pack with what some commits need, except for others, and returns its name.
func (s *Store) packAll(ctx context.Context, revs string) (string, error) {
	in, err := s.git.intake()
	if err != nil {
		return "", err
	}
	defer in.remove()
	to := filepath.Join(in.dir, "pack")
	if err := os.Mkdir(to, 0o700); err != nil {
		return "", s.reason(err)
	}
	name, err := in.input(ctx, revs+"\n", "pack-objects", "--quiet", "--revs", "--delta-base-offset", filepath.Join(to, "pack"))
	if err == nil {
		err = in.take()
	}
	return name, s.reason(err)
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
