package local_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// readStream returns what the first attempt at a wrote to a stream.
func readStream(t *testing.T, s *journal.Store, stream driver.Stream) string {
	t.Helper()
	text := ""
	for p, err := range s.Stream(t.Context(), driver.AttemptID{Run: "demo-1", Address: "a", Attempt: 1}, stream, 0) {
		if err != nil {
			t.Fatal(err)
		}
		text += string(p.Text)
	}
	return text
}

// person is an Asker who is present and never answers.
type person struct {
	withdrawn []string
	done      chan struct{} // closed when the person has been asked
}

func (p *person) Ask(*engine.Question, func(engine.Answered) error, func()) bool {
	close(p.done)
	return true
}

func (p *person) Withdraw(address string) { p.withdrawn = append(p.withdrawn, address) }

// The driver waits for a present but silent person until the deadline.
func TestPersonSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		p := &person{done: make(chan struct{})}
		began := time.Now()
		res := start(t, s, chain(gate("ok", "yes")), work{Agents: echo, Asker: p, Poll: time.Hour})
		if res.Status != engine.Failed || time.Since(began) != 24*time.Hour {
			t.Errorf("%s after %s", res.Status, time.Since(began))
		}
		if diff := cmp.Diff([]string{"ok"}, p.withdrawn); diff != "" {
			t.Errorf("withdrawn (-want +got):\n%s", diff)
		}
	})
}

// A message whose sender has died is handled by the next driver.
func TestMessageWaitsForADriver(t *testing.T) {
	s := openStore(t)
	start(t, s, chain(gate("ok", "yes")), work{Agents: echo})
	for _, value := range []string{"perhaps", "yes", "yes"} {
		if _, err := s.Send(t.Context(), "demo-1", &engine.Answered{ID: "ok", Value: value}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if res := resume(t, s, work{Agents: echo}); res.Status != engine.Success {
		t.Errorf("the run is %s", res.Status)
	}
	for id, want := range map[int64]string{1: "does not offer", 2: "", 3: "the run is over"} {
		v, ok, err := s.Verdict(t.Context(), id)
		if err != nil || !ok || (want == "") != (v.Refused == "") || !strings.Contains(v.Refused, want) {
			t.Errorf("message %d: %+v, %v, %v", id, v, ok, err)
		}
	}
}
