package draw

import (
	"github.com/hocket-dev/hocket/internal/lazy"
)

// The shapes of marks: their sizes, and how they are painted.

const (
	sidePad    = 18.0 // left and right of the text in a mark
	leastWidth = 92.0
	slant      = 14.0 // of the sides of a hexagon and of a funnel
	bareChoice = 30.0 // size of a choice without text
)

// measure sets the size that a mark needs for its text.
func (b *box) measure() {
	text := max(widthOf(b.title, titleSize, true), widthOf(b.note, noteSize, false))
	b.w, b.h = max(leastWidth, text+2*sidePad), 36
	if b.note != "" {
		b.h = 50
	}
	switch b.mark {
	case humanMark, combineMark:
		b.w += slant
	case choiceMark, evaluatorMark:
		b.measureChoice(text)
	case callMark:
		b.w, b.h = b.w+6, b.h+6
	case startMark, endMark, taskMark, routerMark:
	}
	if b.stack {
		b.w, b.h = b.w+pileSize, b.h+pileSize
	}
}

// measureChoice makes a diamond wide enough for the text across its middle.
func (b *box) measureChoice(text float64) {
	switch {
	case b.title == "" && b.note == "":
		b.w, b.h = bareChoice, bareChoice
	case b.note == "":
		b.w, b.h = text/0.68+sidePad, 46
	default:
		b.w, b.h = text/0.52+sidePad, 66
	}
}

// newText returns the box for the text of a wire, or nil if there is none.
func newText(s string) *box {
	if s == "" {
		return nil
	}
	return &box{kind: textBox, title: s, w: widthOf(s, smallSize, false) + 8, h: 17}
}

// roof returns how far inside its upper and lower sides the outline of a box is, at a third of
// its width to the right of the middle.
func (b *box) roof() float64 {
	switch b.mark {
	case choiceMark, evaluatorMark:
		return b.h / 3
	case startMark, endMark, taskMark, routerMark, humanMark, callMark, combineMark:
	}
	return 0
}

// mark paints a mark whose upper side has its middle at x, y.
func (p *painter) mark(b *box, x, y float64) {
	w, h := b.w, b.h
	if b.stack {
		w, h = w-pileSize, h-pileSize
		x -= pileSize / 2
		p.shape(b, x+pileSize, y+pileSize, w, h)
		p.shape(b, x+pileSize/2, y+pileSize/2, w, h)
	}
	p.shape(b, x, y, w, h)
	if colorName().MatchString(b.accent) {
		p.marks.put("<rect").attr("x", x-w/2+6).attr("y", y+9).put(` width="4"`).attr("height", h-18).put(` rx="2" fill="`).put(b.accent)
		p.marks.end(`"/>`)
	}
	p.caption(b, x, y+h/2)
}

// colorName matches colours that are safe to write into the picture.
var colorName = lazy.Regexp(`^(#[0-9A-Fa-f]{3,8}|[A-Za-z]{3,24})$`)

func (p *painter) caption(b *box, x, middle float64) {
	title, note := textLine{b.title, "title", titleSize}, textLine{b.note, "note", noteSize}
	switch {
	case b.title == "" && b.note == "":
	case b.folded != nil && p.inline != nil:
		p.marks.line(x, middle-3, "middle", title)
		p.marks.put(`<text class="note"`).attr("x", x).attr("y", middle+13).put(">")
		p.marks.slot(slot{kind: slotCount, folded: b.folded, place: b.note})
		p.marks.end("</text>")
	case b.note == "":
		p.marks.line(x, middle+4.5, "middle", title)
	case b.title == "":
		p.marks.line(x, middle+4, "middle", note)
	default:
		p.marks.line(x, middle-3, "middle", title)
		p.marks.line(x, middle+13, "middle", note)
	}
}

func (p *painter) shape(b *box, x, y, w, h float64) {
	left, right, bottom := x-w/2, x+w/2, y+h
	switch b.mark {
	case startMark:
		p.circle("solid", x, y+h/2, h/2-1)
	case endMark:
		p.circle("ring", x, y+h/2, h/2-1)
		p.circle("solid", x, y+h/2, h/2-5)
	case taskMark, routerMark:
		p.rect(b.mark, left, y, w, h, 8)
	case callMark:
		p.rect(b.mark, left, y, w, h, 8)
		p.rect(b.mark, left+3.5, y+3.5, w-7, h-7, 5)
	case humanMark:
		p.polygon(b.mark, left, y+h/2, left+slant, y, right-slant, y, right, y+h/2, right-slant, bottom, left+slant, bottom)
	case choiceMark, evaluatorMark:
		p.polygon(b.mark, x, y, right, y+h/2, x, bottom, left, y+h/2)
	case combineMark:
		p.polygon(b.mark, left, y, right, y, right-slant, bottom, left+slant, bottom)
	}
}

func (p *painter) circle(class string, x, y, r float64) {
	p.marks.put(`<circle class="`).put(class).put(`"`).attr("cx", x).attr("cy", y).attr("r", r)
	p.marks.end("/>")
}

func (p *painter) rect(class markKind, x, y, w, h, round float64) {
	p.marks.put(`<rect class="mark `).put(string(class)).put(`"`).attr("x", x).attr("y", y).attr("width", w).attr("height", h).attr("rx", round)
	p.marks.end("/>")
}

func (p *painter) polygon(class markKind, points ...float64) {
	p.marks.put(`<polygon class="mark `).put(string(class)).put(`" points="`)
	for i := 0; i < len(points); i += 2 {
		p.marks.num(points[i]).put(",").num(points[i+1]).put(" ")
	}
	p.marks.end(`"/>`)
}
