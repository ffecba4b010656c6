package json

import (
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/flow"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// Parse parses a workflow from nodes and edges. A node that has neither keys nor a prompt is a
// task whose prompt is its label.
func Parse(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics) {
	doc, root, err := readText(file, text)
	if err != nil {
		return nil, doc.Diagnostics()
	}
	m := root.Map()
	if !m.Peek("nodes").IsList() {
		root.Errorf(codeShape, "write {\"nodes\": […], \"edges\": […]}", "this JSON does not contain nodes")
		return nil, doc.Diagnostics()
	}
	r := &reader{doc: doc, byID: map[string]*drawn{}, marks: map[string]string{}}
	w := r.head(m, file)
	nodes, edges := m.List("nodes"), m.List("edges")
	m.Get("viewport")
	m.Done()
	for _, n := range nodes {
		r.node(n)
	}
	for _, d := range r.list {
		if d.parent.Exists() {
			r.known(d.parent)
		}
	}
	for _, n := range edges {
		r.edge(n)
	}
	w.Body = r.drawing().Lift(doc.Report)
	expr.Resolve(w, expr.Mixed, nil)
	return w, doc.Diagnostics()
}

// Fmt writes the file in the canonical format. A file with errors is returned unchanged.
func Fmt(file string, text []byte) ([]byte, workflow.Diagnostics) {
	w, found := Parse(file, text)
	if found.Errors() {
		return text, found
	}
	written, err := Format(w)
	if err != nil {
		return text, found
	}
	return written, found
}

type reader struct {
	doc   *strictyaml.Document
	list  []*drawn
	byID  map[string]*drawn // by the id that edges use
	marks map[string]string // the type of starts and ends, by id
	edges []workflow.Edge
	// entries are the edges that leave a start.
	entries []workflow.Edge
}

// drawn is a node or a frame.
type drawn struct {
	id     string // that edges use
	parent strictyaml.Node
	step   *yaml.Step
	frame  bool
	on     string // the condition in the JSON of other programs, for the handles true and false
}

func (r *reader) head(m *strictyaml.Map, file string) *workflow.Workflow {
	w := &workflow.Workflow{Pos: m.Node().Pos()}
	title := m.Get("title")
	if w.Name = title.Name(); title.Exists() {
		w.Pos = title.Pos()
	} else {
		w.Name = yaml.NameOf(file)
	}
	yaml.ReadHead(m, w)
	for _, n := range m.List("variables") {
		r.variable(n.Map(), w)
	}
	return w
}

func (r *reader) variable(m *strictyaml.Map, w *workflow.Workflow) {
	kind := m.Word("kind", "input", "state", "output")
	p := yaml.ReadParamMap(m)
	m.Done()
	switch {
	case kind == "state":
		if w.State == nil {
			w.State, w.StatePos = map[string]any{}, map[string]workflow.Pos{}
		}
		w.State[p.Name], w.StatePos[p.Name] = p.Default, p.Pos
	case kind != "output":
		w.Inputs = append(w.Inputs, p)
	}
}

func (r *reader) node(n strictyaml.Node) {
	m := n.Map()
	id, kind := m.Get("id"), m.Get("type")
	d := &drawn{id: id.Name(), parent: m.Get("parent")}
	for _, key := range []string{"position", "width", "height", "measured", "style", "className", "selected", "dragging", "extent", "draggable"} {
		m.Get(key) // the position in an editor
	}
	data := m.Get("data").Map()
	m.Done()
	if d.id == "" {
		n.Errorf(codeShape, `add "id"`, "this node has no id")
		return
	}
	switch typ := kind.Name(); {
	case typ == startType || typ == outputType:
		r.marks[d.id] = typ
		return
	case kinds[typ] == "" && typ != "":
		names := []string{startType, outputType}
		for name := range kinds {
			names = append(names, name)
		}
		kind.Errorf(codeType, workflow.DidYouMean(typ, names), "unknown node type %q", typ)
		return
	case typ == "":
		d.read(data, "task")
	default:
		d.read(data, kinds[typ])
	}
	if r.byID[d.id] != nil {
		id.Errorf("duplicate-id", "rename one of them", "id %q is used twice", d.id)
		return
	}
	d.step.Node.Pos = id.Pos()
	r.byID[d.id] = d
	r.list = append(r.list, d)
}

// read reads the data of a node. A loop or for_each whose data has no keys for an item is a
// frame.
func (d *drawn) read(m *strictyaml.Map, kind string) {
	label := m.String("label")
	condition := m.Get("condition")
	if kind == "loop" || kind == "each" {
		d.frame, kind = true, "frame"
	}
	d.step = yaml.ReadStep(m, kind)
	m.Done()
	n := &d.step.Node
	if n.ID == "" {
		n.ID = d.id
	}
	if n.Title == "" && label != n.ID {
		n.Title = label
	}
	if condition.Exists() {
		d.on = condition.Name()
	}
	if task, ok := n.Step.(*workflow.Task); ok && kind == "task" && len(m.Entries()) == 1 {
		task.Prompt = workflow.Template{Text: label}
	}
	if d.frame && n.Step == nil {
		n.Step = &workflow.Loop{}
	}
}

func (r *reader) edge(n strictyaml.Node) {
	m := n.Map()
	from, to, handle := m.Get("source"), m.Get("target"), m.Name("sourceHandle")
	label, when := m.Get("label"), m.Get("when")
	for _, key := range []string{"id", "targetHandle", "back", "type", "animated", "style", "markerEnd", "data", "selected"} {
		m.Get(key)
	}
	m.Done()
	if !from.Exists() || !to.Exists() {
		n.Errorf(codeShape, `add "source" and "target"`, "this edge has no source or target")
		return
	}
	e := workflow.Edge{From: from.Name(), To: to.Name(), Pos: n.Pos()}
	source := r.byID[e.From]
	if !r.known(from) || !r.known(to) || r.marks[e.From] == outputType {
		return
	}
	if r.marks[e.To] == outputType {
		e.To = workflow.End
	}
	if r.marks[e.From] == startType {
		if e.To != workflow.End {
			r.entries = append(r.entries, e)
		}
		return
	}
	r.kind(&e, source, handle, label, when)
	e.From = source.id
	r.edges = append(r.edges, e)
}

// kind sets when an edge is taken: by its condition or its label, otherwise by the handle at
// which it leaves.
func (r *reader) kind(e *workflow.Edge, source *drawn, handle string, label, when strictyaml.Node) {
	switch {
	case when.Exists():
		e.On, e.When = workflow.OnWhen, workflow.Expr{Text: when.Name(), Src: when.Source()}
	case label.Exists():
		e.On, e.Label = workflow.OnLabel, label.Name()
	case handle == "" || handle == "output":
	case handle == "true" && source.on != "":
		e.On, e.When = workflow.OnWhen, workflow.Expr{Text: source.on}
	case handle == "else" || handle == "false":
		e.On = workflow.OnElse
	case handle == string(workflow.OnFailure) || handle == string(workflow.OnTimeout):
		e.On = workflow.On(handle)
	default:
		e.On, e.Label = workflow.OnLabel, handle
	}
}

func (r *reader) known(n strictyaml.Node) bool {
	id := n.Name()
	if r.byID[id] != nil || r.marks[id] != "" {
		return true
	}
	ids := make([]string, len(r.list))
	for i, d := range r.list {
		ids[i] = d.id
	}
	n.Errorf(codeEdge, workflow.DidYouMean(id, ids), "there is no node %q", id)
	return false
}

// drawing returns the drawing of the nodes and edges. A for_each whose only node has its id is
// one node, as in the model.
func (r *reader) drawing() *flow.Drawing {
	d := &flow.Drawing{Begin: func(id string) string { return "add an edge from a node of type " + startType + " to " + id }}
	inside := map[string][]*drawn{}
	for _, n := range r.list {
		inside[r.frameOf(n)] = append(inside[r.frameOf(n)], n)
	}
	for _, n := range r.list {
		frame := r.frameOf(n)
		switch items := inside[n.id]; {
		case frame != "" && r.model(frame) == n.step.Node.ID:
		case n.frame && len(items) == 1 && items[0].step.Node.ID == n.step.Node.ID:
			node := n.step.Node
			if each, ok := node.Step.(*workflow.Each); ok {
				each.Body.Nodes = []workflow.Node{items[0].step.Repeat()}
			}
			d.Nodes = append(d.Nodes, flow.Node{Node: node, Frame: r.model(frame)})
		case n.frame:
			d.Frames = append(d.Frames, flow.Frame{Node: n.step.Node, Frame: r.model(frame)})
		default:
			d.Nodes = append(d.Nodes, flow.Node{Node: n.step.Repeat(), Frame: r.model(frame)})
		}
	}
	for _, e := range r.edges {
		e.From, e.To = r.model(e.From), r.model(e.To)
		d.Edges = append(d.Edges, e)
	}
	for _, e := range r.entries {
		d.Entry, d.EntryPos = append(d.Entry, r.model(e.To)), append(d.EntryPos, e.Pos)
	}
	return d
}

// frameOf returns the id of the frame around a node, or "" if there is none.
func (r *reader) frameOf(n *drawn) string {
	id := n.parent.Name()
	if outer := r.byID[id]; outer == nil || !outer.frame {
		return ""
	}
	return id
}

// model returns the id of a node in the model.
func (r *reader) model(id string) string {
	if n := r.byID[id]; n != nil {
		return n.step.Node.ID
	}
	return id
}
