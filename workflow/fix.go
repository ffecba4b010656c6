package workflow

import (
	"cmp"
	"slices"
	"sort"
)

// Fix is a set of edits to a file that fixes a diagnostic. The edits belong together.
type Fix struct {
	Edits []Edit `json:"edits"`
}

// Edit replaces the bytes of the file from From up to To.
type Edit struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Text string `json:"text"`
}

// Apply applies edits to a text, in any order. If two edits overlap, the one that comes first in
// the text wins; at the same place, the first in the list wins. Several insertions at one place
// are all kept.
func Apply(text []byte, edits []Edit) []byte {
	sorted := slices.Clone(edits)
	sort.SliceStable(sorted, func(i, j int) bool { return compareEdits(sorted[i], sorted[j]) < 0 })
	out := make([]byte, 0, len(text))
	at := 0
	for _, e := range sorted {
		if e.From < at || e.To < e.From || e.To > len(text) {
			continue
		}
		out = append(out, text[at:e.From]...)
		out = append(out, e.Text...)
		at = e.To
	}
	return append(out, text[at:]...)
}

// Fixed applies the fixes of the diagnostics to the file they were found in. A fix that overlaps
// another one is left for the next time.
func (ds Diagnostics) Fixed(text []byte) (fixed []byte, count int) {
	var edits []Edit // in the order of the text, without overlaps
	for _, d := range ds {
		if d.Fix == nil || slices.ContainsFunc(d.Fix.Edits, func(e Edit) bool { return touches(e, edits) }) {
			continue
		}
		for _, e := range d.Fix.Edits {
			edits = slices.Insert(edits, place(edits, e), e)
		}
		count++
	}
	return Apply(text, edits), count
}

// compareEdits orders edits as they are in the text, with an insertion before the replacement of
// the text after it.
func compareEdits(a, b Edit) int { return cmp.Or(a.From-b.From, a.To-b.To) }

// place returns the index of an edit among others: after those at the same position.
func place(edits []Edit, e Edit) int {
	i, _ := slices.BinarySearchFunc(edits, e, func(o, e Edit) int {
		if compareEdits(o, e) <= 0 {
			return -1
		}
		return 1
	})
	return i
}

func touches(e Edit, others []Edit) bool {
	overlaps := func(o Edit) bool { return e == o || e.From < o.To && o.From < e.To }
	i := place(others, e)
	if i < len(others) && overlaps(others[i]) {
		return true
	}
	for _, o := range slices.Backward(others[:i]) {
		if overlaps(o) {
			return true
		}
		if o.From != e.From {
			break // no other reaches this far
		}
	}
	return false
}
