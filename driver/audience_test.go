package driver

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-dev/hocket/engine"
)

// spectator notes what it sees, and can be held up.
type spectator struct {
	seen []string
	hold chan struct{} // nil, or one value for each thing it sees
}

func (s *spectator) note(text string) {
	s.seen = append(s.seen, text)
	if s.hold != nil {
		<-s.hold
	}
}

func (s *spectator) Fact(f engine.Fact) { s.note(f.Address) }

func (s *spectator) Log(address string, attempt int, piece []byte) {
	s.note(fmt.Sprintf("%s@%d %s", address, attempt, piece))
}

// An audience sees what happens soon, in order, and pauses for a moment after it has looked.
func TestAudience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spectator{}
		a := NewAudience(s)
		want := func(seen string) {
			t.Helper()
			synctest.Wait()
			if got := strings.Join(s.seen, ", "); got != seen {
				t.Errorf("seen are %s, want %s", got, seen)
			}
		}
		synctest.Wait()
		a.Facts([]engine.Fact{{Address: "one"}, {Address: "two"}})
		want("one, two")
		a.Facts([]engine.Fact{{Address: "three"}})
		want("one, two")
		time.Sleep(breath)
		want("one, two, three")
		time.Sleep(breath)
		piece := []byte("printed")
		a.Log("a", 2, piece)
		piece[0] = '!'
		want("one, two, three, a@2 printed")
		a.Facts([]engine.Fact{{Address: "last"}})
		a.Close()
		a.Log("a", 2, piece)
		a.Facts(nil)
		want("one, two, three, a@2 printed, last")
		if len(a.queue) > 0 {
			t.Errorf("%d things wait for nobody", len(a.queue))
		}
	})
}

// An audience that is asleep notices the end.
func TestAudienceOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spectator{}
		a := NewAudience(s)
		synctest.Wait()
		a.Close()
		if len(s.seen) > 0 {
			t.Errorf("seen are %q", s.seen)
		}
	})
}

// If an observer is slow, pieces of logs are dropped, and facts are not.
func TestSlowAudience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spectator{hold: make(chan struct{})}
		a := NewAudience(s)
		seen := 0
		for range 3 { // the first round begins with one that it already looks at
			a.Facts([]engine.Fact{{}})
			synctest.Wait()
			for range maxPieces + 5 {
				a.Log("a", 1, []byte("x"))
			}
			a.Facts([]engine.Fact{{}})
			for range 1 + maxPieces + 1 {
				s.hold <- struct{}{}
			}
			seen += 1 + maxPieces + 1
			time.Sleep(breath)
			synctest.Wait()
			if len(s.seen) != seen {
				t.Fatalf("%d things were seen, want %d", len(s.seen), seen)
			}
		}
		a.Close()
	})
}
