package view

import "strings"

// Table is rows of cells under a head, aligned in columns.
type Table struct {
	Head  []string
	Right []bool // columns that are aligned to the right
	rows  [][]Cell
}

// Cell is one cell of a table. Its text is made safe by the table.
type Cell struct {
	Text  string
	Paint Paint
}

// Row adds a row.
func (t *Table) Row(cells ...Cell) { t.rows = append(t.rows, cells) }

// Draw draws the table in a style. The last column is cut where the width is
// bounded.
func (t *Table) Draw(style Style) string {
	for _, row := range t.rows {
		for i := range row {
			text := strings.TrimLeft(row[i].Text, " ") // what is indented stays so
			row[i].Text = row[i].Text[:len(row[i].Text)-len(text)] + Line(text)
		}
	}
	widths := t.widths()
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
		used += Width(text) + 2
		out.WriteString(style.Paint(c.Paint, text))
		if !last {
			out.WriteString("  ")
		}
	}
	b.WriteString(strings.TrimRight(out.String(), " ") + "\n")
}
