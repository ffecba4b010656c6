package draw

import "fmt"

// Bars is a group of horizontal bars with a common scale.
type Bars struct {
	Title string
	Bars  []Bar
	Full  float64 // the value of a bar over the whole width; zero means the largest one
}

// Bar is one bar.
type Bar struct {
	Label string
	Value float64
	Mark  float64 // another value, drawn as a line; zero means none
	Text  string  // what the values are
}

const (
	barHigh  = 14.0
	barWide  = 260.0
	barRow   = 24.0
	barLabel = 150.0
	barText  = 190.0
)

// Chart draws groups of bars as a self-contained picture, like [SVG].
func Chart(name string, groups []Bars) string {
	p := &painter{}
	y := margin + 16
	p.text(margin, y, "start", textLine{shorten(name, 60), "name", 16})
	for _, g := range groups {
		y += barRow + 10
		p.text(margin, y, "start", textLine{shorten(g.Title, 80), "tag", 12})
		y += 10
		full := g.Full
		for _, b := range g.Bars {
			if g.Full == 0 {
				full = max(full, b.Value, b.Mark)
			}
		}
		for _, b := range g.Bars {
			p.bar(b, full, y)
			y += barRow
		}
		y -= barRow / 2
	}
	return p.document(name, 2*margin+barLabel+barWide+barText, y+barRow/2+margin)
}

func (p *painter) bar(b Bar, full, y float64) {
	x, scale := margin+barLabel, 0.0
	if full > 0 {
		scale = barWide / full
	}
	p.text(x-10, y+barHigh-3, "end", textLine{shorten(b.Label, 20), "label", 12})
	fmt.Fprintf(&p.frames, `<rect class="frame" x="%s" y="%s" width="%s" height="%s" rx="3"/>`+"\n", num(x), num(y), num(barWide), num(barHigh))
	if b.Value > 0 {
		fmt.Fprintf(&p.marks, `<rect class="mark task" x="%s" y="%s" width="%s" height="%s" rx="3"/>`+"\n", num(x), num(y), num(max(b.Value*scale, 2)), num(barHigh))
	}
	if b.Mark > 0 {
		fmt.Fprintf(&p.marks, `<line class="ring" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n", num(x+b.Mark*scale), num(y-2), num(x+b.Mark*scale), num(y+barHigh+2))
	}
	p.text(x+barWide+10, y+barHigh-3, "start", textLine{shorten(b.Text, 34), "label", 12})
}
