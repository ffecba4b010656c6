package draw

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

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

	offsets []float64 // of the boxes, if they are as close together as possible
}

// strand is the part of a wire between two adjacent rows. Its ends are off the middle of their
// boxes by fromOff and toOff.
type strand struct {
	from, to       *box
	fromOff, toOff float64
	failure        bool
	weight         float64
}

// layout decides where the boxes of a region are, those in its frames first. It fails only if the
// context is done.
func (r *region) layout(ctx context.Context) error {
	for _, b := range r.boxes {
		if b.kind == frameBox {
			if err := b.inner.layout(ctx); err != nil {
				return err
			}
			b.enclose()
		}
	}
	r.rank()
	r.thread()
	strands := r.strands()
	if err := r.order(ctx); err != nil {
		return err
	}
	if err := r.place(ctx); err != nil {
		return err
	}
	if err := r.straighten(ctx, strands); err != nil {
		return err
	}
	r.finish()
	return nil
}

// rank puts every box into the first row below all boxes that lead to it, and ports into the last
// row.
func (r *region) rank() {
	out := make(map[*box][]*box, len(r.boxes))
	waiting := make(map[*box]int, len(r.boxes))
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
	r.tooLong()
	for _, w := range r.wires {
		w.chain = []*box{w.from}
		for _, to := range []*box{w.text, w.to} {
			if to == nil {
				continue
			}
			for row := w.chain[len(w.chain)-1].row + 1; row < to.row && !w.straight; row++ {
				w.chain = append(w.chain, bend(to, row))
			}
			w.chain = append(w.chain, to)
		}
	}
}

// mostBends limits how many bends a region has: a wire that crosses all of 5,000 rows needs 5,000.
const mostBends = 30000

// tooLong has the longest wires lead straight to their ends, behind what is between, so that the
// others do not need too many bends.
func (r *region) tooLong() {
	bends := 0
	for _, w := range r.wires {
		bends += w.to.row - w.from.row
	}
	if bends <= mostBends {
		return
	}
	byLength := slices.Clone(r.wires)
	slices.SortStableFunc(byLength, func(a, b *wire) int { return (b.to.row - b.from.row) - (a.to.row - a.from.row) })
	for _, w := range byLength {
		if long := w.to.row - w.from.row; bends > mostBends && long > 1 {
			bends -= long
			w.straight = true
			r.straight++
		}
	}
}

// simpler says what is simpler than usual in a large region, or returns "".
func (r *region) simpler() string {
	n := r.countStraight()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("This drawing is simplified: its %d longest edges lead straight to their ends, behind the steps between.", n)
}

func (r *region) countStraight() int {
	n := r.straight
	for _, b := range r.boxes {
		if b.inner != nil {
			n += b.inner.countStraight()
		}
	}
	return n
}

// strands splits the wires at every row. A part that several wires share is returned once.
func (r *region) strands() []*strand {
	type key struct {
		from, to *box
		off      float64
	}
	seen := make(map[key]bool, len(r.wires))
	var all []*strand
	for _, w := range r.wires {
		for i := 1; i < len(w.chain) && !w.straight; i++ {
			from, to, off := w.chain[i-1], w.chain[i], w.startOff(i)
			if k := (key{from, to, off}); from.kind == bendBox && len(from.down) > 0 || seen[k] {
				continue // from a bend, all wires lead on together
			} else if from.kind != bendBox {
				seen[k] = true
			}
			s := &strand{from: from, to: to, fromOff: off, toOff: w.endOff(i), failure: w.failure()}
			from.spread = from.spread || len(from.down) > 0 && from.down[0].fromOff != off
			from.down, to.up = append(from.down, s), append(to.up, s)
			all = append(all, s)
		}
	}
	stiffen(all)
	return all
}

// stiffen sets how important it is that each strand is straight: most in the middle of a long
// wire, and more if one box directly follows another.
func stiffen(strands []*strand) {
	for _, s := range strands {
		ends := thin(s.from) + thin(s.to)
		s.weight = stiffness[ends]
		switch {
		case s.failure && (thin(s.from) == 0 || s.to.beside):
			s.weight = 0.1 // a failure must not bend the normal path
		case normal(s.from.down) == 1 && normal(s.to.up) == 1:
			s.weight = stiffness[2]
		}
	}
}

// normal counts the strands that are no failures, up to two.
func normal(strands []*strand) int {
	n := 0
	for _, s := range strands {
		if !s.failure {
			if n++; n == 2 {
				break
			}
		}
	}
	return n
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
func (r *region) order(ctx context.Context) error {
	r.fill()
	best, fewest := r.snapshot(), r.crossings()
	for sweep := 0; sweep < r.effort(sweeps) && fewest > 0; sweep++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := range r.rows {
			if sweep%2 == 0 {
				r.sort(r.rows[i], above)
			} else {
				r.sort(r.rows[len(r.rows)-1-i], below)
			}
		}
		if n := r.crossings(); n < fewest {
			best, fewest = r.snapshot(), n
		}
	}
	for i, boxes := range best {
		r.rows[i].boxes = boxes
		r.rows[i].number()
	}
	return nil
}

const sweeps = 16

// effort returns how often something is repeated: less often in a large region, in which nobody
// sees the difference.
func (r *region) effort(most int) int {
	if len(r.boxes) > largeRegion {
		return most / 2
	}
	return most
}

const largeRegion = 3000 // boxes, including bends

// fill puts the boxes into rows in the order in which the wires reach them.
func (r *region) fill() {
	seen := make(map[*box]bool, len(r.boxes))
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
		for _, s := range b.down {
			visit(s.to)
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
		r.sort(row, func(b *box) (float64, bool) { return float64(b.at), true }) // puts groups together
	}
}

func (r *region) snapshot() [][]*box {
	rows := make([][]*box, len(r.rows))
	for i, row := range r.rows {
		rows[i] = slices.Clone(row.boxes)
	}
	return rows
}

// above returns the mean position of what leads to a box, and false if there is nothing.
func above(b *box) (float64, bool) {
	sum := 0.0
	for _, s := range b.up {
		sum += spot(s.from, s.fromOff)
	}
	return sum / float64(len(b.up)), len(b.up) > 0
}

// below returns the mean position of what a box leads to, and false if there is nothing.
func below(b *box) (float64, bool) {
	sum := 0.0
	for _, s := range b.down {
		sum += spot(s.to, s.toOff)
	}
	return sum / float64(len(b.down)), len(b.down) > 0
}

// spot returns a position in a row: that of the box, plus the position on the box.
func spot(b *box, off float64) float64 {
	if b.w == 0 {
		return float64(b.at)
	}
	return float64(b.at) + 0.9*off/b.w
}

// entry is a box of a row that is being sorted: by the position of its group, and its own.
type entry struct {
	box        *box
	block, own float64
}

type inBlocks []entry

func (e inBlocks) Len() int      { return len(e) }
func (e inBlocks) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e inBlocks) Less(i, j int) bool {
	a, b := &e[i], &e[j]
	if a.block != b.block {
		return a.block < b.block
	}
	return cmp.Or(strings.Compare(a.box.group, b.box.group), cmp.Compare(a.own, b.own), a.box.at-b.box.at) < 0
}

// sort orders a row by a key; a box without a key stays where it is. The members of a group stay
// together.
func (r *region) sort(w *row, key func(*box) (float64, bool)) {
	all, grouped := r.entries[:0], false
	for i, b := range w.boxes {
		own, ok := key(b)
		if !ok {
			own = float64(i)
		}
		all = append(all, entry{b, own, own})
		grouped = grouped || b.group != ""
	}
	if grouped {
		gather(all)
	}
	sort.Sort(inBlocks(all))
	for i, e := range all {
		w.boxes[i] = e.box
	}
	w.number()
	r.entries = all
}

// gather puts the members of each group at their mean position.
func gather(all []entry) {
	sums, counts := map[string]float64{}, map[string]float64{}
	for _, e := range all {
		sums[e.box.group] += e.own
		counts[e.box.group]++
	}
	for i, e := range all {
		if g := e.box.group; g != "" {
			all[i].block = sums[g] / counts[g]
		}
	}
}

func (w *row) number() {
	for i, b := range w.boxes {
		b.at = i
	}
}

// crossings counts the pairs of strands that cross.
func (r *region) crossings() int {
	sum := 0
	for _, row := range r.rows {
		ends := r.ends[:0]
		for _, b := range row.boxes { // strands begin in the order of their boxes
			first := len(ends)
			for _, s := range b.starts() {
				ends = append(ends, spot(s.to, s.toOff))
			}
			if !b.spread {
				slices.Sort(ends[first:])
			}
		}
		r.ends = slices.Grow(ends, len(ends))
		sum += inversions(ends, r.ends[len(ends):2*len(ends)])
	}
	return sum
}

// starts returns the strands that lead down from a box, from left to right if they begin at
// different places.
func (b *box) starts() []*strand {
	if !b.spread {
		return b.down
	}
	return slices.SortedFunc(slices.Values(b.down), func(a, b *strand) int {
		return cmp.Or(cmp.Compare(a.fromOff, b.fromOff), cmp.Compare(spot(a.to, a.toOff), spot(b.to, b.toOff)))
	})
}

// inversions counts the pairs that are in the wrong order, using merge sort; it leaves the values
// sorted. There must be as much space as there are values.
func inversions(v, space []float64) int {
	half := len(v) / 2
	if half == 0 {
		return 0
	}
	sum := inversions(v[:half], space) + inversions(v[half:], space)
	left, right := space[:copy(space, v[:half])], v[half:]
	for i, l, r := 0, 0, 0; l < len(left); i++ {
		if r == len(right) || left[l] <= right[r] {
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
