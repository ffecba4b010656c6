package draw

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/workflow"
)

// fan returns a decision, a number of tasks side by side that all fail to the same handler, and a task after them.
func fan(tasks int) *workflow.Workflow {
	w := &workflow.Workflow{Name: "fan", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "all", Step: &workflow.Choice{On: workflow.Expr{Text: "inputs.all"}}}}}}
	g := &w.Body
	for i := range tasks {
		id := fmt.Sprintf("check-%d", i+1)
		n := task(id, "shell")
		n.Title = fmt.Sprintf("Check %d", i+1)
		g.Nodes = append(g.Nodes, n)
		g.Edges = append(g.Edges, label("all", "yes", id), workflow.Edge{From: id, To: "last"}, on(id, workflow.OnFailure, "tell"))
	}
	g.Nodes = append(g.Nodes, task("last", "shell"), task("tell", "mail"))
	g.Edges = append(g.Edges, on("all", workflow.OnElse, "last"))
	return w
}

func TestFold(t *testing.T) {
	const want = `fan
├─ all                       choice: inputs.all
│  ├─ yes
│  │  └─ check-1 … check-24  task: shell, "24 steps"
│  │     └─ error
│  │        └─ tell          task: mail
│  └─ else → last
└─ last                      task: shell
`
	got, err := Draw(t.Context(), fan(24), "tree", Fold{Over: ReadableAlike})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, same := range []*workflow.Workflow{fan(ReadableAlike), release(), book(), pipeline(), wide(20, 2)} {
		for _, form := range Forms() {
			folded, _ := Draw(t.Context(), same, form, Fold{Over: ReadableAlike})
			if all, _ := Draw(t.Context(), same, form, Fold{}); folded != all {
				t.Errorf("%s: %s is folded, but has few or different steps", form, same.Name)
			}
		}
	}
}

// What differs in a way that the picture shows is not folded together.
func TestFoldKeepsWhatDiffers(t *testing.T) {
	w := fan(24)
	w.Body.Nodes[1].Step = &workflow.Human{}
	w.Body.Nodes[2].Group = "group"
	w.Body.Edges = append(w.Body.Edges, workflow.Edge{From: "check-3", To: "tell"})
	tree, _ := Draw(t.Context(), w, "tree", Fold{Over: ReadableAlike})
	for _, want := range []string{"check-1 ", "check-2 ", "check-3 ", "check-4 … check-24", `"21 steps"`} {
		if !strings.Contains(tree, want) {
			t.Errorf("the tree does not contain %q:\n%s", want, tree)
		}
	}
}

// The steps in the body of a loop are folded, and edges out of it lead to what is drawn.
func TestFoldInLoops(t *testing.T) {
	inner := fan(24).Body
	inner.Edges = append(inner.Edges, on("last", workflow.OnElse, workflow.Again))
	w := &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "round", Step: &workflow.Loop{Body: inner}}}}}
	for i := range 20 {
		id := fmt.Sprintf("end-%d", i)
		w.Body.Nodes = append(w.Body.Nodes, task(id, "shell"))
		body := w.Body.Nodes[0].Step.(*workflow.Loop)
		body.Body.Edges = append(body.Body.Edges, label("last", "out", id))
	}
	p, err := Inline{Bundle: &workflow.Bundle{Root: w}, Fold: Fold{Over: ReadableAlike}}.Draw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	svg := p.SVG(Look{})
	for _, want := range []string{`data-from="last" data-to="end-0 … end-19" data-on="label" data-case="out"`, `data-place="check-1 … check-24"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture does not contain %s", want)
		}
	}
	if n := strings.Count(svg, `class="edge"`); n > 12 {
		t.Errorf("%d edges", n)
	}
}

func TestFoldOfAPage(t *testing.T) {
	opened := map[string]bool{}
	i := Inline{
		Bundle: &workflow.Bundle{Root: fan(24)}, Link: true,
		Fold: Fold{Over: ReadableAlike, Open: func(place string) bool { return opened[place] }}, Unfold: true,
	}
	p, err := i.Draw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	svg := p.SVG(Look{
		Node: func(place string) string { return map[string]string{"last": "success"}[place] },
		Fold: func(places []string) string { return "running" },
		Text: func(places []string) string { return fmt.Sprintf("3 of %d <done>", len(places)) },
		Edge: func(e Edge) string { return map[string]string{"check-1 … check-24": "taken"}[e.To] },
		Link: func(place string) string { return "?step=" + place }, Unfold: func(place string) string { return "?a&unfold=" + place },
	})
	for _, want := range []string{
		`<a class="node fold running" data-place="check-1 … check-24" data-folded="check-1&#10;check-2&#10;`, `href="?a&amp;unfold=check-1"`, ">24 steps</text>", ">3 of 24 &lt;done&gt;</text>",
		`<a class="node success" data-place="last" href="?step=last">`, `<g class="edge taken" data-from="all" data-to="check-1 … check-24" data-on="label" data-case="yes">`,
		`<g class="edge failure" data-from="check-1 … check-24" data-to="tell" data-on="error">`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture does not contain %s:\n%s", want, svg)
		}
	}
	if plain := p.SVG(Look{}); !strings.Contains(plain, ">Check 1 … Check 24</text>") || strings.Contains(plain, "running") {
		t.Errorf("without a state, the picture is:\n%s", plain)
	}
	opened["check-1"] = true
	if p, err = i.Draw(t.Context()); err != nil || len(p.Opened) != 1 || strings.Count(p.SVG(Look{}), `data-place="check-`) != 24 {
		t.Errorf("%v; open: %v", err, p.Opened)
	}
}

// Folding takes as long as there are steps, for many steps too: seconds if it is quadratic.
func TestFoldManySteps(t *testing.T) {
	w := fan(8_000)
	start := time.Now()
	folded, _ := Fold{Over: ReadableAlike}.workflow(w, "")
	if took := time.Since(start); len(folded.Body.Nodes) != 4 || took > 2*time.Second {
		t.Errorf("%d nodes after %v", len(folded.Body.Nodes), took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, form := range Forms() {
		if _, err := Draw(ctx, w, form, Fold{Over: ReadableAlike}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want that it was cancelled", form, err)
		}
	}
}

// A digest tells pictures apart: whatever is drawn differently has another one.
func TestDigest(t *testing.T) {
	seen := map[string]string{}
	for _, w := range append(samples(), randomWorkflows(50)...) {
		digest, svg := Digest(&workflow.Bundle{Root: w}), svgOf(t, w)
		if other, ok := seen[digest]; ok && other != svg {
			t.Errorf("%s is drawn in another way than a workflow with the same digest", w.Name)
		}
		seen[digest] = svg
	}
	changes := []func(w *workflow.Workflow){
		func(w *workflow.Workflow) { w.Body.Nodes[4].Title = "Now?" },
		func(w *workflow.Workflow) { w.Agents[0].Color = "red" },
		func(w *workflow.Workflow) { w.Body.Nodes[0].Group = "other" },
		func(w *workflow.Workflow) { w.Body.Edges[3].Label = "go" },
		func(w *workflow.Workflow) { w.Body.Nodes[3].Step.(*workflow.Loop).Max = 7 },
		func(w *workflow.Workflow) { w.Body.Nodes[7].Step.(*workflow.Call).Workflow = "other" },
	}
	for i, change := range changes {
		w := release()
		change(w)
		if _, ok := seen[Digest(&workflow.Bundle{Root: w})]; ok || svgOf(t, w) == svgOf(t, release()) {
			t.Errorf("change %d is not seen", i)
		}
	}
	w := release()
	w.Body.Nodes[0].Step.(*workflow.Task).Settings = map[string]any{"temperature": 1}
	if _, ok := seen[Digest(&workflow.Bundle{Root: w})]; !ok {
		t.Error("a setting, which is not drawn, changes the digest")
	}
}
