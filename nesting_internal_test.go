package hocket

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/internal/process"
)

// TestNestedError has the messages for people whose runs are inside of others, and for those whose limits only look so.
func TestNestedError(t *testing.T) {
	for depth, want := range map[int]string{
		3:               "it would be inside of 3 other runs",
		process.Lowered: "the hard limit of file locks",
	} {
		err := &NestedError{Depth: depth, Most: 3}
		if limit := strings.Contains(err.Hint(), "ulimit -Hx"); !strings.Contains(err.Error(), want) || limit != (depth == process.Lowered) {
			t.Errorf("%v: %s", err, err.Hint())
		}
	}
}

// TestHintOfNestedError has a person raise limits only if these are what keeps a run from starting.
func TestHintOfNestedError(t *testing.T) {
	for _, spent := range []bool{false, true} {
		if got := (&NestedError{Spent: spent}).Hint(); strings.Contains(got, "raise") != spent {
			t.Errorf("spent: %t: %q", spent, got)
		}
	}
	if got := errNoOuter.Hint(); got != "" {
		t.Errorf("no outer run: %q", got)
	}
}
