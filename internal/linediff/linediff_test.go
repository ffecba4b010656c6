package linediff

import (
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	for _, c := range []struct{ was, now, want string }{
		{"", "", ""},
		{"", "a", "+a"},
		{"a b", "", "-a -b"},
		{"a b c", "a b c", " a  b  c"},
		{"a b c d", "a x c d", " a -b +x  c  d"},
		{"a b a b", "b a b a", "-a  b  a  b +a"},
		{"a a", "a", " a -a"},
		{"x b c y", "b z c", "-x  b +z  c -y"},
	} {
		got := strings.Join(Compare(strings.Fields(c.was), strings.Fields(c.now), 100, func(k Kind, text string) string { return string(k) + text }), " ")
		if got != c.want {
			t.Errorf("%q, %q: %q, not %q", c.was, c.now, got, c.want)
		}
	}
	got := strings.Join(Compare(strings.Fields("a b c d e"), strings.Fields("a c x y e"), 5, func(k Kind, text string) string { return string(k) + text }), " ")
	if want := " a -b -c -d +c +x +y  e"; got != want {
		t.Errorf("too long: %q, not %q", got, want)
	}
}
