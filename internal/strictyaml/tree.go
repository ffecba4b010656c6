package strictyaml

import "go.yaml.in/yaml/v3"

// node is a value of a document as the library has it, without unused comments: a large
// file has a hundred thousand nodes.
type node struct {
	Kind         yaml.Kind
	Style        yaml.Style
	Tag          string
	Value        string
	Anchor       string
	Alias        *node
	Content      []*node
	Line, Column int
}

// convert turns what the library has read into nodes. known are those with an anchor, even
// while they are converted: an alias may be inside what it refers to.
func convert(y *yaml.Node, known map[*yaml.Node]*node) *node {
	n := &node{Kind: y.Kind, Style: y.Style, Tag: y.Tag, Value: y.Value, Anchor: y.Anchor, Line: y.Line, Column: y.Column}
	if y.Anchor != "" {
		known[y] = n
	}
	if y.Alias != nil {
		n.Alias = known[y.Alias]
	}
	if len(y.Content) > 0 {
		n.Content = make([]*node, len(y.Content))
		for i, child := range y.Content {
			n.Content[i] = convert(child, known)
		}
	}
	return n
}
