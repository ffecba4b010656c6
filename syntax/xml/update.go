package xml

import (
	"fmt"
	"iter"
	"strings"

	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// Update changes the text of a file so that it means w. Elements that mean the
// same already stay as they are, with the comments around them; where so little is
// alike that this is not possible, the file is written anew.
func Update(file string, text []byte, w *workflow.Workflow) ([]byte, error) {
	u := source.Updater{Notation: "xml", Parse: Parse, Format: Format, Merge: merge}
	return u.Update(file, text, w)
}

// merge keeps the attributes of steps that differ, or else writes such steps anew.
func merge(text, before, after []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, whole := range []bool{false, true} {
			m := &merger{now: outline(text), before: outline(before), after: outline(after), whole: whole}
			if !yield([]byte(m.merge())) {
				return
			}
		}
	}
}

// tree is a file with the names of its steps.
type tree struct {
	doc *xmltext.Document
	ids map[int]string // by the index of the element
}

func outline(text []byte) *tree {
	t := &tree{doc: xmltext.Read("", text, nil), ids: map[int]string{}}
	r := &reader{doc: t.doc}
	w := &workflow.Workflow{}
	r.block(t.doc.Root(), &w.Body, -1)
	r.nameSteps()
	for i := range r.steps {
		if s := &r.steps[i]; s.place.Exists() {
			t.ids[s.place.Index()] = s.node.ID
		}
	}
	return t
}

func (t *tree) at(s xmltext.Span) string { return t.doc.Text()[s.From:s.To] }

// key names a child of an element: a step by its id, all else by its name and,
// where several have it, by their order.
func (t *tree) key(e xmltext.Element, seen map[string]int) string {
	if id, isStep := t.ids[e.Index()]; isStep {
		return "step " + id
	}
	key := e.Name()
	if name := e.Attr("name"); name.Exists() {
		key += " " + name.Value()
	}
	seen[key]++
	return fmt.Sprintf("%s %d", key, seen[key])
}

// children are the elements in one by their keys, and the keys in order. Elements
// that only stand around steps are passed through.
func (t *tree) children(e xmltext.Element) (keys []string, byKey map[string]xmltext.Element) {
	byKey = map[string]xmltext.Element{}
	seen := map[string]int{}
	for c := range e.Children() {
		key := t.key(c, seen)
		keys = append(keys, key)
		byKey[key] = c
	}
	return keys, byKey
}

// merger puts a file together from what stays and what changes.
type merger struct {
	now, before, after *tree
	whole              bool // a step that differs is written anew as a whole
	b                  strings.Builder
}

func (m *merger) merge() string {
	root := m.now.doc.Root()
	span := root.Span()
	m.b.WriteString(m.now.doc.Text()[:span.From])
	m.element(root, m.before.doc.Root(), m.after.doc.Root(), "")
	m.b.WriteString(m.now.doc.Text()[span.To:])
	return m.b.String()
}

// element writes an element that is in all three.
func (m *merger) element(now, before, after xmltext.Element, indent string) {
	switch {
	case m.before.at(before.Span()) == m.after.at(after.Span()):
		m.b.WriteString(m.now.at(now.Span()))
		return
	case !m.isStep(after) && after.Parent().Exists(), m.whole && after.Parent().Exists() && !m.sameOwn(before, after):
		m.fresh(after, indent)
		return
	}
	tail := m.start(now, before, after)
	switch {
	case tail == "/>" && !after.First().Exists():
		m.b.WriteString(tail)
		return
	case strings.HasSuffix(tail, "/>"):
		tail = ">"
	}
	m.b.WriteString(tail)
	m.content(now, before, after, indent)
	m.b.WriteString("</" + now.Name() + ">")
}

func (m *merger) isStep(after xmltext.Element) bool {
	_, ok := m.after.ids[after.Index()]
	return ok
}

// sameOwn says whether two steps differ only in the steps in them.
func (m *merger) sameOwn(before, after xmltext.Element) bool {
	own := func(t *tree, e xmltext.Element) string {
		var text strings.Builder
		text.WriteString(t.doc.Text()[e.Span().From:e.Inner().From])
		for c := range e.Children() {
			if _, isStep := t.ids[c.Index()]; !isStep {
				text.WriteString(t.at(c.Span()))
			}
		}
		return text.String()
	}
	return own(m.before, before) == own(m.after, after)
}

// start writes a start tag but for its tail, which it gives: the attributes that
// differ are set, added or left out, the others stay as they are.
func (m *merger) start(now, before, after xmltext.Element) (tail string) {
	text := m.now.doc.Text()
	m.b.WriteString("<" + now.Name())
	from := now.NameSpan().To
	for a := range now.Attrs() {
		name, span := canonicalName(a.Name()), a.Span()
		was, is := before.Attr(name), after.Attr(name)
		switch {
		case !was.Exists() && !is.Exists() || was.Exists() && is.Exists() && was.Value() == is.Value():
			m.b.WriteString(text[from:span.To])
		case is.Exists():
			m.b.WriteString(text[from:a.Raw().From] + escapeAttr.Replace(is.Value()) + text[a.Raw().To:span.To])
		}
		from = span.To
	}
	for a := range after.Attrs() {
		name := a.Name()
		if before.Attr(name).Exists() || now.Attr(name).Exists() || name == "depends" && now.Attr("dependsOn").Exists() {
			continue
		}
		m.b.WriteString(" " + name + `="` + escapeAttr.Replace(a.Value()) + `"`)
	}
	return text[from:now.Inner().From]
}

// canonicalName is the name that Format writes for an attribute.
func canonicalName(name string) string {
	if name == "dependsOn" {
		return "depends"
	}
	return name
}

// content writes the children of an element in their new order. What stays brings
// along the text and the comments in front of it.
func (m *merger) content(now, before, after xmltext.Element, indent string) {
	keys, nows := m.now.children(now)
	_, befores := m.before.children(before)
	wanted, afters := m.after.children(after)
	stay := []string{} // of those that are there, in their new order
	fresh := map[string][]string{}
	last := ""
	for _, key := range wanted {
		if nows[key].Exists() && befores[key].Exists() {
			stay, last = append(stay, key), key
			continue
		}
		fresh[last] = append(fresh[last], key)
	}
	inner, grown := indent+m.indentOf(now, indent), false
	add := func(list []string) {
		for _, key := range list {
			m.b.WriteString("\n" + inner)
			m.fresh(afters[key], inner)
		}
		grown = len(list) > 0
	}
	add(fresh[""])
	from := now.Inner().From
	for _, key := range keys {
		child := nows[key]
		lead := m.now.doc.Text()[from:child.Span().From]
		from = child.Span().To
		switch {
		case befores[key].Exists() && !afters[key].Exists(): // it goes
		case !befores[key].Exists(): // Format says it in another way
			m.b.WriteString(lead + m.now.at(child.Span()))
		default:
			key, stay = stay[0], stay[1:]
			m.b.WriteString(lead)
			m.element(nows[key], befores[key], afters[key], inner)
			add(fresh[key])
		}
	}
	rest := m.now.doc.Text()[from:now.Inner().To]
	if grown && strings.Trim(rest, xmltext.Layout) == "" && !strings.Contains(rest, "\n") {
		rest = "\n" + indent
	}
	m.b.WriteString(rest)
}

// indentOf is how much further the children of an element are indented.
func (m *merger) indentOf(e xmltext.Element, indent string) string {
	first := e.First()
	if !first.Exists() {
		return "  "
	}
	text := m.now.doc.Text()[:first.Span().From]
	line := text[strings.LastIndexByte(text, '\n')+1:]
	if strings.Trim(line, " \t") == "" && strings.HasPrefix(line, indent) && len(line) > len(indent) {
		return line[len(indent):]
	}
	return "  "
}

// fresh writes an element as Format does, at an indentation.
func (m *merger) fresh(after xmltext.Element, indent string) {
	text := m.after.at(after.Span())
	lineStart := strings.LastIndexByte(m.after.doc.Text()[:after.Span().From], '\n') + 1
	was := m.after.doc.Text()[lineStart:after.Span().From]
	if was == indent || strings.Contains(text, "<![CDATA[") {
		m.b.WriteString(text)
		return
	}
	m.b.WriteString(strings.ReplaceAll(text, "\n"+was, "\n"+indent))
}
