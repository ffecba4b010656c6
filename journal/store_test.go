package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

func TestEventsComeBackInOrder(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	w := createRun(t, s, "demo-1")
	want := []engine.Envelope{started("demo-1")}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{1, 1, 2, 63, 64, 65, 200, 1, 700} {
		var batch []engine.Envelope
		for range size {
			batch = append(batch, ended(len(want)+len(batch), strings.Repeat("x\n\"", rng.IntN(40))))
		}
		appendEvents(t, w, batch...)
		want = append(want, batch...)
	}
	if w.Recorded() != len(want) {
		t.Errorf("Recorded() = %d, want %d", w.Recorded(), len(want))
	}
	wantEvents(t, s, "demo-1", want)

	// The same holds after reopening, as in a new process.
	w.Close()
	again := openStore(t, dir)
	wantEvents(t, again, "demo-1", want)
	w2, err := again.Writer(context.Background(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	defer w2.Close()
	more := ended(len(want), "more")
	appendEvents(t, w2, more)
	wantEvents(t, again, "demo-1", append(want, more))
}

func TestReadingCanStopAnywhere(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	var batch []engine.Envelope
	for i := range 3 * chunk {
		batch = append(batch, ended(i, "x"))
	}
	appendEvents(t, w, batch...)
	for _, n := range []int{1, chunk, chunk + 1, 2 * chunk} {
		seen := 0
		for _, err := range s.Events(context.Background(), "demo-1", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if seen++; seen == n {
				break
			}
		}
		if seen != n {
			t.Errorf("saw %d events, want %d", seen, n)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var last error
	for _, err := range s.Events(ctx, "demo-1", 0) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("reading with a cancelled context ends in %v", last)
	}
}

func TestPinComesBack(t *testing.T) {
	s := openStore(t, t.TempDir())
	pin := testPin("demo")
	pin.Bundle.Called = map[string]*workflow.Workflow{"child": {Name: "child", State: map[string]any{"n": json.Number("12345678901234567890")}}}
	pin.Sources = map[string]string{"demo.yml": "name: demo\n"}
	pin.Replies = json.RawMessage(`{"*":"ok"}`)
	pin.Dir = "/project"
	for _, id := range []string{"demo-1", "demo-2"} {
		w, err := s.Create(NewRun{ID: id, Pin: pin, Created: start, Events: []engine.Envelope{started(id)}})
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		got, err := s.Pin(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(pin, got); diff != "" {
			t.Errorf("pin (-want +got):\n%s", diff)
		}
	}
	var n int
	if err := s.read.QueryRow("SELECT count(*) FROM pins").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d pins are stored for two runs of the same definition (%v)", n, err)
	}
	w, err := s.Create(NewRun{ID: "other-1", Pin: testPin("other"), Created: start, Events: []engine.Envelope{started("other-1")}})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	for range 2 {
		for id, want := range map[string]string{"demo-1": "demo", "other-1": "other"} {
			if got, err := s.Pin(t.Context(), id); err != nil || got.Bundle.Root.Name != want {
				t.Errorf("%s is a run of %s, %v", id, got.Bundle.Root.Name, err)
			}
		}
	}
}

func TestListOfRuns(t *testing.T) {
	s := openStore(t, t.TempDir())
	ctx := context.Background()
	for _, id := range []string{"demo-a1", "demo-a2", "other-b", "demo-a"} {
		w := createRun(t, s, id)
		if err := w.Append(Batch{Events: []engine.Envelope{ended(1, "x")}, Summary: &Summary{Status: engine.Success}}); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := s.List(ctx, driver.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID)
		if r.Status != engine.Success || r.Workflow != "demo" || !r.Created.Equal(start) || !strings.HasPrefix(r.Digest, "sha256:") {
			t.Errorf("run in the list: %+v", r)
		}
	}
	if diff := cmp.Diff([]string{"demo-a", "other-b", "demo-a2", "demo-a1"}, ids); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	finds := []struct{ prefix, want string }{
		{"demo-a1", "demo-a1"}, {"o", "other-b"}, {"demo-a", "demo-a"},
		{"demo", "several runs begin with demo: demo-a, demo-a2, demo-a1"},
		{"x", "unknown run x"}, {"", "unknown run "}, {"%", "unknown run %"},
	}
	for _, f := range finds {
		r, err := s.Find(ctx, f.prefix)
		got := r.ID
		if err != nil {
			got = err.Error()
		}
		if got != f.want {
			t.Errorf("Find(%q) = %q, want %q", f.prefix, got, f.want)
		}
	}
	var exists *driver.ExistsError
	if _, err := s.Create(NewRun{ID: "other-b", Pin: testPin("demo"), Events: []engine.Envelope{started("other-b")}}); err == nil {
		t.Error("a run was created while another driver holds its id")
	}
	if _, err := s.List(ctx, driver.Filter{Limit: 1}); err != nil {
		t.Error(err)
	}
	w := createRun(t, s, "twice")
	w.Close()
	if _, err := s.Create(NewRun{ID: "twice", Pin: testPin("demo"), Events: []engine.Envelope{started("twice")}}); !errors.As(err, &exists) {
		t.Errorf("creating a run twice gives %v", err)
	}
}

func TestStatusAndProblem(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	steps := []struct {
		batch   Batch
		status  engine.Status
		problem string
	}{
		{Batch{}, engine.Running, ""},
		{Batch{Summary: &Summary{Status: engine.Waiting}}, engine.Waiting, ""},
		{Batch{Problem: "it panicked"}, engine.Waiting, "it panicked"},
		{Batch{Summary: &Summary{Status: engine.Running}}, engine.Running, ""},
	}
	for _, status := range []engine.Status{engine.Success, engine.Partial, engine.Failed, engine.TimedOut, engine.Cancelled} {
		steps = append(steps, struct {
			batch   Batch
			status  engine.Status
			problem string
		}{Batch{Summary: &Summary{Status: status}}, status, ""})
	}
	for i, step := range steps {
		if err := w.Append(step.batch); err != nil {
			t.Fatal(err)
		}
		r, err := s.Find(context.Background(), "demo-1")
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != step.status || r.Problem != step.problem {
			t.Errorf("step %d: %q, %q", i, r.Status, r.Problem)
		}
	}
}

func TestConflict(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	rival := *w // as if the lock had failed, on a disk without locks
	appendEvents(t, &rival, ended(1, "rival"))
	for _, batch := range [][]engine.Envelope{{ended(1, "mine")}, {ended(1, "mine"), ended(2, "mine")}} {
		var conflict *ConflictError
		if err := w.Append(Batch{Events: batch}); !errors.As(err, &conflict) || conflict.Seq != 2 || conflict.Run != "demo-1" {
			t.Errorf("a second writer gets %v", err)
		}
	}
	wantEvents(t, s, "demo-1", []engine.Envelope{started("demo-1"), ended(1, "rival")})
}

func TestBatchIsAllOrNothing(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	err := w.Append(Batch{Events: []engine.Envelope{ended(1, "x")}, Summary: &Summary{Status: engine.Success}, Verdicts: []Verdict{{ID: 99}}})
	var withdrawn *WithdrawnError
	if !errors.As(err, &withdrawn) {
		t.Fatalf("a verdict on a message that is not there gives %v", err)
	}
	wantEvents(t, s, "demo-1", []engine.Envelope{started("demo-1")})
	appendEvents(t, w, ended(1, "y"))
	wantEvents(t, s, "demo-1", []engine.Envelope{started("demo-1"), ended(1, "y")})
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes")
	}
	dir := filepath.Join(t.TempDir(), "state")
	s := openStore(t, dir)
	w := createRun(t, s, "demo-1")
	appendEvents(t, w, ended(1, "x"))
	log := w.Log("work", 1)
	log.Write(bytes.Repeat([]byte("x"), 2*MaxInline))
	log.Close("")
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if info.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCopyIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1")
	other, err := openCopy(filepath.Join(s.Dir(), fileName))
	if err != nil {
		t.Fatal(err)
	}
	find(t, other, "demo-1")
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// A definition is decoded once.
func TestPinIsShared(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1")
	first, err := s.Pin(t.Context(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Pin(t.Context(), "demo-1"); err != nil || again != first {
		t.Errorf("it was decoded again, %v", err)
	}
}

func TestPinThatCannotBeStored(t *testing.T) {
	for name, spoil := range map[string]func(p *driver.Pin){
		"workflow": func(p *driver.Pin) { p.Bundle.Root.State = map[string]any{"x": func() {}} },
		"called": func(p *driver.Pin) {
			p.Bundle.Called = map[string]*workflow.Workflow{"child": {State: map[string]any{"x": func() {}}}}
		},
		"replies": func(p *driver.Pin) { p.Replies = json.RawMessage("{") },
	} {
		pin := testPin("demo")
		spoil(pin)
		if _, data, err := encodePin(pin); err == nil || !strings.HasPrefix(err.Error(), "journal: pin: ") {
			t.Errorf("%s: it was stored as %s, %v", name, data, err)
		}
	}
	for _, text := range []string{"", "{", `{"bundle":{"root":7}}`, `{"dir":7}`, `{"bundle":{"root":{}},"dir":7}`} {
		if _, err := decodePin([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// The file may be closed more than once, and no handle stays open.
func TestCloseStoreTwice(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1").Close()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	other := openStore(t, s.Dir())
	createRun(t, other, "demo-2").Close()
	other.lease.File.Close()
	if err := other.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a lease that cannot be released gives %v", err)
	}
}

// The same store does not drive a run twice.
func TestOneWriterInAStore(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1")
	if _, err := s.Writer(t.Context(), "demo-1"); !errors.As(err, new(*driver.HeldError)) {
		t.Errorf("the error is %v", err)
	}
}
