package yaml_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/modelgen"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// The keys of a step represent everything except its body.
func TestKeysRepresentAStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := modelgen.Workflow().Draw(t, "workflow")
		written := yaml.Mixed(w)
		for i := range written.Body.Nodes {
			n := &written.Body.Nodes[i]
			kind := yaml.Kind(n)
			if n.Body() != nil && !yaml.IsRepeat(n) {
				kind = "frame"
			} else if kind == "each" {
				kind = yaml.Kind(&n.Body().Nodes[0])
			}
			text := yaml.Style{Hard: i%2 == 1}.Step(withoutBody(n), leaving(w, n.ID), true)
			doc := strictyaml.Read("", []byte(text))
			m := doc.Root().Map()
			read := yaml.ReadStep(m, kind)
			m.Done()
			if found := doc.Diagnostics(); found.Errors() {
				t.Fatalf("%s\n%s", found, text)
			}
			got, want := read.Repeat(), w.Body.Nodes[i]
			for j := range read.Edges {
				read.Edges[j].From = n.ID
			}
			same(t, text, []workflow.Node{got}, read.Edges, []workflow.Node{*withoutBody(&want)}, leaving(w, n.ID))
		}
	})
}

func withoutBody(n *workflow.Node) *workflow.Node {
	if n.Body() == nil || yaml.IsRepeat(n) {
		return n
	}
	c := *n
	switch s := n.Step.(type) {
	case *workflow.Loop:
		c.Step = &workflow.Loop{Max: s.Max}
	case *workflow.Each:
		c.Step = &workflow.Each{Items: s.Items, As: s.As, Parallel: s.Parallel}
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine:
	}
	return &c
}

func leaving(w *workflow.Workflow, id string) []workflow.Edge {
	edges := []workflow.Edge{}
	for _, e := range w.Body.Edges {
		if e.From == id {
			edges = append(edges, e)
		}
	}
	return edges
}

// same compares the meaning of both, in canonical form.
func same(t *rapid.T, text string, nodes []workflow.Node, edges []workflow.Edge, wantNodes []workflow.Node, wantEdges []workflow.Edge) {
	got := &workflow.Workflow{Body: workflow.Graph{Nodes: nodes, Edges: edges}}
	expr.Resolve(got, expr.Mixed, nil)
	want := &workflow.Workflow{Body: workflow.Graph{Nodes: wantNodes, Edges: wantEdges}}
	expr.Resolve(want, expr.Canonical, nil)
	if a, b := workflow.Print(got), workflow.Print(want); a != b {
		t.Fatalf("written:\n%s\nread:\n%s\nwanted:\n%s", text, a, b)
	}
}
