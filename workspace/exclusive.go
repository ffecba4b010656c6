package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/internal/wholefile"
)

// A landing changes the checkout in many steps, and a capture reads it in many. So a landing locks the checkout for itself, and
// captures share that lock. Beside the lock is a note while a landing may have done a part of its work, so that whoever gets the
// lock next knows of one whose process was killed, also if it is of another project in the same checkout.

// checkout is the user's checkout while no other landing or capture of the user works in it.
type checkout struct {
	lock   *filelock.Lock
	noting string // the file with the note
}

// lockCheckout waits until nobody else works in the checkout.
func (s *Store) lockCheckout(ctx context.Context) (*checkout, error) {
	file, err := s.lockFile()
	if err != nil {
		return nil, err
	}
	lock, err := passGate(ctx, file, filelock.Take)
	if err != nil {
		return nil, err
	}
	return s.locked(lock, file), nil
}

// passGate takes the lock of a checkout. Whoever waits for it closes the gate: otherwise captures could share the lock in turn
// forever, and a landing would never get it.
func passGate(ctx context.Context, file string, take func(string) (*filelock.Lock, error)) (*filelock.Lock, error) {
	gate, err := waitFor(ctx, strings.TrimSuffix(file, ".lock")+".gate", filelock.Take)
	if err != nil {
		return nil, err
	}
	defer gate.Release()
	return waitFor(ctx, file, take)
}

// locked returns the checkout that is locked. If a landing was killed, git's lock of the index, which its process may have held, is
// removed.
func (s *Store) locked(lock *filelock.Lock, file string) *checkout {
	c := &checkout{lock, noteBeside(file)}
	if _, err := os.Lstat(c.noting); err == nil && s.user != nil {
		if swap, err := s.indexSwap(); err == nil {
			swap.clean()
		}
	}
	return c
}

// lockFile returns the lock of the checkout. Projects in one repository have different stores, so it is for the git directory. It is
// not in there: that belongs to the user.
func (s *Store) lockFile() (string, error) {
	of := s.root
	if s.user != nil { // its own for each linked worktree
		var err error
		if of, err = filepath.EvalSymlinks(s.user.gitDir); err != nil {
			return "", err
		}
	}
	dir := cmp.Or(s.Locks, filepath.Join(s.dir, "land"))
	return filepath.Join(dir, "checkout-"+digestOf(of)[:32]+".lock"), os.MkdirAll(dir, 0o700)
}

// Release lets others work in the checkout.
func (c *checkout) Release() error { return c.lock.Release() }

// held returns the file that is locked as long as any process has it open. A git command that outlives us keeps it: otherwise it
// would go on while somebody else takes back the rest of the landing.
func (c *checkout) held() *os.File {
	if c == nil || c.lock == nil {
		return nil
	}
	return c.lock.File
}

const noteEnd = ".landing"

func noteBeside(lock string) string { return strings.TrimSuffix(lock, ".lock") + noteEnd }

// note notes that a landing begins.
func (c *checkout) note(in *intent) error { return wholefile.Write(c.noting, []byte(in.dir), 0o600) }

// clear removes the note of a landing.
func (c *checkout) clear(in *intent) error {
	if c == nil {
		return nil
	}
	if dir, err := readSmall(c.noting); err != nil || dir != in.dir {
		return ignoreMissing(err)
	}
	return ignoreMissing(os.Remove(c.noting))
}

// interrupted returns the landing that has left a part of its work, nil if there is none. What the note says may be damaged, so nothing but
// the note is removed.
func (c *checkout) interrupted() (*intent, error) {
	dir, err := readSmall(c.noting)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("whether a landing was interrupted is not known: look at your files with git status, and then remove %s: %w", c.noting, err)
	}
	if !isIntentDir(dir) {
		return nil, os.Remove(c.noting)
	}
	in, err := c.read(dir)
	if err == nil && (in == nil || in.Done) {
		return nil, os.Remove(c.noting)
	}
	return in, err
}

// isIntentDir reports whether a text may be where a store has the intent of a landing.
func isIntentDir(text string) bool {
	return filepath.IsAbs(text) && text == filepath.Clean(text) && filepath.Base(filepath.Dir(text)) == "land" && !strings.Contains(text, "\x00")
}

// maxIntent is how large the file of an intent can be: some hundred bytes for each of millions of files.
const maxIntent = 1 << 30

// read reads what is intended in a directory; nil if there is nothing.
func (c *checkout) read(dir string) (*intent, error) {
	in := &intent{dir: dir, checkout: c}
	file := filepath.Join(dir, intentName)
	data, err := readRegular(anywhere{}, file, maxIntent)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil //nolint:nilnil // it was not complete, so nothing was changed, or nothing is left of it
	}
	if err != nil {
		return nil, damaged(file, err)
	}
	if err := json.Unmarshal([]byte(data), in); err != nil {
		return nil, damaged(file, err)
	}
	if err := in.eachName(readName); err != nil {
		return nil, damaged(file, err)
	}
	return in, nil
}

// damaged returns the error for an intent that cannot be read, so that its landing cannot be ended.
func damaged(file string, err error) error {
	dir := filepath.Dir(file)
	return fmt.Errorf("%s is damaged, and its landing may have changed your files only partly: compare them with those before it, in %s, and then remove %s: %w", file, filepath.Join(dir, "old"), dir, err)
}

// begin locks the checkout for a landing, and returns what was intended with its ID before, nil if nothing was. If another landing was
// killed, it is ended first.
func (s *Store) begin(ctx context.Context, l Landing) (*checkout, *intent, error) {
	c, err := s.lockCheckout(ctx)
	if err != nil {
		return nil, nil, err
	}
	dir := s.intentDir(l)
	ended, err := s.endInterrupted(ctx, c, dir)
	l.tell(ended...)
	var in *intent
	if err == nil {
		in, err = c.read(dir)
	}
	if err != nil {
		return nil, nil, errors.Join(err, c.Release())
	}
	return c, in, nil
}

// endInterrupted ends the landing in a checkout whose process was killed, if there is one and its intent is not in the directory own.
func (s *Store) endInterrupted(ctx context.Context, c *checkout, own string) ([]Ended, error) {
	in, err := c.interrupted()
	if err != nil || in == nil || in.dir == own {
		return nil, err
	}
	e, err := s.end(context.WithoutCancel(ctx), in)
	if err != nil {
		return nil, err
	}
	return []Ended{e}, nil
}

// tell tells what has become of landings whose process was killed.
func (l Landing) tell(ended ...Ended) {
	for _, e := range ended {
		if l.Ended != nil {
			l.Ended(e)
		}
	}
}

// intentDir is where the intent of a landing is.
func (s *Store) intentDir(l Landing) string {
	return filepath.Join(s.dir, "land", nameOf(l.Run)+"."+nameOf(l.ID))
}

// Ended is what has become of a landing whose process was killed.
type Ended struct {
	Run  string
	Done bool     // all of it had been done; otherwise it was taken back, and can land again
	Kept []string // files that keep a part of it, or may keep one, because they were changed or committed since
}

func (e Ended) String() string {
	switch {
	case e.Done:
		return "the landing of run " + e.Run + ", whose process was killed, was complete: the change stays"
	case e.Kept != nil:
		return "the landing of run " + e.Run + ", whose process was killed, was taken back, except in files that you have changed or committed since: " + keptFiles(e.Kept)
	}
	return "the landing of run " + e.Run + ", whose process was killed, was taken back"
}

// end ends a landing whose process was killed. It is done if all of it was done, and taken back otherwise: whoever ends it may not know
// whether it is still wanted. If it is, it lands again with the same approval.
func (s *Store) end(ctx context.Context, in *intent) (Ended, error) {
	done, err := s.isDone(ctx, in)
	e := Ended{Run: in.Run, Done: done}
	switch {
	case err != nil:
	case done:
		err = in.finish()
	default:
		e.Kept, err = s.undo(ctx, in)
	}
	if errors.As(err, new(*keptError)) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("the process of run %s was killed while it landed a change, and what it has changed cannot be taken back: %w", in.Run, err)
	}
	return e, err
}

// isDone reports whether everything that a landing changes was changed. The branch is the last of that.
func (s *Store) isDone(ctx context.Context, in *intent) (bool, error) {
	if in.Ref == "" {
		return in.hasChanged(s.root)
	}
	_, landed, err := s.branchState(ctx, in)
	return landed, err
}

// steady shares the checkout: until it is released, no landing changes it. A landing whose process was killed is ended first.
func (s *Store) steady(ctx context.Context) (_ *checkout, ended []Ended, err error) {
	file, err := s.lockFile()
	if err != nil {
		return nil, nil, err
	}
	for {
		lock, err := passGate(ctx, file, filelock.Share)
		if err != nil {
			return nil, nil, err
		}
		if _, err := os.Lstat(noteBeside(file)); errors.Is(err, os.ErrNotExist) {
			return &checkout{lock, noteBeside(file)}, ended, nil
		}
		if err := lock.Release(); err != nil {
			return nil, nil, err
		}
		more, err := s.endNoted(ctx)
		if err != nil {
			return nil, nil, err
		}
		ended = append(ended, more...)
	}
}

// maxWait limits how long a capture waits for a landing.
var maxWait = time.Minute

// steadySoon is steady for somebody who is not prepared to wait for long.
func (s *Store) steadySoon(ctx context.Context) (*checkout, []Ended, error) {
	limited, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	c, ended, err := s.steady(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("a landing has been changing the files in %s for more than %v: try again when it has ended", s.root, maxWait)
	}
	return c, ended, err
}

// endNoted ends the landing in the checkout whose process was killed, if there is one.
func (s *Store) endNoted(ctx context.Context) ([]Ended, error) {
	c, err := s.lockCheckout(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	return s.endInterrupted(ctx, c, "")
}

// Withdraw ends the landings of a run whose process was killed. What was done completely stays; the rest is taken back.
func (s *Store) Withdraw(ctx context.Context, run string) (ended []Ended, err error) {
	ended, err = s.withdraw(ctx, run)
	return ended, s.landReason(err)
}

func (s *Store) withdraw(ctx context.Context, run string) (ended []Ended, err error) {
	dirs := Unfinished(s.dir, run)
	if len(dirs) == 0 {
		return nil, nil
	}
	c, err := s.lockCheckout(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	for _, dir := range dirs {
		in, err := c.read(dir)
		if err != nil {
			return ended, err
		}
		if in == nil || in.Done {
			continue
		}
		if in.Root != s.root { // it may have moved
			if _, err := os.Stat(in.Root); err == nil {
				return ended, fmt.Errorf("run %s has landed a change only partly in %s: cancel or resume it there", run, in.Root)
			}
		}
		e, err := s.end(context.WithoutCancel(ctx), in)
		if err != nil {
			return ended, err
		}
		ended = append(ended, e)
	}
	return ended, nil
}

// Unfinished returns the directories of landings of a run that are at work or were killed. It opens no repository.
func Unfinished(stateDir, run string) []string {
	dirs, _ := filepath.Glob(filepath.Join(globEscape(stateDir), "land", nameOf(run)+".*")) // the pattern is valid
	return slices.DeleteFunc(dirs, func(dir string) bool {
		var in intent
		data, err := readRegular(anywhere{}, filepath.Join(dir, intentName), maxIntent)
		return errors.Is(err, os.ErrNotExist) || err == nil && json.Unmarshal([]byte(data), &in) == nil && in.Done
	})
}

// AnyInterrupted reports whether a landing with a directory for locks may be at work or killed. It opens no repository.
func AnyInterrupted(locks string) bool {
	found, err := filepath.Glob(filepath.Join(globEscape(locks), "*"+noteEnd))
	return locks == "" || err != nil || found != nil
}

// Interrupted returns the run whose process was killed while it landed a change in the checkout, "" if there is none. It only looks: also
// git's lock of the index stays, which that process may have held.
func (s *Store) Interrupted() (run string, err error) {
	file, err := s.lockFile()
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(noteBeside(file)); err != nil {
		return "", ignoreMissing(err)
	}
	lock, err := filelock.Take(file)
	if errors.Is(err, filelock.ErrLocked) {
		return "", nil // it is at work
	}
	if err != nil {
		return "", err
	}
	c := &checkout{lock, noteBeside(file)}
	defer c.Release()
	in, err := c.interrupted()
	if err != nil || in == nil {
		return "", err
	}
	return in.Run, nil
}
