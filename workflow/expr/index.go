package expr

import (
	"github.com/hocket-dev/hocket/internal/sorted"
)

// index maps names to places. Nearly every name has one place, so a list of one is a slice of the
// list of all places.
type index struct {
	numbers []int // 0, 1, 2, …
	first   map[string]int32
	all     map[string][]int // of names with several places
}

func newIndex(numbers []int, names int) *index {
	return &index{numbers: numbers, first: make(map[string]int32, names)}
}

func (x *index) add(name string, at int) {
	known := x.of(name)
	if known == nil {
		x.first[name] = int32(at)
		return
	}
	if x.all == nil {
		x.all = map[string][]int{}
	}
	x.all[name] = append(known, at)
}

// of returns the places of a name, in order, or nil if there are none.
func (x *index) of(name string) []int {
	at, ok := x.first[name]
	if !ok {
		return nil
	}
	if all := x.all[name]; all != nil {
		return all
	}
	return x.numbers[at : at+1 : at+1]
}

// names returns all names, sorted.
func (x *index) names() []string { return sorted.Keys(x.first) }
