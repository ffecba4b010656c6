package handoff

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"syscall"
	"time"

	"github.com/hocket-dev/hocket/handoff/attempt"
)

// Archived is the result of archiving the directories of finished sessions.
type Archived struct {
	File     string   `json:"file,omitempty"` // "" if there was nothing to archive
	Sessions []string `json:"sessions"`       // their directories are now only in the archive
	Kept     []Kept   `json:"kept"`
}

// Kept is a session whose directory was not archived, and why.
type Kept struct {
	ID  string `json:"session_id"`
	Why string `json:"why"`
}

// Archive packs the directories of sessions that ended before a time into a new .tar.gz file, and
// removes them once that file is on disk. An empty name means a file in the folder of the sessions.
// tmux panes that these sessions left open are closed. The journal keeps the sessions, so
// [Sessions.Show] can recreate their directories; the files that agents wrote there are then only
// in the archive.
func (s *Sessions) Archive(ctx context.Context, before time.Time, file string) (*Archived, error) {
	done := &Archived{Sessions: []string{}, Kept: []Kept{}}
	states, err := s.states(ctx, 0)
	if err != nil {
		return nil, err
	}
	root, err := attempt.OpenFolder(s.p.Root(), s.relative(""))
	if err != nil {
		return nil, fmt.Errorf("handoff: %w", err)
	}
	defer root.Close()
	var found []directory
	for _, state := range states {
		if !state.Final() || !state.Ended.Before(before) {
			continue
		}
		d, err := scan(root, state.ID)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			done.keep(state.ID, err)
		default:
			found = append(found, d)
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].id < found[j].id })
	if len(found) == 0 {
		return done, nil
	}
	file = cmp.Or(file, filepath.Join(s.Dir(""), "archive-"+s.now().Format("20060102-150405")+".tar.gz"))
	if found, err = pack(ctx, root, found, file, done); err != nil || len(found) == 0 {
		return done, err
	}
	done.File = file
	err = s.remove(root, found, done)
	s.closePanes(done.Sessions)
	return done, err
}

func (a *Archived) keep(id string, why error) { a.Kept = append(a.Kept, Kept{id, why.Error()}) }

// directory is the directory of a session, with everything in it.
type directory struct {
	id    string
	files []found
}

// found is a file or folder as it was when the directory was scanned.
type found struct {
	name string // with slashes, relative to the folder of the sessions
	info fs.FileInfo
}

// maxArchived limits the size of a file in an archive. A file is read into memory first, so that a file
// that changes while it is read does not end up in the archive.
const maxArchived = 100 << 20

var errChanged = errors.New("its directory is changing")

// unread is why one directory cannot be archived; the others can.
type unread struct{ error }

// scan lists the directory of a session. Only files and folders can be archived: a link does not
// contain its target, and reading anything else might never end.
func scan(root *os.Root, id string) (directory, error) {
	d := directory{id: id}
	err := fs.WalkDir(root.FS(), id, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := root.Lstat(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file or folder", name)
		}
		if info.Size() > maxArchived && !info.IsDir() {
			return fmt.Errorf("%s is larger than %d MB", name, maxArchived>>20)
		}
		d.files = append(d.files, found{name, info})
		return nil
	})
	return d, err
}

// same reports whether the directory is unchanged since it was scanned.
func (d directory) same(root *os.Root) bool {
	now, err := scan(root, d.id)
	return err == nil && slices.EqualFunc(d.files, now.files, func(a, b found) bool {
		return a.name == b.name && os.SameFile(a.info, b.info) && a.info.Mode() == b.info.Mode() &&
			(a.info.IsDir() || a.info.Size() == b.info.Size() && a.info.ModTime().Equal(b.info.ModTime()))
	})
}

// pack writes the archive, completely or not at all, and returns the directories that are in it.
func pack(ctx context.Context, root *os.Root, all []directory, file string, done *Archived) (packed []directory, err error) {
	if _, err := os.Lstat(file); err == nil {
		return nil, fmt.Errorf("handoff: %s already exists", file)
	}
	temp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return nil, fmt.Errorf("handoff: %w", err)
	}
	zipped := gzip.NewWriter(temp)
	archive := tar.NewWriter(zipped)
	for _, d := range all {
		if err = errors.Join(err, ctx.Err()); err != nil {
			break
		}
		var why unread
		if err = d.writeTo(archive, root); errors.As(err, &why) {
			done.keep(d.id, why.error)
			err = nil
			continue
		}
		packed = append(packed, d)
	}
	err = errors.Join(err, archive.Close(), zipped.Close(), temp.Chmod(0o644), temp.Sync(), temp.Close())
	if err == nil && len(packed) > 0 {
		if err = os.Rename(temp.Name(), file); err == nil {
			return packed, syncDir(filepath.Dir(file))
		}
	}
	_ = os.Remove(temp.Name()) // the first error matters more
	if err != nil {
		return nil, fmt.Errorf("handoff: cannot write the archive: %w", err)
	}
	return nil, nil
}

// writeTo adds the directory to an archive, without its owners and permissions.
func (d directory) writeTo(archive *tar.Writer, root *os.Root) error {
	for _, f := range d.files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: 0o644, ModTime: f.info.ModTime().Truncate(time.Second), Format: tar.FormatPAX}
		var text []byte
		if f.info.IsDir() {
			h.Typeflag, h.Name, h.Mode = tar.TypeDir, f.name+"/", 0o755
		} else {
			var err error
			if text, err = f.read(root); err != nil {
				return unread{err}
			}
			h.Size = int64(len(text))
		}
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
		if _, err := archive.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// read reads a file if it has not changed since the scan.
func (f found) read(root *os.Root) ([]byte, error) {
	file, err := root.OpenFile(filepath.FromSlash(f.name), os.O_RDONLY|syscall.O_NONBLOCK, 0) // by now it may be a pipe
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errChanged
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(info, f.info) {
		return nil, errChanged
	}
	text, err := io.ReadAll(io.LimitReader(file, f.info.Size()+1))
	if err == nil && int64(len(text)) != f.info.Size() {
		err = errChanged
	}
	return text, err
}

// remove removes directories that are in the archive and have not changed since.
func (s *Sessions) remove(root *os.Root, packed []directory, done *Archived) (failed error) {
	for _, d := range packed {
		err := s.removeOne(root, d)
		switch {
		case errors.Is(err, errChanged):
			done.keep(d.id, err)
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("handoff: %w", err))
		default:
			done.Sessions = append(done.Sessions, d.id)
		}
	}
	return failed
}

// removeOne removes a directory. A lock keeps other Hocket processes from writing to it meanwhile.
func (s *Sessions) removeOne(root *os.Root, d directory) error {
	lock, err := s.lock(d.id)
	if err != nil {
		return err
	}
	if err = errChanged; d.same(root) {
		err = root.RemoveAll(d.id)
	}
	return errors.Join(err, lock.Release())
}

// syncDir makes the name of a new file durable, where the system can do that.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("handoff: %w", err)
	}
	defer f.Close()
	_ = f.Sync() // some systems cannot sync a directory
	return nil
}
