package twoway

import (
	"maps"
	"slices"
	"testing"
)

// pair is an object with a form of its own, in which objects refer to each other.
type pair struct {
	name  string
	other *pair
	ends  bool
	list  []int8
	marks map[string]int
}

func own(c **Codec) func(p any) bool {
	return func(p any) bool {
		x, ok := p.(*pair)
		if ok {
			(*c).Code(&x.name, &x.other, &x.ends, &x.list, &x.marks)
		}
		return ok
	}
}

func TestObjectsReferToEachOther(t *testing.T) {
	a := &pair{name: "a", list: []int8{-1, 2}, marks: map[string]int{"x": 1, "y": -2}}
	a.other = &pair{name: "b", other: a, ends: true}
	var c *Codec
	c = Writer(own(&c))
	c.Code(&a)
	var read *pair
	c = Reader(string(c.Out), own(&c))
	if c.Code(&read); !c.Done() {
		t.Error("there is more to decode")
	}
	b := read.other
	if read.name != "a" || read.ends || b.name != "b" || !b.ends || b.other != read || b.list != nil {
		t.Errorf("decoded as %+v and %+v", read, b)
	}
	if !slices.Equal(read.list, a.list) || !maps.Equal(read.marks, a.marks) {
		t.Errorf("decoded as %v and %v", read.list, read.marks)
	}
}

// A struct that nobody describes is a defect, not an empty object.
func TestStructsNeedAForm(t *testing.T) {
	for _, p := range []any{new(struct{ n int }), &[]*struct{ n int }{{1}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T was coded", p)
				}
			}()
			Writer(func(any) bool { return false }).Code(p)
		}()
	}
}

// What was written does not change, whatever happens to the decoded copy.
func TestWritingAssignsNothing(t *testing.T) {
	type number struct{ N int }
	m, doubled := map[string]number{"a": {1}, "b": {2}}, map[string]number{"a": {2}, "b": {4}}
	var c *Codec
	double := func(p any) bool {
		x, ok := p.(*number)
		if ok {
			c.JSON(x)
			x.N *= 2
		}
		return ok
	}
	c = Writer(double)
	if c.Code(&m); !maps.Equal(m, map[string]number{"a": {1}, "b": {2}}) {
		t.Errorf("after it was written, it is %v", m)
	}
	var read map[string]number
	c = Reader(string(c.Out), double)
	if c.Code(&read); !maps.Equal(read, doubled) || !c.Done() {
		t.Errorf("it is read as %v", read)
	}
}
