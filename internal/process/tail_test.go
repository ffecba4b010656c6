package process_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/internal/process"
)

func TestTail(t *testing.T) {
	var tail process.Tail
	if got := tail.Last(); got != "" {
		t.Errorf("of nothing: %q", got)
	}
	for i := range 100_000 {
		fmt.Fprintf(&tail, "line %d\n", i)
	}
	lines := strings.Split(tail.Last(), "\n")
	if len(lines) != 10 || lines[0] != "line 99990" || lines[9] != "line 99999" {
		t.Errorf("last lines: %q", lines)
	}
	if n := len(tail.String()); n > 16<<10 {
		t.Errorf("%d bytes are kept", n)
	}
	fmt.Fprint(&tail, strings.Repeat("é", 20_000)) // the cut is in the middle of a character
	if got := tail.Last(); !strings.HasSuffix(got, "éé") || len(got) > 9<<10 {
		t.Errorf("a long line: %d bytes", len(got))
	}
	fmt.Fprint(&tail, "\n\xff broken \xfe")
	if got := tail.Last(); !strings.HasSuffix(got, "\n\uFFFD broken \uFFFD") {
		t.Errorf("what is no text: %q", got[len(got)-20:])
	}
}

func TestOutput(t *testing.T) {
	out := process.Output{Limit: 6}
	for _, piece := range []string{"abc", "def"} {
		if err := out.Add([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Add([]byte("g")); !errors.Is(err, process.ErrTooMuch) {
		t.Errorf("one more: %v", err)
	}
	if got := string(out.Bytes()); got != "abcdef" {
		t.Errorf("kept: %q", got)
	}
}
