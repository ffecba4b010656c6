package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The two sides of a landing: files are as they were before it, or as they are after it.
const (
	before = iota
	after
)

// mode returns the mode of a file on a side; "" if it does not exist.
func (m move) mode(side int) string { return [...]string{before: m.Was, after: m.Mode}[side] }

// object returns the object of a file on a side.
func (m move) object(side int) string { return [...]string{before: m.Old, after: m.Object}[side] }

// staged returns the copy of a file on a side.
func (in *intent) staged(m move, side int) string {
	return filepath.Join(in.dir, [...]string{before: "old", after: "new"}[side], filepath.FromSlash(m.Path))
}

// blockedError means that a file or a symbolic link is where a landing needs a directory. Nothing is written through a link: it may
// lead anywhere, and a person has approved a path.
type blockedError struct {
	path, by string
	link     bool
}

func (e *blockedError) Error() string {
	what := "is not a directory"
	if e.link {
		what = "is a symbolic link"
	}
	return fmt.Sprintf("%s cannot be changed: %s %s; move it away, or use land: branch", Shown(e.path), Shown(e.by), what)
}

func (e *blockedError) Is(target error) bool { return target == errMoved }

// open opens the directory in which a path is, one part after the other, without following links. With create, it creates what is
// missing; otherwise the error is fs.ErrNotExist.
func (in *intent) open(root *os.Root, name string, create bool) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	if err != nil || path.Dir(name) == "." {
		return at, err
	}
	parts := strings.Split(path.Dir(name), "/")
	for i, part := range parts {
		here := strings.Join(parts[:i+1], "/")
		next, err := in.enter(at, part, here, create)
		_ = at.Close()
		var blocked *blockedError
		if errors.As(err, &blocked) {
			blocked.path, blocked.by = name, here
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// enter opens a directory that is a part of a path.
func (in *intent) enter(at *os.Root, part, here string, create bool) (*os.Root, error) {
	info, err := at.Lstat(part)
	if errors.Is(err, fs.ErrNotExist) && create {
		perm, existed := in.Dirs[here]
		if !existed {
			perm = 0o777
		}
		if err := at.Mkdir(part, perm); err != nil {
			return nil, err
		}
		info, err = at.Lstat(part)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &blockedError{link: info.Mode()&fs.ModeSymlink != 0}
	}
	next, err := openDirectory(at, part)
	if errors.Is(err, errNoDirectory) { // it was replaced meanwhile
		return nil, errMoved
	}
	return next, err
}

// changeFiles changes the user's files. Before it begins, it looks at all of them.
func (in *intent) changeFiles(ctx context.Context, checkout string) error {
	root, err := os.OpenRoot(checkout)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := in.removeTemps(root); err != nil { // of a process that was killed
		return err
	}
	var todo []int
	for _, i := range in.order(after) {
		side, err := in.side(root, in.Changes[i])
		if err != nil {
			return err
		}
		if side == before {
			todo = append(todo, i)
		}
	}
	for _, i := range todo {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := in.changeFile(root, i, after); err != nil {
			var blocked *blockedError
			if errors.As(err, &blocked) { // it says which file
				return err
			}
			if errors.Is(err, fs.ErrPermission) {
				return fmt.Errorf("%s cannot be changed: make it and its directory writable for you, or use land: branch: %w", Shown(in.Changes[i].Path), err)
			}
			return fmt.Errorf("%s: %w", Shown(in.Changes[i].Path), err)
		}
		if in.changed != nil {
			in.changed[i] = true
		}
	}
	return nil
}

// restoreFiles is the reverse of changeFiles, except for some files. It does not touch what the user has changed since, either, and
// returns the files that keep a part of the landing because of that, and those of which that is not known: if its process was killed, it may
// have changed any file that is not followed by one that it has changed.
func (in *intent) restoreFiles(checkout string, except map[string]bool) (left, may []string, err error) {
	root, err := os.OpenRoot(checkout)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	err = in.removeTemps(root)
	todo := map[int]bool{}
	for _, i := range in.order(after) {
		m := in.Changes[i]
		switch side, wrong := in.side(root, m); {
		case errors.Is(wrong, errMoved):
			if in.changed == nil || in.changed[i] {
				may = append(may, m.Path)
			}
		case wrong != nil:
			err = errors.Join(err, wrong)
		case side == after: // so were the files before it
			left, may, todo[i] = append(left, may...), nil, !except[m.Path]
			if except[m.Path] {
				left = append(left, m.Path)
			}
		}
	}
	if in.changed != nil {
		left, may = append(left, may...), nil
	}
	for _, i := range in.order(before) {
		if !todo[i] {
			continue
		}
		wrong := in.changeFile(root, i, before)
		switch name := in.Changes[i].Path; {
		case errors.Is(wrong, errMoved):
			left = append(left, name)
		case wrong != nil:
			err = errors.Join(err, fmt.Errorf("%s: %w", Shown(name), wrong))
		}
	}
	in.removeNewDirs(root)
	return left, may, err
}

// hasChanged reports whether all files are as they are after the landing.
func (in *intent) hasChanged(checkout string) (bool, error) {
	root, err := os.OpenRoot(checkout)
	if err != nil {
		return false, err
	}
	defer root.Close()
	for _, m := range in.Changes {
		switch same, err := in.isOn(root, m, after); {
		case err != nil && !errors.Is(err, errMoved):
			return false, err
		case !same:
			return false, nil
		}
	}
	return true, nil
}

// differing returns the files that are not as they are after the landing.
func (in *intent) differing(checkout string) (names []string) {
	root, err := os.OpenRoot(checkout)
	if err == nil {
		defer root.Close()
	}
	for _, m := range in.Changes {
		same := false
		if err == nil {
			same, _ = in.isOn(root, m, after) // what cannot be read is not known to be the same
		}
		if !same {
			names = append(names, m.Path)
		}
	}
	return names
}

// order returns the order in which files are changed: first those that are removed, which may be in the way of a directory.
func (in *intent) order(to int) []int {
	var removed, others []int
	for i, m := range in.Changes {
		if m.mode(to) == "" {
			removed = append(removed, i)
		} else {
			others = append(others, i)
		}
	}
	return append(removed, others...)
}

// side reports on which side a file is; the error is errMoved if it is on neither.
func (in *intent) side(root *os.Root, m move) (int, error) {
	for side := range 2 {
		if same, err := in.isOn(root, m, side); err != nil || same {
			return side, err
		}
	}
	return 0, fmt.Errorf("%s: %w", Shown(m.Path), errMoved)
}

// isOn reports whether a file of the user is the same as on a side.
func (in *intent) isOn(root *os.Root, m move, side int) (bool, error) {
	dir, err := in.open(root, m.Path, false)
	var blocked *blockedError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m.mode(side) == "", nil
	case errors.As(err, &blocked) && in.changes(blocked.by): // the landing removes or creates what is there
		return m.mode(side) == "", nil
	case err != nil:
		return false, err
	}
	defer dir.Close()
	return in.isSame(dir, path.Base(m.Path), m, side)
}

// changes reports whether a path is one of those that the landing changes.
func (in *intent) changes(name string) bool {
	return slices.ContainsFunc(in.Changes, func(m move) bool { return m.Path == name })
}

// isSame is isOn in the directory of the file, which may have another name there.
func (in *intent) isSame(dir *os.Root, name string, m move, side int) (bool, error) {
	mode := m.mode(side)
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return mode == "", nil
	}
	if err != nil {
		return false, err
	}
	switch {
	case mode == "":
		return info.IsDir() && in.owns(dir, m.Path, side), nil
	case mode == "120000":
		if info.Mode()&fs.ModeSymlink == 0 {
			return false, nil
		}
		have, err := dir.Readlink(name)
		want, wrong := os.Readlink(in.staged(m, side))
		return have == want, errors.Join(err, wrong)
	case !info.Mode().IsRegular():
		return false, nil
	}
	copied, err := os.Stat(in.staged(m, side))
	if err != nil || (info.Mode()&0o100 != 0) != (copied.Mode()&0o100 != 0) || info.Size() != copied.Size() {
		return false, err
	}
	want, err := openRegular(anywhere{}, in.staged(m, side))
	if err != nil {
		return false, err
	}
	defer want.Close()
	if same, err := isBeginning(dir, name, want); err != nil || !same {
		return false, err
	}
	now, err := dir.Lstat(name) // the file may have changed behind what was read already
	return err == nil && os.SameFile(now, info) && now.Size() == info.Size() && now.ModTime().Equal(info.ModTime()), err
}

// owns reports whether all files in a directory, where a file is on the other side, are files of a side.
func (in *intent) owns(parent *os.Root, dir string, side int) bool {
	own := map[string]bool{}
	for _, m := range in.Changes {
		own[m.Path] = m.mode(side) != ""
	}
	err := fs.WalkDir(parent.FS(), path.Base(dir), func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !own[path.Join(path.Dir(dir), name)] {
			err = fs.ErrExist
		}
		return err
	})
	return err == nil
}

// changeFile gives one file of a side to the user, who has that of the other side. The user may change the file at any moment. So it
// is compared again when it has its place no more, where only a process can change it that has it open already.
func (in *intent) changeFile(root *os.Root, i, to int) error {
	m := in.Changes[i]
	dir, err := in.open(root, m.Path, m.mode(to) != "")
	if err != nil {
		return err
	}
	defer dir.Close()
	name, temp, held := path.Base(m.Path), in.tempName(i), in.heldName(i)
	if m.mode(to) == "" {
		if err := in.expect(dir, name, m, 1-to); err != nil {
			return err
		}
		if err := dir.Rename(name, held); err != nil {
			return err
		}
		if err := in.discard(dir, i, held, 1-to); err != nil {
			return err
		}
		if to == after {
			in.removeParents(root, m.Path)
		}
		return nil
	}
	if err := removeDirs(dir, name); err != nil {
		return err
	}
	if err := in.writeTemp(dir, i, to); errors.Is(err, fs.ErrExist) { // whose it is, is not known
		return err
	} else if err != nil {
		return errors.Join(err, ignoreMissing(dir.Remove(temp)))
	}
	if err := in.expect(dir, name, m, 1-to); err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	if m.mode(1-to) == "" {
		return in.create(dir, i)
	}
	if err := dir.Rename(temp, held); err != nil {
		return err
	}
	switch err := exchange(dir, held, name); {
	case errors.Is(err, errors.ErrUnsupported):
		return in.replace(dir, i, to)
	case errors.Is(err, fs.ErrNotExist): // the user has removed it
		return errors.Join(errMoved, dir.Remove(held))
	case err != nil:
		return errors.Join(err, dir.Remove(held))
	}
	return in.discard(dir, i, held, 1-to)
}

// create gives a new file its place, where nothing is.
func (in *intent) create(dir *os.Root, i int) error {
	err := place(dir, in.tempName(i), path.Base(in.Changes[i].Path), in.partName(i))
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		err = errMoved
	}
	return errors.Join(err, dir.Remove(in.tempName(i)))
}

// replace gives the new file its place where files cannot change places. That of the user is taken away first, and compared when only a
// process can change it that has it open already. If the user saves another one meanwhile, that has the place.
func (in *intent) replace(dir *os.Root, i, to int) error {
	name, temp, taken := path.Base(in.Changes[i].Path), in.tempName(i), in.takenName(i)
	if err := dir.Rename(in.heldName(i), temp); err != nil {
		return err
	}
	if err := dir.Rename(name, taken); err != nil {
		if errors.Is(err, fs.ErrNotExist) { // the user has removed it
			err = errMoved
		}
		return errors.Join(err, dir.Remove(temp))
	}
	err := in.expect(dir, taken, in.Changes[i], 1-to)
	if err != nil {
		err = errors.Join(err, dir.Remove(temp))
	} else {
		err = in.create(dir, i)
	}
	if err != nil {
		return errors.Join(err, in.giveBack(dir, i, taken))
	}
	return in.discard(dir, i, taken, 1-to)
}

// expect compares a file just before it is replaced.
func (in *intent) expect(dir *os.Root, name string, m move, side int) error {
	same, err := in.isSame(dir, name, m, side)
	if err == nil && !same {
		err = errMoved
	}
	return err
}

// discard removes a file of the user that has lost its place, if it is that of a side. Otherwise the user has it back.
func (in *intent) discard(dir *os.Root, i int, held string, side int) error {
	same, err := in.isSame(dir, held, in.Changes[i], side)
	if err == nil && same {
		return dir.Remove(held)
	}
	return errors.Join(err, in.giveBack(dir, i, held))
}

// removeParents removes the directories of a path as long as they are empty.
func (in *intent) removeParents(root *os.Root, name string) {
	for dir := path.Dir(name); dir != "." && in.removeDir(root, dir); dir = path.Dir(dir) {
	}
}

// removeNewDirs removes the directories that a landing has created, if they are empty.
func (in *intent) removeNewDirs(root *os.Root) {
	for _, m := range in.Changes {
		for dir := path.Dir(m.Path); dir != "."; dir = path.Dir(dir) {
			if _, existed := in.Dirs[dir]; !existed {
				in.removeDir(root, dir)
			}
		}
	}
}

// removeDir removes a directory if it is empty.
func (in *intent) removeDir(root *os.Root, dir string) bool {
	parent, err := in.open(root, dir, false)
	if err != nil {
		return false
	}
	defer parent.Close()
	info, err := parent.Lstat(path.Base(dir))
	return err == nil && info.IsDir() && parent.Remove(path.Base(dir)) == nil
}

// removeDirs removes empty directories where a file will be.
func removeDirs(parent *os.Root, name string) error {
	info, err := parent.Lstat(name)
	if err != nil || !info.IsDir() {
		return nil //nolint:nilerr // whatever it is, it is compared later
	}
	var dirs []string
	err = fs.WalkDir(parent.FS(), name, func(dir string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = errMoved
		}
		dirs = append(dirs, dir)
		return err
	})
	if err != nil {
		return err
	}
	for _, dir := range slices.Backward(dirs) {
		if err := parent.Remove(filepath.FromSlash(dir)); err != nil {
			return err
		}
	}
	return nil
}

// listDirs notes the directories that exist on the paths of changed files, so that a landing that is undone leaves the same.
func (in *intent) listDirs(checkout string) error {
	root, err := os.OpenRoot(checkout)
	if err != nil {
		return err
	}
	defer root.Close()
	in.Dirs = map[string]fs.FileMode{}
	missing := map[string]bool{}
	for _, m := range in.Changes {
		for dir := path.Dir(m.Path); dir != "." && !missing[dir]; dir = path.Dir(dir) {
			if _, known := in.Dirs[dir]; known {
				break
			}
			if info, err := root.Lstat(filepath.FromSlash(dir)); err == nil && info.IsDir() {
				in.Dirs[dir] = info.Mode().Perm()
			} else {
				missing[dir] = true
			}
		}
	}
	return nil
}
