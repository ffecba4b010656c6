package twoway

import (
	"maps"
	"testing"
)

// What was written does not change, whatever happens to the decoded copy.
func TestWritingAssignsNothing(t *testing.T) {
	c, m := Writer(), map[string]int{"a": 1, "b": 2}
	double := func(p *int) {
		Number(c, p)
		*p *= 2
	}
	if Map(c, &m, double); !maps.Equal(m, map[string]int{"a": 1, "b": 2}) {
		t.Errorf("after it was written, it is %v", m)
	}
	var read map[string]int
	c = Reader(string(c.Out))
	if Map(c, &read, double); !maps.Equal(read, map[string]int{"a": 2, "b": 4}) || !c.Done() {
		t.Errorf("it is read as %v", read)
	}
}
