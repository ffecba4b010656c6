package markdown

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/markdown/internal/mermaid"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// The labels of arrows that have a fixed meaning.
const (
	labelElse    = "else"
	labelDefault = "default" // the same
	labelError   = "on error"
	labelTimeout = "on timeout"
	labelWhen    = "when "
)

// readLabel returns when an arrow with this label is taken. A label in braces is also a
// condition, because agents do not answer with references.
func readLabel(label string) workflow.Edge {
	cond, isWhen := strings.CutPrefix(label, labelWhen)
	switch {
	case label == "":
		return workflow.Edge{}
	case strings.EqualFold(label, labelElse) || strings.EqualFold(label, labelDefault):
		return workflow.Edge{On: workflow.OnElse}
	case strings.EqualFold(label, labelError):
		return workflow.Edge{On: workflow.OnFailure}
	case strings.EqualFold(label, labelTimeout):
		return workflow.Edge{On: workflow.OnTimeout}
	case isWhen && strings.TrimSpace(cond) != "":
		return workflow.Edge{On: workflow.OnWhen, When: workflow.Expr{Text: strings.TrimSpace(cond)}}
	case isCondition(label):
		return workflow.Edge{On: workflow.OnWhen, When: workflow.Expr{Text: label}}
	}
	return workflow.Edge{On: workflow.OnLabel, Label: label}
}

func isCondition(label string) bool {
	if !strings.HasPrefix(label, "{{") && !strings.HasPrefix(label, "${") {
		return false
	}
	return expr.TestOf(label, expr.Mixed) == expr.ConditionTest
}

// countArrows finds the ends of the arrows, and counts the arrows of every node.
func (r *reader) countArrows() {
	r.ends = make([][2]int32, len(r.chart.Edges))
	for i := range r.chart.Edges {
		e := &r.chart.Edges[i]
		from, to := r.partAt(e.Ends[0], e.From), r.partAt(e.Ends[1], e.To)
		r.ends[i] = [2]int32{from, to}
		if e.Stroke == mermaid.Invisible {
			continue
		}
		if v := r.vertex(from); v != nil {
			v.out++
		}
		if v := r.vertex(to); v != nil {
			v.in++
		}
	}
}

// partAt returns the index of the end of an arrow: a node of the chart, or the subgraph with its
// id.
func (r *reader) partAt(node int32, id string) int32 {
	if node < 0 {
		return r.index()[id]
	}
	if group := r.chart.Nodes[node].Group; group >= 0 {
		return int32(len(r.vertices) + group)
	}
	return node
}

// vertex returns the node at an end of an arrow, or nil if it is a subgraph.
func (r *reader) vertex(i int32) *vertex {
	if int(i) < len(r.vertices) {
		return &r.vertices[i]
	}
	return nil
}

// end returns the id in the drawing of an end of an arrow, and its keys. A mark has no id.
func (r *reader) end(i int32) (id string, w *words) {
	if v := r.vertex(i); v == nil {
		f := &r.frames[int(i)-len(r.vertices)]
		return f.id, f.words
	} else if !v.mark {
		return v.name, v.words
	}
	return "", nil
}

// readEdges turns the arrows into the edges of the drawing.
func (r *reader) readEdges() {
	r.drawing.Edges = make([]workflow.Edge, 0, len(r.chart.Edges)+len(r.worded))
	leaves := make([]int32, 0, len(r.chart.Edges)) // the source of each of them
	for i := range r.chart.Edges {
		e := &r.chart.Edges[i]
		if e.Stroke == mermaid.Invisible || !r.directed(e) {
			continue
		}
		from, w := r.end(r.ends[i][0])
		to, _ := r.end(r.ends[i][1])
		if from == "" {
			r.start(e, to)
			continue
		}
		edge := r.readEdge(e)
		edge.From, edge.To = from, orElse(to, workflow.End)
		if to == "" && r.endsTwice(&edge) || r.replaced(w, &edge) {
			continue
		}
		r.drawing.Edges, leaves = append(r.drawing.Edges, edge), append(leaves, r.ends[i][0])
	}
	r.decide()
	if !r.ranked(leaves) {
		r.drawing.Edges = sortByRank(r.drawing.Edges)
	}
}

// ranked reports whether the edges of every node are in the order of their kinds.
func (r *reader) ranked(leaves []int32) bool {
	last := make([]int8, len(r.vertices)+len(r.frames))
	for i, from := range leaves {
		kind := int8(yaml.Rank(r.drawing.Edges[i].On))
		if kind < last[from] {
			return false
		}
		last[from] = kind
	}
	return true
}

// endsTwice reports whether an arrow leads to a second drawn end; all ends are the same.
func (r *reader) endsTwice(edge *workflow.Edge) bool {
	key := [4]string{edge.From, string(edge.On), edge.Label, edge.When.Text}
	if r.ended == nil {
		r.ended = map[[4]string]bool{}
	}
	twice := r.ended[key]
	r.ended[key] = true
	return twice
}

// readEdge reads when an arrow is taken.
func (r *reader) readEdge(e *mermaid.Edge) workflow.Edge {
	if !e.HasText {
		return workflow.Edge{Pos: r.chartPos(e.Span)}
	}
	label := strings.TrimSpace(mermaid.Unescape(e.Text + e.Taken)) // as the author wrote it
	edge := readLabel(label)
	edge.Pos = r.chartPos(e.Label)
	if edge.On == workflow.OnWhen {
		edge.When.Src = workflow.Source{Text: label, Pos: edge.Pos}
		if at := strings.Index(label, edge.When.Text); at > 0 && label == e.Text {
			edge.When.Src = r.src.Source(source.Span{From: e.Label.To - len(edge.When.Text), To: e.Label.To})
		}
	}
	return edge
}

// directed reports whether a line leads from one end to the other. It warns about lines that are
// not plain arrows.
func (r *reader) directed(e *mermaid.Edge) bool {
	plain := func(h mermaid.Head) bool { return h == mermaid.NoHead }
	switch {
	case !plain(e.Tail) && e.Taken == "":
		r.report(workflow.Errorf(r.chartPos(e.Span), codeArrow, "draw two arrows: "+e.From+" --> "+e.To+" and "+e.To+" --> "+e.From,
			"an arrow with two heads leads in both directions"))
		return false
	case plain(e.Head):
		r.report(workflow.Warningf(r.chartPos(e.Span), codeArrow, "write "+e.From+" --> "+e.To, "a line without an arrowhead is read as an arrow"))
	case e.Head != mermaid.ArrowHead:
		r.report(workflow.Warningf(r.chartPos(e.Span), codeArrow, "write "+e.From+" --> "+e.To, "this arrowhead means the same as a plain one"))
	}
	return true
}

// start records where the flow begins. The label of such an arrow has no meaning.
func (r *reader) start(e *mermaid.Edge, to string) {
	if e.HasText {
		r.report(workflow.Warningf(r.chartPos(e.Label), codeArrow, "remove the label, or put a choice after the start", "an arrow from the start is always taken"))
	}
	if to != "" && (r.head.entry.name == "" || r.head.entry.name == e.From) {
		r.drawing.Entry = append(r.drawing.Entry, to)
		r.drawing.EntryPos = append(r.drawing.EntryPos, r.chartPos(e.Span))
	}
}

// replaced reports whether keys say where a node continues, so that an arrow only illustrates it.
// An arrow to another target is a mistake.
func (r *reader) replaced(w *words, edge *workflow.Edge) bool {
	if w == nil || len(w.Edges) == 0 && !w.Leads {
		return false
	}
	of := func(on workflow.On) bool {
		return slices.ContainsFunc(w.Edges, func(e workflow.Edge) bool { return e.On == on })
	}
	switch edge.On {
	case workflow.OnSuccess, workflow.OnLabel, workflow.OnWhen, workflow.OnElse:
		if !w.Leads {
			return false
		}
	case workflow.OnFailure, workflow.OnTimeout:
		if !of(edge.On) {
			return false
		}
	}
	into := func(id string) bool {
		i, ok := r.index()[id]
		return ok && r.vertex(i) == nil
	}
	shown := func(e workflow.Edge) bool { // in a subgraph, both may lead anywhere
		return e.To == edge.To || into(e.To) || into(edge.To)
	}
	if !slices.ContainsFunc(w.Edges, shown) {
		r.report(workflow.Warningf(edge.Pos, codeUnusedWay, "change the arrow, or the keys `next`, `route` and `else` of "+edge.From,
			"the keys of %q do not lead to %q", edge.From, edge.To))
	}
	return true
}

// leadByWords adds the edges that keys set, and drops those with unknown targets.
func (r *reader) leadByWords(from string, frame int, w *words) {
	kept := w.Edges[:0]
	for _, e := range w.Edges {
		to, ok := r.target(target{e.To, e.Pos}, frame)
		if ok {
			e.From, e.To = from, to
			kept = append(kept, e)
		}
	}
	w.Edges = kept
	r.worded = append(r.worded, kept...)
}

// target returns the end of an edge that a key names: a node, a subgraph, the end, or the next
// iteration of the loop around it.
func (r *reader) target(t target, frame int) (string, bool) {
	if id, ok := r.part(t.name); ok {
		return id, true
	}
	switch yaml.Mark(t.name) {
	case workflow.End:
		return workflow.End, true
	case workflow.Again:
		return r.again(t, frame)
	}
	r.report(workflow.Errorf(t.pos, codeEdgeTarget, r.suggest(t.name), "unknown step %q", t.name))
	return "", false
}

// part returns the id in the drawing for a name: an id of the model, otherwise one of the chart.
// A drawn end is the end.
func (r *reader) part(name string) (string, bool) {
	if r.byName == nil {
		r.byName = make(map[string]string, len(r.vertices)+len(r.frames))
		for i := range r.frames {
			r.byName[r.chart.Subgraphs[i].ID] = r.frames[i].id
		}
		for i := range r.vertices {
			if n := &r.chart.Nodes[i]; n.Group < 0 {
				id, _ := r.end(int32(i))
				r.byName[n.ID] = orElse(id, workflow.End)
			}
		}
		for i := range r.frames {
			r.byName[r.frames[i].name] = r.frames[i].id
		}
		for i := range r.vertices {
			if v := &r.vertices[i]; r.chart.Nodes[i].Group < 0 && !v.mark {
				r.byName[v.name] = v.name
			}
		}
		for i := range r.frames {
			if f := &r.frames[i]; f.id != f.name { // it is around the node of that name
				r.byName[f.name] = f.id
			}
		}
	}
	id, ok := r.byName[name]
	return id, ok
}

// again returns the frame of the innermost loop around a place.
func (r *reader) again(t target, frame int) (string, bool) {
	for ; frame >= 0; frame = r.chart.Subgraphs[frame].Outer {
		if _, ok := r.drawing.Frames[frame].Step.(*workflow.Loop); ok {
			return r.frames[frame].id, true
		}
	}
	r.report(workflow.Errorf(t.pos, codeAgain, "draw an arrow to the step to repeat", "%q is not in the subgraph of a loop", t.name))
	return "", false
}

// suggest suggests the node that was probably meant. In a file with many mistakes it stops
// searching.
func (r *reader) suggest(written string) string {
	const remedy = "write the id of a node in the flowchart"
	if r.suggested++; r.suggested > 100 {
		return remedy
	}
	names := make([]string, 0, len(r.chart.Nodes)+2)
	for i := range r.chart.Nodes {
		names = append(names, orElse(r.vertices[i].name, r.chart.Nodes[i].ID))
	}
	if hint := workflow.DidYouMean(written, append(names, "end", "again")); hint != "" {
		return hint
	}
	return remedy
}
