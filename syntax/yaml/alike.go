package yaml

import (
	"path"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// What follows is the same in every notation: what a text leaves to be guessed,
// and what a writer leaves out.

// NameOf is the name of a workflow that has none: that of its file.
func NameOf(file string) string {
	if file == "-" { // standard input
		return "workflow"
	}
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), path.Ext(file))
}

// Ranks is how many ranks there are.
const Ranks = 5

// Rank is the order in which the kinds of edges of a node come, whatever is
// written or drawn first.
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

// MostOnError is what most nodes do when they fail, so that only the others have
// to say it. Loops do not fail, and a task that is repeated is one with what
// repeats it.
func MostOnError(g *workflow.Graph) workflow.OnError {
	count := map[workflow.OnError]int{}
	countOnError(g, count)
	most := workflow.Stop
	for _, o := range []workflow.OnError{workflow.Continue, workflow.SkipDependents} {
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
