package view

import "strings"

// Table is rows of cells below a header, aligned in columns.
type Table struct {
	Head  []string
	Right []bool   // right-aligned columns
	Lead  []string // before the first cell of each row, as it is: the branches of a tree; may be nil
	Spare []int    // columns to drop, in this order, until the others fit
	Whole bool     // nothing is cut: the last column is for copying
	rows  [][]Cell
}

// Cell is one cell of a table. The table makes its text safe for the terminal.
type Cell struct {
	Text  string
	Paint Paint
}

// Row adds a row.
func (t *Table) Row(cells ...Cell) { t.rows = append(t.rows, cells) }

// Draw draws the table. If it is too wide, it first drops spare columns, and then cuts the
// last one.
func (t *Table) Draw(style Style) string {
	for n, row := range t.rows {
		for i := range row {
			text := strings.TrimLeft(row[i].Text, " ") // keep the indent
			row[i].Text = row[i].Text[:len(row[i].Text)-len(text)] + Line(text)
		}
		if n < len(t.Lead) {
			row[0].Text = t.Lead[n] + row[0].Text
		}
	}
	widths := t.widths()
	for _, i := range t.Spare {
		if style.Width == 0 || sum(widths) <= style.Width {
			break
		}
		widths[i] = leftOut
	}
	if t.Whole {
		style.Width = 0
	}
	var b strings.Builder
	head := make([]Cell, len(t.Head))
	for i, h := range t.Head {
		head[i] = Cell{h, Dim}
	}
	t.line(&b, head, widths, style)
	for _, row := range t.rows {
		t.line(&b, row, widths, style)
	}
	return b.String()
}

// leftOut is the width of a column that is not drawn: it takes back its gap.
const leftOut = -columnGap

const columnGap = 2 // between columns

// sum is the width of a line.
func sum(widths []int) int {
	total := -columnGap
	for _, w := range widths {
		total += w + columnGap
	}
	return total
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Head))
	for i, h := range t.Head {
		widths[i] = Width(h)
	}
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], Width(c.Text))
		}
	}
	return widths
}

func (t *Table) line(b *strings.Builder, cells []Cell, widths []int, style Style) {
	var out strings.Builder
	used := 0
	for i, c := range cells {
		if widths[i] == leftOut {
			continue
		}
		text := c.Text
		last := i == len(cells)-1
		switch {
		case i < len(t.Right) && t.Right[i]:
			text = PadLeft(text, widths[i])
		case !last:
			text = Pad(text, widths[i])
		}
		if style.Width > 0 {
			text = style.Cut(text, max(style.Width-used, 1))
		}
		used += Width(text) + columnGap
		out.WriteString(style.Paint(c.Paint, text))
		if !last {
			out.WriteString("  ")
		}
	}
	b.WriteString(strings.TrimRight(out.String(), " ") + "\n")
}
