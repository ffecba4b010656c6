package flow

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// enclose adds to the drawn loops the other steps of the frame around them, from which no path
// leads back. The frame must have the same entry as the loop, and an edge must leave it: a frame
// around the whole drawing is a border, not a loop.
func (l *lifter) enclose() {
	if len(l.heads) == 0 || !slices.Contains(l.kind, plain) {
		return
	}
	frames, dominated, left := l.frames(), l.dominatedIn(), l.left()
	for i, head := range l.heads {
		f, drawn := frames[i], len(l.around)+i
		if f == none || l.kind[f] != plain || !dominated[f].by(l.walk, head) {
			continue // only one loop of each frame gets here, so the rest runs once per frame
		}
		if l.entered(f, head) && (left[f] || l.endsIn(f, drawn)) {
			l.take(f, drawn, frames)
		}
	}
}

// frames returns the innermost frames around the drawn loops.
func (l *lifter) frames() []int {
	const unknown = toEnd
	frames := slices.Repeat([]int{unknown}, len(l.heads))
	base := len(l.around)
	cover := func(region, frame int) {
		if region == none || !l.isDrawn(region) {
			return
		}
		if f := &frames[region-base]; *f == unknown {
			*f = frame
		} else {
			*f = l.meet(*f, frame)
		}
	}
	for n := len(l.vertex) - 1; n > 0; n-- {
		v := l.vertex[n]
		cover(l.up[v], l.around[v])
		if l.begins(v) { // everything in its loop has a higher number
			cover(l.up[l.up[v]], frames[l.up[v]-base])
		}
	}
	return frames
}

// span is a range in the preorder of the dominator tree.
type span struct{ from, to int }

// by reports whether a vertex dominates the whole span.
func (s span) by(w *walk, v int) bool {
	n := w.num[v]
	return w.order[n] <= s.from && s.to < w.order[n]+w.dominated[n]
}

// dominatedIn returns the spans of the items of plain frames.
func (l *lifter) dominatedIn() map[int]span {
	spans := map[int]span{}
	for n := 1; n < len(l.vertex); n++ {
		at := l.order[n]
		for f := l.around[l.vertex[n]]; f != none && l.kind[f] == plain; f = l.around[f] {
			s, ok := spans[f]
			if !ok {
				s = span{at, at}
			}
			spans[f] = span{min(s.from, at), max(s.to, at)}
		}
	}
	return spans
}

// left returns the frames that an edge leaves. An error edge is not a way out.
func (l *lifter) left() []bool {
	left := make([]bool, len(l.around))
	for i := range l.arrows {
		a := &l.arrows[i]
		if !l.reached[a.from] || a.to < 0 || a.On == workflow.OnFailure {
			continue
		}
		both := l.meet(l.around[a.item], l.around[a.to])
		for f := l.around[a.item]; f != both; f = l.around[f] {
			left[f] = true
		}
	}
	return left
}

// entered reports whether all edges from outside a frame lead to the same item.
func (l *lifter) entered(frame, head int) bool {
	root := len(l.around)
	return !slices.ContainsFunc(l.items(frame), func(i int) bool {
		return i != head && l.reached[i] && slices.ContainsFunc(l.before.of(i), func(v int) bool { return v == root || !l.within(v, frame) })
	})
}

// endsIn reports whether a drawn loop ends in its frame, apart from what the frame would add to it.
func (l *lifter) endsIn(frame, drawn int) bool {
	return slices.ContainsFunc(l.items(frame), func(i int) bool {
		return l.reached[i] && l.contains(drawn, i) && slices.ContainsFunc(l.arrows[l.starts[i]:l.starts[i+1]], func(a arrow) bool {
			return a.to == toEnd && a.On != workflow.OnFailure
		})
	})
}

// contains reports whether an item is in a drawn loop or in a loop nested in it.
func (l *lifter) contains(drawn, item int) bool {
	region := l.up[item]
	for region != none && region != drawn && l.isDrawn(region) {
		region = l.up[region]
	}
	return region == drawn
}

// take moves the items of a frame into a drawn loop, each with the outermost loop around it that is
// also in the frame.
func (l *lifter) take(frame, drawn int, frames []int) {
	inFrame := func(region int) bool {
		return region != none && l.isDrawn(region) && l.within(frames[region-len(l.around)], frame)
	}
	for _, i := range l.items(frame) {
		if !l.reached[i] {
			continue
		}
		for l.up[i] != drawn && inFrame(l.up[i]) {
			i = l.up[i]
		}
		l.up[i] = drawn
	}
}

// deepenRegions counts the regions around every region.
func (l *lifter) deepenRegions() {
	l.depth = make([]int, len(l.up))
	var path []int
	for region := len(l.Nodes); region < len(l.up); region++ {
		at := region
		for path = path[:0]; at != none && l.depth[at] == 0; at = l.up[at] {
			path = append(path, at)
		}
		for depth := l.regionDepth(at); len(path) > 0; path = path[:len(path)-1] {
			depth++
			l.depth[path[len(path)-1]] = depth
		}
	}
}
