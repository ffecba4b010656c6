package workspace

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// What systems and file systems can do with the names of files in a directory. They are variables because tests do without each of them.
var (
	// exchange lets two files change places at once.
	exchange = systemExchange
	// renameNew renames a file to a name that nothing has.
	renameNew = systemRenameNew
	// link gives a file another name, which nothing has.
	link = (*os.Root).Link
)

// place renames a file to a name that nothing has, in the best way that the file system knows. The error is fs.ErrExist if something has
// that name; then the file stays what it is. In the worst case it is copied, and has the name part meanwhile: so it is known after the
// process was killed that there may be a part of it.
func place(dir *os.Root, from, to, part string) error {
	err := renameNew(dir, from, to)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	switch err := link(dir, from, to); {
	case err == nil:
		return dir.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	if err := dir.Rename(from, part); err != nil {
		return err
	}
	if err := copyNew(dir, part, to); err != nil {
		return errors.Join(err, dir.Rename(part, from))
	}
	return dir.Remove(part)
}

// copyNew copies a file or a link to a name that nothing has.
func copyNew(dir *os.Root, from, to string) error {
	info, err := dir.Lstat(from)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := dir.Readlink(from)
		if err != nil {
			return err
		}
		return dir.Symlink(target, to) // fails if something has the name
	}
	in, err := dir.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := dir.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(info.Mode().Perm()), out.Sync(), out.Close())
	if err == nil {
		return dir.Chtimes(to, info.ModTime(), info.ModTime())
	}
	return errors.Join(err, removePart(dir, from, to))
}

// removePart removes a file that is only a beginning of another one.
func removePart(dir *os.Root, of, name string) error {
	whole, err := dir.Lstat(of)
	if err != nil {
		return ignoreMissing(err)
	}
	part, err := dir.Lstat(name)
	if err != nil {
		return ignoreMissing(err)
	}
	if !whole.Mode().IsRegular() || !part.Mode().IsRegular() || part.Size() >= whole.Size() {
		return nil
	}
	all, err := dir.Open(of)
	if err != nil {
		return err
	}
	defer all.Close()
	if is, err := isBeginning(dir, name, all); err != nil || !is {
		return err
	}
	return dir.Remove(name)
}

// isBeginning reports whether another file begins with the content of a file. It compares them in pieces, because they may be large.
func isBeginning(dir *os.Root, name string, of io.Reader) (bool, error) {
	f, err := dir.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	const piece = 64 << 10
	has, other := make([]byte, piece), make([]byte, piece)
	for {
		n, err := io.ReadFull(f, has)
		if m, wrong := io.ReadFull(of, other[:n]); wrong != nil && !isEnd(wrong) {
			return false, wrong
		} else if !bytes.Equal(has[:n], other[:m]) {
			return false, nil
		}
		switch {
		case isEnd(err):
			return true, nil
		case err != nil:
			return false, err
		}
	}
}

// isEnd reports whether an error of [io.ReadFull] says that there is no more.
func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
