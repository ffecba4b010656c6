package yaml

import (
	"cmp"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// The other notations draw what they can, and use the keys of this one for the rest: in the front
// matter of a section, in a note, in the elements of a step. This file reads and writes these
// keys.

// Step is the result of reading the keys of one step.
type Step struct {
	// Node has a nil Step if neither the keys nor the drawing say what it does. Its id and title
	// are empty if the keys do not set them; its body is empty.
	Node workflow.Node
	// Each is set if the keys repeat a task or a call. Repeat puts the node into it.
	Each *workflow.Each
	// Edges are the edges of next, route, else, error and on_timeout, without From. To is a name
	// as it is written: an id, or a word that [Mark] knows.
	Edges []workflow.Edge
	// When is the condition without which the step is skipped.
	When workflow.Expr
	// Leads says that the keys set what follows success, so that the drawing does not.
	Leads bool
	// HasOnError says that on_error is set.
	HasOnError bool
}

// Repeat returns the node, wrapped in its Each if the keys repeat it. Call it when the node is
// complete.
func (s *Step) Repeat() workflow.Node {
	if s.Each == nil {
		return s.Node
	}
	return *repeat(s.Node, s.Each)
}

// ReadStep reads the keys of a step. The kind is that of the drawing, as returned by
// [Kind]; "frame" is something around steps, which only becomes a loop or an each
// through its keys. The keys of a kind need no key around them, but a key such as `human:` or
// `workflow:` changes the kind of the step, whatever was drawn. The caller calls Done on the map.
func ReadStep(m *strictyaml.Map, kind string) *Step {
	out := &Step{}
	new(StepReader).Read(m, kind, out)
	return out
}

// StepReader reads the keys of one step after the other and reuses its memory.
type StepReader struct {
	reader reader
	step   step
}

// Read is like [ReadStep], but stores the result in out.
func (sr *StepReader) Read(m *strictyaml.Map, kind string, out *Step) {
	r, s, said := &sr.reader, &sr.step, strictyaml.Node{}
	*s = step{pos: m.Node().Pos()}
	id := m.Get("id")
	s.node.ID, s.node.Title = id.Name(), m.String("title")
	switch {
	case saysOther(m, kind):
		said = r.kind(m, s)
	case kind == "task":
		for _, key := range taskKeys {
			m.Get(key)
		}
		r.task(m, s)
	case kind == "merge":
		s.node.Step = r.readMerge(m)
	case kind == "land":
		r.landing(m, s)
	default:
		s.node.Step = readKind(m, kind)
	}
	s.node.Pos = s.place(id, said)
	r.words(m, s)
	*out = Step{Node: s.node, When: s.when, HasOnError: s.onErrorGiven, Leads: s.next != nil || s.branches()}
	switch s.node.Step.(type) {
	case *workflow.Task, *workflow.Call:
		if m.Get("for_each").Exists() {
			out.Each = readEach(m)
		}
	case *workflow.Human, *workflow.Choice, *workflow.Combine, *workflow.Loop, *workflow.Each:
	}
	if s.next != nil {
		out.lead(way{}, *s.next)
	}
	for _, w := range s.ways {
		out.lead(w, w.to)
	}
}

// saysOther reports whether a key sets the kind of the step. The agent of a choice does not.
func saysOther(m *strictyaml.Map, kind string) bool {
	for _, key := range []string{"agent", "prompt", "template", "workflow", "human", "combine", "choice", "merge", "land"} {
		if m.Peek(key).Exists() && (key != "agent" || kind != "choice") {
			return true
		}
	}
	return false
}

// readKind reads the keys of a kind that was drawn. They are in the map of the step itself.
func readKind(m *strictyaml.Map, kind string) workflow.Step {
	switch kind {
	case "human":
		h := &workflow.Human{}
		readHuman(m, h)
		return h
	case "call":
		return &workflow.Call{Inputs: readBindings(m.Get("inputs"))}
	case "choice":
		c := readChoice(m)
		return &c
	case "combine":
		return readCombine(m)
	case "loop":
		return &workflow.Loop{Max: m.Int("max", 1)}
	case "each":
		return readEach(m)
	case "frame":
		return readFrame(m)
	}
	return nil
}

// readFrame reads `loop: true`, `loop: {max: 3}` or a for_each; otherwise the frame is only a
// frame.
func readFrame(m *strictyaml.Map) workflow.Step {
	loop := m.Get("loop")
	switch {
	case loop.IsMap():
		in := loop.Map()
		l := &workflow.Loop{Max: in.Int("max", 1)}
		in.Done()
		return l
	case loop.Exists():
		if !loop.Bool() {
			return nil
		}
		return &workflow.Loop{}
	case m.Get("for_each").Exists():
		return readEach(m)
	}
	return nil
}

func readEach(m *strictyaml.Map) *workflow.Each {
	list, item := readItems(m.Get("for_each"))
	return &workflow.Each{Items: list, As: cmp.Or(m.Name("as"), item), Parallel: m.Int("max_parallel", 1)}
}

func (s *Step) lead(w way, to []target) {
	for _, t := range to {
		e := workflow.Edge{To: t.name, On: w.on, Label: w.label, When: w.when, Pos: t.pos}
		if w.pos.Line != 0 {
			e.Pos = w.pos
		}
		s.Edges = append(s.Edges, e)
	}
}

// ReadHead reads the head of a workflow: description, inputs, state, agents, limits and output.
// The caller calls Done on the map.
func ReadHead(m *strictyaml.Map, w *workflow.Workflow) { readHead(m, w) }

// ReadParam reads an input that is declared in a list, with its name.
func ReadParam(n strictyaml.Node) workflow.Param {
	m := n.Map()
	p := ReadParamMap(m)
	m.Done()
	return p
}

// ReadParamMap is like ReadParam, for a map with other keys. The caller calls Done on it.
func ReadParamMap(m *strictyaml.Map) workflow.Param {
	name := m.Get("name")
	p := workflow.Param{Name: name.Name(), Pos: name.Pos()}
	if m.Node().IsMap() && !name.Exists() {
		m.Node().Errorf(codeStepKey, "add `name:`", "this input has no name")
	}
	readParam(m, &p)
	return p
}

// ReadOutput reads `output: name` or its long form.
func ReadOutput(n strictyaml.Node) workflow.Output { return readOutput(n) }

// ReadSchema reads a JSON Schema, or creates one from an example.
func ReadSchema(n strictyaml.Node) any { return readSchema(n) }

// WriteHead writes the keys of [ReadHead]. The texts are those that [Mixed] returns.
func WriteHead(w *workflow.Workflow) string { return Style{}.Head(w) }

// WriteStep writes the keys of [ReadStep] for a node of its kind, and for the edges that its
// drawing does not show, which are nil if it shows all. withID says whether to write the id. The
// texts of the node are those that [Mixed] returns.
func WriteStep(n *workflow.Node, edges []workflow.Edge, withID bool) string {
	return Style{}.Step(n, edges, withID)
}

// Style says how keys are written. The zero Style writes them as in a file.
type Style struct {
	// Hard puts every text on one line, and escapes everything that might have a meaning in the
	// notation around it.
	Hard bool
	// NoFences writes texts that contain the marks of a fenced block in quotes: on several lines,
	// they would open a fence in the Markdown around them.
	NoFences bool
}

func (st Style) printer() printer { return printer{hard: st.Hard, noFences: st.NoFences} }

// Head is [WriteHead] in this style.
func (st Style) Head(w *workflow.Workflow) string {
	out := &writer{printer: st.printer()}
	out.head(w)
	return out.b.String()
}

// Step is [WriteStep] in this style.
func (st Style) Step(n *workflow.Node, edges []workflow.Edge, withID bool) string {
	s := &step{node: *n, given: withID}
	if edges != nil {
		s.lead(edges)
	}
	out := &writer{printer: st.printer(), plan: &plan{}, flat: true}
	out.step(s)
	return out.b.String()
}

// Text returns one key with its text.
func (st Style) Text(key, text string) string {
	out := &printer{hard: st.Hard}
	out.always(key, text)
	return out.b.String()
}

// Ways writes the edges for failures and timeouts: error and on_timeout.
func (st Style) Ways(edges []workflow.Edge) string {
	s := &step{}
	s.lead(edges)
	out := &writer{printer: st.printer()}
	out.ways(s.ways)
	return out.b.String()
}

// lead sets the ways that are written for edges.
func (s *step) lead(edges []workflow.Edge) {
	out := make([]*workflow.Edge, len(edges))
	for i := range edges {
		out[i] = &edges[i]
	}
	(&lifter{}).leave(s, out)
	s.next = &s.want
	if len(s.want) == 0 && s.branches() {
		s.next = nil
	}
}

// Mark returns the target for a word such as end or again, if no step has that name. It returns
// "" for other words.
func Mark(word string) string { return mark(word) }

// IsRepeat reports whether a node is what [Step.Repeat] creates: a task or a call for each item
// of a list that the keys of one step can express.
func IsRepeat(n *workflow.Node) bool {
	each, ok := n.Step.(*workflow.Each)
	return ok && isRepeat(n, each)
}

// Mixed copies a workflow with its texts in the dialect in which both ${…} and {{…}} are
// references.
func Mixed(w *workflow.Workflow) *workflow.Workflow { return InDialect(w, expr.Mixed) }

// Namer generates ids for steps that have none, in the same way as this notation. Ids that exist
// must be taken first.
type Namer struct{ names namer }

// NewNamer returns a namer with no ids taken.
func NewNamer() *Namer { return &Namer{namer{steps: map[string]*step{}, last: map[string]int{}}} }

// Take marks an id as used, and reports whether it was free.
func (n *Namer) Take(id string) bool {
	_, taken := n.names.steps[id]
	n.names.steps[id] = nil
	return !taken
}

// Name returns the base, or the base with the first free number from 2 on.
func (n *Namer) Name(base string) string { return n.names.name(base, nil) }

// Slug turns a text into an id. A valid id is returned unchanged.
func Slug(text string) string { return slug(text) }
