package flow

import "github.com/hocket-dev/hocket/workflow"

// reach finds what the flow can come to. What it cannot is dropped with its
// edges.
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
	for _, i := range l.inOrder() {
		if inside := l.home[i]; l.kind[i] != plain && !l.reached[i] && (inside == none || l.reached[inside]) {
			l.report(workflow.Warningf(l.node(i).Pos, codeUnreachable, "lead an edge to it, or remove it",
				"%q is left out: nothing leads to it", l.id(i)))
		}
	}
}
