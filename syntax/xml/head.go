package xml

import (
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// head reads the head of a workflow: everything except its steps.
func (r *reader) head(root xmltext.Element, w *workflow.Workflow) {
	if name := r.word(root, "name"); name.exists {
		w.Name, w.Pos = name.text, name.src.Pos
	}
	var pairs, params []strictyaml.Pair
	var lanes []strictyaml.Node
	for c := range root.Children() {
		switch c.Name() {
		case "param":
			params = append(params, r.param(c))
		case "lane":
			lanes = append(lanes, r.words().Map(r.pairs(c, "name", "role", "color", "title"), c.Pos()))
		case "state":
			pairs = append(pairs, strictyaml.Pair{Key: "state", Pos: c.Pos(), Value: r.composed(c)})
		case "limits":
			pairs = append(pairs, strictyaml.Pair{Key: "limits", Pos: c.Pos(), Value: r.words().Map(r.pairs(c, rootShape.parts["limits"].words...), c.Pos())})
		}
	}
	if len(params) > 0 {
		pairs = append(pairs, strictyaml.Pair{Key: "inputs", Value: r.words().Map(params, root.Pos())})
	}
	if len(lanes) > 0 {
		pairs = append(pairs, strictyaml.Pair{Key: "agents", Value: r.words().List(lanes, root.Pos())})
	}
	pairs = append(pairs, r.pairs(root, "description", "output", "on_error")...)
	if thought := r.word(root, "thought"); thought.exists && !r.word(root, "description").exists {
		pairs = append(pairs, strictyaml.Pair{Key: "description", Pos: thought.src.Pos, Value: r.scalar(thought)})
	}
	if len(pairs) == 0 {
		return
	}
	m := r.words().Map(pairs, root.Pos()).Map()
	yaml.ReadHead(m, w)
	if word := m.Word("on_error", "stop", "continue", "skip_dependents", "replan"); word != "stop" {
		r.onError = workflow.OnError(word)
	}
	m.Done()
}

// param reads the declaration of an input.
func (r *reader) param(e xmltext.Element) strictyaml.Pair {
	name := r.word(e, "name")
	if !name.exists {
		r.errorf(e, codeStepKind, `write <param name="…">`, "this input has no name")
	}
	pairs := r.pairs(e, "type", "required", "description")
	if c := childOf(e, "default"); c.Exists() {
		v := r.value(c)
		pairs = append(pairs, strictyaml.Pair{Key: "default", Pos: c.Pos(), Value: r.words().Of(v, sourceOf(c, v))})
	}
	pos := e.Pos()
	if name.exists {
		pos = name.src.Pos
	}
	return strictyaml.Pair{Key: name.text, Pos: pos, Value: r.words().Map(pairs, e.Pos())}
}

// word is the value of a key: an attribute, or an element with text.
type word struct {
	exists bool
	text   string
	value  any // of an element that is JSON; nil if it is text
	src    workflow.Source
	attr   xmltext.Attr
	elem   xmltext.Element
}

// key returns the position of the key's name.
func (w *word) key() workflow.Pos {
	if w.attr.Exists() {
		return w.attr.NamePos()
	}
	return w.elem.Pos()
}

func (r *reader) word(e xmltext.Element, name string) word {
	if a := e.Attr(name); a.Exists() {
		return r.attrWord(a)
	}
	if c := childOf(e, name); c.Exists() {
		return r.wordOf(c)
	}
	return word{}
}

func (r *reader) attrWord(a xmltext.Attr) word {
	src := a.Source()
	return word{exists: true, text: src.Text, src: src, attr: a}
}

// wordOf returns a key that is written as an element.
func (r *reader) wordOf(c xmltext.Element) word {
	src := c.Source()
	w := word{exists: true, text: src.Text, src: src, elem: c}
	if kind := c.Attr("type"); kind.Exists() && kind.Value() == "json" {
		w.value = r.json(c, src.Text)
		w.text = workflow.FormatText(w.value)
		w.src.Text = w.text
	}
	return w
}

func childOf(e xmltext.Element, name string) xmltext.Element {
	for c := e.First(); c.Exists(); c = c.Next() {
		if c.Name() == name {
			return c
		}
	}
	return xmltext.Element{}
}

// scalar converts a word for the parser of YAML.
func (r *reader) scalar(w word) strictyaml.Node {
	if w.value != nil {
		return r.words().Of(w.value, w.src)
	}
	return r.words().Text(w.text, w.src)
}

// pairs returns the keys of an element that exist.
func (r *reader) pairs(e xmltext.Element, names ...string) []strictyaml.Pair {
	var pairs []strictyaml.Pair
	for _, name := range names {
		if w := r.word(e, name); w.exists {
			pairs = append(pairs, strictyaml.Pair{Key: name, Pos: w.key(), Value: r.scalar(w)})
		}
	}
	return pairs
}
