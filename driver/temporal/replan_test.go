package temporal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// starts counts how often steps seem to start.
type starts map[string]int

func (s starts) Fact(f engine.Fact) {
	if f.Kind == engine.StepStarted {
		s[f.Address]++
	}
}

func (s starts) Log(string, int, []byte) {}

// TestReplannedStartsOnce: whoever follows a run that was over and got a new plan sees its steps start once, as the local driver
// shows them.
func TestReplannedStartsOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/w.yml": "name: w\nsteps:\n  - {id: a, agent: shell, config: {command: exit 3}}\n"})
	one := c.machine(nil)
	one.work(t, hocket.Worker{Name: "one"})
	r, wait := one.start(t, "w", hocket.Front{})
	if res, err := wait(); err != nil || res.Status != engine.Failed {
		t.Fatalf("%+v %v", res, err)
	}
	if err := os.WriteFile(filepath.Join(one.root, ".hocket/workflows/w.yml"), []byte("name: w\nsteps:\n  - {id: a, agent: shell, config: {command: echo fine}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := one.Load("w")
	if err == nil {
		_, err = r.Replan(t.Context(), w, hocket.Replan{})
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := starts{}
	if res, err := r.Drive(t.Context(), hocket.Front{Observer: seen}); err != nil || res.Status != engine.Success {
		t.Fatalf("%+v %v", res, err)
	}
	if seen["a"] != 1 {
		t.Errorf("it starts %d times", seen["a"])
	}
}
