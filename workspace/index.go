package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// indexPatience is for another git command of the user.
const indexPatience = 5 * time.Second

// editIndex changes the user's index by lines for update-index, which are computed from a copy, and does something else while no git
// command can change it. If that fails, the index is as before. Git's lock is taken only for these moments, so that a killed process
// hardly ever leaves it behind.
func (s *Store) editIndex(ctx context.Context, edit func(q *quarantine) (lines string, err error), then func() error) error {
	q, err := s.quarantine(s.root, s.user.objects)
	if err != nil {
		return err
	}
	defer q.remove()
	swap, err := s.indexSwap()
	if err != nil {
		return err
	}
	swap.clean()
	for deadline := time.Now().Add(indexPatience); ; time.Sleep(20 * time.Millisecond) {
		old, err := os.ReadFile(s.user.index)
		if err != nil {
			return err
		}
		if err := s.copyUserIndex(ctx, q.index); err != nil {
			return err
		}
		lines, err := edit(q)
		if err != nil {
			return err
		}
		if lines == "" {
			return then()
		}
		if _, err := q.input(ctx, lines, "update-index", "-z", "--index-info"); err != nil {
			return err
		}
		if err := q.do(ctx, "update-index", "-q", "--refresh"); err != nil && exitCode(err) != 1 { // 1: some files differ
			return err
		}
		if again, err := swap.do(q.index, old, then); !again || time.Now().After(deadline) {
			return s.full(err, s.user.gitDir)
		}
	}
}

// change returns what brings the new content into the index, "" if it has that.
func (s *Store) change(ctx context.Context, q *quarantine, in *intent) (string, error) {
	tree, err := q.out(ctx, "write-tree")
	if err != nil || tree == in.Trees[after] {
		return "", err
	}
	if tree != in.Trees[before] {
		return "", fmt.Errorf("what is staged has changed: %w", errMoved)
	}
	if missing, err := s.missing(ctx, append(objects(in.Index, after), in.Commit)); err != nil || len(missing) > 0 {
		return "", cmp.Or(err, fmt.Errorf("objects of the landing were pruned: %w", errMoved))
	}
	var lines strings.Builder
	for _, m := range in.Index {
		lines.WriteString(m.indexLine(after))
	}
	return lines.String(), nil
}

// changeBack returns what removes a landing from the index, where nobody has changed it since, and the files that may keep a part of it
// there.
func (s *Store) changeBack(ctx context.Context, q *quarantine, in *intent, except map[string]bool) (lines string, kept []string, err error) {
	text, err := q.out(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return "", nil, err
	}
	has := map[string]string{}
	for _, entry := range records(text) {
		info, name, _ := strings.Cut(entry, "\t")
		has[name] += info
	}
	missing, err := s.missing(ctx, objects(in.Index, before))
	if err != nil {
		return "", nil, err
	}
	var back strings.Builder
	for _, m := range in.Index {
		landed := has[m.Path] == m.staged(after)
		switch {
		case landed && !except[m.Path] && !slices.Contains(missing, m.Old):
			back.WriteString(m.indexLine(before))
		case landed || in.changed == nil && has[m.Path] != m.staged(before):
			kept = append(kept, m.Path)
		}
	}
	return back.String(), kept, nil
}

// staged returns what git says of a file in the index on a side.
func (m move) staged(side int) string {
	if m.mode(side) == "" {
		return ""
	}
	return m.mode(side) + " " + m.object(side) + " 0"
}

// indexLine returns a line for update-index.
func (m move) indexLine(side int) string {
	return cmp.Or(m.mode(side), "0") + " " + m.object(side) + "\t" + m.Path + "\x00"
}

// objects returns the objects of files on a side.
func objects(moves []move, side int) (names []string) {
	for _, m := range moves {
		if m.mode(side) != "" && m.mode(side) != "160000" { // submodules have their own repositories
			names = append(names, m.object(side))
		}
	}
	return names
}

// missing returns the objects that the user's repository does not have. It had those of a landing, but if its process was killed, they
// may have been pruned since.
func (s *Store) missing(ctx context.Context, names []string) (missing []string, err error) {
	text, err := s.user.input(ctx, strings.Join(names, "\n")+"\n", "cat-file", "--batch-check")
	for line := range strings.Lines(text) {
		if name, found := strings.CutSuffix(strings.TrimSpace(line), " missing"); found {
			missing = append(missing, name)
		}
	}
	return missing, err
}

// indexSwap has the names of the files that replace an index. The lock of git is a link to held as long as it is ours, so it can be
// recognized after its process was killed.
type indexSwap struct{ index, lock, fresh, held, old string }

// indexSwap returns the names for the user's index. Others, who do not share our lock of the checkout, have other names.
func (s *Store) indexSwap() (indexSwap, error) {
	file, err := s.lockFile()
	ours := s.user.index + ".hocket-" + digestOf(file)[:12]
	return indexSwap{index: s.user.index, lock: s.user.index + ".lock", fresh: ours, held: ours + "-held", old: ours + "-old"}, err
}

// clean removes what a killed process has left. The caller has locked the checkout.
func (x indexSwap) clean() {
	lock, err := os.Lstat(x.lock)
	mine, wrong := os.Lstat(x.held)
	if err == nil && wrong == nil && os.SameFile(mine, lock) {
		_ = os.Remove(x.lock)
	}
	_, _, _ = os.Remove(x.held), os.Remove(x.fresh), os.Remove(x.old) // in this order, see above
}

// create creates the new index from one in a quarantine, with its time: git reads a file again that is not older than the index. So with
// a later time, a change since that index was written, of the same size and in the same second, would look like none.
func (x indexSwap) create(from string) error {
	now, err := os.Stat(x.index)
	if err != nil {
		return err
	}
	if err := copyIndex(from, x.fresh); err != nil {
		return err
	}
	return os.Chmod(x.fresh, now.Mode().Perm())
}

// do replaces the index if it still has its old content and no git command holds its lock, and then does something else before it
// releases the lock. It reports whether that may work again later.
func (x indexSwap) do(from string, content []byte, then func() error) (again bool, err error) {
	defer os.Remove(x.fresh)
	if err := x.create(from); err != nil {
		return false, err
	}
	if err := os.Link(x.fresh, x.held); err != nil {
		return false, fmt.Errorf("git's index cannot be locked, which needs hard links: if the file system has none, use land: branch or land: patch: %w", err)
	}
	defer os.Remove(x.held)
	if err := os.Link(x.held, x.lock); err != nil {
		return true, fmt.Errorf("another git command uses the index: %w", err)
	}
	defer os.Remove(x.lock)
	if now, err := os.ReadFile(x.index); err != nil || !bytes.Equal(now, content) {
		return err == nil, errors.Join(err, errMoved)
	}
	if err := os.Link(x.index, x.old); err != nil { // with its time, which matters to git
		return false, err
	}
	defer os.Remove(x.old)
	if err := os.Rename(x.fresh, x.index); err != nil {
		return false, err
	}
	if err := then(); err != nil {
		return false, errors.Join(err, os.Rename(x.old, x.index))
	}
	return false, nil
}
