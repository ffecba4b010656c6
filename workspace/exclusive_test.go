package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
)

// TestKilledLandingEnds has a landing that was killed at some point, and ends it in each way in which nobody asks for it again. All of
// it is there then, or nothing, and it can land again.
func TestKilledLandingEnds(t *testing.T) {
	ways := map[string]func(f *fixture, s *Store){
		"capture": func(f *fixture, s *Store) {
			b := f.capture(s, "r2")
			if len(b.Warnings) != 1 || !strings.HasPrefix(b.Warnings[0], "the landing of run r1, whose process was killed, was ") {
				f.Errorf("warnings %v", b.Warnings)
			}
		},
		"cancel": func(f *fixture, s *Store) {
			if ended, err := s.Withdraw(f.Context(), "r2"); err != nil || ended != nil {
				f.Errorf("another run: %v, %v", ended, err)
			}
			if ended, err := s.Withdraw(f.Context(), "r1"); err != nil || len(ended) != 1 {
				f.Errorf("ended %v, %v", ended, err)
			}
		},
		"delete": func(f *fixture, s *Store) { f.no(s.Release(f.Context(), "r1")) },
		"another landing": func(f *fixture, s *Store) {
			var ended []Ended
			l := Landing{ID: "other", Run: "r2", Ended: func(e Ended) { ended = append(ended, e) }}
			if _, _, err := s.Finish(f.Context(), l); err != nil || len(ended) != 1 || ended[0].Run != "r1" {
				f.Errorf("ended %v, %v", ended, err)
			}
		},
		"a project in the same checkout": func(f *fixture, s *Store) {
			other, err := Open(f.Context(), filepath.Join(f.TempDir(), "state"), f.repo)
			f.no(err)
			other.Locks = s.Locks
			f.capture(other, "r1")
		},
	}
	for _, how := range []How{AsPatch, AsCommit} {
		for way, end := range ways {
			for at := range 4 { // files that were changed; 2: all, 3: all and the index
				if how == AsPatch && at == 3 {
					continue
				}
				t.Run(fmt.Sprint(how, way, at), func(t *testing.T) {
					f := newFixture(t)
					f.dirty()
					s := f.open()
					s.Locks = filepath.Join(t.TempDir(), "locks")
					b := f.capture(s, "r1")
					c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n", "new/deep.txt": "new\n"})
					l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: how, Base: b.Commit, Commit: c, Approval: "yes"})
					before := f.files()
					in := f.intend(s, l)
					f.begin(in, min(at, 2))
					if at == 3 {
						f.no(s.editIndex(t.Context(), func(q *quarantine) (string, error) { return s.change(t.Context(), q, in) }, func() error { return nil }))
					}
					swap, err := s.indexSwap()
					f.no(err)
					f.no(os.WriteFile(swap.held, nil, 0o600))
					f.no(os.Link(swap.held, swap.lock))
					if run, err := s.Interrupted(); run != "r1" || err != nil {
						t.Errorf("interrupted is %q, %v", run, err)
					}
					if _, err := os.Lstat(swap.lock); err != nil {
						t.Errorf("looking has removed git's lock: %v", err)
					}
					end(f, s)
					if done := how == AsPatch && at == 2; !done {
						same(t, "the checkout", before, f.files())
						f.status(dirtyStatus)
					} else if f.read(f.repo, "a.txt") != "changed\n" || f.read(f.repo, "new/deep.txt") != "new\n" {
						t.Errorf("a part of the landing was taken back: %v", f.files())
					}
					if run, err := s.Interrupted(); run != "" || err != nil {
						t.Errorf("interrupted is %q, %v", run, err)
					}
					for _, pattern := range []string{filepath.Join(f.repo, ".git", "index?*"), filepath.Join(s.Locks, "*")} {
						if left, err := filepath.Glob(pattern); err != nil || left != nil {
							t.Errorf("left over: %v, %v", left, err)
						}
					}
					if way != "delete" {
						f.land(s, l)
						if f.read(f.repo, "a.txt") != "changed\n" || f.read(f.repo, "new/deep.txt") != "new\n" {
							t.Errorf("landed %v", f.files())
						}
					}
				})
			}
		}
	}
}

// TestCompleteLandingStays has a landing that was killed after it had moved or created its branch, which only was not recorded.
func TestCompleteLandingStays(t *testing.T) {
	for _, how := range []How{AsBranch, AsCommit} {
		f := newFixture(t)
		s := f.open()
		b := f.capture(s, "r1")
		c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n"})
		l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: how, Base: b.Commit, Commit: c, Branch: "topic", Approval: "yes"})
		in := f.intend(s, l)
		f.done(s.carryOut(t.Context(), in))
		if ended, err := s.Withdraw(t.Context(), "r1"); err != nil || len(ended) != 1 || !ended[0].Done {
			t.Errorf("ended %v, %v", ended, err)
		}
		if _, found, err := s.Finish(t.Context(), l); !found || err != nil {
			t.Errorf("finished: %v, %v", found, err)
		}
		branch := map[How]string{AsBranch: "topic", AsCommit: "main"}[how]
		if got := f.git(f.repo, "show", branch+":a.txt"); got != "changed" {
			t.Errorf("%s has %q", branch, got)
		}
		f.status("")
	}
}

// TestKilledLandingKeepsWork takes back a landing after the user has changed one of its files.
func TestKilledLandingKeepsWork(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n", "dir/b.txt": "changed\n", "run.sh": "changed\n"})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
	f.begin(f.intend(s, l), 2)
	f.put("a.txt", "mine\n")
	ended, err := s.Withdraw(t.Context(), "r1")
	if err != nil || len(ended) != 1 || len(ended[0].Kept) != 1 || !strings.HasSuffix(ended[0].String(), "was taken back, except in files that you have changed or committed since: a.txt") {
		t.Errorf("ended %v, %v", ended, err)
	}
	if got := f.read(f.repo, "a.txt") + f.read(f.repo, "dir/b.txt"); got != "mine\nb\n" {
		t.Errorf("the files are %q", got)
	}

	f.put("a.txt", "one\ntwo\nthree\n")
	l.ID = "again"
	l, _ = f.plan(s, l)
	f.begin(f.intend(s, l), 1)
	f.no(os.Rename(filepath.Join(f.repo, "dir"), filepath.Join(f.repo, "moved")))
	f.no(os.Symlink("moved", filepath.Join(f.repo, "dir")))
	if b := f.capture(s, "r2"); len(b.Warnings) != 1 {
		t.Errorf("warnings %v", b.Warnings)
	}
	if got := f.read(f.repo, "a.txt") + f.read(f.repo, "moved/b.txt"); got != "one\ntwo\nthree\nb\n" {
		t.Errorf("the files are %q", got)
	}
}

// TestKilledLandingKeepsStagedWork takes back a landing after the user has staged something in one of its files. All files are named.
func TestKilledLandingKeepsStagedWork(t *testing.T) {
	f := newFixture(t)
	files := map[string]string{"a.txt": "changed\n"}
	for i := range 150 {
		files[fmt.Sprint("many/", i)] = "changed\n"
	}
	s := f.open()
	b := f.capture(s, "r1")
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: f.change(s, "step", b.Commit, files)})
	in := f.intend(s, l)
	f.begin(in, len(in.Changes))
	f.no(s.editIndex(t.Context(), func(q *quarantine) (string, error) { return s.change(t.Context(), q, in) }, func() error { return nil }))
	f.put("a.txt", "mine\n")
	f.git(f.repo, "add", "a.txt")
	f.put("a.txt", "changed\n") // so only the index has it
	ended, err := s.Withdraw(t.Context(), "r1")
	if err != nil || len(ended) != 1 || strings.Join(ended[0].Kept, " ") != "a.txt" {
		t.Errorf("ended %v, %v", ended, err)
	}
	if got := f.git(f.repo, "show", ":a.txt"); got != "mine" {
		t.Errorf("staged is %q", got)
	}
	var kept []string
	for name := range files {
		kept = append(kept, name)
	}
	for name, text := range map[string]string{"message": Ended{Kept: kept}.String(), "error": (&keptError{kept}).Error()} {
		for file := range files {
			if !strings.Contains(text, file) {
				t.Errorf("the %s does not name %s", name, file)
			}
		}
	}
}

// TestKilledLandingWasCommitted takes back a landing after the user has committed a part of it, which stays.
func TestKilledLandingWasCommitted(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n", "dir/b.txt": "changed\n", "run.sh": "changed\n"})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
	f.begin(f.intend(s, l), 2)
	f.git(f.repo, "commit", "-qm", "mine", "a.txt")
	ended, err := s.Withdraw(t.Context(), "r1")
	if err != nil || len(ended) != 1 || strings.Join(ended[0].Kept, " ") != "a.txt" {
		t.Errorf("ended %v, %v", ended, err)
	}
	if got := f.read(f.repo, "a.txt") + f.read(f.repo, "dir/b.txt"); got != "changed\nb\n" {
		t.Errorf("the files are %q", got)
	}
	f.status("")
}

// TestDroppedLanding is killed while it forgets a landing that was taken back: what it needs is gone only after that.
func TestDroppedLanding(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n"})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
	in := f.intend(s, l)
	f.begin(in, 1)
	f.no(os.Chmod(in.dir, 0o500)) // nothing in it can be removed
	defer os.Chmod(in.dir, 0o700)
	if os.Getuid() == 0 { // whom that does not stop
		f.no(os.Chmod(in.dir, 0o700))
		f.no(os.Rename(filepath.Join(in.dir, intentName), filepath.Join(in.dir, "kept")))
		f.mkdir(filepath.Join(in.dir, intentName, "in the way"))
	}
	if err := in.drop(); err == nil {
		t.Error("it was forgotten")
	}
	if got := f.read(in.dir, "old", "a.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("the file before is %q", got)
	}
}

// TestDamagedIntent has a landing that was killed, and whose record is damaged. After the user has removed it as the error says, all works
// again.
func TestDamagedIntent(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n", "dir/b.txt": "changed\n"})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
	in := f.intend(s, l)
	f.begin(in, 1)
	file := filepath.Join(in.dir, intentName)
	f.no(os.Truncate(file, 20))
	_, capture := s.Capture(t.Context(), "r2", nil)
	_, land := s.Land(t.Context(), l)
	for _, err := range []error{capture, land} {
		if err == nil || !strings.HasPrefix(err.Error(), file+" is damaged") || !strings.Contains(err.Error(), "in "+filepath.Join(in.dir, "old")+", and then remove "+in.dir+": ") {
			t.Errorf("error %v", err)
		}
	}
	f.put("a.txt", f.read(in.dir, "old", "a.txt"))
	f.no(os.RemoveAll(in.dir))
	f.status("")
	f.land(s, l)
	f.status(" M a.txt\n M dir/b.txt")
}

// TestDamagedNote has notes that lead to no landing. Only the note is removed.
func TestDamagedNote(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	victim := filepath.Join(t.TempDir(), "land", "victim")
	f.write(filepath.Join(victim, "deep", "precious"), "precious\n")
	t.Chdir(victim)
	file, err := s.lockFile()
	f.no(err)
	for i, text := range []string{victim, victim + "/deep", victim + "/deep/precious", ".", "deep", "", "x\x00"} {
		f.write(noteBeside(file), text)
		run := fmt.Sprint("r", i+2)
		_, err := s.Capture(t.Context(), run, nil)
		if got := f.read(victim, "deep", "precious"); got != "precious\n" || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if _, err := os.Lstat(noteBeside(file)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: the note is still there: %v", text, err)
		}
	}
	// A landing that was killed before it was complete.
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n"})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
	f.write(filepath.Join(s.intentDir(l), "new", "a.txt"), "half")
	f.write(noteBeside(file), s.intentDir(l))
	f.land(s, l)
	f.status(" M a.txt")
}

// TestIndexWithoutLinks has a file system that has no hard links.
func TestIndexWithoutLinks(t *testing.T) {
	f := newFixture(t)
	swap, err := f.open().indexSwap()
	f.no(err)
	swap.held = filepath.Join(t.TempDir(), "missing", "held")
	data := f.read(swap.index)
	again, err := swap.do(swap.index, []byte(data), func() error { return errors.New("it was locked") })
	if again || err == nil || !strings.Contains(err.Error(), "needs hard links: if the file system has none, use land: branch or land: patch: ") {
		t.Errorf("error %v", err)
	}
	f.status("")
}

// TestLockOfGit has the lock of git's index at every point at which a landing may be killed, and one of another command.
func TestLockOfGit(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	swap, err := s.indexSwap()
	f.no(err)
	f.put(".git/index.lock", "")
	f.no(os.Link(swap.index, swap.held))
	swap.clean()
	if _, err := os.Stat(swap.lock); err != nil {
		t.Errorf("the lock of another command: %v", err)
	}
	f.no(os.Remove(swap.lock))
	data := f.read(swap.index)
	points := 0
	_, err = swap.do(swap.index, []byte(data), func() error {
		points++
		// As if it was killed here, or after it has restored the old index.
		for _, restore := range []bool{false, true} {
			kept := filepath.Join(t.TempDir(), "kept")
			f.no(os.Link(swap.index, kept))
			if restore {
				f.no(os.Rename(swap.old, swap.index))
			}
			swap.clean()
			if left, err := filepath.Glob(swap.index + "?*"); err != nil || left != nil {
				t.Errorf("left over: %v, %v", left, err)
			}
			f.no(errors.Join(os.Link(kept, swap.held), os.Link(kept, swap.lock), os.Link(swap.index, swap.old)))
		}
		return nil
	})
	if err != nil || points != 1 {
		t.Errorf("%d points, %v", points, err)
	}
	if left, err := filepath.Glob(swap.index + "?*"); err != nil || left != nil {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestCaptureWaitsForLandings captures while a landing is at work, and lands while captures are.
func TestCaptureWaitsForLandings(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	c, err := s.lockCheckout(t.Context())
	f.no(err)
	captured := make(chan error, 1)
	go func() {
		_, err := s.Capture(t.Context(), "r1", nil)
		captured <- err
	}()
	select {
	case err := <-captured:
		t.Errorf("captured during a landing: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	f.no(c.Release())
	f.no(<-captured)

	c, err = s.lockCheckout(t.Context())
	f.no(err)
	defer func(old time.Duration) { maxWait = old }(maxWait)
	maxWait = 50 * time.Millisecond
	if _, err := s.Capture(t.Context(), "r1", nil); err == nil || !strings.Contains(err.Error(), "a landing has been changing the files in "+f.repo+" for more than 50ms: try again") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Capture(ctx, "r1", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	f.no(c.Release())

	maxWait = time.Minute
	one, _, err := s.steady(t.Context())
	f.no(err)
	two, _, err := s.steady(t.Context()) // at the same time
	f.no(err)
	f.no(one.Release())
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.lockCheckout(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a landing began during a capture: %v", err)
	}
	f.no(two.Release())
	c, err = s.lockCheckout(t.Context())
	f.no(errors.Join(err, c.Release()))
}

// TestCapturesDuringLandings captures all the time while changes of two files land: no capture has only one of them.
func TestCapturesDuringLandings(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	const changes = 5
	over := make(chan struct{})
	var all sync.WaitGroup
	for n := range 2 {
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				default:
				}
				b, err := s.Capture(t.Context(), fmt.Sprint("c", n), nil)
				if err != nil {
					t.Error(err)
					return
				}
				a, err := s.git.out(t.Context(), "show", b.Commit+":a.txt")
				z, wrong := s.git.out(t.Context(), "show", b.Commit+":dir/b.txt")
				if i := strings.IndexByte(z, '.'); err != nil || wrong != nil || i >= 0 && a != z || i < 0 && a != "one\ntwo\nthree" {
					t.Errorf("captured %q and %q, %v", a, z, errors.Join(err, wrong))
				}
			}
		})
	}
	for i := range changes {
		b := f.capture(s, "r1")
		text := fmt.Sprintf("change.%d\n", i)
		c := f.change(s, fmt.Sprint("step", i), b.Commit, map[string]string{"a.txt": text, "dir/b.txt": text})
		l, _ := f.plan(s, Landing{ID: fmt.Sprint("land", i), Run: "r1", How: []How{AsCommit, AsPatch}[i/3], Base: b.Commit, Commit: c})
		f.land(s, l)
	}
	close(over)
	all.Wait()
}

// TestGitOutlivesALanding kills a landing while git moves its branch. Until that has ended, nobody takes back the rest.
func TestGitOutlivesALanding(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("git does not keep files open there")
	}
	f := newFixture(t)
	s := f.open()
	c, err := s.lockCheckout(t.Context())
	f.no(err)
	g := s.user.git
	g.holds = c.held()
	cmd, done, err := g.command(t.Context(), "-c", "alias.wait=!cat", "wait")
	f.no(err)
	defer done()
	in, err := cmd.StdinPipe()
	f.no(err)
	f.no(cmd.Start())
	f.no(c.lock.File.Close()) // as the system does
	file, err := s.lockFile()
	f.no(err)
	if _, err := filelock.Take(file); !errors.Is(err, filelock.ErrLocked) {
		t.Errorf("error %v", err)
	}
	f.no(errors.Join(in.Close(), cmd.Wait()))
	c, err = s.lockCheckout(t.Context())
	f.no(errors.Join(err, c.Release()))
}
