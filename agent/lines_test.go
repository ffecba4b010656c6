package agent_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
)

func TestLines(t *testing.T) {
	var log strings.Builder
	l := agent.NewLines(func(piece []byte) { log.Write(piece) })
	l.End()
	l.Line("first")
	l.Write("")
	l.Write("half a ")
	l.Piece([]byte("line"))
	l.Line("second")
	l.Line("next")
	l.Write("whole\n")
	l.Write("")
	l.Line("third")
	l.Write("end")
	l.End()
	l.End()
	if got, want := log.String(), "first\nhalf a line\nsecond\nnext\nwhole\nthird\nend\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "  one\n\ttwo  ": "one two", "12345678": "12345678", "123456789": "1234567…", "äöüäöüäöü": "äöüäöüä…",
	} {
		if got := agent.OneLine(text, 8); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
