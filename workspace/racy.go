package workspace

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Most builds of git compare times in whole seconds. A file of the second in which the index was written may have been changed since,
// in the same second, so git reads it again, whenever it looks at the index: after a checkout these are all files, or almost all. But
// the index has nanoseconds. So we compare times exactly, and git reads only what differs. This holds because
//
//  1. whatever changes a file sets the time of its last change (ctime) to that of the clock of its file system, which no program can
//     set otherwise,
//  2. the time of the index is that of the same clock after all files were written, before anybody else could change them, and later
//     than their times: so this clock gives no file these times again, in whatever steps it advances,
//  3. git itself looks at everything again. We only say which files are to be read, even if nothing else of them has changed.

// stat is what an index knows about a file: the time of its last change and that of its content, each in seconds and nanoseconds,
// device, inode, mode, user, group and size.
type stat [10]uint32

const modeAt, sizeAt = 6 * 4, 9 * 4 // in bytes

func (s stat) changed() []uint32 { return s[0:2] }
func (s stat) written() []uint32 { return s[2:4] }

// is reports whether an index knows the same, except for the mode, of which it knows less. Git compares that.
func (s stat) is(known []byte) bool {
	for i, value := range s {
		if i*4 != modeAt && binary.BigEndian.Uint32(known[i*4:]) != value {
			return false
		}
	}
	return true
}

// copyLater copies a file, such as the index of a checkout, to one that is later than all files that were written before it. On file systems whose clock advances in steps
// of more than some milliseconds, it need not be.
func copyLater(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	written, err := os.Stat(from)
	if err != nil {
		return err
	}
	for range 20 {
		if err := os.WriteFile(to, data, 0o600); err != nil {
			return err
		}
		now, err := os.Stat(to)
		if err != nil || now.ModTime().After(written.ModTime()) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// visitor is called for a directory, with "" as its name, and for everything in it, with paths below it that have slashes. Links are not
// followed. It is given what git would note, nil if that is not known. If something cannot be read, it is called with the error, for a
// directory once more. It returns fs.SkipDir to leave out what is in a directory.
type visitor func(name string, mode fs.FileMode, s *stat, err error) error

// compare compares the files of a work tree with a copy of the index that copyLater made. Git reads those that may have changed, and
// no others. If the index or the system does not say enough, git decides as always. Look calls see for each file.
func (q *quarantine) compare(look func(see func(name string, s stat)) error) error {
	data, err := os.ReadFile(q.index)
	if ignoreMissing(err) != nil {
		return err
	}
	made, known := statOf(q.index)
	index, ok := parseIndex(data)
	if !ok || !known {
		return look(func(string, stat) {})
	}
	changed := make(map[string]entry, len(index.entries))
	for _, e := range index.entries {
		changed[e.name] = e
	}
	err = look(func(name string, s stat) {
		if e, exists := changed[name]; exists && s.is(e.known) && slices.Compare(s.changed(), made.written()) < 0 {
			delete(changed, name)
		}
	})
	if err != nil || len(changed) == len(index.entries) { // times without nanoseconds, for example
		return err
	}
	for _, e := range changed {
		e.forget()
	}
	fresh := q.index + ".compared"
	if err := errors.Join(os.WriteFile(fresh, index.bytes(), 0o600), postdate(fresh)); err != nil {
		return err
	}
	now, _ := statOf(fresh)
	if slices.Compare(now.changed(), made.written()) < 0 || slices.Compare(now.changed(), now.written()) >= 0 {
		return nil // the clock has stepped back, or there is one time, which programs can set
	}
	q.compared = true
	return os.Rename(fresh, q.index)
}

// postdate gives an index in a quarantine a time at which git does not read files again that seem to be unchanged.
func postdate(index string) error {
	at := time.Now().Add(time.Minute)
	return ignoreMissing(os.Chtimes(index, at, at)) // without files there is none
}

// collectedName is a file beside a work tree. Its time is just before the files were read that the marker says were collected.
const collectedName = "collected"

// noteCollected notes that the files of a work tree are read from now on.
func noteCollected(home string) error {
	file := filepath.Join(home, collectedName)
	return errors.Join(touch(file), copyLater(file, file))
}

// touch gives a file the time of its file system.
func touch(file string) error { return os.WriteFile(file, []byte("\n"), 0o600) }

// isUntouched reports whether nothing in a work tree was changed, created or removed since it was collected, except by git: whatever
// does sets the time of a file or of its directory. If the system does not say enough, it reports false.
func isUntouched(home string) bool {
	collected, known := statOf(filepath.Join(home, collectedName))
	probe := filepath.Join(home, collectedName+".now")
	if !known || touch(probe) != nil {
		return false
	}
	now, known := statOf(probe)
	if !known || slices.Compare(collected.changed(), now.changed()) >= 0 { // the clock has stepped back
		return false
	}
	return walk(filepath.Join(home, "tree"), func(name string, mode fs.FileMode, s *stat, err error) error {
		switch {
		case err != nil || s == nil:
			return errTouched
		case name == ".git" && mode.IsDir():
			return fs.SkipDir
		case slices.Compare(s.changed(), collected.changed()) >= 0:
			return errTouched
		}
		return nil
	}) == nil
}

var errTouched = errors.New("changed since it was collected")
