package local

import (
	"errors"
	"io"
	"testing"

	"github.com/hocket-dev/hocket/driver"
)

// Two processes that collect at once, or one that looks at a run, stop neither.
func TestPassedOver(t *testing.T) {
	held, gone := &driver.HeldError{Run: "a"}, errors.Join(&driver.UnknownRunError{ID: "b"})
	for _, c := range []struct {
		err  error
		want bool
	}{
		{errors.Join(held, gone), true},
		{errors.Join(held, io.ErrShortWrite), false},
		{io.ErrShortWrite, false},
	} {
		if got := passedOver(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
