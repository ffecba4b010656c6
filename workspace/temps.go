package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
)

// The files that a landing has beside those of the user for a moment, and what becomes of them when it was killed or the user has saved
// something just then.

// tempStart begins the names of all files that a landing has beside those of the user for a moment.
const tempStart = ".hocket-"

// tempName returns the name of a new file beside the one that it will replace, while it is written.
func (in *intent) tempName(i int) string { return tempStart + in.Temp + "-" + strconv.Itoa(i) }

// heldName returns the name of a file that changes places with that of the user: first it is the new one, complete, and then the user's.
func (in *intent) heldName(i int) string { return in.tempName(i) + "-held" }

// Where files cannot change places, that of the user has the first name until the new one has its place. The second one is for the new
// file when the user gets another one back, and the third for a file that is copied, see [place].
func (in *intent) takenName(i int) string { return in.tempName(i) + "-taken" }
func (in *intent) spareName(i int) string { return in.tempName(i) + "-spare" }
func (in *intent) partName(i int) string  { return in.tempName(i) + "-part" }

// removeTemps removes what a process left that was killed. A file of the user among that is put back if the user has changed it, or if
// nothing has its place.
func (in *intent) removeTemps(root *os.Root) (err error) {
	for i, m := range in.Changes {
		dir, missing := in.open(root, m.Path, false)
		if missing != nil {
			continue
		}
		err = errors.Join(err, removePart(dir, in.partName(i), path.Base(m.Path)))
		_ = dir.Remove(in.tempName(i))
		for _, name := range []string{in.partName(i), in.takenName(i), in.heldName(i), in.spareName(i)} {
			if wrong := in.giveBack(dir, i, name); !errors.Is(wrong, errMoved) { // it is noticed when the file is compared
				err = errors.Join(err, wrong)
			}
		}
		_ = dir.Close()
	}
	return err
}

// giveBack removes a file that may be that of the user and has lost its place. If it is none that the landing has a copy of, the user has
// changed it meanwhile, so it gets its place back, and the error is errMoved. The same holds for one that was taken away while its place is
// free, but that is no error.
func (in *intent) giveBack(dir *os.Root, i int, held string) error {
	name := path.Base(in.Changes[i].Path)
	if _, err := dir.Lstat(held); err != nil {
		return ignoreMissing(err)
	}
	ours, err := in.isOurs(dir, held, i)
	if err != nil {
		return err
	}
	if _, err := dir.Lstat(name); errors.Is(err, fs.ErrNotExist) && (!ours || held == in.takenName(i)) {
		switch err := place(dir, held, name, in.partName(i)); {
		case err == nil && ours:
			return nil
		case !errors.Is(err, fs.ErrExist):
			return errors.Join(err, errMoved)
		}
	}
	if ours {
		return in.removeHeld(dir, i, held)
	}
	if done, err := in.takeBack(dir, i, held); done || err != nil {
		return errors.Join(err, errMoved)
	}
	// Both are the user's.
	kept, err := setAsideAs(dir, held, name+".mine")
	if err != nil {
		return err
	}
	return fmt.Errorf("%s was changed twice during the landing: the other version is beside it, in %s", Shown(in.Changes[i].Path), Shown(kept))
}

// removeHeld removes a file that the landing has a copy of. After its process was killed, it can be the user's only version: the user may have
// replaced the one that landed since, for example by that of the last commit. Then it stays beside that one.
func (in *intent) removeHeld(dir *os.Root, i int, held string) error {
	m := in.Changes[i]
	name := path.Base(m.Path)
	if in.changed != nil || m.mode(before) == "" {
		return dir.Remove(held)
	}
	spare, err := in.isSame(dir, held, m, after)
	for side := range 2 {
		if err == nil && !spare {
			spare, err = in.isSame(dir, name, m, side)
		}
	}
	if err != nil {
		return err
	}
	if spare {
		return dir.Remove(held)
	}
	kept, err := setAsideAs(dir, held, name+".mine")
	if err != nil {
		return err
	}
	return fmt.Errorf("%s was replaced after the process of the landing was killed: your version from before the landing is beside it, in %s", Shown(m.Path), Shown(path.Join(path.Dir(m.Path), kept)))
}

// takeBack gives a file of the user the place of one that the landing has a copy of. It reports whether it has that now.
func (in *intent) takeBack(dir *os.Root, i int, held string) (done bool, err error) {
	name, spare := path.Base(in.Changes[i].Path), in.spareName(i)
	if ours, err := in.isOurs(dir, name, i); err != nil || !ours || held == spare {
		return false, err
	}
	switch err := exchange(dir, held, name); {
	case err == nil:
		if ours, err := in.isOurs(dir, held, i); err != nil || !ours {
			return false, err
		}
		return true, dir.Remove(held)
	case !errors.Is(err, errors.ErrUnsupported):
		return false, nil //nolint:nilerr // both stay
	}
	if err := dir.Rename(name, spare); err != nil {
		return false, err
	}
	ours, err := in.isOurs(dir, spare, i)
	if err == nil && ours {
		err = place(dir, held, name, in.partName(i))
	}
	if err == nil && ours {
		return true, dir.Remove(spare)
	}
	if errors.Is(err, fs.ErrExist) { // the user has saved once more
		err = nil
	}
	if wrong := in.giveBack(dir, i, spare); !errors.Is(wrong, errMoved) {
		err = errors.Join(err, wrong)
	}
	return false, err
}

// isOurs reports whether the landing has a copy of a file.
func (in *intent) isOurs(dir *os.Root, name string, i int) (bool, error) {
	for side := range 2 {
		if in.Changes[i].mode(side) == "" {
			continue
		}
		if same, err := in.isSame(dir, name, in.Changes[i], side); err != nil || same {
			return same, err
		}
	}
	return false, nil
}

// writeTemp writes the content of a side beside the file that it will replace, with that one's permissions or, if the landing is
// undone, with those that the file had.
func (in *intent) writeTemp(dir *os.Root, i, to int) error {
	m, temp := in.Changes[i], in.tempName(i)
	if m.mode(to) == "120000" {
		target, err := os.Readlink(in.staged(m, to))
		if err != nil {
			return err
		}
		return dir.Symlink(target, temp)
	}
	from, err := openRegular(anywhere{}, in.staged(m, to))
	if err != nil {
		return err
	}
	defer from.Close()
	perm := fs.FileMode(0o666)
	if m.mode(to) == "100755" {
		perm = 0o777
	}
	file, err := dir.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	if to == before {
		info, wrong := from.Stat()
		if err = errors.Join(err, wrong); err == nil {
			err = errors.Join(file.Chmod(info.Mode().Perm()), file.Sync(), file.Close(), dir.Chtimes(temp, info.ModTime(), info.ModTime()))
			return err
		}
	} else if old, wrong := dir.Lstat(path.Base(m.Path)); wrong == nil && old.Mode().IsRegular() {
		perm := old.Mode().Perm() &^ 0o111
		if m.mode(to) == "100755" {
			perm |= perm & 0o444 >> 2
		}
		err = errors.Join(err, file.Chmod(perm))
	}
	return errors.Join(err, file.Sync(), file.Close())
}
