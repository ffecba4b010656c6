package draw

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

func samples() []*workflow.Workflow {
	return []*workflow.Workflow{chain(), release(), book(), pipeline(), wide(12, 3), hostile(), {Name: "empty"}}
}

// svgOf draws a workflow; nothing can go wrong.
func svgOf(t testing.TB, w *workflow.Workflow) string {
	t.Helper()
	svg, err := SVG(t.Context(), w, Fold{})
	if err != nil {
		t.Fatal(err)
	}
	return svg
}

func TestSVGIsWellFormed(t *testing.T) {
	for _, w := range samples() {
		dec := xml.NewDecoder(strings.NewReader(svgOf(t, w)))
		for {
			token, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", w.Name, err)
			}
			if el, ok := token.(xml.StartElement); ok && el.Name.Local == "script" {
				t.Errorf("%s: text became an element", w.Name)
			}
		}
	}
}

func TestColoursOfLanesAreChecked(t *testing.T) {
	if got := svgOf(t, release()); !strings.Contains(got, `fill="LightBlue"`) {
		t.Error("the colour of a lane is not in the picture")
	}
	if got := svgOf(t, hostile()); strings.Contains(got, `fill="&`) || strings.Contains(got, `fill="</`) {
		t.Error("text that is no colour is in the picture")
	}
}

// Invariant: no box in a region touches another, and all are inside the region.
func TestBoxesDoNotOverlap(t *testing.T) {
	for _, w := range append(samples(), randomWorkflows(100)...) {
		checkRegion(t, w, laidOut(t, w))
	}
}

func laidOut(t *testing.T, w *workflow.Workflow) *region {
	t.Helper()
	r := (&scene{}).whole(w, wholeFrame, "")
	if err := r.layout(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func checkRegion(t *testing.T, w *workflow.Workflow, r *region) {
	t.Helper()
	boxes := r.boxes
	for _, k := range r.backs {
		if k.text != nil {
			boxes = append(boxes, k.text)
		}
	}
	for i, a := range boxes {
		if a.x-a.w/2 < -0.01 || a.x+a.w/2 > r.width+0.01 || a.y < -0.01 || a.y+a.h > r.height+0.01 {
			t.Fatalf("%s: box %q is outside of its region", w.Name, a.id+a.title)
		}
		for _, b := range boxes[:i] {
			if overlap(a, b) {
				t.Fatalf("%s: boxes %q and %q overlap", w.Name, a.id+a.title, b.id+b.title)
			}
		}
		if a.inner != nil {
			checkRegion(t, w, a.inner)
		}
	}
}

func overlap(a, b *box) bool {
	const touch = 0.01
	return a.x+a.w/2 > b.x-b.w/2+touch && b.x+b.w/2 > a.x-a.w/2+touch && a.y+a.h > b.y+touch && b.y+b.h > a.y+touch
}

// Invariant: no wire passes through a mark or through the text of another wire.
func TestWiresPassBetweenMarks(t *testing.T) {
	for _, w := range append(samples(), randomWorkflows(100)...) {
		svg := svgOf(t, w)
		solids := solids(t, svg)
		for _, d := range regexp.MustCompile(`<path class="wire \w+" d="([^"]*)"`).FindAllStringSubmatch(svg, -1) {
			for _, p := range follow(t, d[1]) {
				for _, s := range solids {
					if s.holds(p) {
						t.Fatalf("%s: wire %s passes through %v at %v", w.Name, d[1], s, p)
					}
				}
			}
		}
	}
}

// solid returns the inside of a mark, slightly smaller than the mark, so that a wire may touch it.
// A diamond is smaller than its rectangle.
type solid struct {
	left, top, right, bottom float64
	diamond                  bool
}

func (s solid) holds(p point) bool {
	const touch = 2
	if s.diamond {
		dx, dy := (p.x-(s.left+s.right)/2)/((s.right-s.left)/2), (p.y-(s.top+s.bottom)/2)/((s.bottom-s.top)/2)
		return max(dx, -dx)+max(dy, -dy) < 0.9
	}
	return p.x > s.left+touch && p.x < s.right-touch && p.y > s.top+touch && p.y < s.bottom-touch
}

func solids(t *testing.T, svg string) []solid {
	t.Helper()
	var all []solid
	rect := regexp.MustCompile(`<rect class="mark \w+" x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"`)
	for _, m := range rect.FindAllStringSubmatch(svg, -1) {
		v := numbers(t, strings.Join(m[1:], " "))
		all = append(all, solid{v[0], v[1], v[0] + v[2], v[1] + v[3], false})
	}
	for _, m := range regexp.MustCompile(`<polygon class="mark (\w+)" points="([^"]*)"`).FindAllStringSubmatch(svg, -1) {
		v := numbers(t, m[2])
		s := solid{v[0], v[1], v[0], v[1], m[1] == "choice" || m[1] == "evaluator"}
		for i := 0; i < len(v); i += 2 {
			s.left, s.right = min(s.left, v[i]), max(s.right, v[i])
			s.top, s.bottom = min(s.top, v[i+1]), max(s.bottom, v[i+1])
		}
		all = append(all, s)
	}
	label := regexp.MustCompile(`<text class="label" x="([^"]*)" y="([^"]*)" font-size="[^"]*" text-anchor="middle">([^<]*)<`)
	for _, m := range label.FindAllStringSubmatch(svg, -1) {
		v := numbers(t, m[1]+" "+m[2])
		half := widthOf(m[3], smallSize, false) / 2
		if strings.Contains(m[3], "&") {
			continue // an entity is longer than what it stands for
		}
		all = append(all, solid{v[0] - half, v[1] - smallSize, v[0] + half, v[1] + 2, false})
	}
	return all
}

// follow walks along a path and returns a point every few pixels.
func follow(t *testing.T, d string) []point {
	t.Helper()
	var at point
	var all []point
	curve := func(ctrl ...point) {
		const steps = 40
		for i := range steps + 1 {
			all = append(all, bezier(append([]point{at}, ctrl...), float64(i)/steps))
		}
		at = ctrl[len(ctrl)-1]
	}
	for _, m := range regexp.MustCompile(`([MVLQC])([^MVLQC]*)`).FindAllStringSubmatch(d, -1) {
		v := numbers(t, m[2])
		switch m[1] {
		case "M":
			at = point{v[0], v[1]}
		case "V":
			curve(point{at.x, v[0]})
		default:
			var ctrl []point
			for i := 0; i < len(v); i += 2 {
				ctrl = append(ctrl, point{v[i], v[i+1]})
			}
			curve(ctrl...)
		}
	}
	return all
}

func bezier(p []point, at float64) point {
	if len(p) == 1 {
		return p[0]
	}
	next := make([]point, len(p)-1)
	for i := range next {
		next[i] = point{p[i].x + (p[i+1].x-p[i].x)*at, p[i].y + (p[i+1].y-p[i].y)*at}
	}
	return bezier(next, at)
}

func numbers(t *testing.T, s string) []float64 {
	t.Helper()
	var all []float64
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' }) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// The tree shows every node once, however the edges lead.
func TestTreeShowsEveryNodeOnce(t *testing.T) {
	for _, w := range append(samples()[:5], randomWorkflows(100)...) {
		tree := Tree(w)
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			line := regexp.MustCompile(`(?m)^[│ ]*[├└]─ ` + regexp.QuoteMeta(n.ID) + `( |$)`)
			if found := len(line.FindAllString(tree, -1)); found != 1 {
				t.Fatalf("%s: node %s stands %d times in the tree:\n%s", w.Name, n.ID, found, tree)
			}
		})
	}
}

// randomWorkflows uses a fixed seed, so that a failure can be reproduced.
func randomWorkflows(count int) []*workflow.Workflow {
	all := make([]*workflow.Workflow, count)
	for i := range all {
		d := &dice{Rand: rand.New(rand.NewPCG(uint64(i), 1))}
		all[i] = &workflow.Workflow{Name: fmt.Sprintf("random-%d", i), Body: d.graph(2+d.IntN(14), 0, nil)}
	}
	return all
}

// dice generates random graphs. Ids are numbered throughout the workflow.
type dice struct {
	*rand.Rand
	made int
}

// graph generates a graph in which every edge leads to a later node, out to one of the nodes around
// it, or back to the start of the loop.
func (d *dice) graph(nodes, depth int, outside []string) workflow.Graph {
	var g workflow.Graph
	ids := make([]string, nodes)
	for i := range ids {
		d.made++
		ids[i] = fmt.Sprintf("n%d-%s", d.made, strings.Repeat("x", d.IntN(12)))
	}
	for i, id := range ids {
		later := ids[i+1:]
		n := d.node(id, depth, append(append([]string{}, later...), outside...))
		g.Nodes = append(g.Nodes, n)
		if _, loop := n.Step.(*workflow.Loop); loop {
			continue
		}
		g.Edges = append(g.Edges, d.edges(id, later, outside, depth > 0)...)
	}
	return g
}

func (d *dice) node(id string, depth int, outside []string) workflow.Node {
	n := workflow.Node{ID: id, Step: &workflow.Task{Agent: "shell"}}
	switch roll := d.IntN(12); {
	case roll == 0 && depth < 2:
		n.Step = &workflow.Loop{Body: d.graph(1+d.IntN(5), depth+1, outside)}
	case roll == 1 && depth < 2:
		n.Step = &workflow.Each{Items: workflow.Expr{Text: "vars.items"}, Body: d.graph(2+d.IntN(3), 0, nil)}
	case roll == 2:
		n.Step = &workflow.Human{Question: workflow.Template{Text: "Go on?"}}
	case roll == 3:
		n.Step = &workflow.Choice{}
	case roll == 4:
		n.Step = &workflow.Combine{Strategy: workflow.Vote}
	case roll == 5:
		n.Group = "group"
	}
	return n
}

func (d *dice) edges(from string, later, outside []string, loop bool) []workflow.Edge {
	var edges []workflow.Edge
	targets := append(append([]string{}, later...), outside...)
	if loop {
		targets = append(targets, workflow.Again, workflow.End)
	}
	kinds := []workflow.On{workflow.OnSuccess, workflow.OnSuccess, workflow.OnLabel, workflow.OnElse, workflow.OnFailure, workflow.OnTimeout}
	for range d.IntN(4) {
		if len(targets) > 0 {
			e := workflow.Edge{From: from, To: targets[d.IntN(len(targets))], On: kinds[d.IntN(len(kinds))]}
			if e.On == workflow.OnLabel {
				e.Label = "some label"
			}
			edges = append(edges, e)
		}
	}
	return edges
}
