package workflow

import (
	"strings"
	"unicode/utf8"
)

// Nearest returns the name closest to the one that was written, or "" if none is close enough: at
// most a few letters away, or a longer name that contains it. In a tie, the earlier name wins.
func Nearest(written string, names []string) string {
	best, bestDistance := "", (utf8.RuneCountInString(written)+1)/3
	lower := strings.ToLower(written)
	for _, name := range names {
		if d := editDistance(lower, strings.ToLower(name), bestDistance); d < bestDistance || d == bestDistance && best == "" {
			best, bestDistance = name, d
		}
	}
	for _, name := range names {
		if best == "" && len(lower) > 3 && strings.Contains(strings.ToLower(name), lower) {
			best = name
		}
	}
	return best
}

// DidYouMean returns `did you mean "x"?` for the nearest name, or "".
func DidYouMean(written string, names []string) string {
	if name := Nearest(written, names); name != "" {
		return `did you mean "` + name + `"?`
	}
	return ""
}

// Meant returns the name that was certainly meant: the nearest, nearer than all others, and only
// one typing mistake away. It returns "" if a person has to decide.
func Meant(written string, names []string) string {
	lower, slip := strings.ToLower(written), 0
	switch length := utf8.RuneCountInString(written); {
	case length > 8:
		slip = 2
	case length > 3:
		slip = 1
	}
	meant, best := "", slip+1
	for _, name := range names {
		switch d := editDistance(lower, strings.ToLower(name), slip); {
		case d < best:
			meant, best = name, d
		case d == best && name != meant && d <= slip:
			meant = ""
		}
	}
	return meant
}

// editDistance counts insertions, deletions, replacements and swaps of adjacent characters
// between a and b. It returns limit+1 as soon as the distance exceeds limit.
func editDistance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) > limit || len(y)-len(x) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(y); j++ {
			replace := last[j-1]
			if x[i-1] != y[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(y)], limit+1)
}
