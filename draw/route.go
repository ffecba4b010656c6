package draw

import (
	"math"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// trail is the drawn line of a wire.
type trail struct {
	ink
	x, y float64
}

func (t *trail) to(command string, x, y float64) {
	t.put(command).num(x).put(" ").num(y)
	t.x, t.y = x, y
}

func (t *trail) move(x, y float64) { t.to("M", x, y) }

// down draws a straight line to a height.
func (t *trail) down(y float64) {
	if !sameNum(y, t.y) {
		t.put("V").num(y)
		t.y = y
	}
}

// swing draws an S-shaped line from one column to another that starts and ends vertically.
func (t *trail) swing(x, y float64) {
	if sameNum(x, t.x) {
		t.down(y)
		return
	}
	middle := (t.y + y) / 2
	t.put("C").num(t.x).put(" ").num(middle).put(" ").num(x).put(" ").num(middle)
	t.to(" ", x, y)
}

// corner draws straight lines through points, with round corners.
func (t *trail) corner(points ...[2]float64) {
	for i, at := range points {
		if i == len(points)-1 {
			t.to("L", at[0], at[1])
			return
		}
		x1, y1 := towards(at, [2]float64{t.x, t.y}, 8)
		x2, y2 := towards(at, points[i+1], 8)
		t.to("L", x1, y1)
		t.put("Q").num(at[0]).put(" ").num(at[1])
		t.to(" ", x2, y2)
	}
}

// towards returns the point at a distance from a corner, but at most half way.
func towards(from, to [2]float64, dist float64) (x, y float64) {
	dx, dy := to[0]-from[0], to[1]-from[1]
	long := math.Hypot(dx, dy)
	if long == 0 {
		return from[0], from[1]
	}
	f := min(dist/long, 0.5)
	return from[0] + dx*f, from[1] + dy*f
}

// piece is a part of a wire, from one box of its chain to the next.
type piece [2]*box

// sharing returns the edges for failures that lead along each piece.
func (r *region) sharing() map[piece][]*wire {
	shared := map[piece][]*wire{}
	for _, w := range r.wires {
		for i := 1; i < len(w.chain) && w.failure(); i++ {
			this := piece{w.chain[i-1], w.chain[i]}
			shared[this] = append(shared[this], w)
		}
	}
	return shared
}

// mostNamed is how many edges of a trunk are told apart where they join it: the names of all are at every part.
const mostNamed = 20

// trunk returns the edges that lead along a piece of a wire, if others do.
func (w *wire) trunk(this piece, shared map[piece][]*wire) []*wire {
	all := shared[this]
	if end := len(w.chain) - 1; len(all) > 1 && len(shared[piece{w.chain[end-1], w.chain[end]}]) > mostNamed {
		return shared[piece{w.chain[end-1], w.chain[end]}]
	}
	return all
}

// wire paints a wire. It stops where the wire joins a trunk that is already painted. A trunk is an edge of its own, which begins
// wherever those begin that lead along it: it is taken if one of them is.
func (p *painter) wire(r *region, w *wire, x, y float64, painted map[piece]bool, shared map[piece][]*wire) {
	t := &trail{}
	from, edge, users := w.chain[0], w.edge, 1
	if w.via != nil {
		port := w.via.to
		t.move(x+from.x-from.w/2+port.x, y+from.y+port.y)
	} else {
		t.move(x+from.x+w.startOff(1), y+from.y+from.h)
	}
	joined := false
	for i := 1; i < len(w.chain) && !joined; i++ {
		a, b := w.chain[i-1], w.chain[i]
		this := piece{a, b}
		if joined = painted[this]; joined {
			break
		}
		painted[this] = a.kind == bendBox || a.kind == textBox
		if all := w.trunk(this, shared); len(all) > users {
			p.line(edgeLine{trail: t, class: wireClass(w.on), edge: edge, text: w.text}, x, y)
			began := &trail{}
			began.move(t.x, t.y)
			t, users, edge.From = began, len(all), nil
			for _, other := range all {
				edge.From = append(edge.From, other.edge.From...)
			}
		}
		t.down(y + r.rows[a.row].bottom)
		t.swing(x+b.x+w.endOff(i), y+r.rows[b.row].top-landing[b.kind])
		if b.kind == textBox {
			t.down(y + b.y)
			t.move(t.x, y+b.y+b.h)
		}
	}
	p.arrive(t, w, edge, x, y, joined)
}

// landing is the length of the straight part of a wire in front of a box, which must have room
// for the arrow.
var landing = map[boxKind]float64{markBox: 11, frameBox: 11, jointBox: 4}

// arrive ends a wire at its target, with an arrow unless it continues from there.
func (p *painter) arrive(t *trail, w *wire, edge Edge, x, y float64, joined bool) {
	line := edgeLine{trail: t, class: wireClass(w.on), edge: edge, text: w.text}
	last := w.chain[len(w.chain)-1]
	switch {
	case joined:
	case last.kind == portBox || last.kind == jointBox:
		t.down(y + last.y)
	default:
		end := y + entryTop(last)
		t.down(end - 5)
		line.head, line.tip = downHead, point{t.x, end}
	}
	p.line(line, x, y)
}

// edgeLine is the line of an edge, its arrow and its text.
type edgeLine struct {
	*trail
	class string
	edge  Edge
	head  string // the outline of the arrow from its tip; "": none
	tip   point
	text  *box // nil: none
}

type point struct{ x, y float64 }

// The arrows at the ends of lines.
const (
	downHead = "l-4-8h8z"
	leftHead = "l8-4v8z"
)

func (p *painter) line(l edgeLine, x, y float64) {
	to := &p.wires
	if p.inline == nil {
		if l.head != "" {
			to.put(`<path class="head `).put(l.class).put(`" d="`)
			to.arrow(l)
			to.end(`"/>`)
		}
		to.put(`<path class="wire `).put(l.class).put(`" d="`).put(string(l.ink))
		to.end(`"/>`)
		return
	}
	p.beginEdge(l)
	to.put(`<path d="`).put(string(l.ink)).put(`"/>`)
	if l.head != "" {
		to.put(`<path d="`)
		to.arrow(l)
		to.put(`"/>`)
	}
	if l.text != nil && !l.text.trunk {
		p.label(to, l.text, x, y)
	}
	to.put("</g>\n")
}

func (l *layer) arrow(e edgeLine) { l.put("M").num(e.tip.x).put(" ").num(e.tip.y).put(e.head) }

// entryTop returns where the wires into a box end: for a loop, at the top of the start of its
// body.
func entryTop(b *box) float64 {
	if b.inner == nil || b.inner.head == nil {
		return b.y
	}
	return b.y + entryTop(b.inner.head)
}

func wireClass(on workflow.On) string {
	switch on {
	case workflow.OnFailure, workflow.OnTimeout:
		return "failure"
	case workflow.OnSuccess, workflow.OnLabel, workflow.OnWhen, workflow.OnElse:
	}
	return plainWire
}

const plainWire = "plain"

// back paints the edge that repeats a loop: out to the right, up, and in again at the start of
// the body.
func (p *painter) back(r *region, k *back, x, y float64) {
	t := &trail{}
	from, head := k.from, r.head
	var points [][2]float64
	out := y + r.exitHeight(from)
	if r.open(from) {
		t.move(x+from.x+from.w/2, out)
	} else {
		t.move(x+from.x+from.w/3, y+from.y+from.h-from.roof())
		points = append(points, [2]float64{t.x, out})
	}
	points = append(points, [2]float64{x + k.x, out})
	line := edgeLine{trail: t, class: "back", edge: k.edge, text: k.text}
	if k.text != nil {
		p.box(k.text, x, y)
		t.corner(append(points, [2]float64{x + k.x, y + k.text.y + k.text.h})...)
		t.move(x+k.x, y+k.text.y)
		points = nil
	}
	if from == head {
		over, roof := x+head.x+head.w/3, y+head.y+head.roof()
		points = append(points, [2]float64{x + k.x, y + head.y - selfLoop}, [2]float64{over, y + head.y - selfLoop}, [2]float64{over, roof - 5})
		line.head, line.tip = downHead, point{over, roof}
	} else {
		side := y + head.y + head.h/2
		points = append(points, [2]float64{x + k.x, side}, [2]float64{x + head.x + head.w/2 + 5, side})
		line.head, line.tip = leftHead, point{x + head.x + head.w/2, side}
	}
	t.corner(points...)
	p.line(line, x, y)
}

// selfLoop is the distance between the top of a box and its own back edge.
const selfLoop = 13.0

// open reports whether there is nothing between a box and the right side.
func (r *region) open(b *box) bool {
	return !slices.ContainsFunc(r.rows[b.row].boxes[b.at+1:], func(x *box) bool { return x.kind != bendBox && x.kind != portBox })
}
