package xmltext

import "strings"

// ItemKind is the kind of an item of a content.
type ItemKind uint8

// The kinds of items.
const (
	TextItem        ItemKind = iota // also a CDATA section
	ElementItem                     //
	CommentItem                     //
	InstructionItem                 //
)

// Item is a piece of the content of an element.
type Item struct {
	Kind    ItemKind
	Span    Span
	Element Element // of an ElementItem
}

// Items returns the complete content of an element, in order.
func (e Element) Items() []Item {
	inner := e.Inner()
	return e.doc.items(inner.From, inner.To, e.First())
}

// Items returns the content of the file: the root, and what is around it.
func (d *Document) Items() []Item { return d.items(0, len(d.text), d.Root()) }

func (d *Document) items(from, to int, child Element) []Item {
	var items []Item
	for ; child.Exists(); child = child.Next() {
		span := child.Span()
		items = append(d.gap(items, from, span.From), Item{ElementItem, span, child})
		from = span.To
	}
	return d.gap(items, from, to)
}

// gap adds what is between elements.
func (d *Document) gap(items []Item, from, to int) []Item {
	if from >= to {
		return items
	}
	s := &scanner{Document: &Document{text: d.text[:to]}, pos: from, problems: func(mistake) {}}
	for {
		t := s.next()
		item := Item{Span: Span{t.from, t.to}}
		switch t.kind {
		case endOfText:
			return items
		case comment:
			item.Kind = CommentItem
		case instruction:
			item.Kind = InstructionItem
		case charData, cdataSection, startTag, endTag:
			item.Kind = TextItem
		}
		items = append(items, item)
	}
}

// Plain returns the text of an element that contains only text, as written but without
// layout; ok is false if the element contains anything else, or if all of its white space
// counts.
func (e Element) Plain() (raw string, ok bool) {
	data := e.data()
	if data.text < 0 || data.text != data.textEnd || data.first >= 0 || e.preserves() {
		return "", false
	}
	p := e.doc.pieces[data.text]
	if p.cdata || p.from != data.inner || p.to != data.innerEnd {
		return "", false
	}
	s := e.doc.trim(Span{int(p.from), int(p.to)})
	raw = normal(e.doc.text[s.From:s.To])
	if strings.IndexByte(raw, '\n') >= 0 {
		indent, own := e.doc.indentOf(s.From)
		raw, _ = dedent(raw, indent, own)
	}
	return raw, true
}
