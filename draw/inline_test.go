package draw

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

func TestInlineMarksPlaces(t *testing.T) {
	inner := &workflow.Workflow{Name: "inner", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "deep", Title: "Deep & <b>wide</b>", Step: &workflow.Task{Agent: "a"}}}}}
	outer := &workflow.Workflow{Name: "outer", Body: workflow.Graph{
		Nodes: []workflow.Node{{ID: "first", Title: "Plan the feature", Step: &workflow.Task{Agent: "a"}}, {ID: "sub", Step: &workflow.Call{Workflow: "inner"}}},
		Edges: []workflow.Edge{{From: "first", To: "sub"}},
	}}
	i := Inline{Bundle: &workflow.Bundle{Root: outer, Called: map[string]*workflow.Workflow{"inner": inner}}, Link: func(place string) string { return "?step=" + place }}
	closed := i.SVG()
	for _, want := range []string{`<a class="node" data-place="first" href="?step=first">`, `>Plan the feature</text>`, `data-from="first" data-to="sub"`} {
		if !strings.Contains(closed, want) {
			t.Errorf("the picture does not contain %s:\n%s", want, closed)
		}
	}
	if strings.Contains(closed, "<style") || strings.Contains(closed, "sub/deep") {
		t.Errorf("the picture has a style, or the nodes of a closed call:\n%s", closed)
	}
	i.Open = func(place string) bool { return place == "sub" }
	open := i.SVG()
	for _, want := range []string{`data-place="sub/deep"`, `class="node holder" data-place="sub"`, `Deep &amp; &lt;b&gt;wide&lt;/b&gt;`} {
		if !strings.Contains(open, want) {
			t.Errorf("the picture does not contain %s:\n%s", want, open)
		}
	}
}

func TestInlineStopsInACircle(t *testing.T) {
	w := &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "again", Step: &workflow.Call{Workflow: "w"}}}}}
	i := Inline{Bundle: &workflow.Bundle{Root: w, Called: map[string]*workflow.Workflow{"w": w}}, Open: func(string) bool { return true }}
	if n := strings.Count(i.SVG(), `data-place="again`); n != deepest+1 {
		t.Errorf("%d calls are drawn, want %d", n, deepest+1)
	}
}
