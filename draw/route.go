package draw

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// trail is the drawn line of a wire.
type trail struct {
	strings.Builder
	x, y float64
}

func (t *trail) move(x, y float64) {
	fmt.Fprintf(t, "M%s %s", num(x), num(y))
	t.x, t.y = x, y
}

// down draws a straight line to a height.
func (t *trail) down(y float64) {
	if num(y) != num(t.y) {
		fmt.Fprintf(t, "V%s", num(y))
		t.y = y
	}
}

// swing draws an S-shaped line from one column to another that starts and ends vertically.
func (t *trail) swing(x, y float64) {
	if num(x) == num(t.x) {
		t.down(y)
		return
	}
	middle := num((t.y + y) / 2)
	fmt.Fprintf(t, "C%s %s %s %s %s %s", num(t.x), middle, num(x), middle, num(x), num(y))
	t.x, t.y = x, y
}

// corner draws straight lines through points, with round corners.
func (t *trail) corner(points ...[2]float64) {
	for i, to := range points {
		if i == len(points)-1 {
			fmt.Fprintf(t, "L%s %s", num(to[0]), num(to[1]))
			t.x, t.y = to[0], to[1]
			return
		}
		next := points[i+1]
		x1, y1 := towards(to, [2]float64{t.x, t.y}, 8)
		x2, y2 := towards(to, next, 8)
		fmt.Fprintf(t, "L%s %sQ%s %s %s %s", num(x1), num(y1), num(to[0]), num(to[1]), num(x2), num(y2))
		t.x, t.y = x2, y2
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

// wire paints a wire. It stops where the wire joins a trunk that is already painted.
func (p *painter) wire(r *region, w *wire, x, y float64, painted map[[2]*box]bool) {
	t := &trail{}
	from := w.chain[0]
	if w.via != nil {
		port := w.via.to
		t.move(x+from.x-from.w/2+port.x, y+from.y+port.y)
	} else {
		t.move(x+from.x+w.startOff(1), y+from.y+from.h)
	}
	joined := false
	for i := 1; i < len(w.chain) && !joined; i++ {
		a, b := w.chain[i-1], w.chain[i]
		if joined = painted[[2]*box{a, b}]; joined {
			break
		}
		painted[[2]*box{a, b}] = a.kind == bendBox || a.kind == textBox
		t.down(y + r.rows[a.row].bottom)
		t.swing(x+b.x+w.endOff(i), y+r.rows[b.row].top-landing[b.kind])
		if b.kind == textBox {
			t.down(y + b.y)
			t.move(t.x, y+b.y+b.h)
		}
	}
	p.arrive(t, w, x, y, joined)
}

// landing is the length of the straight part of a wire in front of a box, which must have room
// for the arrow.
var landing = map[boxKind]float64{markBox: 11, frameBox: 11, jointBox: 4}

// arrive ends a wire at its target, with an arrow unless it continues from there.
func (p *painter) arrive(t *trail, w *wire, x, y float64, joined bool) {
	class := wireClass(w.on)
	last := w.chain[len(w.chain)-1]
	switch {
	case joined:
	case last.kind == portBox || last.kind == jointBox:
		t.down(y + last.y)
	default:
		end := y + entryTop(last)
		t.down(end - 5)
		p.arrow(class, t.x, end, 0)
	}
	p.line(class, t, p.ends(w.from, w.to))
}

func (p *painter) line(class string, t *trail, ends string) {
	fmt.Fprintf(&p.wires, `<path class="wire %s" d="%s"%s/>`+"\n", class, t.String(), ends)
}

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
	return "plain"
}

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
	if k.text != nil {
		p.box(k.text, x, y)
		t.corner(append(points, [2]float64{x + k.x, y + k.text.y + k.text.h})...)
		t.move(x+k.x, y+k.text.y)
		points = nil
	}
	if from == head {
		over, roof := x+head.x+head.w/3, y+head.y+head.roof()
		points = append(points, [2]float64{x + k.x, y + head.y - selfLoop}, [2]float64{over, y + head.y - selfLoop}, [2]float64{over, roof - 5})
		p.arrow("back", over, roof, 0)
	} else {
		side := y + head.y + head.h/2
		points = append(points, [2]float64{x + k.x, side}, [2]float64{x + head.x + head.w/2 + 5, side})
		p.arrow("back", x+head.x+head.w/2, side, math.Pi/2)
	}
	t.corner(points...)
	p.line("back", t, p.ends(from, head))
}

// selfLoop is the distance between the top of a box and its own back edge.
const selfLoop = 13.0

// open reports whether there is nothing between a box and the right side.
func (r *region) open(b *box) bool {
	return !slices.ContainsFunc(r.rows[b.row].boxes[b.at+1:], func(x *box) bool { return x.kind != bendBox && x.kind != portBox })
}
