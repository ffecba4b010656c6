package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/internal/glob"
)

// Setup prepares a workspace before the agent works in it, for example by installing packages.
type Setup struct {
	// Command is what Run runs. It is part of the key of the result.
	Command string
	// Key are patterns of files in the project's directory whose paths and content are part of the key, such as go.sum.
	Key []string
	// Run runs the command in a directory. It is called only if there is no result for the key.
	Run func(ctx context.Context, dir string) error
}

// unusedSetups is how long a result of a setup is kept that no workspace uses.
const unusedSetups = 30 * 24 * time.Hour

// Setup runs a setup in the workspace, or copies the result that it had in another one with the same
// key: the untracked and ignored files that it created. They are real copies: an agent that writes into
// one changes nothing elsewhere. A setup that also changes tracked files runs every time. It
// reports whether a result was copied.
//
// The command runs code of the workspace, which may be an agent's. So only a result that was made in the base
// of a run, the user's own files, is copied into workspaces with other files. A result of other files is
// copied only where exactly the same files are.
//
// What the setup creates and .gitignore does not ignore belongs to what is collected.
func (w *Workspace) Setup(ctx context.Context, setup Setup) (copied bool, err error) {
	digest, err := w.setupDigest(setup)
	if err != nil {
		return false, err
	}
	base, err := w.store.Base(ctx, w.Run)
	if err != nil && exitCode(err) != 1 { // a worker on another machine need not have it
		return false, err
	}
	copied, err = w.setupAs(ctx, digest, setup, w.Base == base)
	if w.Base == base || copied || err != nil {
		return copied, err
	}
	at, err := w.store.git.point(ctx, w.Base)
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256([]byte(digest + " " + at.tree))
	return w.setupAs(ctx, hex.EncodeToString(sum[:16]), setup, true)
}

// setupAs copies the result with a key. If there is none, it runs the setup and keeps its result, if it may.
func (w *Workspace) setupAs(ctx context.Context, key string, setup Setup, run bool) (copied bool, err error) {
	result := filepath.Join(w.store.dir, "setup", key)
	lock, err := waitFor(ctx, result+".lock", filelock.Take) // one runs it, the others wait for its result
	if err != nil {
		return false, err
	}
	if _, err := os.Lstat(result); err == nil {
		now := time.Now()
		err = errors.Join(os.Chtimes(result, now, now), lock.Release())
		return true, errors.Join(err, copyTree(ctx, result, w.Root))
	}
	defer lock.Release()
	if !run {
		return false, nil
	}
	if err := setup.Run(ctx, w.Dir); err != nil {
		return false, err
	}
	return false, w.keepSetup(ctx, result)
}

// setupDigest returns the key of a result.
func (w *Workspace) setupDigest(setup Setup) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q\n", setup.Command, runtime.GOOS, runtime.GOARCH, w.store.sub)
	root, err := os.OpenRoot(w.Dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	for _, text := range setup.Key {
		pattern, err := glob.Parse(text)
		if err != nil {
			return "", fmt.Errorf("setup_key %q: %w", text, err)
		}
		fmt.Fprintf(h, "pattern %q\n", text)
		names, err := pattern.Find(root.FS(), ".", glob.Options{})
		if err != nil {
			return "", fmt.Errorf("setup_key %q: %w", text, err)
		}
		for _, name := range names {
			sum, err := digestOfFile(root, name)
			if err != nil {
				return "", fmt.Errorf("setup_key %q: %w", text, err)
			}
			fmt.Fprintf(h, "%q %x\n", name, sum)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// digestOfFile reads a file piece by piece: an agent decides how long it is.
func digestOfFile(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", name), err)
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}

// waitFor takes a lock that others hold for long.
func waitFor(ctx context.Context, path string, take func(string) (*filelock.Lock, error)) (*filelock.Lock, error) {
	for {
		lock, err := take(path)
		if !errors.Is(err, filelock.ErrLocked) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// keepSetup copies what a setup created. If it changed other files, a copy would be incomplete,
// so there is none.
func (w *Workspace) keepSetup(ctx context.Context, result string) error {
	if _, err := w.makeReadable(ctx, func(string, stat) {}); err != nil {
		return err
	}
	q, err := w.store.quarantine(w.Root, "")
	if err != nil {
		return err
	}
	defer q.remove()
	if err := w.copyIndex(q.index); err != nil {
		return err
	}
	if changed, err := q.out(ctx, "diff-files", "--name-only", "-z", "--ignore-submodules"); err != nil || changed != "" {
		return err
	}
	text, err := q.out(ctx, "ls-files", "-z", "--others", "--directory", "--no-empty-directory")
	if err != nil {
		return err
	}
	temp := filepath.Join(q.dir, "result")
	if err := os.Mkdir(temp, 0o700); err != nil {
		return err
	}
	for _, name := range records(text) {
		name = filepath.FromSlash(strings.TrimSuffix(name, "/"))
		if err := os.MkdirAll(filepath.Join(temp, filepath.Dir(name)), 0o755); err != nil {
			return err
		}
		if err := copyTree(ctx, filepath.Join(w.Root, name), filepath.Join(temp, name)); err != nil {
			return err
		}
	}
	return os.Rename(temp, result)
}

// copyTree copies a file or a directory into another place, where parts may exist. A file that exists stays as
// it is. What is a directory here must be a real one there: no link is followed. On file systems that can share
// blocks the kernel does so.
func copyTree(ctx context.Context, from, to string) error {
	root, err := os.OpenRoot(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer root.Close()
	var dirs []string // their modes come last: some may not be writable
	modes := map[string]fs.FileMode{}
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(filepath.Base(to), rel)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			if err := root.Mkdir(target, 0o700); errors.Is(err, fs.ErrExist) {
				if err := isDirectory(filepath.Join(to, rel)); err != nil {
					return fmt.Errorf("cannot copy a directory: %w", err)
				}
				return nil
			} else if err != nil {
				return err
			}
			dirs, modes[target] = append(dirs, target), info.Mode().Perm()
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err == nil {
				err = root.Symlink(link, target)
			}
			return ignoreExisting(err)
		case d.Type().IsRegular():
			return ignoreExisting(copyFile(path, root, target, info))
		}
		return nil // sockets and the like
	})
	for _, dir := range slices.Backward(dirs) {
		err = errors.Join(err, root.Chmod(dir, modes[dir]))
	}
	return err
}

func ignoreExisting(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func copyFile(from string, root *os.Root, to string, info fs.FileInfo) error {
	in, err := openRegular(anywhere{}, from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := root.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	// Tools compare the times of what they installed.
	return errors.Join(err, out.Close(), root.Chmod(to, info.Mode().Perm()), root.Chtimes(to, info.ModTime(), info.ModTime()))
}
