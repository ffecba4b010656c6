package local

import (
	"errors"
	"io"
	"testing"

	"github.com/hocket-dev/hocket/driver"
)

// Collection does not fail if a run is held, or was already removed by another process.
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
