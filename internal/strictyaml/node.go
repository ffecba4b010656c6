package strictyaml

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/workflow"
	"go.yaml.in/yaml/v3"
)

// Node is a value of a document. The zero Node does not exist; its methods return zero
// values and report nothing.
type Node struct {
	doc  *Document
	y    *node
	key  *node // the key that it belongs to
	item bool  // an entry of the list under key
}

// Exists reports whether there is such a value; null is one.
func (n Node) Exists() bool { return n.y != nil }

// IsNull, IsScalar, IsText, IsList and IsMap report what the value is. A scalar is text, a
// number, a boolean or null.
func (n Node) IsNull() bool {
	return n.IsScalar() && n.y.Tag == "!!null" && n.y.Style&yaml.TaggedStyle == 0
}

func (n Node) IsScalar() bool { return n.y != nil && n.y.Kind == yaml.ScalarNode }
func (n Node) IsList() bool   { return n.y != nil && n.y.Kind == yaml.SequenceNode }
func (n Node) IsMap() bool    { return n.y != nil && n.y.Kind == yaml.MappingNode }
func (n Node) IsText() bool   { return n.IsScalar() && scalarKind(n.y.Tag) == "text" }

// Pos returns the tightest position that names the value, or its key or its dash if the
// value is empty.
func (n Node) Pos() workflow.Pos {
	switch {
	case n.y == nil:
		return workflow.Pos{}
	case isComposed(n.y):
		return n.doc.composedSource(n.y).Pos
	case n.item && n.IsNull() && n.y.Value == "":
		return n.doc.dash(n.y)
	case n.key != nil && n.IsNull() && n.y.Value == "":
		return n.doc.pos(n.key)
	}
	return n.doc.pos(n.y)
}

// Source returns the text of a scalar with its position. It is empty for other values.
func (n Node) Source() workflow.Source {
	if !n.IsScalar() {
		return workflow.Source{}
	}
	if isComposed(n.y) {
		return n.doc.composedSource(n.y)
	}
	return n.doc.source(n.y)
}

// Written returns a scalar as the author wrote it, without its quotes: 1, yes, null and
// text alike. It is empty for other values.
func (n Node) Written() string {
	if !n.IsScalar() {
		return ""
	}
	return n.y.Value
}

// Errorf reports an error at this value.
func (n Node) Errorf(code, detail, summary string, args ...any) {
	n.doc.report(workflow.Errorf(n.Pos(), code, detail, summary, args...))
}

// Report reports what was found about the value.
func (n Node) Report(d workflow.Diagnostic) { n.doc.report(d) }

// Warningf reports a problem that does not prevent the file from being used.
func (n Node) Warningf(code, detail, summary string, args ...any) {
	n.doc.report(workflow.Warningf(n.Pos(), code, detail, summary, args...))
}

// Key returns the key of the value. At the root it does not exist.
func (n Node) Key() Node {
	if n.key == nil {
		return Node{}
	}
	return Node{doc: n.doc, y: n.key}
}

// Before reports whether the value is written above or to the left of another.
func (n Node) Before(other Node) bool {
	a, b := n.Pos(), other.Pos()
	return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
}

// Label names the value in messages.
func (n Node) Label() string {
	switch {
	case n.key == nil:
		return "the file"
	case n.item:
		return fmt.Sprintf("an entry of %q", n.key.Value)
	}
	return fmt.Sprintf("%q", n.key.Value)
}

// WrongType reports that something else was expected, such as "a duration".
func (n Node) WrongType(wanted string) {
	if n.IsNull() || n.IsText() && n.y.Value == "" {
		n.Errorf(codeEmpty, "set a value, or remove the key", "%s is empty; it must be %s", n.Label(), wanted)
		return
	}
	d := workflow.Errorf(n.Pos(), codeType, "", "%s must be %s, not %s", n.Label(), wanted, n.kind())
	if was, text := n.instead(wanted); text != "" {
		d = d.Instead(was, text)
		if d.Detail = "write " + text; text[0] == '"' || text[0] == '\'' {
			d.Detail = "put it in quotes: " + text
		}
	}
	n.doc.report(d)
}

// IsBraces recognises {{name}} without quotes, which YAML reads as a map whose key is a
// map.
func (n Node) IsBraces() bool {
	return n.IsMap() && n.y.Style&yaml.FlowStyle != 0 && len(n.y.Content) > 0 && n.y.Content[0].Kind == yaml.MappingNode
}

// scalarKind describes a scalar of a tag, or returns "".
func scalarKind(tag string) string {
	switch tag {
	case "!!str", "!!timestamp", "!!merge", untyped:
		return "text"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	case "!!null":
		return "null"
	}
	return ""
}

func (n Node) kind() string {
	switch {
	case n.IsList():
		return "a list"
	case n.IsMap():
		return "a map"
	}
	if kind := scalarKind(n.y.Tag); kind != "" {
		return kind
	}
	return "a value tagged " + n.y.Tag
}

// Text returns the value, which must be text.
func (n Node) Text() string {
	if n.y == nil || !n.plainTag() {
		return ""
	}
	if !n.IsText() {
		n.WrongType("text")
		return ""
	}
	return n.y.Value
}

// Name returns the value, which may be any scalar but null and is taken as written: a
// label, an id, an answer.
func (n Node) Name() string {
	if n.y == nil || !n.plainTag() {
		return ""
	}
	if !n.IsScalar() || n.IsNull() {
		n.WrongType("text")
		return ""
	}
	return n.y.Value
}

// Bool returns the value, which must be true or false.
func (n Node) Bool() bool {
	if n.y == nil || !n.plainTag() {
		return false
	}
	if !n.is("!!bool") {
		n.WrongType("true or false")
		return false
	}
	return strings.EqualFold(n.y.Value, "true")
}

// Duration returns the value, which must be a duration such as 90s, 10m or 1h30m.
func (n Node) Duration() time.Duration {
	if n.y == nil {
		return 0
	}
	if !n.IsScalar() || n.IsNull() {
		n.WrongType("a duration")
		return 0
	}
	if n.doc.piece.Unit != 0 && (n.y.Tag == "!!int" || n.y.Tag == "!!float") {
		return n.inUnits(n.doc.piece.Unit)
	}
	d, err := time.ParseDuration(n.y.Value)
	if err != nil || d < 0 {
		n.Errorf(codeDuration, "write a number with its unit, such as 90s, 10m, 2h or 1h30m", "%q is not a duration", n.y.Value)
		return 0
	}
	return d
}

// Word returns the value, which must be one of the given words.
func (n Node) Word(words ...string) string {
	if text := n.Written(); text != "" && !n.IsText() && !n.IsNull() && !slices.Contains(words, text) { // quotes would not help
		n.Errorf(codeWord, "write "+alternatives(words), "%s cannot be %s", n.Label(), text)
		return ""
	}
	text := n.Text()
	if text == "" && !n.IsText() {
		return ""
	}
	for _, w := range words {
		if w == text {
			return w
		}
	}
	n.doc.report(workflow.Errorf(n.Pos(), codeWord, "write "+alternatives(words), "%s cannot be %q", n.Label(), text).Near(text, words))
	return ""
}

func alternatives(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// List returns the entries of the value, which must be a list. Null is an empty list.
func (n Node) List() []Node {
	if n.y == nil || n.IsNull() {
		return nil
	}
	if !n.IsList() {
		n.WrongType("a list")
		return nil
	}
	return n.entries()
}

// OneOrMany returns the entries of a list, or the value itself if it is not a list.
func (n Node) OneOrMany() []Node {
	if n.IsList() {
		return n.entries()
	}
	if n.y == nil {
		return nil
	}
	return []Node{n}
}

func (n Node) entries() []Node {
	nodes := make([]Node, len(n.y.Content))
	for i, y := range n.y.Content {
		nodes[i] = Node{doc: n.doc, y: resolved(y), key: n.key, item: true}
	}
	return nodes
}

// plainTag rejects explicit tags other than !!str.
func (n Node) plainTag() bool {
	if n.y.Style&yaml.TaggedStyle == 0 || n.y.Tag == "!!str" && n.IsScalar() {
		return true
	}
	n.Errorf(codeTag, "remove the tag; a number in quotes is text", "the tag %s is not supported", n.y.Tag)
	return false
}
