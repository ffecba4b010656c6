package view

import (
	"slices"
	"strings"
)

// layOut arranges the lines in columns: name, time, and the rest. It shortens long names,
// and cuts lines at the width of the terminal.
func layOut(lines []line, style Style) []string {
	names := nameColumn(lines, style)
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = drawCells(l.cells(names, style), style)
	}
	return out
}

// nameColumn returns the width of the column of names, including branches.
func nameColumn(lines []line, style Style) int {
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
	return min(names, most)
}

// spillRows is how many rows the reason for a failure may take.
const spillRows = 4

// spill moves the reason for a failure to its own rows if it does not fit next to the
// name.
func spill(lines []line, style Style) []line {
	if style.Width == 0 {
		return lines
	}
	names := nameColumn(lines, style)
	var out []line
	for _, l := range lines {
		used := names + 1 + timeWidth + 2
		if l.info != "" {
			used += Width(l.info) + 2
		}
		if l.state != failed && l.state != retrying || used+Width(l.note) <= style.Width {
			out = append(out, l)
			continue
		}
		indent := l.below + "  "
		rows := style.Wrap(l.note, Width(indent))
		if len(rows) > spillRows {
			rows[spillRows-1] += style.pick("…", "~") // too wide now, so it gets cut here
			rows = rows[:spillRows]
		}
		l.note = ""
		out = append(out, l)
		for _, row := range rows {
			out = append(out, line{guide: indent, note: row, state: l.state, must: true, row: true, paint: Red})
		}
	}
	return out
}

// tail fills spare rows with the output of the running step, if there is only one.
func tail(lines []line, style Style, height int) []line {
	at := -1
	for i, l := range lines {
		if l.busy != nil && at >= 0 || l.hides[running]+l.hides[retrying] > 0 {
			return lines
		}
		if l.busy != nil {
			at = i
		}
	}
	spare := height - len(lines)
	if at < 0 || spare < 2 {
		return lines
	}
	l := lines[at]
	rows := l.busy.lastRows(style, Width(l.below)+2, spare)
	if len(rows) < 2 { // it is already shown next to the name
		return lines
	}
	below := make([]line, len(rows))
	for i, row := range rows {
		below[i] = line{guide: l.below + "  ", note: row, row: true, paint: Dim}
	}
	lines[at].note = ""
	return slices.Insert(lines, at+1, below...)
}

// lastRows returns the end of the output of an attempt.
func (it *item) lastRows(style Style, used, most int) []string {
	text := strings.TrimRight(strings.ReplaceAll(string(it.log), "\r\n", "\n"), "\r\n\t ")
	if _, whole, cut := strings.Cut(text, "\n"); cut && len(it.log) >= maxLog {
		text = whole // the first line is incomplete
	}
	var rows []string
	for l := range strings.SplitSeq(text, "\n") {
		l = strings.ReplaceAll(Text(l[strings.LastIndexByte(l, '\r')+1:]), "\t", "    ")
		rows = append(rows, style.Wrap(strings.TrimRight(l, " "), used)...)
	}
	return rows[max(len(rows)-most, 0):]
}

func (l *line) hasMore() bool { return !l.row && (l.time != "" || l.info != "" || l.note != "") }

const timeWidth = 6

func (l *line) cells(names int, style Style) []Cell {
	if l.row {
		return []Cell{{l.guide, Dim}, {l.note, l.paint}}
	}
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
