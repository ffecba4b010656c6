package strictyaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/workflow"
)

// fixed adds a fix to a syntax error if quoting a value in its line solves it: the line to
// write, and the change.
func (d *Document) fixed(found workflow.Diagnostic, number int) workflow.Diagnostic {
	l := d.lines[number-1]
	content := d.text[l.from:l.to]
	_, start := valueStart(content, spaces(content))
	value := strings.TrimRight(string(content[start:]), " \t")
	if value == "" || start == spaces(content) || strings.IndexByte("|>[", value[0]) >= 0 || strings.Contains(value, " #") {
		return found
	}
	quoted := Quote(value, false)
	if quoted == value || value[0] == '{' && !strings.HasPrefix(value, "{{") {
		return found
	}
	end := start + len(value)
	line := string(content[:start]) + quoted + string(content[end:])
	if !d.readsUpTo(number, line) {
		return found
	}
	found.Detail = "write " + strings.TrimSpace(line)
	from := utf8.RuneCount(content[:start])
	found.Change = workflow.Change{At: d.mark(number, 1+from, utf8.RuneCountInString(value)), Was: value, Text: quoted}
	return found
}

// maxFixed limits how often a file is parsed again with a value in quotes.
const maxFixed = 20

// fix changes one line, so that the rest can be parsed: one error does not hide others. A
// value that it quotes is the last of its line, so nothing else moves.
func (d *Document) fix(c workflow.Change) bool {
	if c.Text == "" || d.broken > maxFixed {
		return false
	}
	number := c.At.Line - d.piece.Line + 1
	l := d.lines[number-1]
	start := d.offset(number, c.At.Column-d.left(number))
	if !bytes.HasPrefix(d.text[start:l.to], []byte(c.Was)) {
		return false
	}
	d.text = slices.Concat(d.text[:start], []byte(c.Text), d.text[start+len(c.Was):])
	d.lines, d.seen = d.splitLines(d.text), place{}
	return true
}

// pair is a character that is escaped as two surrogates, as JSON does for those beyond U+FFFF. YAML has
// another escape for them.
var pair = lazy.Regexp(`\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})`)

// joinPairs replaces such pairs with the escape of YAML if they are why a text cannot be parsed: all of them
// in JSON, otherwise those in the line, as in other places they may be text. It returns false if there are none.
func (d *Document) joinPairs(err error) bool {
	if d.joined++; d.joined > maxFixed || !strings.Contains(err.Error(), "invalid Unicode character escape") {
		return false
	}
	from, to := 0, len(d.text)
	if !json.Valid(d.text) {
		l := d.lines[d.syntaxError(err).Line-d.piece.Line]
		from, to = l.from, l.to
	}
	joined := pair().ReplaceAllFunc(d.text[from:to], func(escapes []byte) []byte {
		high, _ := strconv.ParseUint(string(escapes[2:6]), 16, 32) // the pattern allows only such digits
		low, _ := strconv.ParseUint(string(escapes[8:12]), 16, 32)
		return fmt.Appendf(nil, `\U%08x`, utf16.DecodeRune(rune(high), rune(low)))
	})
	if len(joined) == to-from {
		return false
	}
	d.text = slices.Concat(d.text[:from], joined, d.text[to:])
	d.lines, d.seen = d.splitLines(d.text), place{}
	return true
}

// readsUpTo reports whether the file is valid up to a line if that line is replaced.
func (d *Document) readsUpTo(number int, line string) bool {
	text := append(bytes.Clone(d.text[:d.lines[number-1].from]), line...)
	dec := yaml.NewDecoder(bytes.NewReader(append(text, '\n')))
	_, err := decode(dec)
	return err == nil
}

// instead returns what to write for a value of the wrong type, if that is certain.
func (n Node) instead(wanted string) (was, text string) {
	if isComposed(n.y) {
		return "", ""
	}
	switch {
	case wanted == "text" && n.IsScalar() && n.y.Style == 0:
		return n.y.Value, doubleQuoted(n.y.Value)
	case n.IsBraces():
		from := n.doc.offset(n.y.Line, n.y.Column)
		was = string(n.doc.text[from:n.doc.flowEnd(n.y, from)])
		return was, Quote(was, false)
	case wanted == "true or false" && n.IsText() && n.y.Style == 0:
		switch strings.ToLower(n.y.Value) {
		case "yes", "on":
			return n.y.Value, "true"
		case "no", "off":
			return n.y.Value, "false"
		}
	}
	return "", ""
}
