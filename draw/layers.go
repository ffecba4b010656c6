package draw

import (
	"cmp"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// Layout of a region, following Sugiyama: every box gets a row so that wires lead down, long
// wires are routed through the rows between their ends, and the rows are ordered so that few
// wires cross. Then place.go decides where in its row a box is.

// row is one row of boxes, from left to right.
type row struct {
	boxes []*box
	// The space of the row is from top to bottom. Above and below the boxes there is space for the
	// outline of a group, if there is one.
	top, bottom float64
}

// strand is the part of a wire between two adjacent rows. Its ends are off the middle of their
// boxes by fromOff and toOff.
type strand struct {
	from, to       *box
	fromOff, toOff float64
	failure        bool
	weight         float64
}

func (r *region) layout() {
	r.rank()
	r.thread()
	strands := r.strands()
	r.order(strands)
	r.place(strands)
	r.straighten(strands)
	r.finish()
}

// rank puts every box into the first row below all boxes that lead to it, and ports into the last
// row.
func (r *region) rank() {
	out := map[*box][]*box{}
	waiting := map[*box]int{}
	join := func(from, to *box) {
		out[from] = append(out[from], to)
		waiting[to]++
	}
	tagged := map[*box]bool{}
	for _, w := range r.wires {
		if w.text == nil {
			join(w.from, w.to)
			continue
		}
		join(w.from, w.text)
		if !tagged[w.text] {
			tagged[w.text] = true
			join(w.text, w.to)
		}
	}
	last := 0
	for ready := r.free(waiting); len(ready) > 0; ready = ready[1:] {
		b := ready[0]
		last = max(last, b.row)
		for _, to := range out[b] {
			to.row = max(to.row, b.row+1)
			if waiting[to]--; waiting[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	for _, b := range r.boxes {
		if b.kind == portBox {
			b.row = last
		}
	}
}

func (r *region) free(waiting map[*box]int) []*box {
	var ready []*box
	for _, b := range r.boxes {
		if waiting[b] == 0 {
			ready = append(ready, b)
		}
	}
	return ready
}

// thread routes every wire through the rows between its ends. The wires of a trunk share their
// bends.
func (r *region) thread() {
	shared := map[*box]map[int]*box{}
	bend := func(to *box, row int) *box {
		if to.trunk && shared[to] == nil {
			shared[to] = map[int]*box{}
		}
		if b := shared[to][row]; b != nil {
			return b
		}
		b := &box{kind: bendBox, w: bendSize, row: row}
		r.boxes = append(r.boxes, b)
		if to.trunk {
			shared[to][row] = b
		}
		return b
	}
	for _, w := range r.wires {
		w.chain = []*box{w.from}
		for _, to := range []*box{w.text, w.to} {
			if to == nil {
				continue
			}
			for row := w.chain[len(w.chain)-1].row + 1; row < to.row; row++ {
				w.chain = append(w.chain, bend(to, row))
			}
			w.chain = append(w.chain, to)
		}
	}
}

// strands splits the wires at every row. A part that several wires share is returned once.
func (r *region) strands() []*strand {
	type key struct {
		from, to *box
		off      float64
	}
	seen := map[key]bool{}
	var all []*strand
	for _, w := range r.wires {
		for i := 1; i < len(w.chain); i++ {
			s := &strand{from: w.chain[i-1], to: w.chain[i], fromOff: w.startOff(i), toOff: w.endOff(i), failure: w.failure()}
			if k := (key{s.from, s.to, s.fromOff}); !seen[k] {
				seen[k] = true
				all = append(all, s)
			}
		}
	}
	stiffen(all)
	return all
}

// stiffen sets how important it is that each strand is straight: most in the middle of a long
// wire, and more if one box directly follows another.
func stiffen(strands []*strand) {
	in, out := map[*box]int{}, map[*box]int{}
	for _, s := range strands {
		if !s.failure {
			out[s.from]++
			in[s.to]++
		}
	}
	for _, s := range strands {
		ends := thin(s.from) + thin(s.to)
		s.weight = stiffness[ends]
		switch {
		case s.failure && (thin(s.from) == 0 || s.to.beside):
			s.weight = 0.1 // a failure must not bend the normal path
		case out[s.from] == 1 && in[s.to] == 1:
			s.weight = stiffness[2]
		}
	}
}

// stiffness is indexed by the number of ends that are not marks or frames.
var stiffness = [3]float64{3, 2, 8}

// startOff returns how far from the middle of its upper end the i-th strand of a wire starts: at
// the port inside a frame, or to the right of the others for a failure.
func (w *wire) startOff(i int) float64 {
	switch {
	case i > 1:
		return 0
	case w.via != nil:
		return w.via.to.x - w.from.w/2
	case w.failure():
		return w.from.w / 4
	}
	return 0
}

// endOff returns how far from the middle of its lower end the i-th strand ends.
func (w *wire) endOff(i int) float64 {
	to := w.chain[i]
	if i == len(w.chain)-1 && w.failure() && to.kind == markBox && to.beside {
		return to.w / 4
	}
	return entryOffset(to)
}

func (w *wire) failure() bool { return w.on == workflow.OnFailure || w.on == workflow.OnTimeout }

func thin(b *box) int {
	if b.kind == bendBox || b.kind == textBox {
		return 1
	}
	return 0
}

// entryOffset returns how far from the middle of a box a wire enters it: a loop is
// entered where its body begins.
func entryOffset(b *box) float64 {
	if b.inner == nil || b.inner.head == nil {
		return 0
	}
	return b.inner.head.x + entryOffset(b.inner.head) - b.w/2
}

// order fills the rows, then sweeps over them: a box moves to the middle of the boxes it is
// connected to in the row before. The best order found is kept.
func (r *region) order(strands []*strand) {
	r.fill(strands)
	down, up := map[*box][]*strand{}, map[*box][]*strand{}
	for _, s := range strands {
		up[s.to] = append(up[s.to], s)
		down[s.from] = append(down[s.from], s)
	}
	best, fewest := r.snapshot(), r.crossings(strands)
	for sweep := 0; sweep < sweeps && fewest > 0; sweep++ {
		for i := range r.rows {
			if sweep%2 == 0 {
				r.rows[i].sort(func(b *box) (float64, bool) { return middle(up[b], true) })
			} else {
				r.rows[len(r.rows)-1-i].sort(func(b *box) (float64, bool) { return middle(down[b], false) })
			}
		}
		if n := r.crossings(strands); n < fewest {
			best, fewest = r.snapshot(), n
		}
	}
	for i, boxes := range best {
		r.rows[i].boxes = boxes
		r.rows[i].number()
	}
}

const sweeps = 16

// fill puts the boxes into rows in the order in which the wires reach them.
func (r *region) fill(strands []*strand) {
	below := map[*box][]*box{}
	for _, s := range strands {
		below[s.from] = append(below[s.from], s.to)
	}
	seen := map[*box]bool{}
	var visit func(b *box)
	visit = func(b *box) {
		if seen[b] {
			return
		}
		seen[b] = true
		for len(r.rows) <= b.row {
			r.rows = append(r.rows, &row{})
		}
		r.rows[b.row].boxes = append(r.rows[b.row].boxes, b)
		for _, to := range below[b] {
			visit(to)
		}
	}
	for _, b := range r.boxes {
		if b.row == 0 {
			visit(b)
		}
	}
	for _, b := range r.boxes {
		visit(b)
	}
	for _, row := range r.rows {
		row.number()
		row.sort(func(b *box) (float64, bool) { return float64(b.at), true }) // puts groups together
	}
}

func (r *region) snapshot() [][]*box {
	rows := make([][]*box, len(r.rows))
	for i, row := range r.rows {
		rows[i] = slices.Clone(row.boxes)
	}
	return rows
}

// middle returns the mean position of what a box is connected to, and false if there is nothing.
func middle(strands []*strand, up bool) (float64, bool) {
	if len(strands) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, s := range strands {
		if up {
			sum += spot(s.from, s.fromOff)
		} else {
			sum += spot(s.to, s.toOff)
		}
	}
	return sum / float64(len(strands)), true
}

// spot returns a position in a row: that of the box, plus the position on the box.
func spot(b *box, off float64) float64 {
	if b.w == 0 {
		return float64(b.at)
	}
	return float64(b.at) + 0.9*off/b.w
}

// sort orders a row by a key; a box without a key stays where it is. The members of a group stay
// together.
func (w *row) sort(key func(*box) (float64, bool)) {
	type entry struct {
		box        *box
		block, own float64
	}
	entries := make([]entry, len(w.boxes))
	sums, counts := map[string]float64{}, map[string]float64{}
	for i, b := range w.boxes {
		own, ok := key(b)
		if !ok {
			own = float64(i)
		}
		entries[i] = entry{b, own, own}
		sums[b.group] += own
		counts[b.group]++
	}
	for i, e := range entries {
		if g := e.box.group; g != "" {
			entries[i].block = sums[g] / counts[g]
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.box.group, b.box.group), cmp.Compare(a.own, b.own))
	})
	for i, e := range entries {
		w.boxes[i] = e.box
	}
	w.number()
}

func (w *row) number() {
	for i, b := range w.boxes {
		b.at = i
	}
}

// crossings counts the pairs of strands that cross.
func (r *region) crossings(strands []*strand) int {
	byRow := make([][]*strand, len(r.rows))
	for _, s := range strands {
		byRow[s.from.row] = append(byRow[s.from.row], s)
	}
	sum := 0
	for _, list := range byRow {
		slices.SortStableFunc(list, func(a, b *strand) int {
			return cmp.Or(cmp.Compare(spot(a.from, a.fromOff), spot(b.from, b.fromOff)),
				cmp.Compare(spot(a.to, a.toOff), spot(b.to, b.toOff)))
		})
		ends := make([]float64, len(list))
		for i, s := range list {
			ends[i] = spot(s.to, s.toOff)
		}
		sum += inversions(ends)
	}
	return sum
}

// inversions counts the pairs that are in the wrong order, using merge sort; it leaves the values
// sorted.
func inversions(v []float64) int {
	if len(v) < 2 {
		return 0
	}
	left, right := slices.Clone(v[:len(v)/2]), slices.Clone(v[len(v)/2:])
	sum := inversions(left) + inversions(right)
	for i, l, r := 0, 0, 0; i < len(v); i++ {
		if l < len(left) && (r == len(right) || left[l] <= right[r]) {
			v[i] = left[l]
			l++
		} else {
			v[i] = right[r]
			r++
			sum += len(left) - l
		}
	}
	return sum
}
