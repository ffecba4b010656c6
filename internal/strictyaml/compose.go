package strictyaml

import (
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// Compose returns the document of a file that is not YAML. Its reader creates the values
// with their positions, and they are read like YAML: the same words mean the same in every
// notation, and the same mistakes are reported.
func Compose(file string) *Document { return &Document{file: file} }

// composed stores the position of a node that was created. A negative line is the index of
// its position.
func (d *Document) composed(y *node, src workflow.Source) Node {
	d.sources = append(d.sources, src)
	y.Line = -len(d.sources)
	return Node{doc: d, y: y}
}

func isComposed(y *node) bool { return y.Line < 0 }

func (d *Document) composedSource(y *node) workflow.Source { return d.sources[-y.Line-1] }

// untyped is the tag of text in a notation that has no quotes: it is a number or a boolean
// where one is expected.
const untyped = "!!untyped"

// Text returns a scalar that is text, a number or a boolean, depending on what is expected.
func (d *Document) Text(text string, src workflow.Source) Node {
	return d.composed(&node{Kind: yaml.ScalarNode, Tag: untyped, Value: text}, src)
}

// List returns a list.
func (d *Document) List(nodes []Node, pos workflow.Pos) Node {
	y := &node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: make([]*node, len(nodes))}
	for i, n := range nodes {
		y.Content[i] = n.y
	}
	return d.composed(y, workflow.Source{Pos: pos})
}

// Pair is a key with its value, for Map.
type Pair struct {
	Key   string
	Pos   workflow.Pos // of the key
	Value Node
}

// Map returns a map.
func (d *Document) Map(pairs []Pair, pos workflow.Pos) Node {
	y := &node{Kind: yaml.MappingNode, Tag: "!!map", Content: make([]*node, 0, 2*len(pairs))}
	for _, p := range pairs {
		key := d.composed(&node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p.Key}, workflow.Source{Text: p.Key, Pos: p.Pos})
		y.Content = append(y.Content, key.y, p.Value.y)
	}
	return d.composed(y, workflow.Source{Pos: pos})
}

// Of returns a value of the model, all of it at one position.
func (d *Document) Of(value any, src workflow.Source) Node {
	switch v := value.(type) {
	case []any:
		nodes := make([]Node, len(v))
		for i, e := range v {
			nodes[i] = d.Of(e, src)
		}
		return d.List(nodes, src.Pos)
	case map[string]any:
		pairs := make([]Pair, 0, len(v))
		for _, k := range sorted.Keys(v) {
			pairs = append(pairs, Pair{k, src.Pos, d.Of(v[k], src)})
		}
		return d.Map(pairs, src.Pos)
	}
	y := &node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	switch v := value.(type) {
	case string:
		y.Tag, y.Value, y.Style = "!!str", v, yaml.DoubleQuotedStyle
	case bool:
		y.Tag, y.Value = "!!bool", workflow.FormatText(v)
	case json.Number:
		y.Tag, y.Value = "!!float", v.String()
	}
	return d.composed(y, src)
}

// is reports whether a scalar has a type, or can have it.
func (n Node) is(tag string) bool {
	if n.y.Tag != untyped {
		return n.y.Tag == tag
	}
	switch tag {
	case "!!bool":
		return n.y.Value == "true" || n.y.Value == "false"
	case "!!int", "!!float":
		return isNumber(n.y.Value)
	}
	return false
}
