package trial

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/linediff"
)

// Line is a line of a difference.
type Line struct {
	Kind string `json:"kind"` // one of the kinds below
	Text string `json:"text"`
}

// The kinds of lines.
const (
	Same    = string(linediff.Same)
	Removed = string(linediff.Removed)
	Added   = string(linediff.Added)
	Skipped = "…" // lines that both have
)

// around is how many lines that both have are shown around others.
const around = 2

// most is the largest product of lengths of texts that are compared in detail.
const most = 4_000_000

// Diff compares two texts line by line.
func Diff(was, now string) []Line {
	lines := func(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }
	return folded(linediff.Compare(lines(was), lines(now), most, func(kind linediff.Kind, text string) Line { return Line{string(kind), text} }))
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
