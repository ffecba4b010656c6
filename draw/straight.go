package draw

import (
	"cmp"
	"context"
	"math"
	"sort"
)

// column is a set of boxes that are exactly below each other: the strands between them are
// straight. At first, every box is its own column.
type column struct {
	boxes  []*box
	weight float64
	shift  float64 // where it would move
}

// straighten straightens strands that are nearly straight. A strand joins the columns of its two
// ends if there is enough space; the stiffest strands come first, then the straightest.
func (r *region) straighten(ctx context.Context, strands []*strand) error {
	for _, b := range r.boxes {
		b.column = &column{boxes: []*box{b}, weight: 1}
	}
	type sloping struct {
		*strand
		slope float64
		at    int
	}
	byStiffness := make([]sloping, len(strands))
	for i, s := range strands {
		byStiffness[i] = sloping{s, math.Abs(s.slope()), i}
	}
	sort.Slice(byStiffness, func(i, j int) bool {
		a, b := byStiffness[i], byStiffness[j]
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.slope, b.slope), a.at-b.at) < 0
	})
	for i, s := range byStiffness {
		if i%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if math.Abs(s.strand.slope()) <= nearlyStraight*s.weight {
			r.merge(s.strand)
		}
	}
	return nil
}

// nearlyStraight is the maximum horizontal distance between the ends of a strand that is
// straightened, for each unit of stiffness.
const nearlyStraight = 15.0

// slope returns the horizontal distance between the ends of a strand.
func (s *strand) slope() float64 { return s.to.x + s.toOff - s.from.x - s.fromOff }

// merge merges the two columns that a strand connects, at the position that moves them least,
// otherwise at the position of one of them.
func (r *region) merge(s *strand) {
	a, b := s.from.column, s.to.column
	if a == b {
		return
	}
	slope := s.slope()
	if slope == 0 {
		a.join(b)
		return
	}
	share := b.weight / (a.weight + b.weight)
	for _, part := range [...]float64{share, 0, 1} {
		a.shift, b.shift = slope*part, -slope*(1-part)
		fits := r.fits(a) && r.fits(b)
		if fits {
			a.move()
			b.move()
		}
		a.shift, b.shift = 0, 0
		if fits {
			a.join(b)
			return
		}
	}
}

// join adds the boxes of another column.
func (c *column) join(other *column) {
	c.boxes = append(c.boxes, other.boxes...)
	c.weight += other.weight
	for _, x := range other.boxes {
		x.column = c
	}
}

func (c *column) move() {
	if c.shift != 0 {
		for _, b := range c.boxes {
			b.x += c.shift
		}
	}
}

// fits reports whether the boxes of a column keep their distance from their neighbours if the
// columns shift.
func (r *region) fits(c *column) bool {
	const rounding = 1e-6
	for _, b := range c.boxes {
		row, x := r.rows[b.row], b.x+c.shift
		if i := b.at - 1; i >= 0 && x-row.boxes[i].shifted() < row.offsets[i+1]-row.offsets[i]-rounding {
			return false
		}
		if i := b.at + 1; i < len(row.boxes) && row.boxes[i].shifted()-x < row.offsets[i]-row.offsets[i-1]-rounding {
			return false
		}
	}
	return true
}

func (b *box) shifted() float64 { return b.x + b.column.shift }
