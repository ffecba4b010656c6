package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A workflow is stored as JSON when a run starts. The only part that encoding/json cannot handle
// is the step of a node: each kind has its own field. A graph is stored as a whole, and fields
// that most nodes do not have are left out, because encoding and decoding take longer than
// replaying a run.

// StoredBundle is a bundle in the same JSON as a [Bundle], but it is written in less than half
// the time and read in two thirds: encoding/json parses everything once more that a MarshalJSON
// method writes or an UnmarshalJSON method reads.
type StoredBundle struct {
	Root   *storedWorkflow
	Called map[string]*storedWorkflow
}

type workflowFields Workflow

type storedWorkflow struct {
	workflowFields
	Body storedGraph
}

// Store prepares a bundle for writing.
func Store(b *Bundle) (s StoredBundle, err error) {
	if s.Root, err = storeWorkflow(b.Root); err != nil || b.Called == nil {
		return s, err
	}
	s.Called = make(map[string]*storedWorkflow, len(b.Called))
	for name, w := range b.Called {
		if s.Called[name], err = storeWorkflow(w); err != nil {
			return StoredBundle{}, err
		}
	}
	return s, nil
}

// Bundle returns the bundle that was read.
func (s *StoredBundle) Bundle() (b *Bundle, err error) {
	b = &Bundle{}
	if b.Root, err = s.Root.workflow(); err != nil || s.Called == nil {
		return b, err
	}
	b.Called = make(map[string]*Workflow, len(s.Called))
	for name, w := range s.Called {
		if b.Called[name], err = w.workflow(); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func storeWorkflow(w *Workflow) (*storedWorkflow, error) {
	if w == nil {
		return nil, nil
	}
	body, err := storeGraph(&w.Body)
	return &storedWorkflow{workflowFields(*w), body}, err
}

func (s *storedWorkflow) workflow() (*Workflow, error) {
	if s == nil {
		return nil, nil
	}
	w := Workflow(s.workflowFields)
	return &w, s.Body.restore(&w.Body)
}

type storedGraph struct {
	Nodes []storedNode
	Edges []Edge
}

type nodeFields Node

type storedNode struct {
	Task    *Task    `json:",omitempty"`
	Human   *Human   `json:",omitempty"`
	Call    *Call    `json:",omitempty"`
	Choice  *Choice  `json:",omitempty"`
	Combine *Combine `json:",omitempty"`
	Loop    *Loop    `json:",omitempty"`
	Each    *Each    `json:",omitempty"`
	// Kind and Step are the form in which older versions stored a step.
	Kind string          `json:",omitempty"`
	Step json.RawMessage `json:",omitempty"`
	nodeFields
}

// MarshalJSON stores a graph.
func (g Graph) MarshalJSON() ([]byte, error) {
	stored, err := storeGraph(&g)
	if err != nil {
		return nil, err
	}
	return json.Marshal(stored)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (g *Graph) UnmarshalJSON(data []byte) error {
	var stored storedGraph
	if err := unmarshal(data, &stored); err != nil {
		return err
	}
	return stored.restore(g)
}

func storeGraph(g *Graph) (storedGraph, error) {
	stored := storedGraph{Edges: g.Edges}
	if g.Nodes != nil {
		stored.Nodes = make([]storedNode, len(g.Nodes))
	}
	for i, n := range g.Nodes {
		stored.Nodes[i].nodeFields = nodeFields(n)
		if err := stored.Nodes[i].set(n.Step); err != nil {
			return storedGraph{}, err
		}
	}
	return stored, nil
}

func (s *storedGraph) restore(g *Graph) error {
	*g = Graph{Edges: s.Edges}
	if s.Nodes != nil {
		g.Nodes = make([]Node, len(s.Nodes))
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		step, err := n.step()
		if err != nil {
			return err
		}
		g.Nodes[i] = Node(n.nodeFields)
		g.Nodes[i].Step = step
	}
	return nil
}

func (n *storedNode) set(step Step) error {
	switch step := step.(type) {
	case *Task:
		n.Task = step
	case *Human:
		n.Human = step
	case *Call:
		n.Call = step
	case *Choice:
		n.Choice = step
	case *Combine:
		n.Combine = step
	case *Loop:
		n.Loop = step
	case *Each:
		n.Each = step
	default:
		return fmt.Errorf("workflow: node %q has no step", n.ID)
	}
	return nil
}

func (n *storedNode) step() (Step, error) {
	switch {
	case n.Kind != "":
		return n.oldStep()
	case n.Task != nil:
		return n.Task, nil
	case n.Human != nil:
		return n.Human, nil
	case n.Call != nil:
		return n.Call, nil
	case n.Choice != nil:
		return n.Choice, nil
	case n.Combine != nil:
		return n.Combine, nil
	case n.Loop != nil:
		return n.Loop, nil
	case n.Each != nil:
		return n.Each, nil
	}
	return nil, fmt.Errorf("workflow: node %q has a step of unknown kind", n.ID)
}

func (n *storedNode) oldStep() (Step, error) {
	kinds := map[string]Step{"task": &Task{}, "human": &Human{}, "call": &Call{}, "choice": &Choice{}, "combine": &Combine{}, "loop": &Loop{}, "each": &Each{}}
	step := kinds[n.Kind]
	if step == nil {
		return nil, fmt.Errorf("workflow: node %q has a step of unknown kind %q", n.ID, n.Kind)
	}
	return step, unmarshal(n.Step, step)
}

// oldPos is a position as older versions stored it.
type oldPos struct {
	File      string `json:"file,omitempty"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
	Part      string `json:"part,omitempty"`
}

// MarshalText returns a position as a short text, "4:32-4:33 file" or "3:0-3:0=part": a workflow
// has several for each node.
func (p Pos) MarshalText() ([]byte, error) {
	text := make([]byte, 0, 64)
	for i, n := range []int{p.Line, p.Column, p.EndLine, p.EndColumn} {
		text = append(strconv.AppendInt(text, int64(n), 10), ":-: "[i])
	}
	if p.Part != "" {
		text[len(text)-1] = '='
	}
	return append(text, p.File+p.Part...), nil // only one of them is set
}

// UnmarshalJSON reads what MarshalText wrote.
func (p *Pos) UnmarshalJSON(data []byte) error {
	if data[0] == '{' {
		return json.Unmarshal(data, (*oldPos)(p))
	}
	text, err := fromJSON(data)
	end := max(0, strings.IndexAny(text, " ="))
	numbers, name := text[:end], text[end:]
	for i, to := range []*int{&p.Line, &p.Column, &p.EndLine, &p.EndColumn} {
		var number string
		if number, numbers, _ = strings.Cut(numbers, ":-: "[i:i+1]); err == nil {
			*to, err = strconv.Atoi(number)
		}
	}
	if part, ok := strings.CutPrefix(name, "="); ok {
		p.Part = part
	} else {
		p.File = strings.TrimPrefix(name, " ")
	}
	return err
}

// fromJSON decodes a JSON string, without encoding/json if it has no escapes.
func fromJSON(data []byte) (text string, err error) {
	if bytes.IndexByte(data, '\\') < 0 && data[0] == '"' {
		return string(data[1 : len(data)-1]), nil
	}
	err = json.Unmarshal(data, &text)
	return text, err
}

// Decode reads a workflow that json.Marshal wrote.
func Decode(data []byte) (*Workflow, error) {
	w := &Workflow{}
	if err := unmarshal(data, w); err != nil {
		return nil, fmt.Errorf("workflow: stored definition: %w", err)
	}
	return w, nil
}
