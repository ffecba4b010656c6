package draw

import (
	"fmt"
	"strings"
)

// Handed is a task that a step has handed off to another agent. It is drawn below the mark of the step, in a frame
// around both. What it has handed off itself follows it, and is indented.
type Handed struct {
	Place string
	Text  string
}

const (
	mostHanded   = 12 // tasks that are drawn below a step
	handedHeight = 24.0
	handedGap    = 6.0
	handedPad    = 10.0 // between the frame and what is in it
	handedIndent = 14.0
)

// hold makes room for tasks below a mark.
func (b *box) hold(all []Handed) {
	if len(all) == 0 {
		return
	}
	if more := len(all) - mostHanded; more > 0 {
		all = append(all[:mostHanded:mostHanded], Handed{Text: fmt.Sprintf("and %d more", more)})
	}
	b.handed = all
	for _, h := range all {
		b.w = max(b.w, b.indent(h)+widthOf(h.text(), noteSize, false)+sidePad)
	}
	b.w += 2 * handedPad
	b.h += 2*handedPad + float64(len(all))*(handedHeight+handedGap)
}

// indent returns how far a task below a mark is indented.
func (b *box) indent(h Handed) float64 {
	deeper := strings.Count(h.Place, "/") - strings.Count(b.place, "/")
	return handedIndent * float64(max(1, deeper))
}

func (h Handed) text() string { return shorten(h.Text, widestNote) }

// handed paints the frame around a mark, and the tasks below it. It returns where the mark begins.
func (p *painter) handed(b *box, x, y float64) (top float64) {
	left, right := x-b.w/2, x+b.w/2
	p.frames.put(`<rect class="group"`).attr("x", left).attr("y", y).attr("width", b.w).attr("height", b.h).put(` rx="12"`)
	p.frames.end("/>")
	down := y + b.h - handedPad - float64(len(b.handed))*(handedHeight+handedGap)
	parents := map[float64]float64{handedIndent: down} // where what is indented so far was handed off
	for _, h := range b.handed {
		down += handedGap
		indent := b.indent(h)
		from, to, middle := left+handedPad+indent, right-handedPad, down+handedHeight/2
		end := p.begin(&p.marks, "node", &box{place: h.Place})
		if h.Place != "" {
			p.rect(taskMark, from, down, to-from, handedHeight, 6)
			p.frames.put(`<path class="group" d="M`).num(from - handedIndent/2).put(" ").num(parents[indent]).put("V").num(middle).put("H").num(from)
			p.frames.end(`"/>`)
		}
		p.marks.line((from+to)/2, middle+4, "middle", textLine{h.text(), "note", noteSize})
		p.marks.put(end)
		down += handedHeight
		parents[indent+handedIndent] = down
	}
	return y + handedPad
}
