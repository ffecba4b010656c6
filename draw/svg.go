package draw

import (
	"context"
	_ "embed"
	"math"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// style.css has the colours, for a light and a dark theme.
//
//go:embed style.css
var style string

const margin = 24.0

// SVG draws a workflow as a self-contained picture, for instance for a README: it has its own
// background and colours, and needs no script or font. It fails only if the context is done.
func SVG(ctx context.Context, w *workflow.Workflow, fold Fold) (string, error) {
	r := (&scene{fold: fold}).whole(w, wholeFrame, "")
	if err := r.layout(ctx); err != nil {
		return "", err
	}
	head := []textLine{{w.Name, "name", 16}}
	if w.Description != "" {
		head = append(head, textLine{shorten(w.Description, 90), "note", 12})
	}
	if note := r.simpler(); note != "" {
		head = append(head, textLine{note, "note", 12})
	}
	p := &painter{}
	wide, y := r.width, margin
	for _, l := range head {
		y += l.size * 1.3
		p.marks.line(margin, y-l.size*0.3, "start", l)
		wide = max(wide, widthOf(l.text, l.size, true))
	}
	wide += 2 * margin
	x := (wide - r.width) / 2
	p.region(r, x, y+margin/2)
	return p.document(w.Name, wide, y+margin*1.5+r.height), nil
}

// painter collects the picture in layers: later ones are on top.
type painter struct {
	frames, wires, marks layer

	inline *Inline // nil: the picture is self-contained
}

func (p *painter) document(name string, wide, high float64) string {
	var i ink
	i.put(`<svg xmlns="http://www.w3.org/2000/svg" role="img"`).size(wide, high).put(">\n<title>").text(name).put("</title>\n")
	i.put("<style>\n").put(style).put("</style>\n" + `<rect class="paper" width="100%" height="100%" rx="12"/>` + "\n")
	return string(slices.Concat(i, p.frames.ink, p.wires.ink, p.marks.ink)) + "</svg>\n"
}

// size adds the size of a picture.
func (i *ink) size(wide, high float64) *ink {
	wide, high = math.Ceil(wide), math.Ceil(high)
	return i.attr("width", wide).attr("height", high).put(` viewBox="0 0 `).num(wide).put(" ").num(high).put(`"`)
}

// region paints a region whose top left corner is at x, y.
func (p *painter) region(r *region, x, y float64) {
	for _, o := range r.groups {
		p.outline(o, x, y)
	}
	for _, b := range r.boxes {
		if b.kind == textBox && b.trunk && p.inline != nil {
			p.shared(r, b, x, y)
			continue
		}
		p.box(b, x, y)
	}
	painted := map[piece]bool{}
	var shared map[piece][]*wire
	if p.inline != nil { // only there does the state of a run make a difference between them
		shared = r.sharing()
	}
	for _, w := range r.wires {
		p.wire(r, w, x, y, painted, shared)
	}
	for _, k := range r.backs {
		p.back(r, k, x, y)
	}
}

func (p *painter) outline(o outline, x, y float64) {
	p.frames.put(`<rect class="group"`).attr("x", x+o.left).attr("y", y+o.top).attr("width", o.right-o.left).attr("height", o.bottom-o.top).put(` rx="10"`)
	p.frames.end("/>")
	p.frames.line(x+o.titleX, y+o.top+15, "start", textLine{o.title, "tag", smallSize})
}

func (p *painter) box(b *box, x, y float64) {
	switch b.kind {
	case markBox:
		top := y + b.y
		if b.handed != nil {
			top = p.handed(b, x+b.x, top)
			own := *b
			own.measure()
			own.w = b.w - 2*handedPad
			b = &own
		}
		end := p.begin(&p.marks, "node", b)
		p.mark(b, x+b.x, top)
		p.marks.put(end)
	case frameBox:
		p.frame(b, x+b.x-b.w/2, y+b.y)
	case textBox:
		if p.inline == nil { // otherwise it is a part of its edge
			p.label(&p.marks, b, x, y)
		}
	case jointBox:
		p.circle("solid", x+b.x, y+b.y+b.h/2, b.h/2)
	case bendBox, portBox:
	}
}

func (p *painter) label(to *layer, b *box, x, y float64, of ...Edge) {
	to.line(x+b.x, y+b.y+b.h*0.72, "middle", textLine{b.title, "label", smallSize}, of...)
}

// shared paints the label of a trunk, which belongs to several edges.
func (p *painter) shared(r *region, b *box, x, y float64) {
	var of []Edge
	for _, w := range r.wires {
		if w.text == b {
			of = append(of, w.edge)
		}
	}
	p.label(&p.marks, b, x, y, of...)
}

func (p *painter) frame(b *box, x, y float64) {
	w, h := b.w, b.h
	end := p.begin(&p.frames, "node holder", b)
	if b.stack {
		w, h = w-pileSize, h-pileSize
		for _, off := range []float64{pileSize, pileSize / 2} {
			p.panel(b, x+off, y+off, w, h)
		}
	}
	p.panel(b, x, y, w, h)
	p.frames.line(x+b.inner.titleX, y+19, "start", textLine{b.inner.title, "tag", smallSize})
	p.frames.put(end)
	p.region(b.inner, x, y)
}

func (p *painter) panel(b *box, x, y, w, h float64) {
	p.frames.put(`<rect class="frame `).put(string(b.inner.kind)).put(`"`).attr("x", x).attr("y", y).attr("width", w).attr("height", h).put(` rx="14"`)
	p.frames.end("/>")
}

// textLine is a line of text with a class and a size.
type textLine struct {
	text, class string
	size        float64
}

// line adds a line of text. Edges are those that a label of several is for.
func (l *layer) line(x, y float64, anchor string, t textLine, of ...Edge) {
	l.put("<text")
	if !l.compact || t.class != "title" {
		l.put(` class="`).put(t.class)
		if len(of) > 0 {
			l.slot(slot{edges: of})
		}
		l.put(`"`)
	}
	l.attr("x", x).attr("y", y)
	if !l.compact {
		l.attr("font-size", t.size).put(` text-anchor="`).put(anchor).put(`"`)
	}
	l.put(">").text(t.text)
	l.end("</text>")
}
