package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// byAgent is the end of the names under which a workspace's .git keeps what makes git run programs, and its home such a .git.
const byAgent = ".agent"

// disarm makes git safe for a person who looks at a directory in which an agent worked: there is a valid repository whose
// configuration and index are ours, and there are no hooks. What the agent had is kept beside them under other names.
//
// An agent that can write beside its directory may have replaced it, or one above it, by a link to another repository, such as
// the user's. So nothing outside the store is opened, and nothing through a link in place of the directory.
func (w *Workspace) disarm(root string) error {
	rel, err := filepath.Rel(w.store.dir, root)
	if err != nil {
		return err
	}
	store, err := os.OpenRoot(w.store.dir)
	if err != nil {
		return err
	}
	defer store.Close()
	if info, err := store.Lstat(rel); err != nil || !info.IsDir() {
		return ignoreMissing(err)
	}
	if err := makeOurs(store, rel); err != nil {
		return err
	}
	tree, err := store.OpenRoot(rel)
	if err != nil {
		return err
	}
	defer tree.Close()
	if !isRepository(tree, root) {
		err = w.replaceRepository(store, rel) // what is there is made as harmless as possible if that fails
	}
	return errors.Join(err, w.disarmRepository(tree, root))
}

// disarmRepository makes the .git of a work tree harmless. The agent may have made one of the steps impossible, so each is taken, whatever
// becomes of the others: first those that keep programs from running.
func (w *Workspace) disarmRepository(tree *os.Root, root string) error {
	if err := makeOurs(tree, ".git"); err != nil {
		return err
	}
	at, err := tree.OpenRoot(".git")
	if err != nil {
		return err
	}
	defer at.Close()
	err = own(at, "config", w.config())
	for _, name := range influential {
		if name == "worktrees" && w.left {
			continue // a linked worktree of a person, which needs it: those of the agent were set aside before
		}
		err = errors.Join(err, setAside(at, name))
	}
	index, wrong := w.harmlessIndex(root)
	err = errors.Join(err, wrong, own(at, "index", index)) // none rather than that of the agent
	// Otherwise they may be those of a person's git, which works now.
	if w.fresh {
		err = errors.Join(err, setLocksAside(at))
	}
	return err
}

// influential are the names in .git of what makes git run programs or work elsewhere, or shows a person something else than what is there.
var influential = []string{
	"hooks", "commondir", "config.worktree", "modules", "worktrees", // repositories, and their configurations
	"remotes", "branches", // where git pushes to and fetches from: a local repository has hooks
	"rebase-merge", "rebase-apply", "sequencer", // commands that git runs when a person continues
	"rr-cache", "MERGE_RR", // resolutions that git writes into files
	"info/attributes", "info/exclude", "info/grafts", // differences, files and commits that git does not show
}

// setLocksAside renames the lock files that commands of an agent have left in .git when they were killed, or that it has made. Git would
// refuse to work. They are not removed: one can be a directory whose content cannot be.
func setLocksAside(at *os.Root) (err error) {
	locks := aside{at: at, as: "lock" + byAgent}
	visit := func(name string, d fs.DirEntry) error {
		file := filepath.FromSlash(name)
		if d.IsDir() && (strings.HasPrefix(name, "refs/") || strings.HasSuffix(name, ".lock")) {
			if err := makeOurs(at, file); err != nil { // or nothing can be moved out of it, and it cannot be moved elsewhere
				return err
			}
		}
		if !strings.HasSuffix(name, ".lock") { // no ref has such a name
			return nil
		}
		_, err := locks.take(file)
		return err
	}
	wrong := fs.WalkDir(at.FS(), ".", func(name string, d fs.DirEntry, wrong error) error {
		if wrong == nil {
			wrong = visit(name, d)
		}
		err = errors.Join(err, wrong)
		if d != nil && d.IsDir() && name != "." && (strings.HasSuffix(name, ".lock") || !strings.HasPrefix(name+"/", "refs/")) {
			return fs.SkipDir
		}
		return nil
	})
	return errors.Join(err, wrong)
}

// makeOurs makes a directory one in which we, and git, can read and write. The error is [errNoDirectory] for a link to one.
func makeOurs(at *os.Root, dir string) error {
	const all = 0o700
	info, err := at.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return errNoDirectory
	case info.Mode().Perm()&all != all:
		return at.Chmod(dir, info.Mode().Perm()|all)
	}
	return nil
}

var errNoDirectory = errors.New("not a directory")

// isRepository reports whether git takes the .git of a work tree for its repository, and writes nowhere else. Otherwise, git looks for one
// further up, or for a bare one in the work tree itself, whose configuration would be the agent's. This is stricter than git.
func isRepository(tree *os.Root, root string) bool {
	for _, dir := range []string{".git", ".git/objects", ".git/refs"} {
		if makeOurs(tree, dir) != nil {
			return false
		}
	}
	if ignoreMissing(makeOurs(tree, ".git/info")) != nil {
		return false
	}
	const enough = 1 << 10
	head, err := readRegular(tree, ".git/HEAD", enough)
	if err != nil || !strings.HasPrefix(head, "ref: refs/") && !isCommit(strings.TrimRight(head, "\n")) {
		return false
	}
	return isPlain(filepath.Join(root, ".git"))
}

// maxGitFiles is how much the .git of an agent can have to be looked at, which takes less than a second.
var maxGitFiles = 200_000

// isPlain reports whether there are only files and directories in a .git: git would follow a link, such as one in place of refs/heads, and
// write into another repository. A file with a second name is such a link, too. Only among objects it is not: git clone gives them several
// names, because git never writes into one.
func isPlain(gitDir string) bool {
	seen := 0
	return walk(gitDir, func(name string, mode fs.FileMode, _ *stat, err error) error {
		if seen++; seen > maxGitFiles || !mode.IsDir() && !mode.IsRegular() {
			return fs.ErrInvalid
		}
		if mode.IsRegular() && !strings.HasPrefix(name, "objects/") && hasOtherNames(filepath.Join(gitDir, filepath.FromSlash(name))) {
			return fs.ErrInvalid
		}
		return err
	}) == nil
}

// replaceRepository replaces the .git of a work tree, if there is one, by one of ours that has what was checked out. What the
// agent had is moved beside the work tree: in there it would be recorded.
func (w *Workspace) replaceRepository(store *os.Root, rel string) error {
	temp, remove, err := w.store.temp()
	if err != nil {
		return err
	}
	defer remove()
	fresh := filepath.Join(temp, ".git")
	if err := w.createClone(fresh); err != nil {
		return err
	}
	from, err := filepath.Rel(w.store.dir, fresh)
	if err != nil {
		return err
	}
	gitDir := filepath.Join(rel, ".git")
	if _, err := setAsideAs(store, gitDir, filepath.Join(filepath.Dir(rel), "git"+byAgent)); ignoreMissing(err) != nil {
		return err
	}
	return store.Rename(from, gitDir)
}

// harmlessIndex returns the index of the files as they were checked out. Git does not look into the directories of
// submodules, in which an agent may have created repositories.
func (w *Workspace) harmlessIndex(root string) (string, error) {
	text, err := readRegular(anywhere{}, filepath.Join(w.home, indexName), maxLarge)
	if index, ok := parseIndex([]byte(text)); ok && err == nil && !slices.ContainsFunc(index.entries, func(e entry) bool { return e.mode == gitlink }) {
		return text, nil
	}
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	q, err := w.store.quarantine(root, "")
	if err != nil {
		return "", err
	}
	defer q.remove()
	if err := w.copyIndex(q.index); err != nil {
		return "", err
	}
	links, err := q.gitlinks(ctx)
	if err == nil && len(links) > 0 {
		_, err = q.input(ctx, strings.Join(links, "\x00"), "update-index", "--skip-worktree", "-z", "--stdin")
	}
	if err != nil {
		return "", err
	}
	text, err = readRegular(anywhere{}, q.index, maxLarge)
	return text, ignoreMissing(err)
}

// own makes a file ours.
func own(at *os.Root, name, text string) error {
	if has, err := readRegular(at, name, int64(len(text))); err == nil && has == text && has != "" {
		return nil
	}
	if err := setAside(at, name); err != nil || text == "" {
		return err
	}
	return writeNew(at, name, []byte(text))
}

// setAside renames an entry of a directory, if there is one.
func setAside(at *os.Root, name string) error {
	_, err := setAsideAs(at, name, name+byAgent)
	return ignoreMissing(err)
}

// setAsideAs is setAside with another name, to which a number is added if something has it.
func setAsideAs(at *os.Root, name, as string) (to string, err error) {
	return (&aside{at: at, as: as}).take(name)
}

// aside sets several entries of a directory aside. Each gets the next number with which nothing has its name, so that thousands take no longer than
// they have to.
type aside struct {
	at *os.Root
	as string
	n  int // the last number
}

// take renames an entry, and returns its new name.
func (a *aside) take(name string) (to string, err error) {
	for {
		if to, a.n = a.as, a.n+1; a.n > 1 {
			to += "-" + strconv.Itoa(a.n)
		}
		if _, err := a.at.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return to, a.at.Rename(name, to)
		} else if err != nil {
			return "", err
		}
	}
}
