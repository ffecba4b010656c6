package cli

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/cli/ask"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// screen collects what a person sees.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Events during a question are printed above the prompt, not after it.
func TestPromptStaysBelow(t *testing.T) {
	shown := &screen{}
	in, typed := io.Pipe()
	l := &lines{out: shown}
	l.people = ask.NewTerminal(in, l)
	answered := make(chan string)
	q := &engine.Question{ID: "ok", Text: "Go?", Options: []workflow.Option{{Value: "yes"}}}
	l.ask(q, reply{give: func(value string) error {
		l.say("answered")
		answered <- value
		return nil
	}})
	for end := time.Now().Add(time.Minute); !strings.HasSuffix(shown.String(), "> "); {
		if time.Now().After(end) {
			t.Fatalf("%q", shown)
		}
		time.Sleep(time.Millisecond)
	}
	l.say("a step has ended")
	if _, err := typed.Write([]byte("yes\n")); err != nil {
		t.Fatal(err)
	}
	if got := <-answered; got != "yes" {
		t.Errorf("answered %q", got)
	}
	want := "> \ra step has ended\n> answered\n" // the newline comes from the person
	if got := shown.String(); !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end in %q", got, want)
	}
}

// What a run lacks is said once, until it lacks something else or something happens, also if it is asked for again meanwhile.
func TestLackingOnce(t *testing.T) {
	shown := &screen{}
	l := &lines{out: shown}
	for _, why := range []string{"a", "", "a", "a", "b", "", "b"} {
		l.stalled(why)
	}
	if got := shown.String(); got != "waiting: a\nwaiting: b\n" {
		t.Errorf("%q", got)
	}
	l.fact(engine.Fact{Kind: engine.StepStarted, Address: "x"})
	before := shown.String()
	l.stalled("b")
	if got := strings.TrimPrefix(shown.String(), before); strings.HasSuffix(before, "b\n") || got != "waiting: b\n" {
		t.Errorf("%q, and then %q", before, got)
	}
}
