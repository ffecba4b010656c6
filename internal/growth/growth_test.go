package growth

import (
	"bytes"
	"runtime"
	"slices"
	"testing"
)

func TestLinear(t *testing.T) {
	list := func(n int) []int { return make([]int, n) }
	sum := 0
	for name, c := range map[string]struct {
		n    int
		work func([]int)
		fail bool
	}{
		"linear": {100_000, func(list []int) { sum += len(slices.Clone(list)) }, false},
		"quadratic": {1000, func(list []int) {
			for range list {
				sum += slices.Index(list, 1)
			}
		}, runtime.GOOS == "linux"},
		"memory": {1000, func(list []int) {
			for range list {
				sum += len(bytes.Repeat([]byte{1}, len(list)))
			}
		}, true},
	} {
		var inner testing.T
		Linear(&inner, c.n, list, c.work)
		if inner.Failed() != c.fail {
			t.Errorf("%s work fails: %t", name, inner.Failed())
		}
	}
}
