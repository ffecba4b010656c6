package draw

import (
	"fmt"
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
	i := Inline{Bundle: &workflow.Bundle{Root: outer, Called: map[string]*workflow.Workflow{"inner": inner}}, Link: true}
	closed := inlineSVG(t, i)
	for _, want := range []string{`<a class="node" data-place="first" href="?step=first">`, `>Plan the feature</text>`, `data-from="first" data-to="sub"`} {
		if !strings.Contains(closed, want) {
			t.Errorf("the picture does not contain %s:\n%s", want, closed)
		}
	}
	if strings.Contains(closed, "<style") || strings.Contains(closed, "sub/deep") {
		t.Errorf("the picture has a style, or the nodes of a closed call:\n%s", closed)
	}
	i.Calls = 1
	open := inlineSVG(t, i)
	for _, want := range []string{`data-place="sub/deep"`, `class="node holder" data-place="sub"`, `Deep &amp; &lt;b&gt;wide&lt;/b&gt;`} {
		if !strings.Contains(open, want) {
			t.Errorf("the picture does not contain %s:\n%s", want, open)
		}
	}
}

// Every edge and every frame is marked, also where an edge leaves loops, repeats one, or shares its line with others.
func TestInlineMarksEdges(t *testing.T) {
	svg := inlineSVG(t, Inline{Bundle: &workflow.Bundle{Root: book()}}) + inlineSVG(t, Inline{Bundle: &workflow.Bundle{Root: release()}})
	for _, want := range []string{
		`<g class="edge" data-from="verdict" data-to="give-up" data-on="label" data-case="hopeless">`, `<g class="edge back" data-from="verdict" data-to="@again" data-on="label" data-case="poor">`,
		`data-from="more" data-to="print" data-on="else"`, `class="edge" data-from="" data-to="chapters"`, `data-from="print" data-to="@end"`, `<g class="node holder" data-place="polish">`,
		`<g class="edge failure" data-from="repair" data-to="tell" data-on="error">`, `data-from="choice" data-to="gate" data-on="when" data-case="nodes.test.status == &#39;success&#39;"`,
		`<g class="edge failure" data-from="gate" data-to="tell" data-on="timeout">`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture does not contain %s:\n%s", want, svg)
		}
	}
	if lines, marked := strings.Count(svg, "<path d="), strings.Count(svg, `<g class="edge`); lines > 2*marked || strings.Contains(svg, `class="wire`) {
		t.Errorf("%d lines, %d edges", lines, marked)
	}
	// A handler of several failures in a loop has one line, which has all of them as its sources.
	loop := &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "loop", Step: &workflow.Loop{Body: pipeline().Body}}, task("help", "a")}}}
	body := &loop.Body.Nodes[0].Step.(*workflow.Loop).Body
	for i := range body.Edges {
		if body.Edges[i].To == "alarm" {
			body.Edges[i].To = "help"
		}
	}
	if svg = inlineSVG(t, Inline{Bundle: &workflow.Bundle{Root: loop}}); !strings.Contains(svg, `data-from="fetch&#10;build&#10;unit&#10;lint&#10;pack" data-to="help" data-on="error"`) {
		t.Errorf("the line of several failures:\n%s", svg)
	}
}

func TestInlineStopsInACircle(t *testing.T) {
	w := &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "again", Step: &workflow.Call{Workflow: "w"}}}}}
	i := Inline{Bundle: &workflow.Bundle{Root: w, Called: map[string]*workflow.Workflow{"w": w}}, Calls: 100}
	if n := strings.Count(inlineSVG(t, i), `data-place="again`); n != deepest+1 {
		t.Errorf("%d calls are drawn, want %d", n, deepest+1)
	}
}

// Calls of calls can stand for more nodes than there is memory for: the outer ones are drawn.
func TestInlineLimitsCalls(t *testing.T) {
	calls := func(name, called string) *workflow.Workflow {
		w := &workflow.Workflow{Name: name}
		for i := range 30 {
			w.Body.Nodes = append(w.Body.Nodes, workflow.Node{ID: fmt.Sprint(name, i), Step: &workflow.Call{Workflow: called}})
		}
		return w
	}
	b := &workflow.Bundle{Root: calls("a", "b"), Called: map[string]*workflow.Workflow{"b": calls("b", "c"), "c": calls("c", "d"), "d": calls("d", "")}}
	p, err := Inline{Bundle: b, Calls: 2000}.Draw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	svg := p.SVG(Look{})
	if n := strings.Count(svg, "data-place="); n != 30+30*30+36*30 {
		t.Errorf("%d nodes are drawn", n)
	}
	for _, want := range []string{`data-place="a29/b29"`, `data-place="a1/b5/c29"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture does not contain %s", want)
		}
	}
	if want := "The steps of 1944 calls are not drawn: there are too many."; p.Note != want {
		t.Errorf("the note is %q", p.Note)
	}
}

// What a step has handed off is drawn below it, and the drawing has room for it.
func TestInlineHanded(t *testing.T) {
	w := &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{task("work", "a"), task("after", "a")}, Edges: []workflow.Edge{{From: "work", To: "after"}}}}
	var handed []Handed
	for i := range mostHanded + 3 {
		handed = append(handed, Handed{fmt.Sprintf("work/handoff-%d", i+1), "to <b>"})
	}
	handed[1].Place = "work/handoff-1/handoff-1"
	bundle := &workflow.Bundle{Root: w}
	plain, svg := inlineSVG(t, Inline{Bundle: bundle}), inlineSVG(t, Inline{Bundle: bundle, Link: true, Handed: map[string][]Handed{"work": handed}})
	for _, want := range []string{`<a class="node" data-place="work"`, `<a class="node" data-place="work/handoff-1" href="?step=work/handoff-1">`, `data-place="work/handoff-12"`, ">to &lt;b&gt;</text>", ">and 3 more</text>"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture does not contain %s:\n%s", want, svg)
		}
	}
	if strings.Contains(svg, "handoff-13") {
		t.Error("all handoffs are drawn")
	}
	attr := func(svg, after, name string) (v float64) {
		_, rest, _ := strings.Cut(svg, after)
		_, rest, _ = strings.Cut(rest, name+`="`)
		_, _ = fmt.Sscan(strings.SplitN(rest, `"`, 2)[0], &v)
		return v
	}
	if before, now := attr(plain, "<svg", "height"), attr(svg, "<svg", "height"); now < before+(mostHanded+1)*handedHeight {
		t.Errorf("the picture is %v high, and was %v", now, before)
	}
	if inner, outer := attr(svg, `"work/handoff-1/handoff-1"`, "x"), attr(svg, `"work/handoff-1"`, "x"); inner <= outer {
		t.Errorf("what a handoff has handed off is at %v, and the handoff at %v", inner, outer)
	}
	if end, after := attr(svg, `"work/handoff-12"`, "y")+handedHeight, attr(svg, `data-place="after"`, "y"); after < end {
		t.Errorf("the next step begins at %v, above the end of the handoffs at %v", after, end)
	}
}

func inlineSVG(t *testing.T, i Inline) string {
	t.Helper()
	p, err := i.Draw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p.SVG(Look{Link: func(place string) string { return "?step=" + place }})
}

// The part of a line that failures of several steps share is an edge of all of them: it has one colour, whichever step it was.
func TestSharedFailure(t *testing.T) {
	w := &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{task("a", "x"), task("b", "x"), task("c", "x"), task("help", "x")}, Edges: []workflow.Edge{
		{From: "a", To: "b"}, {From: "b", To: "c"}, {From: "a", On: workflow.OnFailure, To: "help"}, {From: "b", On: workflow.OnFailure, To: "help"}, {From: "c", On: workflow.OnFailure, To: "help"},
	}}}
	for failed, want := range map[string][]string{
		"a":  {`failure" data-from="a"`, `failure marked" data-from="b"`, `failure marked" data-from="c"`, `failure" data-from="a&#10;b"`, `failure" data-from="a&#10;b&#10;c"`, `class="label"`},
		"b":  {`failure marked" data-from="a"`, `failure" data-from="b"`, `failure marked" data-from="c"`, `failure" data-from="a&#10;b"`, `failure" data-from="a&#10;b&#10;c"`, `class="label"`},
		"c":  {`failure marked" data-from="a"`, `failure marked" data-from="b"`, `failure" data-from="c"`, `failure marked" data-from="a&#10;b"`, `failure" data-from="a&#10;b&#10;c"`, `class="label"`},
		"no": {`failure marked" data-from="a"`, `failure marked" data-from="b"`, `failure marked" data-from="c"`, `failure marked" data-from="a&#10;b"`, `failure marked" data-from="a&#10;b&#10;c"`, `class="label marked"`},
	} {
		svg, err := Marked(t.Context(), w, "svg", Marks{Text: "not tested", Node: none.Node, Edge: func(from string, on workflow.On, _, _ string) bool {
			return on == workflow.OnFailure && from != failed
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range want {
			if strings.Count(svg, one) != 1 {
				t.Errorf("%s failed: no %s in\n%s", failed, one, svg)
			}
		}
	}
}
