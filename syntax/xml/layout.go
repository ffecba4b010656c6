package xml

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/workflow"
)

// Fmt formats a workflow file in the canonical style and keeps its words, order and comments. A
// file with errors is returned unchanged, with its diagnostics.
func Fmt(file string, text []byte) ([]byte, workflow.Diagnostics) {
	_, found := Parse(file, text)
	if found.Errors() {
		return text, found
	}
	return layOut(text), found
}

// layOut writes every element on its own lines, indented by two spaces per level. It keeps at
// most one blank line between elements.
func layOut(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	text = bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
	doc := xmltext.Read("", text, xmltext.Rules{})
	l := &layouter{text: doc.Text()}
	l.items(doc.Items(), 0)
	return []byte(l.String())
}

type layouter struct {
	printer
	text string
}

func (l *layouter) at(s xmltext.Span) string { return l.text[s.From:s.To] }

// items writes elements and comments, each on its own line. A comment after an element stays on
// the line of the element.
func (l *layouter) items(items []xmltext.Item, depth int) {
	breaks, first := 2, true
	for _, item := range items {
		if item.Kind == xmltext.TextItem {
			breaks = strings.Count(l.at(item.Span), "\n")
			continue
		}
		switch {
		case first:
			l.WriteString(strings.Repeat("  ", depth))
		case breaks == 0 && item.Kind == xmltext.CommentItem:
			l.WriteByte(' ')
		default:
			l.WriteString(strings.Repeat("\n", min(max(breaks, 1), 2)) + strings.Repeat("  ", depth))
		}
		if item.Kind == xmltext.ElementItem {
			l.element(item.Element, depth)
		} else {
			l.WriteString(l.at(item.Span))
		}
		breaks, first = 0, false
	}
	l.WriteByte('\n')
}

// element writes an element after its indentation.
func (l *layouter) element(e xmltext.Element, depth int) {
	indent := strings.Repeat("  ", depth)
	from := l.Len()
	l.WriteString("<" + e.Name())
	for a := range e.Attrs() {
		l.WriteString(" " + a.Name() + `="` + l.value(a) + `"`)
	}
	column := len(indent) + utf8.RuneCountInString(l.String()[from:])
	raw, plain := e.Plain()
	switch {
	case plain && raw == "" || e.Inner().From == e.Inner().To:
		l.WriteString("/>")
		return
	case plain:
		l.WriteByte('>')
		l.raw(raw, indent, column+1+len("</>")+len(e.Name()))
	case e.HasText() || e.Attr(xmltext.Preserve).Exists():
		l.WriteString(">" + l.verbatim(e))
	default:
		l.WriteString(">\n")
		l.items(e.Items(), depth+1)
		l.WriteString(indent)
	}
	l.WriteString("</" + e.Name() + ">")
}

// value returns the value of an attribute as written between double quotes.
func (l *layouter) value(a xmltext.Attr) string {
	return strings.NewReplacer("\n", " ", "\t", " ", `"`, "&quot;").Replace(l.at(a.Raw()))
}

// verbatim returns the content of an element whose white space may count. Around a
// single CDATA section it does not.
func (l *layouter) verbatim(e xmltext.Element) string {
	inner := l.at(e.Inner())
	trimmed := strings.Trim(inner, xmltext.Layout)
	if !e.Attr(xmltext.Preserve).Exists() && strings.HasPrefix(trimmed, "<![CDATA[") && strings.Index(trimmed, "]]>") == len(trimmed)-len("]]>") {
		return trimmed
	}
	return inner
}
