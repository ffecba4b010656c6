// Package linediff finds the lines that two texts have in common. It imports no other package of Hocket.
package linediff

// Kind says in which of two texts a line is.
type Kind string

// The kinds of lines.
const (
	Same    Kind = " "
	Removed Kind = "-"
	Added   Kind = "+"
)

// Compare returns the lines of both texts in order, each as line makes it, with as few removed and added as possible. The work grows with
// the product of the lengths of what differs: above most, all of that is removed and added.
func Compare[L any](was, now []string, most int, line func(Kind, string) L) []L {
	lines := make([]L, 0, max(len(was), len(now)))
	add := func(kind Kind, texts ...string) {
		for _, text := range texts {
			lines = append(lines, line(kind, text))
		}
	}
	head := 0
	for head < min(len(was), len(now)) && was[head] == now[head] {
		head++
	}
	tail := 0
	for tail < min(len(was), len(now))-head && was[len(was)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	add(Same, was[:head]...)
	align(was[head:len(was)-tail], now[head:len(now)-tail], most, add)
	add(Same, was[len(was)-tail:]...)
	return lines
}

// align adds the lines of texts that differ at their beginning and at their end.
func align(a, b []string, most int, add func(Kind, ...string)) {
	i, j := 0, 0
	if len(a)*len(b) <= most {
		common := longest(a, b)
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				add(Same, a[i])
				i, j = i+1, j+1
			case common[i+1][j] >= common[i][j+1]:
				add(Removed, a[i])
				i++
			default:
				add(Added, b[j])
				j++
			}
		}
	}
	add(Removed, a[i:]...)
	add(Added, b[j:]...)
}

// longest returns how many lines a[i:] and b[j:] have in common at most.
func longest(a, b []string) [][]int32 {
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = make([]int32, len(b)+1)
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
	return common
}
