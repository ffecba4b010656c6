package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A workflow is stored as JSON when a run pins it. The only part that
// encoding/json cannot do by itself is the step of a node: each kind has a field of
// its own. A graph is stored as a whole, and what most nodes do not have is left out: to
// write and read it takes longer than to replay a run.

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
	// Kind and Step are how older versions stored a step.
	Kind string          `json:",omitempty"`
	Step json.RawMessage `json:",omitempty"`
	nodeFields
}

// MarshalJSON stores a graph.
func (g Graph) MarshalJSON() ([]byte, error) {
	stored := storedGraph{slices.Grow([]storedNode(nil), len(g.Nodes)), g.Edges}
	for _, n := range g.Nodes {
		node := storedNode{nodeFields: nodeFields(n)}
		if err := node.set(n.Step); err != nil {
			return nil, err
		}
		stored.Nodes = append(stored.Nodes, node)
	}
	return json.Marshal(stored)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (g *Graph) UnmarshalJSON(data []byte) error {
	var stored storedGraph
	if err := unmarshal(data, &stored); err != nil {
		return err
	}
	*g = Graph{Edges: stored.Edges}
	if stored.Nodes != nil {
		g.Nodes = make([]Node, len(stored.Nodes))
	}
	for i := range stored.Nodes {
		n := &stored.Nodes[i]
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
	return nil, fmt.Errorf("workflow: node %q has a step of an unknown kind", n.ID)
}

func (n *storedNode) oldStep() (Step, error) {
	kinds := map[string]Step{"task": &Task{}, "human": &Human{}, "call": &Call{}, "choice": &Choice{}, "combine": &Combine{}, "loop": &Loop{}, "each": &Each{}}
	step := kinds[n.Kind]
	if step == nil {
		return nil, fmt.Errorf("workflow: node %q has a step of the unknown kind %q", n.ID, n.Kind)
	}
	return step, unmarshal(n.Step, step)
}

// oldPos is a position as older versions stored it, and as one with a Part is stored.
type oldPos struct {
	File      string `json:"file,omitempty"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
	Part      string `json:"part,omitempty"`
}

// MarshalJSON stores a position as a short text, "4:32-4:33 file": a workflow has
// several for each node.
func (p Pos) MarshalJSON() ([]byte, error) {
	if p.Part != "" {
		return json.Marshal(oldPos(p))
	}
	text := make([]byte, 0, 64)
	for i, n := range []int{p.Line, p.Column, p.EndLine, p.EndColumn} {
		text = append(strconv.AppendInt(text, int64(n), 10), ":-: "[i])
	}
	return asJSON(append(text, p.File...))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Pos) UnmarshalJSON(data []byte) error {
	if data[0] == '{' {
		return json.Unmarshal(data, (*oldPos)(p))
	}
	text, err := fromJSON(data)
	for i, to := range []*int{&p.Line, &p.Column, &p.EndLine, &p.EndColumn} {
		var number string
		if number, text, _ = strings.Cut(text, ":-: "[i:i+1]); err == nil {
			*to, err = strconv.Atoi(number)
		}
	}
	p.File = text
	return err
}

// asJSON is a text as JSON, and fromJSON its reverse, without the price of
// encoding/json where nothing needs an escape.
func asJSON(text []byte) ([]byte, error) {
	plain := func(c byte) bool {
		return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	for _, c := range text {
		if !plain(c) {
			return json.Marshal(string(text))
		}
	}
	return append(append([]byte{'"'}, text...), '"'), nil
}

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
