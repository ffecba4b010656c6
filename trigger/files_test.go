package trigger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
)

const inbox = "workflow: report\nfiles: \"inbox/**/*.csv\"\ninputs: {topic: \"${path}\"}\n"

// newInbox returns a project with a trigger that is served already, and a file that was there before.
func newInbox(t *testing.T, text string) *fixture {
	t.Helper()
	f := newFixture(t, map[string]string{".hocket/triggers/new.yml": text, "inbox/old.csv": "old"})
	f.at("2026-11-17T12:00:00Z")
	f.s.scan(t.Context())
	return f
}

// later lets time pass, as the service does: it looks, and looks again when files have settled.
func (f *fixture) later(d time.Duration) {
	f.Helper()
	f.s.scan(f.Context())
	f.mu.Lock()
	f.now = f.now.Add(d)
	f.mu.Unlock()
	f.s.tick(f.Context())
	f.s.scan(f.Context())
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestFiles(t *testing.T) {
	f := newInbox(t, strings.Replace(inbox, "${path}", "${path} ${name} ${digest} ${content}", 1))
	f.later(time.Minute)
	f.want() // what was there before does not fire
	f.write("inbox/deep/a.csv", "1")
	f.write("inbox/b.txt", "other")
	f.write("inbox/.hidden.csv", "hidden")
	if f.later(time.Second); len(f.want()) > 0 {
		t.Error("a file fires before it has settled")
	}
	f.write("inbox/deep/a.csv", "12") // still being written
	f.later(1900 * time.Millisecond)
	f.want()
	f.later(100 * time.Millisecond)
	first := "inbox/deep/a.csv a.csv " + digestOf("12") + " 12"
	runs := f.want(first)
	if key := runs[0].Owner.Labels[hocket.FiringLabel]; key != "file inbox/deep/a.csv "+digestOf("12") {
		t.Errorf("the key is %q", key)
	}
	now := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(f.dir, "inbox/deep/a.csv"), now, now); err != nil { // the content is the same
		t.Fatal(err)
	}
	f.later(time.Minute)
	f.want(first)
	f.write("inbox/old.csv", "new")
	f.later(time.Minute)
	second := "inbox/old.csv old.csv " + digestOf("new") + " new"
	f.want(first, second)
	f.write("inbox/deep/a.csv", "other")
	f.later(time.Minute)
	third := "inbox/deep/a.csv a.csv " + digestOf("other") + " other"
	f.want(first, second, third)
	// A path and content that have fired never fire again: not when they return, nor under another server.
	for range 2 {
		f.write("inbox/deep/a.csv", "12")
		f.later(time.Minute)
		if err := os.Remove(filepath.Join(f.dir, "inbox/deep/a.csv")); err != nil {
			t.Fatal(err)
		}
		if f.later(time.Minute); len(f.s.mustRead(t, "new").Files) != 1 {
			t.Error("a file that is gone is remembered")
		}
		f.s = f.service(f.open())
		f.later(0)
	}
	f.write("inbox/deep/a.csv", "12")
	f.later(time.Minute)
	f.want(first, second, third)
}

// A server that starts finds what has changed while none was running.
func TestFilesAtTheStart(t *testing.T) {
	f := newInbox(t, inbox)
	f.write("inbox/a.csv", "1")
	f.write("inbox/old.csv", "changed")
	f.s = f.service(f.open())
	f.later(0)
	f.later(time.Minute)
	f.want("inbox/a.csv", "inbox/old.csv")
	// Other patterns begin anew, and so does a trigger that was disabled.
	for i, text := range []string{strings.Replace(inbox, "*.csv", "*", 1), inbox + "enabled: false\n", inbox} {
		f.write(fmt.Sprintf("inbox/%d.csv", i), "x")
		f.write(".hocket/triggers/new.yml", text)
		f.trust()
		f.later(time.Minute)
		f.later(time.Minute)
	}
	f.want("inbox/a.csv", "inbox/old.csv")
}

// Several servers see the same file; one was killed after it recorded the run, before it noted that.
func TestFilesNeverTwice(t *testing.T) {
	f := newInbox(t, inbox)
	before := f.s.mustRead(t, "new")
	f.write("inbox/a.csv", "1")
	servers := []*Service{f.s}
	for range 3 {
		servers = append(servers, f.service(f.open()))
	}
	for _, s := range servers {
		s.tick(t.Context())
		s.scan(t.Context())
	}
	f.mu.Lock()
	f.now = f.now.Add(time.Minute)
	f.mu.Unlock()
	var wait sync.WaitGroup
	for _, s := range servers {
		wait.Go(func() { s.scan(t.Context()) })
	}
	wait.Wait()
	run := f.want("inbox/a.csv")[0]
	for _, overlap := range []string{"queue", "skip", "cancel"} {
		if err := f.s.states.change("new", func(st *state) error { *st = *before; return nil }); err != nil {
			t.Fatal(err)
		}
		f.write(".hocket/triggers/new.yml", inbox+"overlap: "+overlap+"\n")
		f.trust()
		f.s = f.service(f.open())
		f.later(0)
		f.later(time.Minute)
		f.want("inbox/a.csv")
		if st := f.s.mustRead(t, "new"); len(st.Fired) != 1 || st.Fired[0].Run != run.ID {
			t.Errorf("%s: the firings are %+v", overlap, st.Fired)
		}
	}
}

// What cannot fire now stays where it is, and fires later.
func TestFilesWait(t *testing.T) {
	f := newInbox(t, inbox)
	f.write(".hocket/workflows/report.yml", strings.Replace(flow, "printf", "echo; printf", 1))
	f.write("inbox/a.csv", "1")
	f.later(0)
	for range 3 {
		f.later(time.Minute)
	}
	if f.want(); !strings.Contains(f.why("new"), "hocket trust") || len(f.s.mustRead(t, "new").Fired) != 1 {
		t.Errorf("the firings are %+v", f.s.mustRead(t, "new").Fired)
	}
	f.trust()
	f.later(time.Minute)
	f.want("inbox/a.csv")

	for i := range maxRate + 5 {
		f.write(fmt.Sprintf("inbox/%02d.csv", i), fmt.Sprint(i))
	}
	f.later(time.Minute)
	f.later(3 * time.Second)
	if runs, err := f.p.Runs(t.Context(), hocket.Filter{}); err != nil || len(runs) != 1+maxRate || f.why("new") != ErrTooFast.Error() {
		t.Fatalf("%d runs, %q, %v", len(runs), f.why("new"), err)
	}
	f.later(time.Minute)
	if runs, err := f.p.Runs(t.Context(), hocket.Filter{}); err != nil || len(runs) != 1+maxRate+5 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for i := range maxQueue {
		f.write(fmt.Sprintf("inbox/more/%03d.csv", i), fmt.Sprint(i))
	}
	for range 10 {
		f.later(time.Minute)
	}
	runs, err := f.p.Runs(t.Context(), hocket.Filter{})
	if err != nil || len(runs) != maxQueue || !strings.Contains(f.why("new"), "100 runs of this trigger wait already") {
		t.Fatalf("%d runs, %q, %v", len(runs), f.why("new"), err)
	}
	f.drive(runs[len(runs)-1].ID)
	f.later(time.Minute)
	if runs, err := f.p.Runs(t.Context(), hocket.Filter{}); err != nil || len(runs) != maxQueue+1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
}

func TestFilesOverlap(t *testing.T) {
	f := newInbox(t, inbox+"overlap: skip\n")
	f.write("inbox/a.csv", "1")
	f.later(time.Minute)
	f.write("inbox/b.csv", "1")
	f.later(time.Minute)
	if f.want("inbox/a.csv"); !strings.Contains(f.why("new"), "was not over") {
		t.Errorf("the reason is %q", f.why("new"))
	}
}

func TestLargeFiles(t *testing.T) {
	f := newInbox(t, strings.Replace(inbox, "${path}", "${content}", 1))
	f.write("inbox/a.csv", strings.Repeat("x", maxContent+1))
	f.later(time.Minute)
	if f.want(); !strings.Contains(f.why("new"), "too much for ${content}") {
		t.Errorf("the reason is %q", f.why("new"))
	}
	f.write("inbox/b.csv", "")
	if err := os.Truncate(filepath.Join(f.dir, "inbox/b.csv"), maxSize+1); err != nil {
		t.Fatal(err)
	}
	f.later(time.Minute)
	f.later(time.Minute)
	if f.want(); !strings.Contains(f.why("new"), "more than 1 GB") || len(f.s.mustRead(t, "new").Fired) != 2 {
		t.Errorf("the firings are %+v", f.s.mustRead(t, "new").Fired)
	}
}

// Too many files are a problem of the trigger, and a directory that cannot be read does not hide others.
func TestFilesThatCannotBeWatched(t *testing.T) {
	f := newInbox(t, inbox)
	closed := filepath.Join(f.dir, "inbox", "closed")
	f.write("inbox/closed/c.csv", "1")
	f.later(time.Minute)
	f.want("inbox/closed/c.csv")
	if os.Geteuid() != 0 { // root can read everything
		if err := os.Chmod(closed, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(closed, 0o700) })
		f.write("inbox/a.csv", "1")
		f.later(time.Minute)
		if list, err := f.s.List(); err != nil || len(list[0].Problems) != 1 || !strings.Contains(list[0].Problems[0], "closed") {
			t.Errorf("the problems are %q, %v", list[0].Problems, err)
		}
		f.want("inbox/closed/c.csv", "inbox/a.csv")
		if err := os.Chmod(closed, 0o700); err != nil {
			t.Fatal(err)
		}
		if f.later(time.Minute); len(f.s.mustRead(t, "new").Files) != 3 {
			t.Error("files in a directory that could not be read are forgotten")
		}
	}
	for i := range maxFiles {
		if err := os.WriteFile(filepath.Join(closed, fmt.Sprint(i, ".csv")), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.later(time.Minute)
	list, err := f.s.List()
	if err != nil || len(list[0].Problems) != 1 || !strings.Contains(list[0].Problems[0], "more than 10000 files match") {
		t.Errorf("the problems are %q, %v", list[0].Problems, err)
	}
	if err := os.RemoveAll(closed); err != nil {
		t.Fatal(err)
	}
	f.later(time.Minute)
	if list, err := f.s.List(); err != nil || len(list[0].Problems) != 0 {
		t.Errorf("the problems stay: %q, %v", list[0].Problems, err)
	}
}

// A firing is never repeated, however many came after it, and also if its run was deleted.
func TestRememberedForEver(t *testing.T) {
	f := newInbox(t, inbox)
	f.write("inbox/a.csv", "1")
	f.later(time.Minute)
	run := f.want("inbox/a.csv")[0].ID
	f.drive(run)
	r, err := f.p.Run(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = f.s.states.change("new", func(st *state) error {
		for i := range remembered + 1 {
			if err := st.note(Firing{Key: fmt.Sprint(fileKey, i), At: f.now, Content: fmt.Sprint("content of ", i)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(f.dir, "inbox/a.csv")); err != nil {
		t.Fatal(err)
	}
	f.later(time.Minute)
	f.write("inbox/a.csv", "1")
	f.later(time.Minute)
	f.want()
	st := f.s.mustRead(t, "new")
	if len(st.Fired) != remembered {
		t.Fatalf("%d firings are remembered", len(st.Fired))
	}
	was, err := st.find("file inbox/a.csv "+digestOf("1"), "")
	if err != nil || was == nil || was.Run != run || was.At.IsZero() {
		t.Errorf("the old firing is %+v, %v", was, err)
	}
	if was, err := st.find("another", "content of 0"); err != nil || was == nil || was.Why == "" {
		t.Errorf("the old request is %+v, %v", was, err)
	}
	if was, err := st.find("file inbox/other.csv "+digestOf("1"), "another content"); err != nil || was != nil {
		t.Errorf("a new firing is %+v, %v", was, err)
	}
}
