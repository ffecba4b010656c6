package journal

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/engine"
)

func TestFullDisk(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	limit := func(pages string) {
		t.Helper()
		if _, err := s.write.Exec("PRAGMA max_page_count = " + pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("40")
	want := []engine.Envelope{started("demo-1")}
	var full error
	for full == nil {
		ev := ended(len(want), strings.Repeat("x", 3000))
		if full = w.Append(Batch{Events: []engine.Envelope{ev}}); full == nil {
			want = append(want, ev)
		}
	}
	if !IsProblem(full, Full) || !strings.Contains(full.Error(), s.file) || !strings.Contains(full.Error(), "free some space") {
		t.Errorf("a full disk gives %v", full)
	}
	if err := w.Append(Batch{Events: []engine.Envelope{ended(99, strings.Repeat("y", 2*MaxInline))}}); !IsProblem(err, Full) {
		t.Errorf("a large value on a full disk gives %v", err)
	}
	wantEvents(t, s, "demo-1", want)

	// With space again, the same writer goes on without a gap.
	limit("100000")
	ev := ended(len(want), "more")
	appendEvents(t, w, ev)
	wantEvents(t, s, "demo-1", append(want, ev))
}

func TestNotADatabase(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, fileName)
	if err := os.WriteFile(file, []byte(strings.Repeat("these are notes\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, Options{})
	if !IsProblem(err, NotDatabase) || !strings.Contains(err.Error(), file) {
		t.Errorf("Open gives %v", err)
	}
	if _, err := OpenReadOnly(dir); !IsProblem(err, NotDatabase) {
		t.Errorf("OpenReadOnly gives %v", err)
	}
	if data, _ := os.ReadFile(file); !strings.HasPrefix(string(data), "these are notes") {
		t.Error("the file was changed")
	}
}

func TestDirectoryThatIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, Options{}); !IsProblem(err, Unreadable) {
		t.Errorf("Open gives %v", err)
	}
	if _, err := OpenReadOnly(filepath.Join(t.TempDir(), "nothing")); !IsProblem(err, Unreadable) {
		t.Errorf("OpenReadOnly of nothing gives %v", err)
	}
}

// A page of the file is overwritten; the events before it can still be read.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	w := createRun(t, s, "demo-1")
	const n = 4000
	var batch []engine.Envelope
	for i := range n {
		batch = append(batch, ended(i+1, strings.Repeat("x", 200)))
	}
	appendEvents(t, w, batch...)
	w.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, fileName)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	from := len(data) * 3 / 4 / 4096 * 4096
	for i := range 4096 {
		data[from+i] = 0xa5
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}

	s = openStore(t, dir)
	if err := s.Check(context.Background()); !IsProblem(err, Corrupt) {
		t.Errorf("Check gives %v", err)
	}
	read, last := 0, error(nil)
	for ev, err := range s.Events(context.Background(), "demo-1", 0) {
		if last = err; err == nil {
			read++
			if ev.Event == nil {
				t.Fatal("no event and no error")
			}
		}
	}
	if !IsProblem(last, Corrupt) || !strings.Contains(last.Error(), file) {
		t.Errorf("reading a damaged journal ends in %v", last)
	}
	if read < n/4 {
		t.Errorf("only %d of %d events could be read", read, n)
	}
}

func TestMissingEventIsNoticed(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	appendEvents(t, w, ended(1, "a"), ended(2, "b"), ended(3, "c"))
	if _, err := s.write.Exec("DELETE FROM events WHERE seq = 3"); err != nil {
		t.Fatal(err)
	}
	read, last := 0, error(nil)
	for _, err := range s.Events(context.Background(), "demo-1", 0) {
		if last = err; err == nil {
			read++
		}
	}
	if read != 2 || !IsProblem(last, Corrupt) || !strings.Contains(last.Error(), "event 3 is missing") {
		t.Errorf("%d events, then %v", read, last)
	}
}
