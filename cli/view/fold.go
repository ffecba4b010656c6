package view

import (
	"fmt"
	"slices"
	"strings"
)

// fold keeps at most height lines: first what failed, then what is running, then what is
// nearest to those. Each gap becomes a line that counts what it hides.
func fold(lines []line, style Style, height int) []line {
	if len(lines) <= height {
		return lines
	}
	kept := make([]bool, len(lines))
	count, gaps := 0, 1
	for _, i := range byWeight(lines) {
		change := gapChange(kept, i)
		if count+1+gaps+change > height {
			if count+gaps >= height {
				break
			}
			continue
		}
		kept[i] = true
		count++
		gaps += change
	}
	return withGaps(lines, kept, style)
}

// gapChange returns how the number of gaps changes if line i is kept.
func gapChange(kept []bool, i int) int {
	before := i > 0 && !kept[i-1]
	after := i < len(kept)-1 && !kept[i+1]
	return btoi(before) + btoi(after) - 1
}

// byWeight returns the indexes of the lines, most important first.
func byWeight(lines []line) []int {
	distance := make([]int, len(lines))
	far := len(lines)
	for i, since := 0, far; i < len(lines); i++ {
		since = nextDistance(lines[i].must, since)
		distance[i] = since
	}
	for i, since := len(lines)-1, far; i >= 0; i-- {
		since = nextDistance(lines[i].must, since)
		distance[i] = min(distance[i], since)
	}
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	for i := range lines {
		if lines[i].state == failed && lines[i].must {
			distance[i] = -1
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return distance[a] - distance[b] })
	return order
}

func nextDistance(must bool, since int) int {
	if must {
		return 0
	}
	return since + 1
}

func withGaps(lines []line, kept []bool, style Style) []line {
	var out []line
	for i := 0; i < len(lines); {
		if kept[i] {
			out = append(out, lines[i])
			i++
			continue
		}
		from := i
		for i < len(lines) && !kept[i] {
			i++
		}
		out = append(out, gap(lines[from:i], style))
	}
	return out
}

// gap returns the line that replaces hidden lines.
func gap(lines []line, style Style) line {
	counts := map[state]int{}
	for _, l := range lines {
		switch {
		case l.hides != nil:
			for st, n := range l.hides {
				counts[st] += n
			}
		case !l.row:
			counts[l.state]++
		}
	}
	return standIn(counts, lines[0].guide, style)
}

// standIn returns a line that replaces others, with counts by state.
func standIn(counts map[state]int, guide string, style Style) line {
	var parts []string
	for _, k := range []struct {
		words  string
		states []state
	}{
		{"more failed", []state{failed}},
		{"more running", []state{running, retrying}},
		{"more waiting", []state{waiting}},
		{"done", []state{succeeded}},
		{"pending", []state{pending}},
		{"skipped", []state{skipped, cancelled}},
	} {
		n := 0
		for _, s := range k.states {
			n += counts[s]
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k.words))
		}
	}
	return line{guide: guide, mark: style.pick("…", "~"), paint: Dim, name: strings.Join(parts, ", "), state: pending, hides: counts}
}
