package flow

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// reach finds what the flow can reach, and drops the rest with its edges.
func (l *lifter) reach() {
	l.reached = make([]bool, len(l.around))
	todo := append([]int(nil), l.entries...)
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if l.reached[at] {
			continue
		}
		l.reached[at] = true
		todo = append(todo, l.body[at]...)
		for i := l.starts[at]; i < l.starts[at+1]; i++ {
			if to := l.arrows[i].to; to >= 0 && !l.reached[to] {
				todo = append(todo, to)
			}
		}
	}
	if l.tooMany {
		return
	}
	tied, said := l.tied(), false
	for _, i := range l.inOrder() {
		inside := l.home[i]
		switch {
		case l.kind[i] == plain || l.reached[i] || inside != none && !l.reached[inside]:
		case !tied[i] || inside == none && len(l.Entry) > 0:
			l.report(workflow.Warningf(l.node(i).Pos, codeUnreachable, "add an edge to it, or remove it",
				"nothing leads to %q, so it is ignored", l.id(i)))
		case !said:
			said = true
			l.reportUnclear(i)
		}
	}
}

// tied returns the unreachable parts with an arrow to or from another unreachable part. If the
// drawing does not say where the flow begins, they are in a cycle or connected to one, and are more
// likely to be the workflow than the start that was found.
func (l *lifter) tied() []bool {
	tied := make([]bool, len(l.around))
	for i, reached := range l.reached {
		for j := l.starts[i]; !reached && j < l.starts[i+1]; j++ {
			if to := l.arrows[j].to; to >= 0 && !l.reached[to] {
				tied[i], tied[to] = true, true
			}
		}
	}
	for i, is := range tied {
		for at := l.home[i]; is && at != none; at = l.home[at] {
			tied[at] = true
		}
	}
	return tied
}

// reportUnclear reports that the flow may begin at a part rather than at the node that no edge
// leads to.
func (l *lifter) reportUnclear(part int) {
	first, id := l.entries[0], l.id(part)
	if inside := l.home[part]; inside != none {
		first = l.body[inside][0]
	}
	help := "add an edge to it"
	if l.Begin != nil && l.home[part] == none {
		help = l.Begin(id)
	}
	for _, other := range l.self {
		if at := l.id(first); other != first && strings.EqualFold(l.id(other), at) {
			help = "\"" + at + "\" and \"" + l.id(other) + "\" are two steps: write one of them everywhere, or " + help
		}
	}
	l.report(workflow.Errorf(l.node(part).Pos, CodeUnclearStart, help,
		"unclear whether the flow begins at %q or at %q", l.id(first), id))
}
