package draw

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Sizes, in pixels.
const (
	titleSize = 13.0 // of text
	noteSize  = 11.0
	smallSize = 10.5 // of texts at wires and frames

	startSize, endSize, jointSize = 18.0, 20.0, 10.0
	bendSize, portSize            = 2.0, 2.0
	pileSize                      = 8.0 // how far the stack of an Each sticks out

	boxGap   = 30.0 // between neighbours in a row
	thinGap  = 18.0 // next to a bend or a text
	rowGap   = 36.0 // between rows
	laneGap  = 20.0 // between back edges
	framePad = 20.0 // between a frame and what is in it
	headRoom = 34.0 // for the title of a frame

	outlinePad  = 12.0 // between a group's outline and its members
	outlineHead = 24.0 // for the title of a group
)

// place finds the positions of the boxes in their rows: as close as possible to what they are
// connected to, without touching.
func (r *region) place(ctx context.Context) error {
	for _, row := range r.rows {
		row.measure()
		r.space.settle(row, func(*box) (float64, float64) { return 0, 1 })
	}
	rounds := r.effort(rounds)
	for round := range rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		both := round >= rounds/2
		fromUp := func(b *box) (float64, float64) { return pull(b, true, both) }
		fromDown := func(b *box) (float64, float64) { return pull(b, both, true) }
		for _, row := range r.rows {
			r.space.settle(row, fromUp)
		}
		for _, row := range slices.Backward(r.rows) {
			r.space.settle(row, fromDown)
		}
	}
	return nil
}

const rounds = 24

// pull returns the position to which the strands of a box pull it, those from above, those below,
// or both, and how strongly.
func pull(b *box, up, down bool) (at, weight float64) {
	sum := 0.0
	if up {
		for _, s := range b.up {
			sum += s.weight * (s.from.x + s.fromOff - s.toOff)
			weight += s.weight
		}
	}
	if down {
		for _, s := range b.down {
			sum += s.weight * (s.to.x + s.toOff - s.fromOff)
			weight += s.weight
		}
	}
	if weight == 0 {
		return b.x, 0.01
	}
	return sum / weight, weight
}

// measure finds how far each box is from the first one if the row is as narrow as possible.
func (w *row) measure() {
	offset := 0.0
	w.offsets = make([]float64, len(w.boxes))
	for i, b := range w.boxes {
		if i > 0 {
			offset += distance(w.boxes[i-1], b)
		}
		w.offsets[i] = offset
	}
}

// settling has the space that settle needs.
type settling []pool

// pool is a set of neighbours that want to be at the mean of sum/weight.
type pool struct {
	sum, weight float64
	n           int
}

// settle moves the boxes of a row to where they are pulled, in the least squares sense, keeping
// their order and distance. Without the distances this is isotonic regression: neighbours that
// would swap places are pooled, and a pool is at the mean of what its members want.
func (space *settling) settle(w *row, want func(*box) (at, weight float64)) {
	pools := (*space)[:0]
	for i, b := range w.boxes {
		at, weight := want(b)
		p := pool{(at - w.offsets[i]) * weight, weight, 1}
		for len(pools) > 0 {
			last := pools[len(pools)-1]
			if last.sum/last.weight <= p.sum/p.weight {
				break
			}
			p = pool{p.sum + last.sum, p.weight + last.weight, p.n + last.n}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, p)
	}
	i := 0
	for _, p := range pools {
		at := p.sum / p.weight
		for range p.n {
			w.boxes[i].x = at + w.offsets[i]
			i++
		}
	}
	*space = pools
}

// distance returns the minimum distance between the middles of two neighbours.
func distance(a, b *box) float64 {
	gap := boxGap
	if thin(a)+thin(b) > 0 {
		gap = thinGap
	}
	if a.group != b.group {
		gap += 2 * outlinePad
	}
	return a.w/2 + gap + b.w/2
}

// finish stacks the rows, puts the back edges next to them, and everything into the frame.
func (r *region) finish() {
	left, right := math.Inf(1), math.Inf(-1)
	for _, b := range r.boxes {
		pad := 0.0
		if b.group != "" {
			pad = outlinePad
		}
		left, right = min(left, b.x-b.w/2-pad), max(right, b.x+b.w/2+pad)
	}
	inset := 0.0
	y := 0.0
	if r.kind != wholeFrame {
		inset, y = framePad, headRoom
		left -= inset
	}
	room := right
	if r.head != nil {
		left, room = r.besideEntry(left, right)
	}
	for _, b := range r.boxes {
		b.x -= left
	}
	y = r.stackRows(y)
	r.width = max(r.lanes(right-left)+inset, room-left)
	r.height = y + inset
	if r.kind == eachFrame || r.kind == callFrame {
		r.titleX = framePad * 0.7
		r.width = max(r.width, widthOf(r.title, smallSize, true)+2*framePad)
	}
	r.outline()
}

// besideEntry puts the title of a loop to the left or right of the edge into its body, wherever
// the frame has to grow less, and returns the sides that it needs.
func (r *region) besideEntry(left, right float64) (newLeft, room float64) {
	need := widthOf(r.title, smallSize, true) + 2*framePad
	entry := r.head.x + entryOffset(r.head)
	lanes := laneGap
	for _, k := range r.backs {
		if lanes += laneGap; k.text != nil {
			lanes += k.text.w
		}
	}
	growLeft, growRight := need-(entry-left), need-(right+lanes-entry)
	if growLeft <= max(0, growRight) {
		r.titleX = framePad * 0.7
		return min(left, entry-need), right
	}
	r.titleX = entry + framePad*0.7 - left
	return left, entry + need
}

// stackRows sets the heights of the rows, from y down, and returns where they end.
func (r *region) stackRows(y float64) float64 {
	far := r.reach()
	for i, row := range r.rows {
		grouped, tall := false, 0.0
		for _, b := range row.boxes {
			grouped = grouped || b.group != ""
			tall = max(tall, b.h)
		}
		row.top = y
		if grouped {
			y += outlineHead
		}
		for _, b := range row.boxes {
			b.y = y + (tall-b.h)/2
		}
		y += tall
		if grouped {
			y += outlinePad
		}
		row.bottom = y
		if i+1 < len(r.rows) {
			y += gap(row, r.rows[i+1], far[i])
		}
	}
	return y
}

// reach returns how far the wires below each row extend to the side.
func (r *region) reach() []float64 {
	far := make([]float64, len(r.rows))
	for _, w := range r.wires {
		for i := 1; i < len(w.chain); i++ {
			at := w.chain[i-1].row
			far[at] = max(far[at], math.Abs(w.chain[i-1].x-w.chain[i].x))
		}
	}
	return far
}

// gap returns the space for the wires between two rows.
func gap(upper, lower *row, far float64) float64 {
	room := rowGap
	switch {
	case upper.thin() && lower.thin():
		room = rowGap / 3
	case upper.thin() || lower.thin():
		room -= 8
	}
	return room + min(far/16, 40)
}

// thin reports whether a row contains only wires and their texts.
func (w *row) thin() bool {
	return !slices.ContainsFunc(w.boxes, func(b *box) bool { return thin(b) == 0 && b.kind != portBox })
}

// lanes puts the back edges to the right of everything, those that begin lower further out, so
// that they do not cross. It returns the width including them.
func (r *region) lanes(width float64) float64 {
	slices.SortStableFunc(r.backs, func(a, b *back) int { return cmp.Compare(r.exitHeight(a.from), r.exitHeight(b.from)) })
	for _, k := range r.backs {
		room := 0.0
		if k.text != nil {
			room = k.text.w
		}
		k.x = width + laneGap + room/2
		width = k.x + room/2
		if k.text != nil {
			above, below := r.head.y+r.head.h/2, k.from.y+k.from.h/2
			if k.from == r.head {
				above = r.head.y - selfLoop
			}
			k.text.x, k.text.y = k.x, (above+below-k.text.h)/2
		}
	}
	return width
}

// exitHeight returns the height at which the back edge of a box leads to the right: out of its
// side, or below its row if something is in the way.
func (r *region) exitHeight(b *box) float64 {
	if r.open(b) {
		return b.y + b.h/2
	}
	return r.rows[b.row].bottom + rowGap/3
}

// outline is the dashed line around a parallel group, or around a part of it.
type outline struct {
	title                    string
	left, top, right, bottom float64
	titleX                   float64
}

// outline draws a line around every group. A group whose members are in several rows has one line
// around all of them if nothing else is there, otherwise one line per row.
func (r *region) outline() {
	var names []string
	members := map[string][]*box{}
	for _, b := range r.boxes {
		if b.group != "" {
			if members[b.group] == nil {
				names = append(names, b.group)
			}
			members[b.group] = append(members[b.group], b)
		}
	}
	for _, name := range names {
		whole := r.around(name, members[name])
		if !r.touches(whole, name) {
			r.groups = append(r.groups, whole)
			continue
		}
		rows := map[int][]*box{}
		for _, b := range members[name] {
			rows[b.row] = append(rows[b.row], b)
		}
		for i := range r.rows {
			if len(rows[i]) > 0 {
				r.groups = append(r.groups, r.around(name, rows[i]))
			}
		}
	}
}

func (r *region) around(name string, members []*box) outline {
	o := outline{left: math.Inf(1), top: math.Inf(1), right: math.Inf(-1), bottom: math.Inf(-1)}
	for _, b := range members {
		row := r.rows[b.row]
		o.left, o.right = min(o.left, b.x-b.w/2-outlinePad), max(o.right, b.x+b.w/2+outlinePad)
		o.top, o.bottom = min(o.top, row.top), max(o.bottom, row.bottom)
	}
	o.name(name, members)
	return o
}

// name puts the title between the wires that enter the members from above, at the first place
// where it fits, otherwise shortened at the widest.
func (o *outline) name(title string, members []*box) {
	walls := []float64{o.left}
	for _, b := range members {
		walls = append(walls, b.x+entryOffset(b))
	}
	slices.Sort(walls)
	walls = append(walls, o.right)
	need, widest := widthOf(title, smallSize, true), 0.0
	for i := 1; i < len(walls); i++ {
		room := walls[i] - walls[i-1] - 2*outlinePad
		if room > widest {
			widest, o.titleX = room, walls[i-1]+outlinePad
		}
		if room >= need {
			break
		}
	}
	o.title = clean(title)
	for n := len([]rune(title)); n > 1 && widthOf(o.title, smallSize, true) > widest; n-- {
		o.title = shorten(title, n-1)
	}
}

func (r *region) touches(o outline, group string) bool {
	return slices.ContainsFunc(r.boxes, func(b *box) bool {
		return b.group != group &&
			b.x+b.w/2 > o.left && b.x-b.w/2 < o.right && b.y+b.h > o.top && b.y < o.bottom
	})
}
