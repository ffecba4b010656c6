package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hocket-dev/hocket/internal/wholefile"
)

// intent is written before anything of the user's is changed. Its directory also has the files as they
// are (old) and as they will be (new). A landing changes, in this order:
//
//  1. the files, one by one, each by renaming a complete one
//  2. the index
//  3. the branch
//
// If its process is killed in between, the user has a part of the change as uncommitted work, and
// repeating it does the rest. In another order, files that have not changed yet would look like work
// of the user that reverts the change.
type intent struct {
	Landed           // what will have been done
	Digest   string  `json:"digest"`             // that was approved
	Approval string  `json:"approval,omitempty"` // see [Landing]
	Head     string  `json:"head,omitempty"`     // what the branch has now; "": it is created
	Changes  []move  `json:"changes,omitempty"`  // of the files
	Index    []move  `json:"index,omitempty"`    // of the index
	Trees    [2]tree `json:"trees"`              // of the index, before and after
	Done     bool    `json:"done"`
	dir, key string
}

// move is a path with its mode and object before and after. Mode "" means that it does not exist.
type move struct {
	Path   string `json:"path"`
	Was    string `json:"was,omitempty"`
	Mode   string `json:"mode,omitempty"`
	Object string `json:"object"`
}

// errMoved means that the user changed something that a landing is about to change, or that a
// file is in its way that was not captured.
var errMoved = errors.New("it was changed during the landing, or git ignores it")

// maxReplans is how often a landing starts again because the user works in the same files.
const maxReplans = 5

// Land lands a change that a person has approved: its digest is that of a [Plan]. If the checkout
// changed since so that something else would land, the error is a [ChangedError] or a
// [LandConflictError], and nothing was done. A landing that was interrupted is finished by calling Land
// with the same ID, and one that is done is not repeated.
func (s *Store) Land(ctx context.Context, l Landing) (Landed, error) {
	lock, err := waitFor(ctx, filepath.Join(s.dir, "land.lock"))
	if err != nil {
		return Landed{}, err
	}
	defer lock.Release()
	key := nameOf(l.Run) + "." + nameOf(l.ID)
	in, err := s.readIntent(key)
	if err != nil {
		return Landed{}, err
	}
	if in != nil && !in.Done && in.Digest != l.Digest { // another change was approved since
		in = nil
	}
	for range maxReplans {
		if in == nil {
			in, err = s.intend(ctx, l, key)
		}
		switch {
		case err == nil && in.Done:
			return in.Landed, nil
		case err == nil:
			err = s.carryOut(ctx, in)
		}
		if err == nil {
			return in.Landed, in.finish()
		}
		if !errors.Is(err, errMoved) {
			return Landed{}, err
		}
		in = nil
	}
	return Landed{}, err
}

// Finish finishes a landing with this ID that was interrupted, or returns what it did if only that was not recorded. It reports
// whether there was one with this approval: then nothing has to be planned, and the rest does not need another one.
// If the files that remain have changed since, there is none: what was not landed has to be planned and approved anew.
func (s *Store) Finish(ctx context.Context, l Landing) (landed Landed, found bool, err error) {
	lock, err := waitFor(ctx, filepath.Join(s.dir, "land.lock"))
	if err != nil {
		return Landed{}, false, err
	}
	defer lock.Release()
	in, err := s.readIntent(nameOf(l.Run) + "." + nameOf(l.ID))
	if err != nil || in == nil || in.Approval != l.Approval {
		return Landed{}, false, err
	}
	if in.Done {
		return in.Landed, true, nil
	}
	if err := s.carryOut(ctx, in); errors.Is(err, errMoved) {
		return Landed{}, false, nil
	} else if err != nil {
		return Landed{}, true, err
	}
	return in.Landed, true, in.finish()
}

func (s *Store) readIntent(key string) (*intent, error) {
	in := &intent{dir: filepath.Join(s.dir, "land", key), key: key}
	data, err := os.ReadFile(filepath.Join(in.dir, "intent.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, removeAll(in.dir) // it was not complete, so nothing was changed
	}
	if err == nil {
		err = json.Unmarshal(data, in)
	}
	return in, err
}

func (in *intent) write() error {
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return wholefile.Write(filepath.Join(in.dir, "intent.json"), data, 0o600)
}

// finish notes that the landing is done. What it needed is removed.
func (in *intent) finish() error {
	in.Done, in.Changes, in.Index = true, nil, nil
	return errors.Join(in.write(), removeAll(filepath.Join(in.dir, "old")), removeAll(filepath.Join(in.dir, "new")))
}

// intend plans a landing, prepares everything, and writes the intent.
func (s *Store) intend(ctx context.Context, l Landing, key string) (*intent, error) {
	const maxPatch = 1 << 20
	p, err := s.plan(ctx, l, maxPatch)
	if err != nil {
		return nil, err
	}
	defer p.q.remove()
	if p.Digest != l.Digest {
		return nil, &ChangedError{p.Plan}
	}
	in := &intent{
		Landed: Landed{Commit: p.commit, Ref: p.Ref, Files: len(p.Diff.Files), Before: p.before},
		Digest: p.Digest, Approval: l.Approval, Head: p.head.commit, dir: filepath.Join(s.dir, "land", key), key: key,
	}
	if l.How == AsBranch {
		in.Head = ""
	}
	if err := errors.Join(removeAll(in.dir), os.Mkdir(in.dir, 0o700)); err != nil {
		return nil, err
	}
	if len(p.Diff.Files) == 0 {
		in.Landed, in.Done = Landed{}, true
		return in, in.write()
	}
	if l.How != AsPatch {
		if err := p.q.seal(ctx, s.user.git, p.commit, p.head.commit); err != nil {
			return nil, err
		}
	}
	if l.How != AsBranch {
		if err := s.pin(ctx, l.Run, "before/"+nameOf(l.ID), p.before); err != nil {
			return nil, err
		}
		if err := s.stage(ctx, l, p, in); err != nil {
			return nil, err
		}
	}
	if l.How == AsCommit && p.index[before] != p.head.tree { // what is staged is not in the new commit
		if err := p.q.seal(ctx, s.user.git, p.index[after], p.head.commit, p.commit); err != nil {
			return nil, err
		}
	}
	return in, in.write()
}

// stage copies the files that will change, as they are and as they will be.
func (s *Store) stage(ctx context.Context, l Landing, p *plan, in *intent) (err error) {
	if in.Changes, err = p.q.moves(ctx, p.files); err != nil {
		return err
	}
	if l.How == AsCommit {
		in.Trees = p.index
		if in.Index, err = p.q.moves(ctx, p.index); err != nil {
			return err
		}
	}
	// Submodules have no files.
	in.Changes = slices.DeleteFunc(in.Changes, func(m move) bool { return m.Mode == "160000" || m.Was == "160000" })
	fresh, old := filepath.Join(in.dir, "new"), filepath.Join(in.dir, "old")
	if err := errors.Join(os.Mkdir(fresh, 0o700), os.Mkdir(old, 0o700)); err != nil {
		return err
	}
	var create []string
	for _, m := range in.Changes {
		if m.Mode != "" {
			create = append(create, m.Path)
		}
		if m.Was == "" {
			continue
		}
		to := filepath.Join(old, filepath.FromSlash(m.Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := copyTree(ctx, filepath.Join(s.root, filepath.FromSlash(m.Path)), to); errors.Is(err, os.ErrNotExist) {
			return errMoved
		} else if err != nil {
			return err
		}
	}
	// The copies are those of the plan only if the files are still the same.
	include := l.Include
	if l.How == AsCommit {
		include = nil
	}
	if again, err := s.snapshot(ctx, p.head, p.head.commit, include); err != nil {
		return err
	} else if again.tree != p.files[0] {
		return errMoved
	}
	g := p.q.with("GIT_WORK_TREE=" + fresh).in(fresh)
	if err := g.do(ctx, "read-tree", p.files[1]); err != nil {
		return err
	}
	_, err = g.input(ctx, strings.Join(create, "\x00"), "checkout-index", "--force", "-z", "--stdin")
	return err
}

// moves returns the paths that differ between two trees.
func (q *quarantine) moves(ctx context.Context, trees [2]tree) ([]move, error) {
	text, err := q.out(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", trees[0], trees[1])
	if err != nil {
		return nil, err
	}
	var all []move
	for pair := range slices.Chunk(records(text), 2) {
		f := strings.Fields(strings.TrimPrefix(pair[0], ":"))
		if len(f) != 5 || len(pair) != 2 {
			return nil, fmt.Errorf("git diff-tree: unexpected output %.80q", pair[0])
		}
		all = append(all, move{Path: pair[1], Was: mode(f[0]), Mode: mode(f[1]), Object: f[3]})
	}
	return all, nil
}

func mode(text string) string { return strings.TrimPrefix(text, "000000") }

// carryOut does what is intended, as far as it was not done before.
func (s *Store) carryOut(ctx context.Context, in *intent) error {
	if len(in.Changes) > 0 {
		if err := in.changeFiles(ctx, s.root); err != nil {
			return err
		}
	}
	if len(in.Index) > 0 {
		if err := s.changeIndex(ctx, in); err != nil {
			return err
		}
	}
	if in.Ref == "" {
		return nil
	}
	now, err := s.user.out(ctx, "rev-parse", "-q", "--verify", in.Ref)
	if err != nil && exitCode(err) != 1 {
		return err
	}
	if now == in.Commit {
		return nil
	}
	if in.Head == "" && now != "" {
		return fmt.Errorf("branch %s exists already: choose another name", strings.TrimPrefix(in.Ref, "refs/heads/"))
	}
	if now != in.Head {
		return errMoved
	}
	return s.user.do(ctx, "update-ref", "-m", "hocket: land", in.Ref, in.Commit, in.Head)
}

// changeFiles changes the user's files. Before it begins, it looks at all of them.
func (in *intent) changeFiles(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for i := range in.Changes {
		_ = root.Remove(in.tempName(i)) // of a process that was killed
	}
	var todo []int
	for i, m := range in.Changes {
		state, err := in.state(root, m)
		if err != nil {
			return err
		}
		if state == before {
			todo = append(todo, i)
		}
	}
	for _, removing := range []bool{true, false} { // first what may be in the way of a directory
		for _, i := range todo {
			if m := in.Changes[i]; (m.Mode == "") == removing {
				if err := errors.Join(ctx.Err(), in.changeFile(root, i)); err != nil {
					return fmt.Errorf("%s: %w", m.Path, err)
				}
			}
		}
	}
	return nil
}

const (
	before = iota
	after
)

// state reports whether a file is as it was, or as it will be; the error is errMoved if it is neither.
func (in *intent) state(root *os.Root, m move) (int, error) {
	for state, mode := range []string{before: m.Was, after: m.Mode} {
		staged := filepath.Join(in.dir, []string{before: "old", after: "new"}[state], filepath.FromSlash(m.Path))
		same, err := in.isSame(root, m.Path, mode, staged)
		if err != nil || same {
			return state, err
		}
	}
	return 0, fmt.Errorf("%s: %w", m.Path, errMoved)
}

// isSame reports whether a file of the user is the same as a staged one, or absent if mode is "".
func (in *intent) isSame(root *os.Root, name, mode, staged string) (bool, error) {
	info, err := root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return mode == "", nil
	}
	if err != nil {
		return false, err
	}
	switch {
	case mode == "":
		return info.IsDir() && in.emptied(root, name), nil
	case mode == "120000":
		if info.Mode()&fs.ModeSymlink == 0 {
			return false, nil
		}
		have, err := root.Readlink(filepath.FromSlash(name))
		want, wrong := os.Readlink(staged)
		return have == want, errors.Join(err, wrong)
	case !info.Mode().IsRegular():
		return false, nil
	}
	copied, err := os.Stat(staged)
	if err != nil || (info.Mode()&0o100 != 0) != (copied.Mode()&0o100 != 0) {
		return false, err
	}
	have, err := root.ReadFile(filepath.FromSlash(name))
	want, wrong := os.ReadFile(staged)
	return bytes.Equal(have, want), errors.Join(err, wrong)
}

// emptied reports whether the landing removes all files in a directory, so that a file can replace it.
func (in *intent) emptied(root *os.Root, dir string) bool {
	removed := map[string]bool{}
	for _, m := range in.Changes {
		removed[m.Path] = m.Mode == ""
	}
	err := fs.WalkDir(root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !removed[name] {
			err = fs.ErrExist
		}
		return err
	})
	return err == nil
}

func (in *intent) tempName(i int) string {
	sum := digestOf(in.key)
	return filepath.FromSlash(path.Join(path.Dir(in.Changes[i].Path), ".hocket-"+sum[:12]+"-"+strconv.Itoa(i)))
}

// changeFile changes one file that is as it was.
func (in *intent) changeFile(root *os.Root, i int) error {
	m := in.Changes[i]
	name := filepath.FromSlash(m.Path)
	if m.Mode == "" {
		if err := in.unchanged(root, m); err != nil {
			return err
		}
		if err := root.Remove(name); err != nil {
			return err
		}
		for dir := filepath.Dir(name); dir != "." && root.Remove(dir) == nil; dir = filepath.Dir(dir) { // as long as they are empty
		}
		return nil
	}
	if err := removeDirs(root, name); err != nil {
		return err
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	temp := in.tempName(i)
	if err := in.writeTemp(root, temp, m); err != nil {
		return errors.Join(err, ignoreMissing(root.Remove(temp)))
	}
	if err := in.unchanged(root, m); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	if m.Was == "" && m.Mode != "120000" { // a link fails if something exists there; it may not be supported
		if err := root.Link(temp, name); err == nil || errors.Is(err, os.ErrExist) {
			err = errors.Join(err, root.Remove(temp))
			if errors.Is(err, os.ErrExist) {
				return errMoved
			}
			return err
		}
	}
	return root.Rename(temp, name)
}

// removeDirs removes empty directories where a file will be.
func removeDirs(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() {
		return nil //nolint:nilerr // whatever it is, it is compared later
	}
	var dirs []string
	err = fs.WalkDir(root.FS(), filepath.ToSlash(name), func(dir string, _ fs.DirEntry, err error) error {
		dirs = append(dirs, dir)
		return err
	})
	for _, dir := range slices.Backward(dirs) {
		err = errors.Join(err, root.Remove(filepath.FromSlash(dir)))
	}
	return err
}

// unchanged compares a file just before it is replaced.
func (in *intent) unchanged(root *os.Root, m move) error {
	state, err := in.state(root, m)
	if err == nil && state != before {
		err = errMoved
	}
	return err
}

// writeTemp writes the new content beside the file that it will replace, with that one's permissions.
func (in *intent) writeTemp(root *os.Root, temp string, m move) error {
	staged := filepath.Join(in.dir, "new", filepath.FromSlash(m.Path))
	if m.Mode == "120000" {
		target, err := os.Readlink(staged)
		if err != nil {
			return err
		}
		return root.Symlink(target, temp)
	}
	from, err := os.Open(staged)
	if err != nil {
		return err
	}
	defer from.Close()
	perm := fs.FileMode(0o666)
	if m.Mode == "100755" {
		perm = 0o777
	}
	to, err := root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if old, wrong := root.Lstat(filepath.FromSlash(m.Path)); wrong == nil && old.Mode().IsRegular() {
		perm := old.Mode().Perm() &^ 0o111
		if m.Mode == "100755" {
			perm |= perm & 0o444 >> 2
		}
		err = errors.Join(err, to.Chmod(perm))
	}
	return errors.Join(err, to.Sync(), to.Close())
}

// indexPatience is for another git command of the user.
const indexPatience = 5 * time.Second

// changeIndex adds the change to the user's index. It prepares a copy and takes git's lock only for
// the moment of a renaming, so that a killed process hardly ever leaves the lock behind.
func (s *Store) changeIndex(ctx context.Context, in *intent) error {
	q, err := s.quarantine(s.root, s.user.objects)
	if err != nil {
		return err
	}
	defer q.remove()
	lock, fresh := s.user.index+".lock", s.user.index+".hocket"
	if mine, err := os.Stat(fresh); err == nil { // of a process that was killed
		if held, err := os.Stat(lock); err == nil && os.SameFile(mine, held) {
			_ = os.Remove(lock)
		}
		_ = os.Remove(fresh)
	}
	for deadline := time.Now().Add(indexPatience); ; time.Sleep(20 * time.Millisecond) {
		old, err := os.ReadFile(s.user.index)
		if err != nil {
			return err
		}
		if done, err := s.prepareIndex(ctx, q, in); err != nil || done {
			return err
		}
		if err := s.present(ctx, in); err != nil {
			return err
		}
		if err := swapIndex(q.index, fresh, lock, s.user.index, old); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// prepareIndex creates a changed copy of the user's index, unless that is changed already.
func (s *Store) prepareIndex(ctx context.Context, q *quarantine, in *intent) (done bool, err error) {
	if err := s.copyUserIndex(ctx, q.index); err != nil {
		return false, err
	}
	tree, err := q.out(ctx, "write-tree")
	if err != nil || tree == in.Trees[after] {
		return err == nil, err
	}
	if tree != in.Trees[before] {
		return false, errMoved
	}
	var lines strings.Builder
	for _, m := range in.Index {
		if m.Mode == "" {
			fmt.Fprintf(&lines, "0 %s\t%s\x00", m.Object, m.Path)
		} else {
			fmt.Fprintf(&lines, "%s %s\t%s\x00", m.Mode, m.Object, m.Path)
		}
	}
	if _, err := q.input(ctx, lines.String(), "update-index", "-z", "--index-info"); err != nil {
		return false, err
	}
	if err := q.do(ctx, "update-index", "-q", "--refresh"); err != nil && exitCode(err) != 1 { // 1: some files differ
		return false, err
	}
	return false, nil
}

// present returns errMoved if the user's repository does not have what the new index and branch need. It had, but it may have been
// pruned since, if the process was killed.
func (s *Store) present(ctx context.Context, in *intent) error {
	names := []string{in.Commit}
	for _, m := range in.Index {
		if m.Mode != "" && m.Mode != "160000" { // submodules have their own repositories
			names = append(names, m.Object)
		}
	}
	text, err := s.user.input(ctx, strings.Join(names, "\n")+"\n", "cat-file", "--batch-check")
	if err == nil && strings.Contains(text, " missing") {
		err = fmt.Errorf("objects of the landing were pruned: %w", errMoved)
	}
	return err
}

// swapIndex replaces the user's index if it still has its old content and no git command holds its lock.
func swapIndex(from, fresh, lock, index string, old []byte) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(index)
	if err != nil {
		return err
	}
	if err := os.WriteFile(fresh, data, info.Mode().Perm()); err != nil {
		return err
	}
	defer os.Remove(fresh)
	if err := os.Link(fresh, lock); err != nil {
		return fmt.Errorf("another git command uses the index: %w", err)
	}
	if now, err := os.ReadFile(index); err != nil || !bytes.Equal(now, old) {
		return errors.Join(err, os.Remove(lock), errMoved)
	}
	return os.Rename(lock, index)
}
