package draw

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// Digest returns the same text for workflows that are drawn in the same way. Unlike
// [workflow.Digest], it depends on titles and colours, and not on prompts and settings.
func Digest(b *workflow.Bundle) string {
	var d digest
	d.workflow(b.Root)
	for _, name := range sorted.Keys(b.Called) {
		d.add(name)
		d.workflow(b.Called[name])
	}
	sum := sha256.Sum256(d)
	return hex.EncodeToString(sum[:])
}

type digest []byte

// add adds texts. Each ends with a byte that no text has.
func (d *digest) add(texts ...string) {
	for _, s := range texts {
		*d = append(append(*d, s...), 0xFF)
	}
}

func (d *digest) workflow(w *workflow.Workflow) {
	d.add(w.Name, w.Description)
	for _, a := range w.Agents {
		d.add(a.Name, a.Color)
	}
	d.graph(&w.Body)
}

func (d *digest) graph(g *workflow.Graph) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		d.add("node", n.ID, n.Kind(), heading(n), noteText(n), n.Group)
		switch s := n.Step.(type) {
		case *workflow.Task:
			d.add(s.Agent)
		case *workflow.Call:
			d.add(s.Workflow)
		case *workflow.Loop, *workflow.Each, *workflow.Human, *workflow.Choice, *workflow.Combine:
		}
		if body := n.Body(); body != nil {
			d.graph(body)
			d.add("end")
		}
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		d.add("edge", e.From, e.To, string(e.On), e.Label, e.When.Text, cmp.Or(e.When.Src.Text, e.When.Text))
	}
}
