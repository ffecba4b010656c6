package file

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket/agent"
)

// read returns a file's text.
func read(root *os.Root, path string, limit int64) (string, error) {
	// Pipes and devices are not opened: that could block forever.
	if err := wantFile(root, path); err != nil {
		return "", err
	}
	f, err := root.Open(filepath.FromSlash(path))
	if err != nil {
		return "", agent.PathError(path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return "", agent.PathError(path, err)
	case int64(len(data)) > limit:
		return "", agent.Permanentf("%q exceeds %d KiB; raise max_output_kb", path, limit>>10)
	}
	if at := agent.NotText(data); at > 0 {
		return "", agent.Permanentf("%q is not UTF-8 text at byte %d; use a shell step to encode it, for example with base64", path, at)
	}
	return string(data), nil
}

func wantFile(root *os.Root, path string) error {
	info, err := root.Stat(filepath.FromSlash(path))
	if err != nil {
		return agent.PathError(path, err)
	}
	if !info.Mode().IsRegular() {
		return agent.Permanentf("%q is not a file", path)
	}
	return nil
}

// write replaces a file atomically: it writes and syncs a file next to it, and renames
// that. The name is derived from the key of the attempt, so that a repeated attempt cleans
// up what it left after a crash.
func write(root *os.Root, path, content, key string) error {
	name := filepath.FromSlash(path)
	mode, err := oldMode(root, path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(name)
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return agent.PathError(path, err)
	}
	sum := sha256.Sum256([]byte(key + "\x00" + name))
	temp := filepath.Join(dir, ".hocket-"+hex.EncodeToString(sum[:8])+".tmp")
	_ = root.Remove(temp) // usually there is none
	err = writeNew(root, temp, content, mode)
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
		return agent.PathError(path, err)
	}
	return syncDir(root, dir)
}

// recorded changes a file, if the task may write it, and records that in the transcript.
func recorded(root *os.Root, path string, task *agent.Task, change func(root *os.Root, path string) error) error {
	kind := agent.Modified
	if _, err := root.Stat(filepath.FromSlash(path)); errors.Is(err, fs.ErrNotExist) {
		kind = agent.Created
	}
	err := limited(root, path, task, change)
	if err == nil {
		task.Record(agent.FileChange{Path: path, Change: kind})
	}
	return err
}

// limited changes a file if the task may write it. If there is a limit, no link is followed
// on the way to the file, so that it cannot lead to another place meanwhile.
func limited(root *os.Root, path string, task *agent.Task, change func(root *os.Root, path string) error) error {
	if task.Writes == nil {
		return change(root, path)
	}
	if err := task.MayWrite(path); err != nil {
		return err
	}
	dir, err := root.OpenRoot(".")
	name := filepath.Clean(filepath.FromSlash(path))
	for _, part := range strings.Split(filepath.Dir(name), string(filepath.Separator)) {
		if err == nil {
			dir, err = enter(dir, part)
		}
	}
	if err != nil {
		return agent.PathError(path, err)
	}
	defer dir.Close()
	if _, err := oldMode(dir, filepath.Base(name)); err != nil {
		return err
	}
	return change(dir, filepath.Base(name))
}

// enter opens a directory in another one, which it closes. It creates it if necessary, and
// follows no link.
func enter(dir *os.Root, name string) (next *os.Root, err error) {
	defer dir.Close()
	if err := dir.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if next, err = dir.OpenRoot(name); err != nil {
		return nil, err
	}
	named, err := dir.Lstat(name)
	opened, wrong := next.Stat(".")
	if err = errors.Join(err, wrong); err == nil && !os.SameFile(named, opened) {
		err = errors.New("a link is on the way, which a task with a limit on where it writes does not follow")
	}
	if err != nil {
		_ = next.Close()
	}
	return next, err
}

// oldMode returns the mode of the file that is to be replaced, or that of a new one.
func oldMode(root *os.Root, path string) (fs.FileMode, error) {
	info, err := root.Lstat(filepath.FromSlash(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0o644, nil
	case err != nil:
		return 0, agent.PathError(path, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return 0, agent.Permanentf("%q is a symbolic link; write to the file that it points to", path)
	case !info.Mode().IsRegular():
		return 0, agent.Permanentf("%q is not a file", path)
	}
	return info.Mode().Perm(), nil
}

func writeNew(root *os.Root, name, content string, mode fs.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}

// syncDir makes a rename durable. Not every system supports it: then the rename is as
// durable as the system makes it.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return nil //nolint:nilerr // the file is in its place
	}
	_ = d.Sync()
	return d.Close()
}

// appendTo appends to a file. It follows a link only if told to.
func appendTo(root *os.Root, path, content string, follow bool) error {
	name := filepath.FromSlash(path)
	if _, err := root.Stat(name); err == nil {
		if err := wantFile(root, path); err != nil {
			return err
		}
	} else if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return agent.PathError(path, err)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return agent.PathError(path, err)
	}
	opened, err := f.Stat()
	named, wrong := root.Lstat(name)
	if err = errors.Join(err, wrong); err == nil && !follow && !os.SameFile(named, opened) {
		err = errors.New("it has become a link")
	}
	if err == nil {
		_, err = f.WriteString(content)
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return agent.PathError(path, err)
	}
	return nil
}
