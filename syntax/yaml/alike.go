package yaml

import (
	"path"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// What follows is the same in every notation: defaults that a parser fills in, and what a writer
// leaves out.

// NameOf returns the name for a workflow that has none: that of its file.
func NameOf(file string) string {
	if file == "-" { // standard input
		return "workflow"
	}
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), path.Ext(file))
}

// Ranks is the number of ranks.
const Ranks = 5

// Rank returns the position of a kind of edge among the edges of a node, whatever is written or
// drawn first.
func Rank(on workflow.On) int {
	switch on {
	case workflow.OnSuccess:
		return 0
	case workflow.OnLabel, workflow.OnWhen:
		return 1
	case workflow.OnElse:
		return 2
	case workflow.OnFailure:
		return 3
	case workflow.OnTimeout:
	}
	return Ranks - 1
}

// MostOnError returns the on_error of most nodes, so that only the others have to set it. Loops
// do not fail, and a task and the for_each that repeats it count as one.
func MostOnError(g *workflow.Graph) workflow.OnError {
	count := map[workflow.OnError]int{}
	countOnError(g, count)
	most := workflow.Stop
	for _, o := range []workflow.OnError{workflow.Continue, workflow.SkipDependents, workflow.Replan} {
		if count[o] > count[most] {
			most = o
		}
	}
	return most
}

func countOnError(g *workflow.Graph, count map[workflow.OnError]int) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Kind() != "loop" {
			count[n.OnError]++
		}
		if body := n.Body(); body != nil && !IsRepeat(n) {
			countOnError(body, count)
		}
	}
}
