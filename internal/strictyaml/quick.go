package strictyaml

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// quick parses the plain subset of YAML that nearly all files consist of, several times as
// fast as the library: block maps and lists, scalars and flow collections on one line, and
// literal blocks. At the first construct that it does not support it gives up, and the
// library parses the file. If it does not give up, it builds the same tree as the library,
// without comments; a fuzz target compares the two.
type quick struct {
	text  string
	lines []line
	at    int // index of the current line
	depth int
	spare []node // nodes are allocated many at a time
	pool  *Pool  // or taken from here

	braces bool // a value that begins with {{ is text
}

// giveUp is the panic with which quick ends early. It never leaves the package.
type giveUp struct{}

// readQuickly returns the root of a document, or nil if the library must parse it. Its
// nodes are taken from the pool, if there is one.
func readQuickly(text []byte, lines []line, pool *Pool) *node {
	q := quick{text: string(text), lines: lines, pool: pool}
	return q.read()
}

func (q *quick) read() (root *node) {
	if !strings.HasSuffix(q.text, "\n") || strings.IndexByte(q.text, '\r') >= 0 || q.text[0] == ' ' {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(giveUp); !ok {
				panic(p)
			}
			root = nil
		}
	}()
	indent, ok := q.content()
	if !ok || indent != 0 {
		return nil
	}
	root = q.mapping(0, nil, 0)
	if _, more := q.content(); more {
		return nil
	}
	return root
}

func (q *quick) refuse(unsure bool) {
	if unsure {
		panic(giveUp{})
	}
}

// content moves to the next line that is neither blank nor a comment, and returns its
// indentation.
func (q *quick) content() (indent int, ok bool) {
	for ; q.at < len(q.lines); q.at++ {
		l := q.line()
		indent = len(l) - len(strings.TrimLeft(l, " "))
		if indent == len(l) || l[indent] == '#' {
			continue
		}
		q.refuse(strings.IndexByte(l, '\t') >= 0)
		return indent, true
	}
	return 0, false
}

func (q *quick) line() string { return q.text[q.lines[q.at].from:q.lines[q.at].to] }

func (q *quick) node(kind yaml.Kind, column int) *node {
	var n *node
	if q.pool != nil {
		n = q.pool.nodes.next()
	} else {
		if len(q.spare) == 0 {
			q.spare = make([]node, min(256, 1+len(q.lines)))
		}
		n = &q.spare[0]
		q.spare = q.spare[1:]
	}
	n.Kind, n.Line, n.Column = kind, q.at+1, column+1
	return n
}

// mapping reads a block map whose keys are in the given column. Its first key is in the
// current line, possibly after a dash; it is passed with the column after it if it has been
// read.
func (q *quick) mapping(column int, key *node, end int) *node {
	q.enter()
	m := q.node(yaml.MappingNode, column)
	m.Tag = "!!map"
	if m.Content == nil {
		m.Content = make([]*node, 0, 8)
	}
	for {
		if len(m.Content) > 0 {
			indent, ok := q.content()
			if !ok || indent < column {
				break
			}
			q.refuse(indent > column)
			if strings.HasPrefix(q.line()[indent:], "- ") {
				break // the list around the map, or an error that the caller finds
			}
		}
		if key == nil {
			key, end = q.key(column)
			q.refuse(key == nil)
		}
		m.Content = append(m.Content, key, q.value(end, column, true))
		key = nil
	}
	q.depth--
	return m
}

func (q *quick) enter() {
	q.depth++
	q.refuse(q.depth > 100)
}

// key reads a simple key with its colon, and returns the column after it; nil if there is
// none.
func (q *quick) key(column int) (*node, int) {
	rest := q.line()[column:]
	if rest[0] == '"' || rest[0] == '\'' {
		n, end := q.quoted(column)
		if n == nil || !endsKey(q.line()[end:]) {
			return nil, 0
		}
		q.refuse(end-column > longestKey || !isASCII([]byte(n.Value))) // columns are bytes here
		return n, end + 1
	}
	end := 0
	for end < len(rest) && isKeyByte(rest[end]) {
		end++
	}
	if end == 0 || rest[0] == '-' || !endsKey(rest[end:]) {
		return nil, 0
	}
	q.refuse(end > longestKey)
	return q.plain(rest[:end], column), column + end + 1
}

// longestKey is a length that the library always accepts; it allows 1024 characters.
const longestKey = 1000

func endsKey(rest string) bool { return rest == ":" || strings.HasPrefix(rest, ": ") }

func isKeyByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-' || b == '.' || b == '$' || b == '/'
}

// plain returns a node of plain text.
func (q *quick) plain(text string, column int) *node {
	n := q.node(yaml.ScalarNode, column)
	n.Value = text
	if n.Tag = "!!str"; mayBeOther(text) {
		n.Tag = (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).ShortTag()
	}
	return n
}

// mayBeOther reports whether plain text may be a number, a date, or one of null, true and
// false.
func mayBeOther(text string) bool {
	switch text[0] {
	case 'n', 'N':
		return strings.EqualFold(text, "null")
	case 't', 'T':
		return strings.EqualFold(text, "true")
	case 'f', 'F':
		return strings.EqualFold(text, "false")
	}
	return strings.IndexByte("+-0123456789.~", text[0]) >= 0
}

// quoted reads a quoted scalar without escapes, and returns the column after it.
func (q *quick) quoted(column int) (*node, int) {
	l := q.line()
	quote := l[column]
	end := strings.IndexByte(l[column+1:], quote)
	if end < 0 {
		return nil, 0
	}
	inner := l[column+1 : column+1+end]
	behind := column + 2 + end
	if strings.IndexByte(inner, '\\') >= 0 && quote == '"' || behind < len(l) && l[behind] == quote {
		return nil, 0
	}
	n := q.node(yaml.ScalarNode, column)
	n.Value, n.Tag, n.Style = inner, "!!str", yaml.SingleQuotedStyle
	if quote == '"' {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n, behind
}

// value reads what follows a colon or a dash, in a block whose keys or dashes are in the
// given column. It moves past the lines of the value.
func (q *quick) value(from, column int, inMap bool) *node {
	l := q.line()
	start := from + len(l[from:]) - len(strings.TrimLeft(l[from:], " "))
	if start == len(l) || l[start] == '#' {
		q.refuse(start < len(l) && start == from)
		return q.below(from, column, inMap)
	}
	switch l[start] {
	case '|':
		return q.literal(start, column)
	case '[', '{':
		if q.braces && strings.Contains(l[start:], "{{") {
			return q.inBraces(start, column)
		}
		return q.flow(start, column)
	case '"', '\'':
		n, end := q.quoted(start)
		q.refuse(n == nil)
		q.lineEnd(end, column)
		return n
	}
	text := plainText(l[start:])
	q.refuse(text == "")
	n := q.plain(text, start)
	q.lineEnd(start+len(text), column)
	return n
}

// inBraces reads a value that begins with {{, which is text up to the end of the line.
func (q *quick) inBraces(start, column int) *node {
	text := strings.TrimRight(q.line()[start:], " ")
	q.refuse(!strings.HasPrefix(text, "{{"))
	n := q.node(yaml.ScalarNode, start)
	n.Value, n.Tag = text, "!!str"
	q.lineEnd(start+len(text), column)
	return n
}

// plainText returns the plain scalar at the beginning of a line, or "".
func plainText(rest string) string {
	if comment := strings.Index(rest, " #"); comment >= 0 {
		rest = rest[:comment]
	}
	rest = strings.TrimRight(rest, " ")
	if rest == "" || strings.IndexByte("-?:,[]{}#&*!|>'\"%@`<", rest[0]) >= 0 ||
		strings.Contains(rest, ": ") || rest[len(rest)-1] == ':' {
		return ""
	}
	return rest
}

// lineEnd leaves the line of a scalar. Only a comment may follow it, and no line that would
// continue it.
func (q *quick) lineEnd(from, column int) {
	rest := q.line()[from:]
	trimmed := strings.TrimLeft(rest, " ")
	q.refuse(trimmed != "" && (trimmed[0] != '#' || len(trimmed) == len(rest)))
	q.at++
	indent, ok := q.content()
	q.refuse(ok && indent > column)
}

// below reads a value that begins in a later line: a map, a list, or nothing.
func (q *quick) below(from, column int, inMap bool) *node {
	key := q.at
	q.at++
	indent, ok := q.content()
	if !ok || indent < column {
		return q.empty(key, from)
	}
	dash := strings.HasPrefix(q.line()[indent:], "- ")
	switch {
	case indent == column && !(dash && inMap):
		return q.empty(key, from)
	case dash:
		return q.sequence(indent)
	}
	q.refuse(q.line()[indent] == '-')
	return q.mapping(indent, nil, 0)
}

// empty returns the missing value after a colon or a dash.
func (q *quick) empty(line, column int) *node {
	n := q.node(yaml.ScalarNode, column)
	n.Tag, n.Line = "!!null", line+1
	return n
}

// sequence reads a block list whose dashes are in the given column.
func (q *quick) sequence(column int) *node {
	q.enter()
	s := q.node(yaml.SequenceNode, column)
	s.Tag = "!!seq"
	if s.Content == nil {
		s.Content = make([]*node, 0, 4)
	}
	for {
		indent, ok := q.content()
		if !ok || indent < column {
			break
		}
		q.refuse(indent > column)
		l := q.line()
		if !strings.HasPrefix(l[column:], "- ") {
			q.refuse(l[column] == '-')
			break // a key of the map around a list that is not indented
		}
		s.Content = append(s.Content, q.entry(column))
	}
	q.depth--
	return s
}

func (q *quick) entry(column int) *node {
	l := q.line()
	start := column + 2 + len(l[column+2:]) - len(strings.TrimLeft(l[column+2:], " "))
	q.refuse(start == len(l) || l[start] == '#' || l[start] == '-')
	if key, end := q.key(start); key != nil {
		return q.mapping(start, key, end)
	}
	return q.value(column+1, column, false)
}

// literal reads a block scalar under | or |-.
func (q *quick) literal(start, column int) *node {
	header := q.line()[start:]
	q.refuse(header != "|" && header != "|-")
	n := q.node(yaml.ScalarNode, start)
	n.Tag, n.Style = "!!str", yaml.LiteralStyle
	q.at++
	first := q.at
	indent := q.literalEnd(column)
	lines := q.lines[first:q.at]
	for len(lines) > 0 && lines[len(lines)-1].from == lines[len(lines)-1].to {
		lines = lines[:len(lines)-1]
	}
	q.refuse(len(lines) == 0)
	n.Value = q.join(lines, indent, header == "|")
	next, ok := q.content()
	q.refuse(ok && next > column)
	return n
}

// literalEnd moves past the lines of a literal block, and returns how far they are
// indented. Lines of only spaces are left to the library.
func (q *quick) literalEnd(column int) (indent int) {
	for ; q.at < len(q.lines); q.at++ {
		l := q.line()
		if l == "" {
			continue
		}
		n := len(l) - len(strings.TrimLeft(l, " "))
		q.refuse(n == len(l))
		if indent == 0 {
			q.refuse(n <= column || l[n] == '\t')
			indent = n
		}
		if n < indent {
			q.refuse(l[n] == '\t')
			break
		}
	}
	q.refuse(indent == 0)
	return indent
}

func (q *quick) join(lines []line, indent int, lastBreak bool) string {
	var b strings.Builder
	b.Grow(lines[len(lines)-1].to - lines[0].from + 1)
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if l.from < l.to {
			b.WriteString(q.text[l.from+indent : l.to])
		}
	}
	if lastBreak {
		b.WriteByte('\n')
	}
	return b.String()
}
