package draw

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// style.css has the colours, for a light and a dark theme.
//
//go:embed style.css
var style string

const margin = 24.0

// SVG draws a workflow as a self-contained picture, for instance for a README: it has its own
// background and colours, and needs no script or font.
func SVG(w *workflow.Workflow) string {
	r := newScene(w)
	head := []textLine{{w.Name, "name", 16}}
	if w.Description != "" {
		head = append(head, textLine{shorten(w.Description, 90), "note", 12})
	}
	p := &painter{}
	wide, y := r.width, margin
	for _, l := range head {
		y += l.size * 1.3
		p.text(margin, y-l.size*0.3, "start", l)
		wide = max(wide, widthOf(l.text, l.size, true))
	}
	wide += 2 * margin
	x := (wide - r.width) / 2
	p.region(r, x, y+margin/2)
	return p.document(w.Name, wide, y+margin*1.5+r.height)
}

// Inline is a picture that is part of a page: the style sheet of the page has its colours. Its nodes, frames
// and edges are marked with places, so that the page can show the state of a run without drawing again. A
// place is the address of a node without iterations and items.
type Inline struct {
	Bundle *workflow.Bundle
	Open   func(place string) bool   // which calls are drawn with the workflow that they call; nil: none
	Link   func(place string) string // where a node leads; nil: nowhere
}

// SVG draws the picture. It has no style and no script.
func (o Inline) SVG() string {
	r := (&scene{called: o.Bundle.Called, open: o.Open}).whole(o.Bundle.Root, wholeFrame, "")
	p := &painter{places: true, link: o.Link}
	p.region(r, inlineMargin, inlineMargin)
	wide, high := num(math.Ceil(r.width+2*inlineMargin)), num(math.Ceil(r.height+2*inlineMargin))
	return fmt.Sprintf(`<svg class="drawing" xmlns="http://www.w3.org/2000/svg" role="group" aria-label="%s" width="%s" height="%s" viewBox="0 0 %s %s">`+"\n",
		escape("Drawing of "+o.Bundle.Root.Name), wide, high, wide, high) +
		p.frames.String() + p.wires.String() + p.marks.String() + "</svg>\n"
}

const inlineMargin = 8.0

// painter collects the picture in layers: later ones are on top.
type painter struct {
	frames, wires, marks strings.Builder

	places bool // mark the parts with their places
	link   func(place string) string
}

// begin opens an element around what is painted for a node, and returns what closes it.
func (p *painter) begin(to *strings.Builder, class string, b *box) (end string) {
	if !p.places || b.place == "" {
		return ""
	}
	name, href := "g", ""
	if p.link != nil {
		name, href = "a", ` href="`+escape(p.link(b.place))+`"`
	}
	fmt.Fprintf(to, `<%s class="%s" data-place="%s"%s>`+"\n", name, class, escape(b.place), href)
	return "</" + name + ">\n"
}

// ends returns the attributes of an edge.
func (p *painter) ends(from, to *box) string {
	if !p.places || from.place == "" {
		return ""
	}
	return fmt.Sprintf(` data-from="%s" data-to="%s"`, escape(from.place), escape(to.place))
}

func (p *painter) document(name string, wide, high float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%s" height="%s" viewBox="0 0 %s %s">`+"\n",
		num(math.Ceil(wide)), num(math.Ceil(high)), num(math.Ceil(wide)), num(math.Ceil(high)))
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(name))
	fmt.Fprintf(&b, "<style>\n%s</style>\n", style)
	fmt.Fprintf(&b, `<rect class="paper" width="100%%" height="100%%" rx="12"/>`+"\n")
	b.WriteString(p.frames.String() + p.wires.String() + p.marks.String())
	b.WriteString("</svg>\n")
	return b.String()
}

// region paints a region whose top left corner is at x, y.
func (p *painter) region(r *region, x, y float64) {
	for _, o := range r.groups {
		p.outline(o, x, y)
	}
	for _, b := range r.boxes {
		p.box(b, x, y)
	}
	painted := map[[2]*box]bool{}
	for _, w := range r.wires {
		p.wire(r, w, x, y, painted)
	}
	for _, k := range r.backs {
		p.back(r, k, x, y)
	}
}

func (p *painter) outline(o outline, x, y float64) {
	fmt.Fprintf(&p.frames, `<rect class="group" x="%s" y="%s" width="%s" height="%s" rx="10"/>`+"\n",
		num(x+o.left), num(y+o.top), num(o.right-o.left), num(o.bottom-o.top))
	writeText(&p.frames, x+o.titleX, y+o.top+15, "start", textLine{o.title, "tag", smallSize})
}

func (p *painter) box(b *box, x, y float64) {
	switch b.kind {
	case markBox:
		end := p.begin(&p.marks, "node", b)
		p.mark(b, x+b.x, y+b.y)
		p.marks.WriteString(end)
	case frameBox:
		p.frame(b, x+b.x-b.w/2, y+b.y)
	case textBox:
		p.text(x+b.x, y+b.y+b.h*0.72, "middle", textLine{b.title, "label", smallSize})
	case jointBox:
		fmt.Fprintf(&p.marks, `<circle class="solid" cx="%s" cy="%s" r="%s"/>`+"\n", num(x+b.x), num(y+b.y+b.h/2), num(b.h/2))
	case bendBox, portBox:
	}
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
	writeText(&p.frames, x+b.inner.titleX, y+19, "start", textLine{b.inner.title, "tag", smallSize})
	p.frames.WriteString(end)
	p.region(b.inner, x, y)
}

func (p *painter) panel(b *box, x, y, w, h float64) {
	fmt.Fprintf(&p.frames, `<rect class="frame %s" x="%s" y="%s" width="%s" height="%s" rx="14"/>`+"\n",
		b.inner.kind, num(x), num(y), num(w), num(h))
}

// textLine draws a line of text with a class and a size.
type textLine struct {
	text, class string
	size        float64
}

func (p *painter) text(x, y float64, anchor string, l textLine) { writeText(&p.marks, x, y, anchor, l) }

func writeText(to *strings.Builder, x, y float64, anchor string, l textLine) {
	fmt.Fprintf(to, `<text class="%s" x="%s" y="%s" font-size="%s" text-anchor="%s">%s</text>`+"\n",
		l.class, num(x), num(y), num(l.size), anchor, escape(l.text))
}

// num formats a coordinate with at most one decimal.
func num(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// escape makes text safe in XML. It drops characters that are not allowed in XML.
func escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return xmlEscapes.Replace(s)
}

var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")
