package journal

import (
	"testing"

	"github.com/hocket-dev/hocket/engine"
)

// A plan that a run has refused leaves nothing behind, unless the run has it already, or will.
func TestDropPlan(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	add := func(name string) string {
		t.Helper()
		hash, err := s.AddPlan(t.Context(), "demo-1", testPin(name))
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	drop := func(hash string) {
		t.Helper()
		if err := s.DropPlan(t.Context(), "demo-1", hash); err != nil {
			t.Fatal(err)
		}
	}
	has := func(hash string) bool {
		_, err := s.readPin(t.Context(), "demo-1", hash)
		return err == nil
	}
	refused, sent, taken, first := add("refused"), add("sent"), add("taken"), add("demo")
	appendEvents(t, w, engine.Envelope{Time: start, Event: &engine.Replanned{Plan: taken, Bundle: testPin("taken").Bundle}})
	if _, err := s.Send(t.Context(), "demo-1", &engine.Replanned{Plan: sent}, start); err != nil {
		t.Fatal(err)
	}
	for hash, stays := range map[string]bool{refused: false, sent: true, taken: true, first: true} {
		if drop(hash); has(hash) != stays {
			t.Errorf("%s stays: %t", hash, has(hash))
		}
	}
	var plans int
	if err := s.read.QueryRow("SELECT count(*) FROM plans").Scan(&plans); err != nil || plans != 2 {
		t.Errorf("%d plans are left: %v", plans, err)
	}
}
