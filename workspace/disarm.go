package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// byAgent is the end of the names under which a workspace's .git keeps what makes git run programs.
const byAgent = ".agent"

// disarm makes git safe for a person who looks at a directory in which an agent worked: the configuration and the index
// are ours again, and there are no hooks. What the agent had is kept beside them under other names.
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
	tree, err := store.OpenRoot(rel)
	if err != nil {
		return err
	}
	defer tree.Close()
	info, err := tree.Lstat(".git")
	if err != nil {
		return ignoreMissing(err)
	}
	if !info.IsDir() { // it leads to another one
		return setAside(tree, ".git")
	}
	at, err := tree.OpenRoot(".git")
	if err != nil {
		return err
	}
	defer at.Close()
	for _, name := range []string{"hooks", "commondir", "config.worktree", "modules"} {
		if err := setAside(at, name); err != nil {
			return err
		}
	}
	index, err := w.harmlessIndex(root)
	return errors.Join(err, own(at, "config", w.config()), own(at, "index", index))
}

// harmlessIndex returns the index of the files as they were checked out. Git does not look into the directories of
// submodules, in which an agent may have created repositories.
func (w *Workspace) harmlessIndex(root string) (string, error) {
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	q, err := w.store.quarantine(root, "")
	if err != nil {
		return "", err
	}
	defer q.remove()
	if err := copyIndex(filepath.Join(w.home, "index"), q.index); err != nil {
		return "", err
	}
	links, err := q.gitlinks(ctx)
	if err == nil && len(links) > 0 {
		_, err = q.input(ctx, strings.Join(links, "\x00"), "update-index", "--skip-worktree", "-z", "--stdin")
	}
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(q.index)
	return string(text), ignoreMissing(err)
}

// own makes a file ours.
func own(at *os.Root, name, text string) error {
	if info, err := at.Lstat(name); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(text)) {
		if has, err := at.ReadFile(name); err == nil && string(has) == text {
			return nil
		}
	}
	if err := setAside(at, name); err != nil || text == "" {
		return err
	}
	f, err := at.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// setAside renames an entry of a directory, if there is one.
func setAside(at *os.Root, name string) error {
	to := name + byAgent
	for i := 2; ; i++ {
		if _, err := at.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return ignoreMissing(at.Rename(name, to))
		} else if err != nil {
			return err
		}
		to = name + byAgent + "-" + strconv.Itoa(i)
	}
}
