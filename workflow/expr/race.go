package expr

import "slices"

// A node that joins at its first live edges does not wait for the other
// branches, and may have them cancelled. What only they define may be missing
// behind it.

// race is such a node.
type race struct {
	place  int
	enters []uint64 // by place: a bit for each of its in-edges that the place leads to
	all    uint64
	after  map[int]bool // places that it leads to
}

// maxRaces bounds how many are followed; maxLanes how many in-edges are told
// apart.
const (
	maxRaces = 64
	maxLanes = 64
)

// racing says whether a race lies between a place and the nodes that define
// what a reference there means, and they are not in all of its branches.
func (c *checker) racing(f *finding, before []*query) bool {
	for _, r := range c.raceList() {
		if !r.after[f.text.at.place] {
			continue
		}
		var lanes uint64
		outside := false
		for i, q := range before {
			if q.holds {
				lanes |= r.enters[f.forms[i]]
				outside = outside || r.enters[f.forms[i]] == 0
			}
		}
		if !outside && lanes != r.all {
			return true
		}
	}
	return false
}

func (c *checker) raceList() []*race {
	if c.races == nil {
		c.races = []*race{}
		for i := range c.end {
			p := &c.places[i]
			if p.node.Join.Need > 0 && p.in > p.node.Join.Need && len(c.races) < maxRaces {
				c.races = append(c.races, c.follow(i))
			}
		}
	}
	return c.races
}

// follow finds what leads to a race, and through which of its in-edges, and
// what it leads to.
func (c *checker) follow(at int) *race {
	r := &race{place: at, enters: make([]uint64, len(c.places)), after: map[int]bool{at: true}}
	lane := 0
	for _, from := range slices.Backward(c.order) {
		for _, l := range c.places[from].links {
			switch {
			case l.back:
			case l.to == at:
				r.enters[from] |= 1 << min(lane, maxLanes-1)
				r.all |= 1 << min(lane, maxLanes-1)
				lane++
			default:
				r.enters[from] |= r.enters[l.to]
			}
		}
	}
	for _, from := range c.order {
		if r.after[from] {
			for _, l := range c.places[from].links {
				r.after[l.to] = true
			}
		}
	}
	r.after[c.end] = true
	return r
}
