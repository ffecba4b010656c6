package markdown

import (
	"bytes"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// Fmt formats a file in the canonical style: its front matter, its flowchart, and the blank lines
// around the parts of a section. Prose, prompts and comments stay as they are. A file with errors
// is returned unchanged, with its diagnostics.
func Fmt(file string, text []byte) ([]byte, workflow.Diagnostics) {
	r := read(file, text)
	found := r.found.Sort()
	if found.Errors() {
		return text, found
	}
	unix := bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\uFEFF")), []byte("\r\n"), []byte{'\n'})
	if len(unix) < len(text) {
		r = read(file, unix)
	}
	laidOut := workflow.Apply(unix, r.layout())
	again := read(file, laidOut)
	if again.found.Errors() || workflow.Print(again.w) != workflow.Print(r.w) {
		return text, found
	}
	if !bytes.Equal(workflow.Apply(laidOut, again.layout()), laidOut) {
		return text, found // it would change again
	}
	return laidOut, found
}

// layout returns the edits that format a file.
func (r *reader) layout() []workflow.Edit {
	if r.doc == nil {
		return []workflow.Edit{r.src.Edit(source.Span{To: len(r.src.Bytes)}, r.layoutChart())}
	}
	e := &edits{doc: r.doc}
	if r.doc.front.exists() {
		e.yaml(r.doc.front.yaml)
	}
	if span, whole := r.chartSpan(); whole {
		e.replace(span, r.layoutChart())
	}
	for i := range r.sections {
		e.section(&r.sections[i])
	}
	return e.list
}

// chartSpan returns the range of the flowchart in the file. If it is in a quotation or indented,
// it is not contiguous and is left unchanged.
func (r *reader) chartSpan() (source.Span, bool) {
	f := &r.doc.fences[r.fence]
	n := len(f.lines)
	if n == 0 {
		return source.Span{}, false
	}
	span := source.Span{From: f.lines[0].From, To: f.lines[n-1].To}
	from := bytes.LastIndexByte(r.doc.text.Bytes[:span.From], '\n') + 1
	return span, span.To-span.From == length(f.lines) && from == span.From
}

// edits collects changes to a file.
type edits struct {
	doc  *document
	list []workflow.Edit
}

func (e *edits) replace(s source.Span, text string) {
	if string(e.doc.text.Bytes[s.From:s.To]) != text {
		e.list = append(e.list, e.doc.text.Edit(s, text))
	}
}

func (e *edits) yaml(s source.Span) {
	text := e.doc.text.Bytes[s.From:s.To]
	if len(bytes.TrimSpace(text)) > 0 {
		e.replace(s, string(strictyaml.Layout(text)))
	}
}

// section puts one blank line between the parts of a section, and one after it.
func (e *edits) section(s *section) {
	h := s.heading
	e.replace(source.Span{From: h.line.From, To: h.line.To}, "### "+e.doc.title(h)+"\n")
	at := h.line.To
	if s.front.exists() {
		e.replace(source.Span{From: at, To: s.front.yaml.From}, "\n---\n")
		e.yaml(s.front.yaml)
		e.replace(source.Span{From: s.front.yaml.To, To: s.front.whole.To}, "---\n")
		at = s.front.whole.To
	}
	if s.body.From < s.body.To {
		e.replace(source.Span{From: at, To: s.body.From}, "\n")
		at = s.body.To
	}
	switch end := s.whole.To; {
	case end < len(e.doc.text.Bytes) && s.body.From < s.body.To:
		e.replace(source.Span{From: at, To: end}, "\n\n")
	case end < len(e.doc.text.Bytes):
		e.replace(source.Span{From: at, To: end}, "\n")
	case s.body.From < s.body.To:
		e.replace(source.Span{From: at, To: end}, "\n")
	default:
		e.replace(source.Span{From: at, To: end}, "")
	}
}

// layoutChart writes the flowchart with one statement per line, indented by the subgraphs around
// it. The statements themselves are not changed.
func (r *reader) layoutChart() string {
	c := &chartLayout{text: r.src.Bytes, depth: 1}
	at := 0
	if front := r.chart.FrontMatter; front.To > front.From {
		c.out.Write(bytes.TrimRight(c.text[:front.To], "\n"))
		c.out.WriteByte('\n')
		at = front.To
	}
	c.depth = 0
	c.gap(at, r.chart.Header.From)
	c.line(r.chart.Header)
	c.depth = 1
	at = r.chart.Header.To
	for _, s := range r.chart.Statements {
		c.gap(at, s.From)
		c.statement(s)
		at = s.To
	}
	c.gap(at, len(c.text))
	return strings.TrimRight(c.out.String(), "\n") + "\n"
}

type chartLayout struct {
	text  []byte
	out   strings.Builder
	depth int
}

// statement writes a statement, indented to its depth.
func (c *chartLayout) statement(s source.Span) {
	text := bytes.TrimSpace(c.text[s.From:s.To])
	word, _, _ := bytes.Cut(text, []byte{' '})
	if string(text) == "end" && c.depth > 1 {
		c.depth--
	}
	c.line(s)
	if string(word) == "subgraph" {
		c.depth++
	}
}

func (c *chartLayout) line(s source.Span) {
	text := bytes.TrimSpace(c.text[s.From:s.To])
	if len(text) == 0 {
		return
	}
	c.indent()
	c.out.Write(text)
	c.out.WriteByte('\n')
}

func (c *chartLayout) indent() {
	for range c.depth {
		c.out.WriteString("    ")
	}
}

// gap writes what is between two statements: comments, directives, and a single blank line.
func (c *chartLayout) gap(from, to int) {
	lines := bytes.Split(c.text[from:to], []byte{'\n'})
	blank := false
	for i, line := range lines {
		line = bytes.Trim(line, " \t\r;")
		switch {
		case len(line) == 0:
			blank = blank || i > 0 && i < len(lines)-1
		default:
			c.blank(blank)
			blank = false
			c.indent()
			c.out.Write(line)
			c.out.WriteByte('\n')
		}
	}
	c.blank(blank)
}

func (c *chartLayout) blank(wanted bool) {
	if text := c.out.String(); wanted && text != "" && !strings.HasSuffix(text, "\n\n") {
		c.out.WriteByte('\n')
	}
}
