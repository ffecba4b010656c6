package view

import (
	"strings"
	"time"
)

// Branches returns the lines that connect the rows of a tree, given the depth of each row.
func Branches(depths []int, style Style) []string {
	tee, corner, line, gap := style.pick("├─ ", "|- "), style.pick("└─ ", "`- "), style.pick("│  ", "|  "), "   "
	list := make([]string, len(depths))
	open := map[int]bool{} // depths at which another row follows
	for i := len(depths) - 1; i >= 0; i-- {
		depth := depths[i]
		var b strings.Builder
		for d := 1; d < depth; d++ {
			if open[d] {
				b.WriteString(line)
			} else {
				b.WriteString(gap)
			}
		}
		switch {
		case depth == 0:
		case open[depth]:
			b.WriteString(tee)
		default:
			b.WriteString(corner)
		}
		list[i] = b.String()
		for d := range open {
			if d > depth {
				delete(open, d)
			}
		}
		open[depth] = true
	}
	return list
}

// Bar draws a part of a time as a bar in a column.
func Bar(from, to, whole time.Duration, width int, style Style) string {
	if whole <= 0 {
		whole = 1
	}
	at := func(d time.Duration) int { return min(max(int(float64(d)/float64(whole)*float64(width)), 0), width) }
	first, last := min(at(from), width-1), at(to)
	return strings.Repeat(style.pick("·", "."), first) + strings.Repeat(style.pick("█", "#"), max(last-first, 1)) + strings.Repeat(style.pick("·", "."), max(width-max(last, first+1), 0))
}
