package draw

import (
	"cmp"
	"math"
	"slices"
)

// column is a set of boxes that are exactly below each other: the strands between them are
// straight. At first, every box is its own column.
type column struct {
	boxes  []*box
	weight float64
}

// straighten straightens strands that are nearly straight. A strand joins the columns of its two
// ends if there is enough space; the stiffest strands come first, then the straightest.
func (r *region) straighten(strands []*strand) {
	columns := make(map[*box]*column, len(r.boxes))
	for _, b := range r.boxes {
		columns[b] = &column{boxes: []*box{b}, weight: 1}
	}
	byStiffness := slices.Clone(strands)
	slices.SortStableFunc(byStiffness, func(a, b *strand) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(math.Abs(a.slope()), math.Abs(b.slope())))
	})
	for _, s := range byStiffness {
		if math.Abs(s.slope()) <= nearlyStraight*s.weight {
			r.merge(columns, s)
		}
	}
}

// nearlyStraight is the maximum horizontal distance between the ends of a strand that is
// straightened, for each unit of stiffness.
const nearlyStraight = 15.0

// slope returns the horizontal distance between the ends of a strand.
func (s *strand) slope() float64 { return s.to.x + s.toOff - s.from.x - s.fromOff }

// merge merges the two columns that a strand connects, at the position that moves them least,
// otherwise at the position of one of them.
func (r *region) merge(columns map[*box]*column, s *strand) {
	a, b := columns[s.from], columns[s.to]
	if a == b {
		return
	}
	slope := s.slope()
	share := b.weight / (a.weight + b.weight)
	for _, part := range []float64{share, 0, 1} {
		moveA, moveB := slope*part, -slope*(1-part)
		a.move(moveA)
		b.move(moveB)
		if !r.fits(a) || !r.fits(b) {
			a.move(-moveA)
			b.move(-moveB)
			continue
		}
		a.boxes = append(a.boxes, b.boxes...)
		a.weight += b.weight
		for _, x := range b.boxes {
			columns[x] = a
		}
		return
	}
}

func (c *column) move(by float64) {
	for _, b := range c.boxes {
		b.x += by
	}
}

// fits reports whether the boxes of a column keep their distance from their neighbours.
func (r *region) fits(c *column) bool {
	const rounding = 1e-6
	for _, b := range c.boxes {
		row := r.rows[b.row].boxes
		if b.at > 0 && b.x-row[b.at-1].x < distance(row[b.at-1], b)-rounding {
			return false
		}
		if b.at+1 < len(row) && row[b.at+1].x-b.x < distance(b, row[b.at+1])-rounding {
			return false
		}
	}
	return true
}
