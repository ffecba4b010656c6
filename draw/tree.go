package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/workflow"
)

// Tree draws a workflow as lines for the terminal. What follows a node is below it, and what
// belongs to a node is indented: a loop's body, the branches of a decision, nodes that run in
// parallel. An arrow names the node where a branch continues, if that is elsewhere.
func Tree(w *workflow.Workflow) string { return tree(w, none) }

func tree(w *workflow.Workflow, m *Marks) string {
	top := branch{name: clean(w.Name), note: shorten(w.Description, 72), kids: branches(&w.Body, m)}
	width := 0
	for _, k := range top.kids {
		width = max(width, k.width(3))
	}
	var b strings.Builder
	b.WriteString(strings.TrimRight(top.name+"  "+top.note, " ") + "\n")
	for i, k := range top.kids {
		k.print(&b, "", i == len(top.kids)-1, min(width, widestName))
	}
	return b.String()
}

// widestName limits the width of the column of names.
const widestName = 44

// branch is one line of the tree and the lines below it.
type branch struct {
	name, note string
	kids       []*branch
}

func (b *branch) width(indent int) int {
	w := 0
	if b.note != "" {
		w = indent + utf8.RuneCountInString(b.name)
	}
	for _, k := range b.kids {
		w = max(w, k.width(indent+3))
	}
	return w
}

func (b *branch) print(to *strings.Builder, indent string, last bool, width int) {
	tee, bar := "├─ ", "│  "
	if last {
		tee, bar = "└─ ", "   "
	}
	line := indent + tee + b.name
	if b.note != "" {
		line += strings.Repeat(" ", max(0, width-utf8.RuneCountInString(line))) + "  " + b.note
	}
	to.WriteString(line + "\n")
	for i, k := range b.kids {
		k.print(to, indent+bar, i == len(b.kids)-1, width)
	}
}

// grower makes the branches of one graph.
type grower struct {
	flow  *flow
	shown []bool
	marks *Marks
}

// until is where a branch ends because it continues elsewhere: at one node, or at any of a set of
// nodes.
type until struct {
	at    int
	set   map[int]bool
	outer *until
}

func (u *until) has(n int) bool {
	for ; u != nil; u = u.outer {
		if u.at == n || u.set[n] {
			return true
		}
	}
	return false
}

func branches(g *workflow.Graph, m *Marks) []*branch {
	w := &grower{flow: newFlow(g), shown: make([]bool, len(g.Nodes)), marks: m}
	var starts []exit
	for _, id := range entries(g) {
		starts = append(starts, exit{&workflow.Edge{To: id}, w.flow.index[id]})
	}
	return w.along("parallel", starts, &until{at: w.flow.end()})
}

// along returns everything that follows these exits, up to where it stops.
func (w *grower) along(name string, ways []exit, stop *until) []*branch {
	side, next := w.onward(name, ways, stop)
	if side == nil {
		return w.sequence(next, stop)
	}
	return append([]*branch{side}, w.sequence(next, stop)...)
}

// onward returns what follows a node with these exits: a single exit continues on the same
// level, and several become branches until they meet.
func (w *grower) onward(name string, ways []exit, stop *until) (side *branch, next int) {
	switch len(ways) {
	case 0:
		return nil, w.flow.end()
	case 1:
		return nil, ways[0].to
	}
	meet := w.flow.meetOf(ways)
	side = &branch{name: name}
	group := w.group(ways[0].to)
	for _, x := range ways {
		side.kids = append(side.kids, w.lane(x, &until{at: meet, outer: stop}))
		if group != w.group(x.to) {
			group = ""
		}
	}
	if group != "" {
		side.name, side.note = clean(group), "group"
	}
	return side, meet
}

func (w *grower) group(n int) string {
	if n == w.flow.end() {
		return ""
	}
	return w.flow.graph.Nodes[n].Group
}

// lane returns one of several branches that run in parallel.
func (w *grower) lane(x exit, stop *until) *branch {
	if stop.has(x.to) || w.shown[x.to] {
		return &branch{name: "→ " + w.target(x)}
	}
	parts := w.sequence(x.to, stop)
	if len(parts) == 1 {
		return parts[0]
	}
	return &branch{name: "in turn", kids: parts}
}

// sequence returns a node and everything that follows it, up to where it stops.
func (w *grower) sequence(at int, stop *until) []*branch {
	var made []*branch
	for !stop.has(at) {
		if w.shown[at] {
			return append(made, &branch{name: "→ " + w.name(at)})
		}
		w.shown[at] = true
		b, name, ways := w.node(at, stop)
		made = append(made, b)
		side, next := w.onward(name, ways, stop)
		if side != nil {
			made = append(made, side)
		}
		at = next
	}
	return made
}

// node returns the line of a node with what belongs to it, and its exits, with a name for
// them in case there are several.
func (w *grower) node(at int, stop *until) (b *branch, name string, ways []exit) {
	n := &w.flow.graph.Nodes[at]
	b = &branch{name: clean(n.ID), note: w.marks.says(facts(n), w.marks.Node(n.ID))}
	if body := n.Body(); body != nil && single(n) == nil {
		b.kids = branches(body, w.marks)
	}
	plain, decided, failing := split(w.flow.out[at])
	main := slices.Concat(plain, decided)
	if _, loop := n.Step.(*workflow.Loop); loop { // the decisions are in the body
		w.failures(b, failing, main, stop, true)
		ways := w.inside(main)
		if together(ways) {
			return b, "parallel", ways
		}
		return b, "either", ways
	}
	w.failures(b, failing, main, stop, false)
	if len(decided) == 0 {
		return b, "parallel", plain
	}
	meet := w.flow.meetOf(main)
	b.kids = append(w.decisions(main, &until{at: meet, outer: stop}), b.kids...)
	return b, "", []exit{{to: meet}}
}

// failures adds the branches for failures. They stop at any node of the main path, which is drawn
// further down. The body of a loop shows its own failures, so only those are added that are not
// shown elsewhere.
func (w *grower) failures(to *branch, failing, main []exit, stop *until, loop bool) {
	if len(failing) == 0 {
		return
	}
	for _, x := range main {
		stop = &until{at: w.flow.end(), set: w.flow.reach(x.to), outer: stop}
	}
	for _, b := range w.decisions(failing, stop) {
		if !loop || len(b.kids) > 0 {
			to.kids = append(to.kids, b)
		}
	}
}

// decisions returns the branches of a node, one for each possible decision.
func (w *grower) decisions(exits []exit, stop *until) []*branch {
	var made []*branch
	for i := 0; i < len(exits); i++ {
		text := cmp.Or(edgeText(exits[i].edge), string(workflow.OnElse))
		same := []exit{exits[i]}
		for i+1 < len(exits) && edgeText(exits[i+1].edge) == edgeText(exits[i].edge) {
			i++
			same = append(same, exits[i])
		}
		marked := slices.ContainsFunc(same, func(x exit) bool { return w.marks.edge(x.edge) })
		made = append(made, w.decision(w.marks.says(text, marked), same, stop))
	}
	return made
}

func (w *grower) decision(text string, same []exit, stop *until) *branch {
	if len(same) > 1 {
		return &branch{name: text, kids: w.along("parallel", same, stop)}
	}
	to := same[0].to
	if to == w.flow.end() || stop.has(to) || w.shown[to] {
		return &branch{name: text + " → " + w.target(same[0])}
	}
	return &branch{name: text, kids: w.sequence(to, stop)}
}

// target describes the target of an exit, which may be outside the graph.
func (w *grower) target(x exit) string {
	if x.to == w.flow.end() && x.edge != nil {
		return clean(strings.TrimPrefix(x.edge.To, "@"))
	}
	return w.name(x.to)
}

func (w *grower) name(n int) string {
	if n == w.flow.end() {
		return "end"
	}
	return clean(w.flow.graph.Nodes[n].ID)
}

// split groups the exits of a node. A plain edge next to decisions is the default.
func split(exits []exit) (plain, decided, failing []exit) {
	for _, x := range exits {
		switch x.edge.On {
		case workflow.OnSuccess:
			plain = append(plain, x)
		case workflow.OnLabel, workflow.OnWhen, workflow.OnElse:
			decided = append(decided, x)
		case workflow.OnFailure, workflow.OnTimeout:
			failing = append(failing, x)
		}
	}
	return plain, decided, failing
}

// inside keeps one exit for each target in the graph. The body of a loop shows the exits that
// leave it.
func (w *grower) inside(exits []exit) []exit {
	seen := map[int]bool{w.flow.end(): true}
	var kept []exit
	for _, x := range exits {
		if !seen[x.to] {
			seen[x.to] = true
			kept = append(kept, x)
		}
	}
	return kept
}

// together reports whether a step in a loop takes all of these exits at once.
func together(ways []exit) bool {
	return !slices.ContainsFunc(ways, func(x exit) bool {
		first := ways[0].edge
		return x.edge.From != first.From || x.edge.On != first.On || edgeText(x.edge) != edgeText(first)
	})
}

// facts returns the details of a line: the kind of the node, its agent, and settings other
// than the defaults.
func facts(n *workflow.Node) string {
	inner := n
	if one := single(n); one != nil {
		inner = one
	}
	parts := without("", what(inner))
	if inner != n {
		parts = append(parts, note(n))
	}
	if heading := shorten(n.Heading(), widestTitle); heading != "" && !strings.HasSuffix(parts[0], ": "+heading) {
		parts = append(parts, fmt.Sprintf("%q", heading))
	}
	if r := inner.Retry; r.Attempts > 1 {
		parts = append(parts, fmt.Sprintf("%d attempts", r.Attempts))
	}
	if n.Join.Need > 0 {
		parts = append(parts, fmt.Sprintf("after %d of its edges", n.Join.Need))
	}
	if n.OnError != workflow.Stop {
		parts = append(parts, "on error "+strings.ReplaceAll(string(n.OnError), "_", " "))
	}
	return strings.Join(parts, ", ")
}

// what describes what a node does.
func what(n *workflow.Node) string {
	switch s := n.Step.(type) {
	case *workflow.Call:
		return "call: " + s.Workflow
	case *workflow.Loop:
		return "loop, " + note(n)
	case *workflow.Each:
		return note(n)
	case *workflow.Human:
		return detailed(n, questionText(s))
	case *workflow.Choice:
		return detailed(n, choiceText(s))
	}
	if t, ok := n.Step.(*workflow.Task); ok && t.Does() != "" {
		return note(n)
	}
	return detailed(n, note(n))
}

func detailed(n *workflow.Node, text string) string {
	if text = shorten(text, widestNote); text == "" {
		return n.Kind()
	}
	return n.Kind() + ": " + text
}
