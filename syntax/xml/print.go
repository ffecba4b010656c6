package xml

import (
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/xmltext"
)

// wide is the line length from which text is put on its own lines.
const wide = 100

// element is an element to be written.
type element struct {
	name  string
	attrs []attr
	text  string
	full  bool // it has text, which may be empty
	kids  []*element
}

type attr struct{ name, value string }

// attr adds an attribute.
func (e *element) attr(name, value string) { e.attrs = append(e.attrs, attr{name, value}) }

// add adds a child.
func (e *element) add(c *element) *element {
	e.kids = append(e.kids, c)
	return c
}

// word adds text under a name, if there is any: as an attribute if that reads well, otherwise as
// an element.
func (e *element) word(name, text string) {
	if text != "" {
		e.always(name, text)
	}
}

func (e *element) always(name, text string) {
	if fitsAttr(text) {
		e.attr(name, text)
		return
	}
	e.add(textElement(name, text))
}

func fitsAttr(text string) bool {
	return len(text) <= wide && !strings.ContainsAny(text, "\n\r\t") && xmltext.CanHold(text)
}

// textElement returns an element with text. Text that XML cannot represent is written as JSON.
func textElement(name, text string) *element {
	e := &element{name: name, text: text, full: true}
	if !xmltext.CanHold(text) {
		e.attr("type", "json")
		e.text = asJSON(text)
	}
	return e
}

// printer writes elements, indented by two spaces per level.
type printer struct{ strings.Builder }

func (p *printer) element(e *element, depth int) {
	indent := strings.Repeat("  ", depth)
	p.WriteString(indent)
	column := p.start(e) + len(indent)
	switch {
	case len(e.kids) > 0:
		p.WriteString(">\n")
		for _, c := range e.kids {
			p.element(c, depth+1)
		}
		p.WriteString(indent + "</" + e.name + ">\n")
	case !e.full || e.text == "":
		p.WriteString("/>\n")
	default:
		p.WriteString(">")
		p.text(e.text, indent, column+1+len("</>")+len(e.name))
		p.WriteString("</" + e.name + ">\n")
	}
}

// start writes a start tag without its end, and returns its width.
func (p *printer) start(e *element) int {
	from := p.Len()
	p.WriteString("<" + e.name)
	for _, a := range e.attrs {
		p.WriteString(" " + a.name + `="` + escapeAttr.Replace(a.value) + `"`)
	}
	return utf8.RuneCountInString(p.String()[from:])
}

// text writes the text of an element, as a CDATA section if it is markup itself.
func (p *printer) text(text, indent string, column int) {
	if isMarkup(text) && strings.Contains(strings.Trim(text, xmltext.Layout), "\n") {
		p.WriteString("<![CDATA[" + text + "]]>")
		return
	}
	p.raw(escapeLayout(text), indent, column)
}

// raw writes escaped text: on the line of its tags, or on its own lines.
func (p *printer) raw(escaped, indent string, column int) {
	if !strings.Contains(escaped, "\n") && column+utf8.RuneCountInString(escaped) <= wide {
		p.WriteString(escaped)
		return
	}
	p.WriteByte('\n')
	for line := range strings.SplitSeq(escaped, "\n") {
		if line != "" {
			p.WriteString(indent + "  " + line)
		}
		p.WriteByte('\n')
	}
	p.WriteString(indent)
}

// isMarkup reports whether text reads better in a CDATA section, and can appear there.
func isMarkup(text string) bool {
	return strings.ContainsAny(text, "<&") && !strings.Contains(text, "]]>") && !strings.Contains(text, "\r")
}

// escapeLayout escapes text, including the white space at its ends, which would otherwise be
// taken for layout.
func escapeLayout(text string) string {
	left := len(text) - len(strings.TrimLeft(text, xmltext.Layout))
	right := len(strings.TrimRight(text, xmltext.Layout))
	if left >= right {
		return escapeSpace.Replace(text)
	}
	return escapeSpace.Replace(text[:left]) + escapeText.Replace(text[left:right]) + escapeSpace.Replace(text[right:])
}

var (
	escapeText  = strings.NewReplacer("&", "&amp;", "<", "&lt;", "]]>", "]]&gt;", "\r", "&#13;")
	escapeSpace = strings.NewReplacer(" ", "&#32;", "\t", "&#9;", "\n", "&#10;", "\r", "&#13;")
	escapeAttr  = strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;", "\n", "&#10;", "\r", "&#13;", "\t", "&#9;")
)
