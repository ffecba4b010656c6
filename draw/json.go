package draw

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// JSON draws a workflow as nodes and edges, for programs that draw themselves.
func JSON(w *workflow.Workflow) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(newDocument(w)); err != nil {
		panic(fmt.Sprintf("draw: a workflow that is not JSON: %v", err)) // the model holds JSON values only
	}
	return b.String()
}

type document struct {
	Title       string         `json:"title"`
	Description string         `json:"description,omitempty"`
	Nodes       []documentNode `json:"nodes"`
	Edges       []documentEdge `json:"edges"`
	Variables   []variable     `json:"variables"`
	Agents      []lane         `json:"agents"`
}

type documentNode struct {
	ID     string   `json:"id"`
	Type   string   `json:"type"`
	Parent string   `json:"parent,omitempty"` // the loop, the for_each or the group that it stands in
	Data   nodeData `json:"data"`
}

type nodeData struct {
	Label    string `json:"label"`
	Agent    string `json:"agent,omitempty"`
	Prompt   string `json:"prompt,omitempty"`
	Question string `json:"question,omitempty"`
	Workflow string `json:"workflow,omitempty"`
	On       string `json:"on,omitempty"`
	Strategy string `json:"strategy,omitempty"`
	Output   string `json:"output,omitempty"` // the variable that is written
	ForEach  string `json:"forEach,omitempty"`
	Max      int    `json:"max,omitempty"` // rounds of a loop
}

type documentEdge struct {
	ID           string `json:"id"`
	Source       string `json:"source"`
	Target       string `json:"target"`
	SourceHandle string `json:"sourceHandle"`
	TargetHandle string `json:"targetHandle"`
	Label        string `json:"label,omitempty"`
	When         string `json:"when,omitempty"`
	Back         bool   `json:"back,omitempty"`
}

type variable struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"` // input, state or output
	Type     string `json:"type,omitempty"`
	Required bool   `json:"required,omitempty"`
	Default  any    `json:"default,omitempty"`
}

type lane struct {
	Name  string `json:"name"`
	Role  string `json:"role,omitempty"`
	Color string `json:"color,omitempty"`
}

func newDocument(w *workflow.Workflow) *document {
	p := newPicture(w)
	d := &document{Title: w.Name, Description: w.Description, Nodes: []documentNode{}, Edges: []documentEdge{}}
	d.add(p.root)
	for i, l := range p.links {
		d.Edges = append(d.Edges, documentEdge{
			ID: fmt.Sprintf("e%d", i+1), Source: l.from, Target: l.to,
			SourceHandle: handle(l, p.tests[l.from]), TargetHandle: "input",
			Label: l.label, When: l.when, Back: l.back,
		})
	}
	d.Variables, d.Agents = variables(w), lanes(w)
	return d
}

func (d *document) add(f *frame) {
	for _, p := range f.parts {
		if p.mark != nil {
			d.Nodes = append(d.Nodes, documentNode{p.mark.id, nodeTypes[p.mark.kind], f.key, dataOf(p.mark)})
			continue
		}
		d.Nodes = append(d.Nodes, documentNode{p.frame.key, frameTypes[p.frame.kind], f.key, frameData(p.frame)})
		d.add(p.frame)
	}
}

var nodeTypes = map[markKind]string{
	startMark:     "workflowStart",
	endMark:       "output",
	taskMark:      "promptBlock",
	routerMark:    "router",
	humanMark:     "approval",
	callMark:      "include",
	choiceMark:    "condition",
	evaluatorMark: "evaluator",
	combineMark:   "aggregator",
}

var frameTypes = map[frameKind]string{loopFrame: "loop", eachFrame: "forEach", groupFrame: "group"}

func dataOf(m *mark) nodeData {
	if m.node == nil {
		return nodeData{Label: string(m.kind)}
	}
	d := nodeData{Label: cmp.Or(m.node.Title, m.node.ID), Output: m.node.Output.Var}
	step := m.node.Step
	if one := single(m.node); one != nil {
		d.ForEach = m.node.Step.(*workflow.Each).Items.Text
		d.Output = cmp.Or(d.Output, one.Output.Var)
		step = one.Step
	}
	switch s := step.(type) {
	case *workflow.Task:
		d.Agent, d.Prompt = s.Agent, s.Prompt.Text
	case *workflow.Human:
		d.Question = s.Question.Text
	case *workflow.Call:
		d.Workflow = s.Workflow
	case *workflow.Choice:
		d.On = s.On.Text
	case *workflow.Combine:
		d.Strategy = string(s.Strategy)
	case *workflow.Loop, *workflow.Each: // frames, not marks
	}
	return d
}

func frameData(f *frame) nodeData {
	if f.node == nil {
		return nodeData{Label: f.id}
	}
	d := nodeData{Label: cmp.Or(f.node.Title, f.node.ID), Output: f.node.Output.Var}
	switch s := f.node.Step.(type) {
	case *workflow.Loop:
		d.Max = cmp.Or(s.Max, workflow.DefaultMaxIterations)
	case *workflow.Each:
		d.ForEach = s.Items.Text
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine: // marks, not frames
	}
	return d
}

// handle is the side of the source at which an edge leaves. A condition with one
// test has the sides true and false; the others are numbered.
func handle(l link, tests []string) string {
	switch l.on {
	case workflow.OnSuccess:
		return "output"
	case workflow.OnLabel:
		return cmp.Or(truth[l.label], l.label)
	case workflow.OnWhen:
		if len(tests) == 1 {
			return "true"
		}
		return fmt.Sprintf("when-%d", slices.Index(tests, l.when)+1)
	case workflow.OnElse:
		if len(tests) == 1 {
			return "false"
		}
		return "else"
	case workflow.OnFailure, workflow.OnTimeout:
		return string(l.on)
	}
	return "output"
}

var truth = map[string]string{"yes": "true", "no": "false"}

// variables are the inputs, then the rest of the state and what nodes write,
// each name once per kind.
func variables(w *workflow.Workflow) []variable {
	vs := []variable{}
	for _, in := range w.Inputs {
		vs = append(vs, variable{in.Name, "input", string(in.Type), in.Required, in.Default})
	}
	names := make([]string, 0, len(w.State))
	for name := range w.State {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		vs = append(vs, variable{Name: name, Kind: "state", Default: w.State[name]})
	}
	seen := map[string]bool{}
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if name := n.Output.Var; name != "" && !seen[name] {
			seen[name] = true
			vs = append(vs, variable{Name: name, Kind: "output"})
		}
	})
	return vs
}

func lanes(w *workflow.Workflow) []lane {
	ls := []lane{}
	for _, a := range w.Agents {
		ls = append(ls, lane{a.Name, a.Role, a.Color})
	}
	return ls
}
