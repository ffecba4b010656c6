package workspace

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// A person or a program may save a file in a directory at the moment in which it is removed. So a tree is removed in this order:
//
//  1. What is in it is recorded.
//  2. It is renamed, so that nobody saves in it by its path any more: a program that tries reports that there is no such directory.
//  3. What was saved between these two is recorded, too. If that is not possible, the tree gets its name back, and stays.
//  4. The marker is renamed, too. From then on, files of the tree may be missing.
//  5. Each file is removed only if it is as it was seen then. What a program has saved since, which had the file or its directory open,
//     is left beside the tree, in a directory of its own.
//
// If the process is killed in between, settle does the rest. If everything is recorded already, none of this needs space: a disk that is full is
// when people remove directories.

// goneName is the name of a tree while it is removed.
const goneName = "gone"

func treeIn(home string) string { return filepath.Join(home, "tree") }

func goneIn(home string) string { return filepath.Join(home, goneName) }

// errSaved says why something is left of a directory whose files are recorded.
var errSaved = errors.New("files in it were changed while it was removed")

// retire removes a tree of which nothing is lost. Otherwise the error says why it stays. It returns where the rest is if something was
// saved in it while it was removed; "": there is none.
func (s *Store) retire(ctx context.Context, home string, m marker) (left string, err error) {
	if m.Partial {
		return leave(home, treeIn(home), m.Number)
	}
	last, err := s.rename(ctx, home, m)
	if err != nil {
		return "", err
	}
	last.write(home)
	if err := os.Rename(filepath.Join(home, markerName), filepath.Join(home, removedName)); err != nil {
		return "", errors.Join(err, putBack(home, m))
	}
	return removeGone(home, m, last.has)
}

// seenName is the name of the list of the files that were in a tree when it was recorded for the last time. Times alone do not tell them
// from others after the process was killed: a file that somebody moves keeps its own, and so do all files of a directory.
const seenName = "seen"

// write writes the list if there is space for it. Without it, a process that is killed leaves beside the tree what it has not removed yet.
func (s *seen) write(home string) {
	var data bytes.Buffer
	err := gob.NewEncoder(&data).Encode(s.files)
	if err == nil {
		err = writeNew(anywhere{}, filepath.Join(home, seenName), data.Bytes())
	}
	if err != nil {
		_ = os.Remove(filepath.Join(home, seenName)) // a part of it could not be read, either
	}
}

// readSeen reads the list; without one that can be read, nothing is known to be recorded.
func readSeen(home string) *seen {
	s := &seen{}
	data, err := readRegular(anywhere{}, filepath.Join(home, seenName), maxLarge)
	if err != nil || gob.NewDecoder(strings.NewReader(data)).Decode(&s.files) != nil {
		s.files = nil
	}
	return s
}

// rename renames a tree whose files are recorded, and returns what is in it then.
func (s *Store) rename(ctx context.Context, home string, m marker) (*seen, error) {
	if last, err := s.renameUntouched(ctx, home, m); last != nil || err != nil {
		return last, err
	}
	first, err := s.recordLast(ctx, home, treeIn(home), m)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(treeIn(home), goneIn(home)); err != nil {
		return nil, err
	}
	m.Files = first.digest()
	last, err := s.recordLast(ctx, home, goneIn(home), m)
	if err != nil {
		return nil, errors.Join(err, putBack(home, m))
	}
	return last, nil
}

// renameUntouched renames a tree in which nothing was changed since it was recorded, as in most. One look at the files is enough then. It
// returns what is in the tree; nil: it has its name again.
func (s *Store) renameUntouched(ctx context.Context, home string, m marker) (*seen, error) {
	if m.Captured == "" || m.Files == "" || strings.HasPrefix(m.Address, openedPrefix) {
		return nil, nil //nolint:nilnil // it has to be recorded first
	}
	if err := os.Rename(treeIn(home), goneIn(home)); err != nil {
		return nil, err
	}
	now, err := lookAt(goneIn(home))
	if err == nil && now.digest() == m.Files && !s.hasMine(ctx, m, refsIn(goneIn(home))) {
		return now, nil
	}
	return nil, putBack(home, m)
}

// putBack gives a tree its name back. If somebody has created that directory again, both stay.
func putBack(home string, m marker) error {
	err := os.Rename(goneIn(home), treeIn(home)) // also in place of an empty one
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	_, err = leave(home, goneIn(home), m.Number)
	return err
}

// settle ends what a killed process has left of the removal of a tree. It is called before anything else is done in a directory.
func settle(home string, m marker) (left string, err error) {
	if _, err := os.Lstat(goneIn(home)); err != nil {
		return "", ignoreMissing(err)
	}
	if !m.Partial { // not all of it may be recorded
		return "", putBack(home, m)
	}
	return removeGone(home, m, readSeen(home).has)
}

// removeGone removes the files of a renamed tree of which may says so, and returns where the rest is.
func removeGone(home string, m marker, may func(name string, s stat, relinked bool) bool) (left string, err error) {
	err = removeTree(goneIn(home), func(name string, s stat, relinked bool) bool {
		return name == ".git/index" || len(path.Dir(name)) > maxPath || may(name, s, relinked) // git writes its index when somebody looks
	})
	if _, wrong := os.Lstat(goneIn(home)); errors.Is(wrong, os.ErrNotExist) {
		return "", ignoreMissing(os.Remove(filepath.Join(home, seenName)))
	}
	left, wrong := leave(home, goneIn(home), m.Number)
	return left, errors.Join(err, wrong, ignoreMissing(os.Remove(filepath.Join(home, seenName))))
}

// has reports whether a file is as it was seen. One that had another name, which was removed, has another time of its last change since.
func (s *seen) has(name string, is stat, relinked bool) bool {
	was, found := s.files[name]
	if relinked {
		is[0], is[1] = was[0], was[1]
	}
	return found && was == is
}

// leave renames a directory beside a tree, or the tree, so that it stays. It is listed as [Info.Left].
func leave(home, dir string, attempt int) (left string, err error) {
	for i := attempt; ; i++ {
		left = filepath.Join(home, "left-"+strconv.Itoa(i))
		_, err := os.Lstat(left)
		if errors.Is(err, os.ErrNotExist) {
			return left, os.Rename(dir, left)
		}
		if err != nil {
			return "", err
		}
	}
}

// isOurs reports whether Hocket, or a program in which somebody looks at files, creates such an entry in the directory of a workspace.
// Nothing else there is ever removed.
func isOurs(e fs.DirEntry) bool {
	switch e.Name() {
	case "tree", goneName, "fresh":
		return true
	case ".DS_Store":
		return e.Type().IsRegular()
	}
	if _, found := ownFiles[e.Name()]; found {
		return e.Type().IsRegular()
	}
	return isSetAside(e.Name())
}

// isSetAside reports whether something in the directory of a workspace was set aside because an agent has left it.
func isSetAside(name string) bool {
	what, after, aside := strings.Cut(name, byAgent)
	number, numbered := strings.CutPrefix(after, "-")
	_, err := strconv.ParseUint(number, 10, 64)
	_, found := ownFiles[what]
	return aside && (found || what == "git" || what == "beside") && (after == "" || numbered && err == nil)
}

// removeRest removes a directory of a workspace whose tree was removed. A tree that somebody has created again stays, and so does what was
// saved beside it meanwhile.
func removeRest(home string) error {
	entries, err := os.ReadDir(home)
	if err != nil {
		return ignoreMissing(err)
	}
	for _, e := range entries {
		if isOurs(e) && e.Name() != filepath.Base(treeIn(home)) {
			err = errors.Join(err, removeAll(filepath.Join(home, e.Name())))
		}
	}
	return errors.Join(err, ignoreMissing(os.Remove(home))) // which fails if there is one
}
