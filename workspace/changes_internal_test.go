package workspace

import "testing"

func TestRelative(t *testing.T) {
	for _, c := range [][3]string{{"", "a/b", "a/b"}, {"a", "a/b", "b"}, {"a/b", "a/c", "../c"}, {"a/b", "ab", "../../ab"}} {
		if got := relative(c[0], c[1]); got != c[2] {
			t.Errorf("%s from %q: %s, not %s", c[1], c[0], got, c[2])
		}
	}
}
