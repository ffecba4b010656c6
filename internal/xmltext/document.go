package xmltext

import (
	"iter"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Limits of a document. They are far above what people write, and low enough that no file
// can exhaust time, memory or the stack.
const (
	maxBytes    = 64 << 20
	maxDepth    = 200
	maxReported = 100 // errors; a file with more is probably not XML
)

// Document is a parsed XML text. It is not safe for concurrent use.
type Document struct {
	file     string
	text     string // without byte order mark
	start    Start  // of the text in the file, after the byte order mark
	elements []element
	attrs    []attribute
	pieces   []piece
	found    workflow.Diagnostics
	broken   bool
	places   places
}

// element is an element, in the order of start tags. Its links are indices, and
// -1 is none; offsets count bytes of the text.
type element struct {
	name              string
	from, to          int32 // from its start tag to the end of its end tag
	inner, innerEnd   int32 // between its tags
	attrs, attrsEnd   int32
	parent            int32
	first, last, next int32 // children, and the next sibling
	text, textEnd     int32 // pieces, from the first to the last
}

// attribute is one attribute; its value is as written.
type attribute struct {
	name     string
	at       int32 // of the name
	from, to int32 // of the value, without quotes
}

// piece is a run of character data of an element.
type piece struct {
	from, to int32
	next     int32
	cdata    bool
}

// Diagnostics returns everything found so far, in the order of the text.
func (d *Document) Diagnostics() workflow.Diagnostics { return d.found.Sort() }

// Broken reports whether the text is not well-formed.
func (d *Document) Broken() bool { return d.broken }

// Report adds an error that a reader of the document found.
func (d *Document) Report(found workflow.Diagnostic) { d.found = append(d.found, found) }

// Failed reports whether an error was found so far.
func (d *Document) Failed() bool { return d.found.Errors() }

// Text returns what was read. Offsets of elements count its bytes.
func (d *Document) Text() string { return d.text }

// Root returns the root element; it does not exist in an empty or broken document.
func (d *Document) Root() Element {
	if len(d.elements) == 0 {
		return Element{}
	}
	return Element{d, 0}
}

// Span is a range of bytes of the text.
type Span struct{ From, To int }

// Element is an element of a document. The zero Element does not exist.
type Element struct {
	doc *Document
	at  int32
}

func (d *Document) element(at int32) Element {
	if at < 0 {
		return Element{}
	}
	return Element{d, at}
}

func (e Element) data() *element { return &e.doc.elements[e.at] }

// Exists reports whether there is such an element.
func (e Element) Exists() bool { return e.doc != nil }

// Name returns the name as written, with its prefix.
func (e Element) Name() string { return e.data().name }

// Parent returns the element around it.
func (e Element) Parent() Element { return e.doc.element(e.data().parent) }

// First returns the first child.
func (e Element) First() Element { return e.doc.element(e.data().first) }

// Next returns the next sibling.
func (e Element) Next() Element { return e.doc.element(e.data().next) }

// Children returns the elements in the element, in order.
func (e Element) Children() iter.Seq[Element] {
	return func(yield func(Element) bool) {
		for c := e.First(); c.Exists() && yield(c); c = c.Next() {
		}
	}
}

// Span returns the range of the element with its tags.
func (e Element) Span() Span {
	data := e.data()
	return Span{int(data.from), int(data.to)}
}

// Inner returns the range between its tags.
func (e Element) Inner() Span {
	data := e.data()
	return Span{int(data.inner), int(data.innerEnd)}
}

// NameSpan returns the range of its name in the start tag.
func (e Element) NameSpan() Span {
	data := e.data()
	from := int(data.from) + 1
	return Span{from, from + len(data.name)}
}

// Rename returns the edits of the file that give the element another name.
func (e Element) Rename(name string) []workflow.Edit {
	edits := []workflow.Edit{e.doc.Edit(e.NameSpan(), name)}
	end := Span{From: e.Inner().To + len("</")}
	end.To = end.From + len(e.Name())
	if end.To < e.Span().To && e.doc.text[end.From:end.To] == e.Name() {
		edits = append(edits, e.doc.Edit(end, name))
	}
	return edits
}

// Pos returns the position of its name.
func (e Element) Pos() workflow.Pos { return e.doc.Pos(e.NameSpan()) }

// Attr is an attribute of an element. The zero Attr does not exist.
type Attr struct {
	doc *Document
	at  int32
}

// Attrs returns the attributes of the element, in order.
func (e Element) Attrs() iter.Seq[Attr] {
	return func(yield func(Attr) bool) {
		data := e.data()
		for i := data.attrs; i < data.attrsEnd && yield(Attr{e.doc, i}); i++ {
		}
	}
}

// Attr returns the attribute of that name.
func (e Element) Attr(name string) Attr {
	data := e.data()
	for i := data.attrs; i < data.attrsEnd; i++ {
		if e.doc.attrs[i].name == name {
			return Attr{e.doc, i}
		}
	}
	return Attr{}
}

// Exists reports whether there is such an attribute.
func (a Attr) Exists() bool { return a.doc != nil }

// Name returns the name as written, with its prefix.
func (a Attr) Name() string { return a.doc.attrs[a.at].name }

// Raw returns the value as written, between its quotes.
func (a Attr) Raw() Span {
	data := &a.doc.attrs[a.at]
	return Span{int(data.from), int(data.to)}
}

// Pos returns the position of the value; NamePos that of the name.
func (a Attr) Pos() workflow.Pos { return a.doc.Pos(a.Raw()) }

// NameSpan returns the range of its name.
func (a Attr) NameSpan() Span {
	data := &a.doc.attrs[a.at]
	return Span{int(data.at), int(data.at) + len(data.name)}
}

// NamePos returns the position of the name.
func (a Attr) NamePos() workflow.Pos { return a.doc.Pos(a.NameSpan()) }

// Value returns the value with its references decoded. Line breaks and tabs in it become
// spaces, as in all XML, unless they are written as references. That of an attribute that
// does not exist is "".
func (a Attr) Value() string {
	if !a.Exists() {
		return ""
	}
	data := &a.doc.attrs[a.at]
	raw := a.doc.text[data.from:data.to]
	for i := range len(raw) {
		switch raw[i] {
		case '&', '\r', '\n', '\t':
			return decode(flatten.Replace(raw))
		}
	}
	return raw
}

var flatten = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ")

// Source returns the value with its position.
func (a Attr) Source() workflow.Source { return workflow.Source{Text: a.Value(), Pos: a.Pos()} }

// Edit returns the edit of the file that replaces a range of the text.
func (d *Document) Edit(s Span, text string) workflow.Edit {
	return workflow.Edit{From: s.From + d.start.Offset, To: s.To + d.start.Offset, Text: text}
}
