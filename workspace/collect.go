package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// SubmoduleError means that there are files where submodules belong. Git would leave them out.
type SubmoduleError struct{ Paths []string }

func (e *SubmoduleError) Error() string {
	return fmt.Sprintf("the files of a submodule cannot be captured: %s: move what you need of them elsewhere, and empty the directory, for example with git submodule deinit -f", shownAll(e.Paths, maxListed))
}

// UnreadableError means that directories in a workspace cannot be read, so that their files would be lost: they belong to another
// user, or their paths are too long.
type UnreadableError struct{ Dirs []string }

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("the files of a directory cannot be read: %s: change its owner or its path, or ignore it", shownAll(e.Dirs, maxListed))
}

// makeReadable makes directories and files readable for git, which leaves out others. It returns an error if git would wait forever for a
// file that it reads, or read forever. It calls see for everything of which the system tells when it was changed, and returns
// what git could take for repositories of their own.
func (w *Workspace) makeReadable(ctx context.Context, see func(name string, s stat)) (found repositories, err error) {
	const need = 0o500
	if err := isDirectory(w.Root); err != nil {
		return found, &ReplacedError{err}
	}
	if info, err := os.Lstat(w.Root); err == nil && info.Mode().Perm()&need != need {
		_ = os.Chmod(w.Root, info.Mode().Perm()|need)
	}
	root, err := os.OpenRoot(w.Root) // whatever becomes a link meanwhile, modes are changed only below it
	if err != nil {
		return found, err
	}
	defer root.Close()
	err = walk(w.Root, func(name string, mode fs.FileMode, s *stat, err error) error {
		if err == nil {
			found.add(root, name, mode)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil //nolint:nilerr // git reports it, unless it is ignored
		case isLeftOut(name, mode):
			return fs.SkipDir
		case mode.IsDir() && mode.Perm()&need != need && name != "":
			_ = root.Chmod(name, mode.Perm()|need) // it may belong to another user
		case mode.IsRegular() && mode.Perm()&0o400 == 0:
			_ = root.Chmod(name, mode.Perm()|0o400)
		case readByGit[path.Base(name)] && !mode.IsDir() && !mode.IsRegular() && mode.Type() != fs.ModeSymlink:
			return fmt.Errorf("%s is not a regular file: remove it", Shown(name))
		}
		if s != nil {
			see(name, *s)
		}
		return nil
	})
	return found, err
}

// maxPath is how long the system allows a path to be.
const maxPath = 4096

// isLeftOut reports whether nothing in a directory is collected: repositories, and paths that git reports to be too long.
func isLeftOut(name string, mode fs.FileMode) bool {
	return mode.IsDir() && (len(name) > maxPath || path.Base(name) == ".git")
}

// readByGit are the names of files that git reads in every directory, or at the top. It does not follow links there.
var readByGit = map[string]bool{".gitignore": true, ".gitattributes": true, ".gitmodules": true}

// Collect commits what is in the workspace and returns the commit, which the store keeps for the
// attempt. If nothing was changed, it is the base. Commits of the agent are kept if HEAD descends from
// the base; otherwise everything is one commit on the base. Ignored files are not collected,
// unless the base or a commit of the agent has them. What commands of the attempt left running ends first. It can be
// called again.
func (w *Workspace) Collect(ctx context.Context, message string) (string, error) {
	commit, files, err := w.record(ctx, "", message)
	if err != nil {
		return "", w.store.reason(err)
	}
	return commit, w.store.reason(w.mark(marker{Captured: commit, Files: files}))
}

// record is Collect without the end of the attempt. If the attempt has ended with a commit, what was changed since is committed on that.
func (w *Workspace) record(ctx context.Context, ended, message string) (commit, files string, err error) {
	if err := w.store.reclaim(w.home); err != nil {
		return "", "", err
	}
	if err := isDirectory(w.Root); err != nil {
		return "", "", &ReplacedError{err}
	}
	if w.Others, err = w.store.endCommands(w.home); err != nil {
		return "", "", err
	}
	if ended != "" {
		return w.collect(ctx, ended, "", message)
	}
	head := w.headCommit()
	if head != w.Base && head != "" {
		commit, files, err := w.collect(ctx, head, filepath.Join(w.Root, ".git", "objects"), message)
		if err == nil || ctx.Err() != nil || isLasting(err) {
			return commit, files, err
		}
		// It does not descend from the base, or its objects are damaged.
	}
	return w.collect(ctx, "", "", message)
}

// isLasting reports whether an error is due to the files: without the commits of the agent, it would be the same, or something would be lost.
func isLasting(err error) bool {
	return errors.As(err, new(*NestedError)) || errors.As(err, new(*SubmoduleError)) || errors.As(err, new(*UnreadableError)) || errors.As(err, new(*RefusedError)) || errors.As(err, new(*VanishedError))
}

var errNoDescendant = errors.New("HEAD does not descend from the base")

// collect records the files on a commit that descends from the base, or on the base if head is "". Objects is where those of the
// agent are, if the commit needs them. It also returns what [seen] says of the files.
func (w *Workspace) collect(ctx context.Context, head, objects, message string) (commit, files string, err error) {
	if objects != "" {
		if err := w.checkObjects(ctx); err != nil {
			return "", "", err
		}
	}
	q, err := w.store.quarantine(w.Root, objects)
	if err != nil {
		return "", "", err
	}
	defer q.remove()
	if err := w.copyIndex(q.index); err != nil {
		return "", "", err
	}
	now, err := newSeen(q.dir)
	if err != nil {
		return "", "", err
	}
	var inner repositories
	err = q.compare(func(see func(string, stat)) (err error) {
		inner, err = w.makeReadable(ctx, func(name string, s stat) {
			see(name, s)
			now.add(name, s)
		})
		return err
	})
	if err != nil {
		return "", "", err
	}
	links, err := q.gitlinks(ctx)
	if err != nil {
		return "", "", err
	}
	on, err := w.parent(ctx, q, head, links)
	if err != nil {
		return "", "", err
	}
	if err := w.addAll(ctx, q, links, inner); err != nil {
		return "", "", err
	}
	if commit, err = w.commit(ctx, q, message, on); err != nil {
		return "", "", err
	}
	return commit, now.digest(), nil
}

// commit commits what is in the index, and keeps the commit for the attempt.
func (w *Workspace) commit(ctx context.Context, q *quarantine, message string, on point) (string, error) {
	s := w.store
	tree, err := q.writeTree(ctx)
	if err != nil {
		return "", err
	}
	commit, err := q.commit(ctx, tree, message, on)
	if err != nil {
		return "", err
	}
	if commit != w.Base {
		if err := q.seal(ctx, s.git, commit, w.Base); err != nil {
			return "", err
		}
	}
	s.lastPoint.Store(&point{commit, tree, on.time})
	refs := fmt.Sprintf("update %[1]s%[2]s %[3]s\nupdate %[1]sfrom/%[2]s %[4]s\n", refsOf(w.Run), w.ref(), commit, w.Base)
	if _, err = s.refs.input(ctx, refs, "update-ref", "--stdin"); err == nil {
		_ = s.packManyRefs(ctx) // otherwise later
	}
	return commit, err
}

// addAll adds all files to the index, which may have those of a commit of the agent. Links are the submodules of the base, and inner is
// what may be repositories. Git never looks into one: it would run what its configuration says.
func (w *Workspace) addAll(ctx context.Context, q *quarantine, links []string, inner repositories) error {
	var empty []string
	if len(links) > 0 {
		var err error
		if empty, err = w.emptySubmodules(ctx, q); err != nil {
			return err
		}
	}
	inSubmodule := func(name string) bool {
		return slices.ContainsFunc(empty, func(link string) bool { return name == link || strings.HasPrefix(name, link+"/") })
	}
	inner.nested, inner.parts = slices.DeleteFunc(inner.nested, inSubmodule), slices.DeleteFunc(inner.parts, inSubmodule)
	if nested, err := q.notIgnored(ctx, inner.nested); err != nil || len(nested) > 0 {
		return cmp.Or(err, error(&NestedError{Paths: nested}))
	}
	found, err := q.add(ctx, links, empty)
	switch {
	case err != nil:
		return err
	case found.unread != nil:
		return &UnreadableError{found.unread}
	case found.nested != nil:
		return &NestedError{Paths: found.nested}
	}
	return q.checkBare(ctx, w.Base, found.files, inner.parts)
}

// emptySubmodules returns those submodules that the index still has and that are empty directories, as they were checked out, or filled
// by git: what is changed in that repository is left out, as in the user's checkout. Where there is none or something else than a directory,
// git records that.
func (w *Workspace) emptySubmodules(ctx context.Context, q *quarantine) (empty []string, err error) {
	links, err := q.gitlinks(ctx)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(w.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var full []string
	for _, name := range links {
		info, err := root.Lstat(filepath.FromSlash(name))
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() || isBelowLink(root, name):
			continue // git records that
		case err != nil:
			return nil, err
		}
		if is, err := isEmpty(root, name); err != nil {
			return nil, err
		} else if _, err := root.Lstat(filepath.Join(filepath.FromSlash(name), ".git")); is || err == nil {
			empty = append(empty, name)
		} else {
			full = append(full, name)
		}
	}
	if full != nil {
		return nil, &SubmoduleError{full}
	}
	return empty, nil
}

// isBelowLink reports whether a part of a path before its end is a link, through which git does not look.
func isBelowLink(root *os.Root, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(filepath.FromSlash(dir)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

func isEmpty(root *os.Root, dir string) (bool, error) {
	d, err := root.Open(filepath.FromSlash(dir))
	if err != nil {
		return false, err
	}
	defer d.Close()
	if _, err = d.Readdirnames(1); errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

// checkObjects returns an error if something in the agent's objects is no regular file, because git would wait for a pipe forever, or
// if they lead to other objects than ours, where the same could be.
func (w *Workspace) checkObjects(ctx context.Context) error {
	const alternates = ".git/objects/info/alternates"
	root, err := os.OpenRoot(w.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	if info, err := root.Lstat(".git"); err != nil || !info.IsDir() {
		return errors.Join(errNoDirectory, err)
	}
	if info, err := root.Lstat(".git/objects"); err != nil || !info.IsDir() {
		return errors.Join(errNoDirectory, err)
	}
	err = fs.WalkDir(root.FS(), ".git/objects", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			err = fmt.Errorf("%s is not a regular file", name)
		}
		return errors.Join(err, ctx.Err())
	})
	if err != nil {
		return err
	}
	text, err := readSmall(filepath.Join(w.Root, filepath.FromSlash(alternates)))
	if err = ignoreMissing(err); err == nil && text != "" && text != w.store.objects()+"\n" {
		err = fmt.Errorf("%s was changed", alternates)
	}
	return err
}

// parent returns what to commit on: the base, or a commit of the agent, whose files are in the
// index then. Known are the submodules of the base.
func (w *Workspace) parent(ctx context.Context, q *quarantine, head string, known []string) (point, error) {
	if head == "" {
		return w.basePoint(ctx, q)
	}
	if q.do(ctx, "merge-base", "--is-ancestor", w.Base, head) != nil {
		return point{}, errNoDescendant
	}
	on, err := q.point(ctx, head)
	if err != nil {
		return on, err
	}
	// With -m, what is known about unchanged files stays in the index. Without -i, git would refuse to forget what has changed.
	err = q.do(ctx, "read-tree", "-m", "-i", on.tree)
	if err == nil {
		err = q.dropLinks(ctx, known)
	}
	if err != nil || !q.compared {
		return on, err
	}
	return on, postdate(q.index)
}

// dropLinks removes the submodules from the index that an agent has added: to know whether one has changed, git would look into a
// repository of the agent. What is in their directories is added as everything else is.
func (q *quarantine) dropLinks(ctx context.Context, known []string) error {
	links, err := q.gitlinks(ctx)
	added := slices.DeleteFunc(links, func(name string) bool { return slices.Contains(known, name) })
	if err != nil || len(added) == 0 {
		return err
	}
	_, err = q.input(ctx, strings.Join(added, "\x00"), "update-index", "--force-remove", "-z", "--stdin")
	return err
}

// basePoint returns the base. Most steps begin with what the step before has left, or with the same, so the store remembers that.
func (w *Workspace) basePoint(ctx context.Context, q *quarantine) (point, error) {
	if last := w.store.lastPoint.Load(); last != nil && last.commit == w.Base {
		return *last, nil
	}
	return q.point(ctx, w.Base)
}

// headCommit returns the commit of the workspace's HEAD, "" if there is none that can be read. It
// does not ask git, which would read the configuration.
func (w *Workspace) headCommit() string {
	dir := filepath.Join(w.Root, ".git")
	name := "HEAD"
	for range 5 {
		data, err := readSmall(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return packedRef(dir, name)
		}
		text := strings.TrimSpace(data)
		target, symbolic := strings.CutPrefix(text, "ref: ")
		if !symbolic {
			if isCommit(text) {
				return text
			}
			return ""
		}
		if name = strings.TrimSpace(target); !strings.HasPrefix(name, "refs/") || !filepath.IsLocal(filepath.FromSlash(name)) {
			return ""
		}
	}
	return ""
}

func packedRef(dir, name string) string {
	data, err := readSmall(filepath.Join(dir, "packed-refs"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(data) {
		if commit, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok && ref == name && isCommit(commit) {
			return commit
		}
	}
	return ""
}
