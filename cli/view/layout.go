package view

import "strings"

// layOut puts the lines in columns: name, time, and the rest. A long name does
// not push the others out, and no line is wider than the terminal.
func layOut(lines []line, style Style) []string {
	names := 0
	for _, l := range lines {
		if l.hasMore() {
			names = max(names, Width(l.guide)+2+Width(l.name))
		}
	}
	most := 48
	if style.Width > 0 {
		most = min(most, max(style.Width/2, 12))
	}
	names = min(names, most)
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = drawCells(l.cells(names, style), style)
	}
	return out
}

func (l *line) hasMore() bool { return l.time != "" || l.info != "" || l.note != "" }

const timeWidth = 6

func (l *line) cells(names int, style Style) []Cell {
	cells := []Cell{{l.guide, Dim}, {l.mark, l.paint}, {" ", None}}
	if !l.hasMore() {
		return append(cells, Cell{l.name, l.namePaint()})
	}
	room := max(names-Width(l.guide)-2, 1)
	cells = append(cells, Cell{Pad(style.Cut(l.name, room), room), l.namePaint()}, Cell{" " + PadLeft(l.time, timeWidth), Dim})
	if l.info != "" {
		cells = append(cells, Cell{"  " + l.info, Yellow})
	}
	if l.note != "" {
		cells = append(cells, Cell{"  " + l.note, l.notePaint()})
	}
	return cells
}

func (l *line) namePaint() Paint {
	switch l.state {
	case pending, skipped, cancelled:
		return Dim
	case failed:
		return BoldRed
	case running, retrying, waiting:
		return Bold
	case succeeded:
		return None
	}
	return None
}

func (l *line) notePaint() Paint {
	if l.state == failed {
		return Red
	}
	return Dim
}

// drawCells draws one line of cells, cut to the width of the terminal.
func drawCells(cells []Cell, style Style) string {
	var b strings.Builder
	room := style.Width
	for _, c := range cells {
		text := c.Text
		if style.Width > 0 {
			text = style.Cut(text, room)
			room -= Width(text)
		}
		b.WriteString(style.Paint(c.Paint, text))
	}
	return b.String()
}
