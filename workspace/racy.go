package workspace

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Most builds of git compare times in whole seconds. A file of the second in which the index was written may have been changed since,
// in the same second, so git reads it again, whenever it looks at the index: after a checkout these are all files, or almost all. But
// the index has nanoseconds. So we compare times exactly, and git reads only what differs. This holds because
//
//  1. whatever changes a file sets the time of its last change (ctime) to that of the clock of its file system, which no program can
//     set otherwise; only a program that has it mapped into its memory can write before that time is set again,
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
		if err := writeNew(anywhere{}, to, data); err != nil {
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

// seen has the files and directories of a work tree as they were when somebody looked, and identifies them by what git would note
// about them.
type seen struct {
	files  map[string]stat // by their paths; nil: nobody needs them
	sum    hash.Hash
	now    stat // of a file that was written later than everything that is in the work tree
	unsure bool
}

// timeName is the name of a file that was written when somebody looked.
const timeName = "now"

// newSeen begins with a file in a directory of the file system of the work tree. What changes a file from now on gives it another time
// than it has.
func newSeen(dir string) (*seen, error) {
	file := filepath.Join(dir, timeName)
	if err := errors.Join(writeNew(anywhere{}, file, []byte("\n")), copyLater(file, file)); err != nil {
		return nil, err
	}
	now, known := statOf(file)
	return &seen{sum: sha256.New(), now: now, unsure: !known}, nil
}

// add adds a file or a directory. A directory has the times at which something in it was created, which is seen, and at which it was
// renamed itself. Numbers of devices change when the system starts.
func (s *seen) add(name string, is stat) {
	const modeNo, deviceNo, kinds, directory = modeAt / 4, 4, 0o170000, 0o040000
	if s.files != nil {
		s.files[name] = is
	}
	if is[deviceNo] = 0; is[modeNo]&kinds == directory {
		is = stat{modeNo: is[modeNo]}
	}
	entry := append(make([]byte, 0, len(name)+1+len(is)*4), name...)
	entry = append(entry, 0)
	for _, value := range is {
		entry = binary.BigEndian.AppendUint32(entry, value)
	}
	s.sum.Write(entry)
	s.unsure = s.unsure || slices.Compare(is.changed(), s.now.written()) >= 0
}

// digest returns "" if something may have been changed meanwhile.
func (s *seen) digest() string {
	if s.unsure {
		return ""
	}
	return hex.EncodeToString(s.sum.Sum(nil))
}

// lookAt sees what is in a work tree now. What is in a directory .git is no part of the digest, and neither is what cannot be read: git
// says so when the files are recorded, unless it ignores that.
func lookAt(root string) (*seen, error) {
	if _, err := os.Lstat(root); err != nil {
		return nil, err
	}
	now := seenNow()
	err := walk(root, func(name string, mode fs.FileMode, s *stat, err error) error {
		switch {
		case err != nil:
		case s == nil: // this system does not say enough
			now.unsure = true
			now.files[name] = roughly(filepath.Join(root, filepath.FromSlash(name)))
		case inGit(name, mode):
			now.files[name] = *s
		case isLeftOut(name, mode):
			return fs.SkipDir
		default:
			now.add(name, *s)
		}
		return nil
	})
	return now, err
}

// seenNow is for files that are compared with what was seen at another time.
func seenNow() *seen {
	return &seen{files: map[string]stat{}, sum: sha256.New(), now: stat{math.MaxUint32, 0, math.MaxUint32}}
}

// roughly returns what every system knows about a file.
func roughly(name string) (s stat) {
	if info, err := os.Lstat(name); err == nil {
		s[2], s[3] = uint32(info.ModTime().Unix()), uint32(info.ModTime().Nanosecond())
		s[modeAt/4], s[sizeAt/4] = uint32(info.Mode()), uint32(info.Size())
	}
	return s
}

// inGit reports whether a path is a directory .git, or leads into one.
func inGit(name string, mode fs.FileMode) bool {
	return strings.Contains("/"+name, "/.git/") || mode.IsDir() && path.Base(name) == ".git"
}
