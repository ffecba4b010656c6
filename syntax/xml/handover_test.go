package xml

import (
	"maps"
	"testing"
)

// A reference with a bare $ ends where the name ends.
func TestMention(t *testing.T) {
	got := map[string]int{}
	mention(`$a && $b of ${c.x} and {{ d }}, $a`, got)
	if want := map[string]int{"a": 2, "b": 1, "c": 1, "d": 1}; !maps.Equal(got, want) {
		t.Errorf("it mentions %v, want %v", got, want)
	}
}
