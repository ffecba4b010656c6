package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
)

// repository is what a git command of ours takes for its repository: a directory that is made for that command, and removed after it. It
// has a configuration of ours, no attributes and no hooks. Objects, and refs if the command needs them, are those of the store.
//
// The store itself is no repository for our commands. An agent knows its path, because its clone borrows the objects, and can write there. A
// filter in the configuration and a line in info/attributes would run a program of the agent when the next files are captured; other
// settings would change what is captured or merged; and a ref with the name that a merge uses for a commit would be merged instead.
type repository struct {
	parent  string        // where the directory is made
	format  string        // of object names
	shallow []byte        // the commits whose parents are missing
	store   string        // whose refs the command works on; "": it sees none
	loose   *atomic.Int64 // how many refs had files of their own when a command was made; nil: it sees none
}

// make makes the directory.
func (r *repository) make() (dir string, remove func(), err error) {
	if r.store != "" {
		loose, err := checkRefs(r.store)
		if err != nil {
			return "", nil, &DamagedError{r.store, err}
		}
		r.loose.Store(loose)
	}
	if r.store != "" && runtime.GOOS == "windows" { // where links need privileges; no command for refs reads attributes
		return r.store, func() {}, nil
	}
	if dir, remove, err = tempIn(r.parent); err == nil {
		err = errors.Join(r.makeRefs(dir), r.write(dir))
	}
	if err != nil && remove != nil {
		remove()
	}
	return dir, remove, err
}

// makeRefs makes that part of the repository in which refs are.
func (r *repository) makeRefs(dir string) error {
	if r.store == "" {
		return os.Mkdir(filepath.Join(dir, "refs"), 0o700)
	}
	for _, name := range []string{"refs", "packed-refs"} { // the second one need not exist
		if err := os.Symlink(filepath.Join(r.store, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// checkRefs returns an error if git would read or write refs elsewhere than in the store, or wait for a pipe. With a link to the refs of the
// user, what we do with those of a run would happen to the user's branches. It also counts the refs that have files of their own.
func checkRefs(store string) (loose int64, err error) {
	top := filepath.Join(store, "refs")
	err = filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != top: // a ref was removed meanwhile
			return nil
		case err != nil:
			return err
		case d.IsDir():
			return nil
		}
		loose++
		return isFile(name, d.Type())
	})
	if err != nil {
		return 0, err
	}
	if err := isDirectory(top); err != nil {
		return 0, err
	}
	packed := filepath.Join(store, "packed-refs")
	info, err := os.Lstat(packed)
	if err != nil {
		return loose, ignoreMissing(err)
	}
	return loose, isFile(packed, info.Mode())
}

// isFile returns an error if a mode is not that of a regular file.
func isFile(name string, mode fs.FileMode) error {
	switch {
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link", name)
	case !mode.IsRegular():
		return fmt.Errorf("%s is not a regular file", name)
	}
	return nil
}

// explain names the store in an error of git instead of the directory that was made for the command, and says what to do.
func (r *repository) explain(err error, dir string) error {
	var failed *gitError
	if r == nil || r.store == "" || !errors.As(err, &failed) {
		return err
	}
	failed.stderr = strings.ReplaceAll(failed.stderr, dir, r.store)
	damages := []string{"unterminated line in ", "unexpected line in ", "reference broken", "missing object "}
	if slices.ContainsFunc(damages, func(text string) bool { return strings.Contains(failed.stderr, text) }) {
		return &DamagedError{r.store, err}
	}
	return err
}

func (r *repository) write(dir string) error {
	for name, text := range map[string]string{"HEAD": noHead, "config": bareConfig(r.format), "shallow": string(r.shallow)} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// noHead is the content of HEAD in repositories in which nothing is checked out.
const noHead = "ref: refs/heads/none\n"
