package trial

import (
	"slices"
	"strings"
)

// Line is a line of a difference.
type Line struct {
	Kind string `json:"kind"` // one of the kinds below
	Text string `json:"text"`
}

// The kinds of lines.
const (
	Same    = " "
	Removed = "-"
	Added   = "+"
	Skipped = "…" // lines that both have
)

// around is how many lines that both have are shown around others.
const around = 2

// Diff compares two texts line by line.
func Diff(was, now string) []Line {
	a, b := strings.Split(strings.TrimRight(was, "\n"), "\n"), strings.Split(strings.TrimRight(now, "\n"), "\n")
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	lines := marked(Same, a[:head])
	lines = append(lines, aligned(a[head:len(a)-tail], b[head:len(b)-tail])...)
	return folded(append(lines, marked(Same, a[len(a)-tail:])...))
}

func marked(kind string, texts []string) []Line {
	lines := make([]Line, len(texts))
	for i, text := range texts {
		lines[i] = Line{kind, text}
	}
	return lines
}

// aligned finds the lines that both texts have. Large texts are shown one after the other: the work grows with the product
// of their lengths.
func aligned(a, b []string) []Line {
	const most = 4_000_000
	if len(a)*len(b) > most {
		return append(marked(Removed, a), marked(Added, b)...)
	}
	common := make([][]int, len(a)+1) // of the rests
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var lines []Line
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, Line{Same, a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, Line{Removed, a[i]})
			i++
		default:
			lines = append(lines, Line{Added, b[j]})
			j++
		}
	}
	return lines
}

// folded leaves out lines far from every difference.
func folded(lines []Line) []Line {
	near := make([]bool, len(lines))
	for i, l := range lines {
		if l.Kind != Same {
			for k := max(0, i-around); k < min(len(lines), i+around+1); k++ {
				near[k] = true
			}
		}
	}
	var kept []Line
	for i := 0; i < len(lines); i++ {
		if near[i] {
			kept = append(kept, lines[i])
			continue
		}
		end := i
		for end < len(lines) && !near[end] {
			end++
		}
		if end-i == 1 { // as long as the mark
			kept = append(kept, lines[i])
		} else {
			kept = append(kept, Line{Kind: Skipped})
		}
		i = end - 1
	}
	return slices.Clip(kept)
}
