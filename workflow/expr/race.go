package expr

import "slices"

// A node that joins on its first live edges does not wait for the other branches, and may cancel
// them. Values that only those branches define may be missing after it.

// race is a node that does not wait for all its branches.
type race struct {
	place  int
	enters []uint64 // by place: a bit for each in-edge of the race that the place leads to
	all    uint64
	after  map[int]bool // places that the race leads to
}

// maxRaces limits how many races are considered, and maxLanes how many in-edges are
// distinguished.
const (
	maxRaces = 64
	maxLanes = 64
)

// racing reports whether there is a race between a place and the nodes that define a reference
// there, and these nodes are not in all of its branches.
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

// follow finds the places that lead to a race, and through which of its in-edges, and the places
// that it leads to.
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
