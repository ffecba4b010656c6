package workspace

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/wholefile"
)

// intent is written before anything of the user's is changed. Its directory also has the files as they
// are (old) and as they will be (new). A landing changes, in this order:
//
//  1. the files, one by one, each by renaming a complete one
//  2. the index
//  3. the branch
//
// If one of them is not possible, those before it are undone. If its process is killed in between, the
// user has a part of the change as uncommitted work, and repeating it does the rest, or undoes that
// part. In another order, files that have not changed yet would look like work of the user that
// reverts the change.
type intent struct {
	Landed           // what will have been done
	Run      string  `json:"run"`
	Root     string  `json:"root"`               // the checkout
	Digest   string  `json:"digest"`             // that was approved
	Approval string  `json:"approval,omitempty"` // see [Landing]
	Head     string  `json:"head,omitempty"`     // what the branch has now; "": it is created
	Changes  []move  `json:"changes,omitempty"`  // of the files
	Index    []move  `json:"index,omitempty"`    // of the index
	Trees    [2]tree `json:"trees"`              // of the index, before and after
	// Temp is part of the names of temporary files. It is a secret until the change is approved: a change that had files with these names
	// could let the landing take them for its own.
	Temp string `json:"temp"`
	// Dirs are the directories of changed files that existed before, with their permissions.
	Dirs     map[string]fs.FileMode `json:"dirs,omitempty"`
	Done     bool                   `json:"done"`
	dir      string
	checkout *checkout
	changed  map[int]bool // the files that were changed; nil: a process did that which was killed, and may have changed any
}

// move is a path with its mode and object before and after. Mode "" means that it does not exist.
type move struct {
	Path   string `json:"path"`
	Was    string `json:"was,omitempty"`
	Old    string `json:"old,omitempty"` // the object before
	Mode   string `json:"mode,omitempty"`
	Object string `json:"object"`
}

// errMoved means that the user changed something that a landing is about to change, or that a
// file is in its way that was not captured.
var errMoved = errors.New("it was changed during the landing, or git ignores it: commit it or move it away")

// maxReplans is how often a landing starts again because the user works in the same files.
const maxReplans = 5

// Land lands a change that a person has approved: its digest is that of a [Plan]. If the checkout
// changed since so that something else would land, the error is a [ChangedError] or a
// [LandConflictError], and nothing was done. After any other error, nothing was done, either, unless the
// error says what remains or that all of it has landed. A landing that was interrupted is finished by calling Land
// with the same ID, and one that is done is not repeated.
func (s *Store) Land(ctx context.Context, l Landing) (Landed, error) {
	landed, err := s.land(ctx, l)
	return landed, s.landReason(err)
}

func (s *Store) land(ctx context.Context, l Landing) (Landed, error) {
	c, in, err := s.begin(ctx, l)
	if err != nil {
		return Landed{}, err
	}
	defer c.Release()
	if in != nil && in.Digest != l.Digest { // another change was approved since
		if !in.Done {
			if _, err := s.undo(context.WithoutCancel(ctx), in); err != nil {
				return Landed{}, fmt.Errorf("a landing that was interrupted cannot be undone completely: %w", err)
			}
		}
		in = nil
	}
	for range maxReplans {
		if in == nil {
			in, err = s.intend(ctx, l, c)
		}
		switch {
		case err == nil && in.Done:
			return in.Landed, nil
		case err == nil:
			_, err = s.carryOut(ctx, in)
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
// If that is not possible, because the user has changed the files that remain, the rest is undone, and there is none.
func (s *Store) Finish(ctx context.Context, l Landing) (landed Landed, found bool, err error) {
	landed, found, err = s.finish(ctx, l)
	return landed, found, s.landReason(err)
}

func (s *Store) finish(ctx context.Context, l Landing) (landed Landed, found bool, err error) {
	c, in, err := s.begin(ctx, l)
	if err != nil {
		return Landed{}, false, err
	}
	defer c.Release()
	if in == nil || in.Approval != l.Approval {
		return Landed{}, false, nil
	}
	if in.Done {
		return in.Landed, true, nil
	}
	switch kept, err := s.carryOut(ctx, in); {
	case errors.Is(err, errMoved):
		l.tell(Ended{Run: l.Run, Kept: kept})
		return Landed{}, false, nil
	case err != nil:
		return Landed{}, true, err
	}
	return in.Landed, true, in.finish()
}

// Forget forgets what was landed with this ID, so that the same can land again: a new plan of the run, for example, repeats the step
// after the user has reverted the change.
func (s *Store) Forget(ctx context.Context, l Landing) error {
	return s.landReason(s.forget(ctx, l))
}

func (s *Store) forget(ctx context.Context, l Landing) error {
	c, in, err := s.begin(ctx, l)
	if err != nil {
		return err
	}
	defer c.Release()
	if in == nil || !in.Done {
		return nil
	}
	return in.drop()
}

func (in *intent) write() error {
	text := *in
	_ = text.eachName(func(name string) (string, error) { return writeName(name), nil })
	data, err := json.Marshal(&text)
	if err != nil {
		return err
	}
	return wholefile.Write(filepath.Join(in.dir, intentName), data, 0o600)
}

const intentName = "intent.json"

// eachName replaces all names of files, directories and branches.
func (in *intent) eachName(by func(string) (string, error)) (err error) {
	replaced := func(name string) string {
		name, wrong := by(name)
		err = errors.Join(err, wrong)
		return name
	}
	for _, moves := range []*[]move{&in.Changes, &in.Index} {
		*moves = slices.Clone(*moves)
		for i := range *moves {
			(*moves)[i].Path = replaced((*moves)[i].Path)
		}
	}
	dirs := in.Dirs
	in.Dirs = make(map[string]fs.FileMode, len(dirs))
	for dir, perm := range dirs {
		in.Dirs[replaced(dir)] = perm
	}
	in.Differ = slices.Clone(in.Differ)
	for i := range in.Differ {
		in.Differ[i] = replaced(in.Differ[i])
	}
	in.Ref, in.Root = replaced(in.Ref), replaced(in.Root)
	return err
}

// writeName returns a name for JSON, which has only UTF-8. One that is not UTF-8 is quoted.
func writeName(name string) string {
	if utf8.ValidString(name) && !strings.HasPrefix(name, `"`) {
		return name
	}
	return strconv.Quote(name)
}

func readName(text string) (string, error) {
	if !strings.HasPrefix(text, `"`) {
		return text, nil
	}
	return strconv.Unquote(text)
}

// finish notes that the landing is done. What it needed is removed after that is written, since it is needed to go on otherwise. If that
// fails, it does no harm.
func (in *intent) finish() error {
	done := *in
	done.Done, done.Changes, done.Index, done.Dirs = true, nil, nil, nil
	if err := done.write(); err != nil {
		return fmt.Errorf("the change has landed, but that cannot be recorded: %w", err)
	}
	_, _, _ = in.checkout.clear(in), removeAll(filepath.Join(in.dir, "old")), removeAll(filepath.Join(in.dir, "new"))
	return nil
}

// intend plans a landing, prepares everything, and writes the intent.
func (s *Store) intend(ctx context.Context, l Landing, c *checkout) (*intent, error) {
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
		Landed: Landed{Commit: p.commit, Ref: p.Ref, Files: len(p.Diff.Files)},
		Run:    l.Run, Root: s.root, Digest: p.Digest, Approval: l.Approval, Head: p.head.commit, dir: s.intentDir(l), checkout: c,
		Temp: strings.ToLower(rand.Text()), changed: map[int]bool{},
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
		if err := s.stage(ctx, l, p, in); err != nil {
			return nil, err
		}
	}
	if l.How == AsCommit && p.index[before] != p.head.tree { // what is staged is not in the new commit
		if err := p.q.seal(ctx, s.user.git, p.index[after], p.head.commit, p.commit); err != nil {
			return nil, err
		}
	}
	if err := c.note(in); err != nil {
		return nil, err
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
	if err := in.listDirs(s.root); err != nil {
		return err
	}
	fresh, old := filepath.Join(in.dir, "new"), filepath.Join(in.dir, "old")
	if err := errors.Join(os.Mkdir(fresh, 0o700), os.Mkdir(old, 0o700)); err != nil {
		return err
	}
	for _, m := range in.Changes {
		if m.Was == "" {
			continue
		}
		to := filepath.Join(old, filepath.FromSlash(m.Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := copyTree(ctx, filepath.Join(s.root, filepath.FromSlash(m.Path)), to); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s: %w", Shown(m.Path), errMoved)
		} else if err != nil {
			return err
		}
	}
	if err := s.checkCopied(ctx, l, p, in); err != nil {
		return err
	}
	if err := p.q.writeFiles(ctx, fresh, p.files[after], in.Changes); err != nil {
		return err
	}
	return errors.Join(syncTree(fresh), syncTree(old)) // the intent, which needs them, is on the disk, too
}

// checkCopied returns an error if the files that will change are not those of the plan any more, so that the copies may not be, either. Others may
// change at any moment, such as the log of a server.
func (s *Store) checkCopied(ctx context.Context, l Landing, p *plan, in *intent) error {
	now, _, err := s.scan(ctx, p.q, l.scanned())
	if err != nil || now == p.files[before] {
		return err
	}
	moved, err := p.q.moves(ctx, [2]tree{p.files[before], now})
	for _, m := range moved {
		if in.changes(m.Path) {
			return fmt.Errorf("%s: %w", Shown(m.Path), errMoved)
		}
	}
	return err
}

// syncTree waits until all files of a directory are on the disk.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		if err := file.Sync(); err != nil && !d.IsDir() { // some systems cannot sync directories
			return errors.Join(err, file.Close())
		}
		return file.Close()
	})
}

// moves returns the paths that differ between two trees.
func (g git) moves(ctx context.Context, trees [2]tree) ([]move, error) {
	text, err := g.out(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", trees[0], trees[1])
	if err != nil {
		return nil, err
	}
	var all []move
	for pair := range slices.Chunk(records(text), 2) {
		f := strings.Fields(strings.TrimPrefix(pair[0], ":"))
		if len(f) != 5 || len(pair) != 2 {
			return nil, fmt.Errorf("git diff-tree: unexpected output %.80q", pair[0])
		}
		all = append(all, move{Path: pair[1], Was: mode(f[0]), Old: f[2], Mode: mode(f[1]), Object: f[3]})
	}
	return all, nil
}

func mode(text string) string { return strings.TrimPrefix(text, absent) }

// carryOut does what is intended, as far as it was not done before. If that fails, it undoes what was done, and returns the files that
// keep their part because the user has committed it.
func (s *Store) carryOut(ctx context.Context, in *intent) (kept []string, err error) {
	err = s.complete(ctx, in)
	if err == nil {
		return nil, nil
	}
	kept, wrong := s.undo(context.WithoutCancel(ctx), in)
	if wrong != nil {
		return kept, &halfLandedError{err, wrong}
	}
	return kept, err
}

// halfLandedError means that a landing failed and could not be undone completely.
type halfLandedError struct{ why, undoing error }

func (e *halfLandedError) Error() string {
	return fmt.Sprintf("%v; what was done before cannot be undone completely: %v", e.why, e.undoing)
}

func (s *Store) complete(ctx context.Context, in *intent) error {
	commits := in.Ref != "" && in.Trees != [2]tree{}
	if commits {
		if done, err := s.isPast(ctx, in); err != nil || done {
			return err
		}
	}
	if len(in.Changes) > 0 {
		if err := in.changeFiles(ctx, s.root); err != nil {
			return s.full(err, s.root)
		}
	}
	if err := s.completeBranch(ctx, in, commits); err != nil {
		return err
	}
	in.Differ = in.differing(s.root)
	return nil
}

// completeBranch changes the branch and, if it is checked out, the index.
func (s *Store) completeBranch(ctx context.Context, in *intent, checkedOut bool) error {
	switch {
	case in.Ref == "":
		return nil
	case checkedOut:
		return s.editIndex(ctx, func(q *quarantine) (string, error) { return s.change(ctx, q, in) }, func() error { return s.moveBranch(ctx, in) })
	}
	return s.moveBranch(ctx, in)
}

// isPast reports whether the branch has the new commit already. The error is errMoved if it has moved elsewhere or, unless it is
// created, is not the current one any more.
func (s *Store) isPast(ctx context.Context, in *intent) (bool, error) {
	now, landed, err := s.branchState(ctx, in)
	if err != nil || landed {
		return landed, err
	}
	name := strings.TrimPrefix(in.Ref, "refs/heads/")
	if in.Head == "" {
		if now != "" {
			return false, &BranchError{fmt.Sprintf("branch %s exists already: rename or remove it, or choose another name", name)}
		}
		return false, nil
	}
	current, err := s.user.out(ctx, "symbolic-ref", "-q", "HEAD")
	if err != nil && exitCode(err) != 1 {
		return false, err
	}
	if now != in.Head || current != in.Ref {
		return false, fmt.Errorf("branch %s has moved, or another one is checked out: %w", name, errMoved)
	}
	return false, nil
}

// branchState returns the commit of the branch, "" if there is no such branch, and whether that has the landing.
func (s *Store) branchState(ctx context.Context, in *intent) (now string, landed bool, err error) {
	now, err = s.user.out(ctx, "rev-parse", "-q", "--verify", in.Ref)
	switch {
	case exitCode(err) == 1 || err == nil && now == in.Head:
		return now, false, nil
	case err != nil:
		return "", false, err
	}
	landed = s.user.do(ctx, "merge-base", "--is-ancestor", in.Commit, now) == nil
	return now, landed, ctx.Err()
}

// moveBranch moves or creates the branch. The user may have moved it or checked out another one since the landing began.
func (s *Store) moveBranch(ctx context.Context, in *intent) error {
	if past, err := s.isPast(ctx, in); err != nil || past {
		return err
	}
	g := s.user.git
	g.holds = in.checkout.held()
	err := g.do(ctx, "update-ref", "-m", "hocket: land", in.Ref, in.Commit, in.Head)
	if err == nil {
		return nil
	}
	err = s.full(err, s.user.gitDir)
	now, landed, wrong := s.branchState(context.WithoutCancel(ctx), in)
	switch {
	case wrong == nil && landed: // git was told to end when it had done it
		return nil
	case wrong == nil && now != in.Head:
		return errors.Join(errMoved, err)
	}
	return err
}

// undo restores the index and the files as they were before a landing. What the user has changed or committed since is not touched: it
// returns the files that keep a part of the landing, or may keep one. The error is a keptError if one is known to do so that is not committed.
func (s *Store) undo(ctx context.Context, in *intent) (kept []string, err error) {
	committed := s.committed(ctx, in)
	var failed error
	var staged []string // what may keep a part in the index
	if len(in.Index) > 0 {
		failed = s.editIndex(ctx, func(q *quarantine) (lines string, err error) {
			lines, staged, err = s.changeBack(ctx, q, in, committed)
			return lines, err
		}, func() error { return nil })
	}
	left, may, err := in.restoreFiles(s.root, committed)
	for _, name := range slices.Concat(left, may, staged) {
		if !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	if failed = errors.Join(failed, err); failed != nil { // the intent stays, so that it can be tried again
		return kept, failed
	}
	if slices.ContainsFunc(left, func(name string) bool { return !committed[name] }) {
		err = &keptError{kept}
	}
	return kept, errors.Join(err, in.drop())
}

// keptError means that files keep their part of a landing that was undone.
type keptError struct{ files []string }

func (e *keptError) Error() string {
	return "changed since, so they keep their part of it: " + keptFiles(e.files)
}

// keptFiles names all files, since a person has to look at each, and nothing else says which they are.
func keptFiles(names []string) string { return shownAll(names, len(names)) }

// drop forgets a landing. What it needs is removed after it is known that there is none.
func (in *intent) drop() error {
	if err := ignoreMissing(os.Remove(filepath.Join(in.dir, intentName))); err != nil {
		return err
	}
	return errors.Join(in.checkout.clear(in), removeAll(in.dir))
}

// committed returns the paths that the user has committed since a landing was planned.
func (s *Store) committed(ctx context.Context, in *intent) map[string]bool {
	all := map[string]bool{}
	if s.user == nil || in.Head == "" {
		return all
	}
	text, err := s.user.out(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", in.Head, "HEAD")
	if err != nil { // one of them does not exist any more
		return all
	}
	for _, name := range records(text) {
		all[name] = true
	}
	return all
}
