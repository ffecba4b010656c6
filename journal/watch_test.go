package journal

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/database"
)

// changes returns the ids of the runs that changed and those deleted, and the version
// afterwards.
func changes(t *testing.T, s *Store, since int64) (string, int64) {
	t.Helper()
	changed, deleted, version, err := s.Changes(context.Background(), since)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, r := range changed {
		text += r.ID + " "
	}
	for _, id := range deleted {
		text += "-" + id.ID + " "
	}
	return text, version
}

func TestChanges(t *testing.T) {
	s := openStore(t, t.TempDir())
	pulse, err := s.Pulse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pulse.Close()
	var last Beat
	version := int64(-1)
	after := func(what, want string, beats bool) {
		t.Helper()
		var got string
		got, version = changes(t, s, version)
		if got != want {
			t.Errorf("%s changes %q, want %q", what, got, want)
		}
		now, err := pulse.Beat(t.Context())
		if err != nil || (now != last) != beats {
			t.Errorf("%s: beat %+v after %+v, %v", what, now, last, err)
		}
		last = now
	}
	after("nothing", "", true)
	after("nothing", "", false)
	a, b := createRun(t, s, "a-1"), createRun(t, s, "b-1")
	after("two runs", "a-1 b-1 ", true)
	appendEvents(t, a, ended(1, "x"))
	after("an event", "", true)
	if err := a.Append(Batch{Summary: &Summary{Status: engine.Waiting}}); err != nil {
		t.Fatal(err)
	}
	after("a summary", "a-1 ", true)
	if err := b.Append(Batch{Problem: "broken"}); err != nil {
		t.Fatal(err)
	}
	after("a problem", "b-1 ", true)
	b.Close()
	if _, err := s.Delete(t.Context(), "b-1"); err != nil {
		t.Fatal(err)
	}
	after("a deletion", "-b-1 ", true)
	createRun(t, s, "c-1")
	after("a run after a deletion", "c-1 ", true)
	if got, _ := changes(t, s, -1); got != "a-1 c-1 " {
		t.Errorf("from the beginning: %q", got)
	}
	after("nothing", "", false)
}

// BenchmarkBeat measures one poll of the journal.
func BenchmarkBeat(b *testing.B) {
	s := openStore(b, b.TempDir())
	createRun(b, s, "a-1")
	p, err := s.Pulse(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	for b.Loop() {
		if _, err := p.Beat(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// A beat shows that another process begins to drive runs, and that the journal is gone.
func TestBeatOfLeases(t *testing.T) {
	s := openStore(t, t.TempDir())
	p, err := s.Pulse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	before, err := p.Beat(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	createRun(t, openStore(t, s.Dir()), "demo-1")
	if after, err := p.Beat(t.Context()); err != nil || after.Leases.Equal(before.Leases) {
		t.Errorf("%v, then %v, %v", before, after, err)
	}
	if err := os.Remove(filepath.Join(s.Dir(), fileName)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Beat(t.Context()); !IsProblem(err, database.Gone) {
		t.Error(err)
	}
}

func TestChangesThatCannotBeRead(t *testing.T) {
	s := openStore(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, version, err := s.Changes(ctx, 7); err == nil || version != 7 {
		t.Errorf("version %d, %v", version, err)
	}
}

// Whoever has watched a journal holds no connection.
func TestWatchingHoldsNothing(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1")
	p, err := s.Pulse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := s.read.Stats().InUse; n != 1 {
		t.Errorf("while it is watched, %d connections are in use", n)
	}
	if _, err := p.Beat(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	changes(t, s, -1)
	if n := s.read.Stats().InUse; n != 0 {
		t.Errorf("%d connections are in use", n)
	}
}

// A list from the very beginning has no deleted runs; from the first version on it does.
func TestDeletedSinceTheFirstVersion(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1").Close()
	if _, err := s.Delete(t.Context(), "demo-1"); err != nil {
		t.Fatal(err)
	}
	for since, want := range map[int64]string{-1: "", 0: "-demo-1 "} {
		if got, _ := changes(t, s, since); got != want {
			t.Errorf("since %d: %q, want %q", since, got, want)
		}
	}
}
