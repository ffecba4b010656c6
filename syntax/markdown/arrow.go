package markdown

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// label returns the label of the arrow for an edge; ok says whether reading it results in the
// same edge.
func label(e *workflow.Edge) (text string, ok bool) {
	switch e.On {
	case workflow.OnSuccess:
		return "", true
	case workflow.OnLabel:
		text = e.Label
	case workflow.OnWhen:
		text = labelWhen + e.When.Text
	case workflow.OnElse:
		text = labelElse
	case workflow.OnFailure:
		text = labelError
	case workflow.OnTimeout:
		text = labelTimeout
	}
	read := readLabel(text)
	return text, labels(text) && read.On == e.On && read.Label == e.Label && read.When.Text == e.When.Text
}

// carry returns the edges of a node to be written as keys, if an arrow cannot express one of
// them. It returns nil if all are drawn.
func (c *canvas) carry(n *workflow.Node) []workflow.Edge {
	id := n.ID
	all := slices.IsSortedFunc(c.edges[id], byRank) && !wouldTest(n, c.edges[id])
	for i := range c.edges[id] {
		_, ok := label(&c.edges[id][i])
		all = all && ok
	}
	if all {
		return nil
	}
	c.carried[id] = true
	edges := make([]workflow.Edge, len(c.edges[id]))
	for i, e := range c.edges[id] {
		if _, taken := c.ids["end"]; e.To == workflow.End && !taken {
			e.To = "end"
		}
		edges[i] = e
	}
	return edges
}

// arrows draws all edges, including those that are also written as keys.
func (c *canvas) arrows() {
	for i := range c.drawing.Edges {
		e := &c.drawing.Edges[i]
		text, _ := label(e)
		switch {
		case c.carried[e.From]:
			text = shown(text)
		case c.tests[e.From] != "" && e.On == workflow.OnWhen:
			text = labelYes
		case c.tests[e.From] != "" && e.On == workflow.OnElse:
			text = labelNo
		}
		to := c.ids[e.To]
		if e.To == workflow.End {
			to = c.finish
		}
		arrow := " --> "
		if text != "" {
			arrow = " -->|" + quoted(text) + "| "
		}
		c.line(c.ids[e.From] + arrow + to)
	}
}

// shown returns what is drawn of a label that could not be read again.
func shown(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); len(runes) > maxLabel {
		line = string(runes[:maxLabel]) + "…"
	}
	if line = strings.TrimSpace(line); !strictyaml.IsPrintable(line) || !labels(line) {
		return "…"
	}
	return line
}
