package session_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/session"
)

// Tasks that start at the same time share the messages: each message is taken once. All
// attempts of a task get the same messages, and those that arrive later are for others.
func TestInbox(t *testing.T) {
	const messages, tasks = 20, 4
	b := session.OpenInbox(t.TempDir())
	put := func(id string) {
		t.Helper()
		if _, err := b.Put("ann", id, []byte(id)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range messages {
		put(fmt.Sprint(i))
		put(fmt.Sprint(i)) // it is there already
	}
	var group sync.WaitGroup
	var taken [tasks]string
	take := func(task int, first bool) string {
		got, err := b.Take("ann", fmt.Sprint("run ", task), "task", first)
		if err != nil {
			t.Error(err)
		}
		return fmt.Sprintf("%s", got)
	}
	for i := range tasks {
		group.Go(func() { taken[i] = take(i, true) })
	}
	group.Wait()
	put("0") // it was taken already
	put("late")
	count := 0
	for i := range tasks {
		if again := take(i, false); again != taken[i] {
			t.Errorf("the first attempt got %s, the second %s", taken[i], again)
		}
		got, err := b.Take("ann", fmt.Sprint("run ", i), "task", false)
		if count += len(got); err != nil {
			t.Error(err)
		}
	}
	if count != messages {
		t.Errorf("%d messages were taken, want %d", count, messages)
	}
	if got := take(tasks, true); got != "[late]" {
		t.Errorf("the next task got %s", got)
	}
	if got, err := b.Take("bob", "run", "task", true); err != nil || len(got) > 0 {
		t.Errorf("bob got %s, %v", got, err)
	}
}

// The messages of a run are deleted when it has ended. They cannot be left a second time, and those
// of other runs stay.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	b := session.OpenInbox(dir)
	for _, run := range []string{"r1", "r2", "r3"} {
		if stored, err := b.Put("ann", "for "+run, []byte("secret of "+run)); err != nil || !stored {
			t.Fatal(err)
		}
		if got, err := b.Take("ann", run, "task", true); err != nil || len(got) != 1 {
			t.Fatalf("%s, %v", got, err)
		}
		if err := b.Received("ann", run, "task"); err != nil {
			t.Fatal(err)
		}
	}
	want := func(want string) {
		t.Helper()
		var stored strings.Builder
		files, _ := filepath.Glob(filepath.Join(dir, "inbox/*/*@*"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			stored.Write(text)
		}
		if stored.String() != want {
			t.Errorf("stored are %q, want %q", stored.String(), want)
		}
	}
	if err := b.Forget("r1"); err != nil {
		t.Fatal(err)
	}
	want("secret of r2secret of r3")
	if err := b.ForgetAll(func() ([]string, error) { return []string{"r2", "r9"}, nil }); err != nil {
		t.Fatal(err)
	}
	want("secret of r3")
	if stored, err := b.Put("ann", "for r1", []byte("again")); err != nil || stored {
		t.Fatalf("%t, %v", stored, err)
	}
	if got, err := b.Take("ann", "r4", "task", true); err != nil || len(got) > 0 {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := b.Take("ann", "r3", "task", false); err != nil || len(got) != 1 {
		t.Errorf("%s, %v", got, err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "inbox/*/*@*"))
	for _, file := range files {
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-100*24*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.ForgetAll(func() ([]string, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if files, _ = filepath.Glob(filepath.Join(dir, "inbox/*/*@*")); len(files) != 1 {
		t.Errorf("%q", files)
	}
}

// A message that a run has taken without its agent receiving it is there for the next one.
func TestGiveBack(t *testing.T) {
	b := session.OpenInbox(t.TempDir())
	if _, err := b.Put("ann", "1", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		run, want string
		received  bool
	}{{"r1", "[hello]", false}, {"r2", "[hello]", true}, {"r3", "[]", false}} {
		got, err := b.Take("ann", c.run, "task", true)
		if fmt.Sprintf("%s", got) != c.want || err != nil {
			t.Errorf("%s: %s, %v", c.run, got, err)
		}
		if c.received {
			err = b.Received("ann", c.run, "task")
			if again, broken := b.Take("ann", c.run, "task", false); fmt.Sprintf("%s", again) != c.want || broken != nil {
				t.Errorf("%s, after a crash: %s, %v", c.run, again, broken)
			}
		}
		if err = errors.Join(err, b.Forget(c.run)); err != nil {
			t.Fatal(err)
		}
	}
}
