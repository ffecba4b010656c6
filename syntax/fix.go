package syntax

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Fix makes the changes that diagnostics of a text propose, as far as they keep
// what its author wrote: after them, every step, arrow, label and prompt that was
// read before is read again. Of the changes that do not, none is made; left
// counts them.
func Fix(file string, text []byte, found workflow.Diagnostics) (fixed []byte, made, left int) {
	proposed := slices.DeleteFunc(slices.Clone(found), func(d workflow.Diagnostic) bool { return d.Fix == nil })
	f := fixer{file: file, text: text, has: contentsOf(file, text)}
	kept := f.kept(proposed)
	fixed, made = kept.Fixed(text)
	return fixed, made, len(proposed) - len(kept)
}

type fixer struct {
	file string
	text []byte
	has  contents // of the text
}

// kept are the diagnostics whose fixes can be made together. Most often those are
// all of them, and one comparison shows it.
func (f *fixer) kept(ds workflow.Diagnostics) workflow.Diagnostics {
	switch {
	case len(ds) == 0 || f.keeps(ds):
		return ds
	case len(ds) == 1:
		return nil
	}
	first, second := f.kept(ds[:len(ds)/2]), f.kept(ds[len(ds)/2:])
	if both := slices.Concat(first, second); len(second) == 0 || f.keeps(both) {
		return both
	}
	return first
}

// keeps says whether the fixes lose nothing, and leave no line that they change
// broken for good.
func (f *fixer) keeps(ds workflow.Diagnostics) bool {
	fixed, _ := ds.Fixed(f.text)
	has := contentsOf(f.file, fixed)
	return has.hold(f.has) && !f.breaks(fixed)
}

// breaks says whether a line that was changed has a mistake that no fix removes.
func (f *fixer) breaks(fixed []byte) bool {
	found, isDiagram := Diagram(f.file, fixed)
	if !isDiagram || !found.Errors() {
		return false
	}
	old := map[string]bool{}
	for line := range strings.Lines(string(f.text)) {
		old[line] = true
	}
	at := slices.Collect(strings.Lines(string(fixed)))
	return slices.ContainsFunc(found, func(d workflow.Diagnostic) bool {
		return d.Severity == workflow.Error && d.Fix == nil && d.Line > 0 && d.Line <= len(at) && !old[at[d.Line-1]]
	})
}

// contents are what a text says, each thing with the number of times that it does.
type contents map[string]int

// hold says whether everything of other is there, at least as often.
func (c contents) hold(other contents) bool {
	for thing, n := range other {
		if c[thing] < n {
			return false
		}
	}
	return true
}

func contentsOf(file string, text []byte) contents {
	c := contents{}
	n, inner, ok := find(file, text)
	if !ok {
		return c
	}
	if n.Marks != nil {
		for _, mark := range n.Marks(inner) {
			c["mark "+mark]++
		}
	}
	if w, _ := n.Parse(file, inner); w != nil {
		c.add(&w.Body, n.Diagram != nil)
	}
	return c
}

// add adds the nodes of a graph, with their texts. Edges count where they are
// drawn; elsewhere they follow from the words that a fix may be about.
func (c contents) add(g *workflow.Graph, drawn bool) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		c["node "+n.ID]++
		for _, text := range textsOf(n) {
			c["node "+n.ID+" says "+text] = 1 // a label may be the prompt too
		}
		if body := n.Body(); body != nil {
			c.add(body, drawn)
		}
	}
	for _, e := range g.Edges {
		if drawn {
			c["edge "+e.From+" "+e.To+" "+string(e.On)+" "+e.Label]++
		}
	}
}

// textsOf are what a node says to people and agents.
func textsOf(n *workflow.Node) []string {
	texts := []string{n.Title}
	if t := n.Task(); t != nil {
		texts = append(texts, t.Prompt.Text)
	}
	if h, ok := n.Step.(*workflow.Human); ok {
		texts = append(texts, h.Question.Text)
	}
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}
