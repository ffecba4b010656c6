package workspace

import (
	"encoding/binary"
	"errors"
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

// copyLater copies the index of a checkout to one that is later than all of its files. On file systems whose clock advances in steps
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

// compare compares the files of a work tree with a copy of the index that copyLater made. Git reads those that may have changed, and
// no others. If the index or the system does not say enough, git decides as always.
func (q *quarantine) compare(workTree string) error {
	data, err := os.ReadFile(q.index)
	if err != nil {
		return ignoreMissing(err)
	}
	index, ok := parseIndex(data)
	made, known := statOf(q.index)
	if !ok || !known {
		return nil
	}
	unchanged := 0
	for _, e := range index.entries {
		s, known := statOf(filepath.Join(workTree, filepath.FromSlash(e.name)))
		if known && s.is(e.known) && slices.Compare(s.changed(), made.written()) < 0 {
			unchanged++
		} else {
			e.forget()
		}
	}
	if unchanged == 0 { // times without nanoseconds, for example
		return nil
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
