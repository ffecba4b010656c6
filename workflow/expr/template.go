package expr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Template is parsed text with expressions in it. It is safe for concurrent
// use.
type Template struct {
	parts []part
	refs  []*Ref
	// constant is the value of a template without expressions. It is converted to an interface
	// once, so that evaluating it does not allocate.
	constant any
}

// part is literal text, or an expression if of is set.
type part struct {
	text string
	of   node
}

// ParseTemplate parses text with the expressions of the dialect. An error is a *SyntaxError.
func ParseTemplate(text string, d Dialect) (*Template, error) {
	if len(text) > maxTemplate {
		return nil, &SyntaxError{0, len(text), "text too long", fmt.Sprintf("at most %d bytes", maxTemplate)}
	}
	t := &Template{}
	if err := t.parse(text, d); err != nil {
		return nil, err
	}
	switch {
	case len(t.parts) == 0:
		t.constant = ""
	case len(t.parts) == 1 && t.parts[0].of == nil:
		t.constant = t.parts[0].text
	}
	return t, nil
}

func (t *Template) parse(text string, d Dialect) error {
	p := &parser{text: text}
	if n := min(strings.Count(text, "{{")+strings.Count(text, "${"), 8); n > 0 {
		size := 2*n + 1
		if n == 1 && strings.IndexByte("{$", text[0]) >= 0 && text[len(text)-1] == '}' {
			size = 1
		}
		t.parts, p.refs = make([]part, 0, size), make([]*Ref, 0, n)
	}
	for p.pos < len(text) {
		at, what := nextMark(text, p.pos, d)
		t.literal(text[p.pos:at])
		p.pos = at
		if err := t.mark(p, what); err != nil {
			return err
		}
	}
	t.refs = p.refs
	t.join()
	return nil
}

// mark is a sequence of characters that ends literal text.
type mark int

const (
	endMark    mark = iota
	escapeMark      // $${
	dollarMark      // ${
	braceMark       // {{
	nameMark        // $NAME
)

// nextMark finds the first mark at or after pos.
func nextMark(text string, pos int, d Dialect) (int, mark) {
	for {
		i := strings.IndexAny(text[pos:], "${")
		if i < 0 {
			return len(text), endMark
		}
		pos += i
		rest := text[pos:]
		switch {
		case strings.HasPrefix(rest, "$${"):
			return pos, escapeMark
		case strings.HasPrefix(rest, "${"):
			return pos, dollarMark
		case d >= Mixed && strings.HasPrefix(rest, "{{"):
			return pos, braceMark
		case d == PlantUML && rest[0] == '$' && len(rest) > 1 && isNameStart(rest[1]) && !isWord(rest[1:shellNameEnd(rest, 1)]):
			return pos, nameMark
		}
		pos++
	}
}

// mark parses what begins at a mark.
func (t *Template) mark(p *parser, what mark) error {
	switch what {
	case escapeMark:
		t.literal("${")
		p.pos += len("$${")
	case dollarMark, braceMark:
		return t.expression(p)
	case nameMark:
		from := p.pos
		p.pos = shellNameEnd(p.text, from+1)
		ref := classified([]Key{{Name: p.text[from+1 : p.pos]}})
		ref.From, ref.To = from, p.pos
		p.refs = append(p.refs, &ref)
		t.parts = append(t.parts, part{of: &ref})
	case endMark:
	}
	return nil
}

// shellNameEnd returns the offset after a $NAME. In running text, a hyphen ends it.
func shellNameEnd(text string, from int) int {
	for from < len(text) && isNamePart(text[from]) && text[from] != '-' {
		from++
	}
	return from
}

// expression parses ${expr} or {{expr}}.
func (t *Template) expression(p *parser) error {
	if ref := p.plain(); ref != nil {
		t.parts = append(t.parts, part{of: ref})
		return nil
	}
	at := p.pos
	n, err := p.primary()
	if err != nil {
		return p.explain(err, at)
	}
	if p.pos-at > maxExpr {
		return tooLong(at, p.pos)
	}
	if l, ok := n.(*literalNode); ok {
		if text, ok := l.value.(string); ok {
			t.literal(text)
			return nil
		}
	}
	t.parts = append(t.parts, part{of: n})
	return nil
}

// shellMarks are the characters that follow a name, or ${, in the expansions of a shell.
const shellMarks = ":#%/^@*"

// explain adds to an error how to write literal text, in case the author meant that.
func (p *parser) explain(err error, at int) error {
	var e *SyntaxError
	if !errors.As(err, &e) {
		return err
	}
	opened := p.text[at : at+2]
	if e.From < len(p.text) {
		if opened == "${" && strings.IndexByte(shellMarks, p.text[e.From]) >= 0 {
			e.Detail = "write $${ for a ${ of the shell"
		}
		return e
	}
	literal := map[string]string{"${": "$${", "{{": `${"{{"}`}[opened]
	return &SyntaxError{at, at + 2, opened + " is never closed", fmt.Sprintf("close it, or write %s for a literal %s", literal, opened)}
}

func (t *Template) literal(s string) {
	if s != "" {
		t.parts = append(t.parts, part{text: s})
	}
}

// join merges adjacent literals into one part.
func (t *Template) join() {
	joined := t.parts[:0]
	for i := 0; i < len(t.parts); {
		end := i + 1
		for t.parts[i].of == nil && end < len(t.parts) && t.parts[end].of == nil {
			end++
		}
		joined = append(joined, joinLiterals(t.parts[i:end]))
		i = end
	}
	t.parts = joined
}

func joinLiterals(parts []part) part {
	if len(parts) == 1 {
		return parts[0]
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.text)
	}
	return part{text: b.String()}
}

// Refs returns the references of the template, in the order of the text.
func (t *Template) Refs() []*Ref { return t.refs }

// IsRef reports whether the template is only a reference without a path, so that its value is
// what Env returns.
func (t *Template) IsRef() bool { return len(t.parts) == 1 && isRef(t.parts[0].of) }

// Eval returns the value of the template: that of its only expression, or a text.
func (t *Template) Eval(env Env) (any, error) {
	if t.constant != nil {
		return t.constant, nil
	}
	if len(t.parts) == 1 {
		return t.parts[0].of.eval(env)
	}
	text, err := t.Text(env)
	if err != nil {
		return nil, err
	}
	return text, nil
}

// Text returns the value of the template as text.
func (t *Template) Text(env Env) (string, error) {
	if text, ok := t.constant.(string); ok {
		return text, nil
	}
	// Evaluate all values first, so that the text is allocated once.
	var few [8]string
	texts, size := few[:0], 0
	for i := range t.parts {
		text, err := t.parts[i].write(env)
		if err != nil {
			return "", err
		}
		texts = append(texts, text)
		size += len(text)
	}
	if len(texts) == 1 {
		return texts[0], nil
	}
	var b strings.Builder
	b.Grow(size)
	for _, text := range texts {
		b.WriteString(text)
	}
	return b.String(), nil
}

func (p *part) write(env Env) (string, error) {
	if p.of == nil {
		return p.text, nil
	}
	v, err := p.of.eval(env)
	if err != nil {
		return "", err
	}
	return workflow.FormatText(v), nil
}

// String returns the canonical text.
func (t *Template) String() string { return t.Format(Canonical) }

// Format writes the template so that ParseTemplate can parse it in the given dialect. It writes
// references in canonical form as ${expr}, or as {{expr}} if that is usual in the dialect.
// Literal text that the dialect would read as an expression becomes a string in an expression.
func (t *Template) Format(d Dialect) string {
	var b strings.Builder
	b.Grow(t.length())
	for i := range t.parts {
		p := &t.parts[i]
		if p.of != nil {
			open, shut := "${", "}"
			if d == Braces && !strings.HasSuffix(b.String(), "{") {
				open, shut = "{{", "}}"
			}
			b.WriteString(open)
			p.of.print(&b, looseLevel)
			b.WriteString(shut)
			continue
		}
		beforeExpr := i+1 < len(t.parts)
		formatLiteral(&b, p.text, d, beforeExpr)
	}
	return b.String()
}

// length returns the approximate length of the written template.
func (t *Template) length() int {
	const usual = 40 // length of an expression
	n := 0
	for i := range t.parts {
		n += max(len(t.parts[i].text), usual)
	}
	return n
}

// Literal returns the canonical template whose value is a text.
func Literal(text string) string {
	var b strings.Builder
	formatLiteral(&b, text, Canonical, false)
	return b.String()
}

// LiteralOf returns the text that a canonical template stands for, whatever is in scope; ok is false
// if it is not [Literal] of a text.
func LiteralOf(template string) (text string, ok bool) {
	t, err := ParseTemplate(template, Canonical)
	if err != nil {
		return "", false
	}
	text, ok = t.constant.(string)
	return text, ok && Literal(text) == template
}

// formatLiteral writes literal text. A dollar sign before an expression would escape it, so it is
// moved into the expression, or becomes an expression itself.
func formatLiteral(b *strings.Builder, text string, d Dialect, beforeExpr bool) {
	for pos := 0; pos < len(text); {
		at, what := nextMark(text, pos, d)
		plain := text[pos:at]
		switch what {
		case endMark:
			if beforeExpr {
				plain = quoteDollars(b, plain, 0)
			}
			b.WriteString(plain)
			pos = at
		case escapeMark: // a dollar sign; the literal ${ is handled next
			b.WriteString(plain + "$")
			pos = at + 1
		case dollarMark:
			b.WriteString(plain + "$${")
			pos = at + 2
		case braceMark:
			b.WriteString(plain + `${"{{"}`)
			pos = at + 2
		case nameMark:
			quoteDollars(b, plain, 1)
			pos = at + 1
		}
	}
}

// Closed returns a canonical template whose meaning does not depend on what is written after it.
// Dollar signs at its end are put into an expression, because a brace after them would make them
// a mark.
func Closed(text string) string {
	var b strings.Builder
	b.WriteString(quoteDollars(&b, text, 0))
	return b.String()
}

// quoteDollars writes the dollar signs at the end of plain text, and more of them, as an
// expression. If there are none, it returns the text unwritten.
func quoteDollars(b *strings.Builder, plain string, more int) string {
	before := strings.TrimRight(plain, "$")
	if n := len(plain) - len(before) + more; n > 0 {
		b.WriteString(before + `${"` + strings.Repeat("$", n) + `"}`)
		return ""
	}
	return plain
}
