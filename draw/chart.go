package draw

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
	p.marks.line(margin, y, "start", textLine{shorten(name, 60), "name", 16})
	for _, g := range groups {
		y += barRow + 10
		p.marks.line(margin, y, "start", textLine{shorten(g.Title, 80), "tag", 12})
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
	p.marks.line(x-10, y+barHigh-3, "end", textLine{shorten(b.Label, 20), "label", 12})
	p.frames.put(`<rect class="frame"`).attr("x", x).attr("y", y).attr("width", barWide).attr("height", barHigh).put(` rx="3"/>` + "\n")
	if b.Value > 0 {
		p.marks.put(`<rect class="mark task"`).attr("x", x).attr("y", y).attr("width", max(b.Value*scale, 2)).attr("height", barHigh).put(` rx="3"/>` + "\n")
	}
	if b.Mark > 0 {
		at := x + b.Mark*scale
		p.marks.put(`<line class="ring"`).attr("x1", at).attr("y1", y-2).attr("x2", at).attr("y2", y+barHigh+2).put("/>\n")
	}
	p.marks.line(x+barWide+10, y+barHigh-3, "start", textLine{shorten(b.Text, 34), "label", 12})
}
