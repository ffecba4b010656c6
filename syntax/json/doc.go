// Package json reads and writes a workflow as nodes and edges in JSON, for programs that draw and
// edit workflows themselves: graph editors use this form. A node has a type, the node around it
// as its parent, and its keys as data; an edge leaves its source at a handle.
//
// It depends on the model, on syntax/yaml for the keys and on syntax/internal/flow for edges that
// lead back.
package json

import "github.com/hocket-dev/hocket/internal/strictyaml"

const (
	codeSyntax = "json-syntax"
	codeShape  = "json-shape"
	codeType   = "json-node-type"
	codeEdge   = "json-edge"
)

// Codes lists the codes that only this notation has.
var Codes = []strictyaml.Code{
	{Name: codeSyntax, Meaning: "The text is not JSON."},
	{Name: codeShape, Meaning: "The JSON does not contain nodes and edges."},
	{Name: codeType, Meaning: "A node has a type that does not exist."},
	{Name: codeEdge, Meaning: "An edge or a parent names a node that does not exist."},
}

// document is the whole text. The order of its fields is the order in which they
// are written.
type document struct {
	Title       string     `json:"title"`
	Description string     `json:"description,omitempty"`
	Nodes       []node     `json:"nodes"`
	Edges       []edge     `json:"edges"`
	Variables   []variable `json:"variables"`
	Agents      []lane     `json:"agents"`
	Limits      any        `json:"limits,omitempty"` // as in YAML
	Output      string     `json:"output,omitempty"`
}

type node struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Parent string `json:"parent,omitempty"` // the loop or the for_each that contains it
	Data   data   `json:"data"`
}

// data is the label of a node and its keys, in the order of the YAML notation, because the order
// of inputs matters.
type data struct {
	label  string
	id     string // in the model, if it differs from the node's
	words  strictyaml.Node
	titled bool // the title is the id
}

type edge struct {
	ID           string  `json:"id"`
	Source       string  `json:"source"`
	Target       string  `json:"target"`
	SourceHandle string  `json:"sourceHandle"`
	TargetHandle string  `json:"targetHandle"`
	Label        *string `json:"label,omitempty"`
	When         string  `json:"when,omitempty"`
	Back         bool    `json:"back,omitempty"` // it starts the next iteration of a loop
}

type variable struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"` // input, state or output
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
	Default     *any   `json:"default,omitempty"` // a pointer, because null is a valid default
}

type lane struct {
	Name  string `json:"name"`
	Role  string `json:"role,omitempty"`
	Color string `json:"color,omitempty"`
	Title string `json:"title,omitempty"`
}

// The types of nodes.
const (
	startType  = "workflowStart"
	outputType = "output"
)

var types = map[string]string{
	"task": "promptBlock", "human": "approval", "call": "include", "choice": "condition", "combine": "aggregator",
	"merge": "merge", "land": "land", "loop": "loop", "each": "forEach",
}

// kinds maps the types of nodes to kinds of the model. A router is a task with labels on its
// edges, an evaluator is a choice that leads back.
var kinds = map[string]string{
	"promptBlock": "task", "router": "task", "approval": "human", "include": "call", "condition": "choice",
	"evaluator": "choice", "aggregator": "combine", "merge": "merge", "land": "land", "loop": "loop", "forEach": "each",
}
