package yaml

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// printer writes YAML, indented by two spaces per level.
type printer struct {
	b     strings.Builder
	depth int
	dash  bool // the next line begins an entry of a list
	hard  bool // texts are on one line, and everything that is not plain in all notations is escaped

	noFences bool // no block may contain the marks of a fence
}

// quote returns text on one line.
func (p *printer) quote(s string, inFlow bool) string {
	if p.hard {
		return strictyaml.QuoteHard(s)
	}
	return strictyaml.Quote(s, inFlow)
}

// isBlock reports whether text is written as a block.
func (p *printer) isBlock(s string) bool {
	opensFence := p.noFences && (strings.Contains(s, "```") || strings.Contains(s, "~~~"))
	return !p.hard && !opensFence && isBlock(s)
}

// line begins a line, with a dash if it is the first of an entry.
func (p *printer) line(text string) {
	depth := p.depth
	if p.dash {
		depth--
	}
	p.b.WriteString(strings.Repeat("  ", depth))
	if p.dash {
		p.b.WriteString("- ")
	}
	p.dash = false
	p.b.WriteString(text)
	p.b.WriteByte('\n')
}

func (p *printer) blank() { p.b.WriteByte('\n') }

// key returns a key with its colon. A key may have at most a thousand characters on a line; a
// longer one needs a question mark.
func (p *printer) key(name string) string {
	text := p.quote(name, false)
	if len(text) < 1000 {
		return text + ":"
	}
	p.line("? " + text)
	return ":"
}

// field writes a key with a value on the same line.
func (p *printer) field(key, value string) { p.line(p.key(key) + " " + value) }

// text writes a key with text, if there is any. Text with several lines becomes a block.
func (p *printer) text(key, s string) {
	if s != "" {
		p.always(key, s)
	}
}

func (p *printer) always(key, s string) {
	if !p.isBlock(s) {
		p.field(key, p.quote(s, false))
		return
	}
	p.field(key, blockHeader(s))
	p.lines(s)
}

// lines writes the lines of a block, one level deeper. Empty lines have no
// indentation.
func (p *printer) lines(s string) {
	indent := strings.Repeat("  ", p.depth+1)
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if line != "" {
			p.b.WriteString(indent)
			p.b.WriteString(line)
		}
		p.b.WriteByte('\n')
	}
}

// nested writes a key, and below it what inner writes.
func (p *printer) nested(key string, inner func()) {
	p.line(p.key(key))
	p.depth++
	inner()
	p.depth--
}

// entry writes one entry of a list. Its first line gets the dash.
func (p *printer) entry(inner func()) {
	p.dash = true
	p.depth++
	inner()
	p.depth--
	p.dash = false
}

// value writes a key with any value of the model.
func (p *printer) value(key string, v any) {
	switch v := v.(type) {
	case string:
		p.always(key, v)
	case []any:
		if line, ok := p.flowList(v); ok {
			p.field(key, line)
			return
		}
		p.nested(key, func() { p.items(v) })
	case map[string]any:
		if len(v) == 0 {
			p.field(key, "{}")
			return
		}
		p.nested(key, func() { p.members(v) })
	default:
		p.field(key, atom(v))
	}
}

func (p *printer) members(m map[string]any) {
	for _, k := range sorted.Keys(m) {
		p.value(k, m[k])
	}
}

func (p *printer) items(list []any) {
	for _, v := range list {
		p.entry(func() { p.item(v) })
	}
}

func (p *printer) item(v any) {
	switch v := v.(type) {
	case string:
		if p.isBlock(v) {
			p.line(blockHeader(v))
			p.depth--
			p.lines(v)
			p.depth++
			return
		}
		p.line(p.quote(v, false))
	case []any:
		if line, ok := p.flowList(v); ok {
			p.line(line)
			return
		}
		p.line("") // the dash alone; the list is below it
		p.items(v)
	case map[string]any:
		if len(v) == 0 {
			p.line("{}")
			return
		}
		p.members(v)
	default:
		p.line(atom(v))
	}
}

// flowList returns a short list of scalars on one line.
func (p *printer) flowList(list []any) (string, bool) {
	parts := make([]string, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case string:
			parts[i] = p.quote(v, true)
		case []any, map[string]any:
			return "", false
		default:
			parts[i] = atom(v)
		}
	}
	line := "[" + strings.Join(parts, ", ") + "]"
	return line, len(line) <= 80 || len(list) == 0
}

// atom writes null, booleans and numbers.
func atom(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	}
	return "null"
}

// isBlock reports whether text with line breaks can be written as a block. Text that ends with
// more than one line break cannot: the blank line after the step would become part of it. A
// separator such as "\n---\n" is clearer in quotes.
func isBlock(s string) bool {
	short := strings.HasPrefix(s, "\n") && len(s) < 80
	return strings.Contains(s, "\n") && !short && strictyaml.IsPrintable(s) &&
		!strings.HasSuffix(s, "\n\n") && strings.Trim(s, " \t\n") != "" && lastLineHasText(s)
}

// lastLineHasText reports whether the last line is not blank: a blank last line would be lost
// with the line breaks at the end.
func lastLineHasText(s string) bool {
	s = strings.TrimSuffix(s, "\n")
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:]) != ""
}

// blockHeader returns the indicator of a block: with its indentation if its first line is
// indented, and with - if it ends without a line break.
func blockHeader(s string) string {
	header := "|"
	if first := strings.TrimLeft(s, "\n"); strings.HasPrefix(first, " ") || strings.HasPrefix(first, "\t") || len(first) < len(s) {
		header += "2"
	}
	if !strings.HasSuffix(s, "\n") {
		header += "-"
	}
	return header
}
