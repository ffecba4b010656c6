package expr

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Dialect is the way in which references are written in running text.
type Dialect int

// The dialects.
const (
	Canonical Dialect = iota // ${expr}, and $${ for a literal ${
	Mixed                    // also {{expr}}
	PlantUML                 // also $NAME
	Braces                   // as Mixed; references are written {{expr}}
)

// The limits of what is parsed.
const (
	maxDepth    = 100
	maxExpr     = 64 << 10
	maxTemplate = 4 << 20
)

// Expr is a parsed condition or reference. It is safe for concurrent use.
type Expr struct {
	root node
	refs []*Ref
}

// ParseExpr parses a condition or a reference. `${x}`, `{{x}}`, `$x` and `x` mean the same in it,
// and a question mark at its end is dropped. An error is a *SyntaxError.
//
// The dialect is that of the text around the expression; expressions are the same in all
// dialects.
func ParseExpr(text string, _ Dialect) (*Expr, error) {
	p := &parser{text: dropQuestionMark(text)}
	root, err := p.whole()
	if err != nil {
		return nil, err
	}
	return &Expr{root: root, refs: p.refs}, nil
}

func dropQuestionMark(text string) string {
	trimmed := strings.TrimRight(text, " \t\r\n")
	if strings.HasSuffix(trimmed, "?") && !strings.HasSuffix(trimmed, "??") {
		return trimmed[:len(trimmed)-1]
	}
	return text
}

// Refs returns the references of the expression, in the order of the text.
func (e *Expr) Refs() []*Ref { return e.refs }

// String returns the canonical text.
func (e *Expr) String() string {
	var b strings.Builder
	e.root.print(&b, looseLevel)
	return b.String()
}

// parser parses an expression in a text. Its methods leave pos after what they have parsed.
type parser struct {
	text  string
	pos   int
	depth int
	refs  []*Ref

	ahead token // the token at or after aheadOf
	// aheadOf is one more than the pos for which ahead was scanned; zero means that nothing was.
	aheadOf int
}

// whole parses an expression that is the whole text.
func (p *parser) whole() (node, error) {
	if len(p.text) > maxExpr {
		return nil, tooLong(0, len(p.text))
	}
	n, err := p.level(looseLevel)
	if err != nil {
		return nil, err
	}
	t, err := p.peek()
	if err != nil {
		return nil, err
	}
	if t.kind != endToken {
		return nil, p.unexpected(t, "put an operator before it, such as == or &&; text is written in quotes")
	}
	return n, nil
}

func tooLong(from, to int) *SyntaxError {
	return &SyntaxError{from, to, "expression too long", fmt.Sprintf("at most %d bytes", maxExpr)}
}

// peek returns the next token. Like all errors here, its error is nil or a *SyntaxError; the type
// is error so that a nil one stays nil.
func (p *parser) peek() (token, error) {
	if p.aheadOf != p.pos+1 {
		t, err := scan(p.text, p.pos)
		if err != nil {
			return t, err
		}
		p.ahead, p.aheadOf = t, p.pos+1
	}
	return p.ahead, nil
}

// accept consumes the next token if it is the given operator.
func (p *parser) accept(op string) bool {
	t, err := p.peek()
	if err != nil || t.kind != opToken || t.text != op {
		return false
	}
	p.pos = t.to
	return true
}

func (p *parser) expect(op, why string) error {
	if p.accept(op) {
		return nil
	}
	t, err := p.peek()
	if err != nil {
		return err
	}
	return p.unexpected(t, "write "+op+why)
}

// unexpected returns the error for a token after a complete expression. If the token before it is
// the word not, that word is the mistake.
func (p *parser) unexpected(t token, want string) *SyntaxError {
	before := strings.TrimRight(p.text[:p.pos], " \t\r\n")
	from := len(before) - len("not")
	if t.kind != opToken && t.kind != endToken && strings.HasSuffix(before, "not") && (from == 0 || !isNamePart(before[from-1])) {
		return &SyntaxError{from, len(before), `unexpected "not"`, hints["not"]}
	}
	return unexpected(t, want)
}

const wantValue = "a value is missing here: a name, a number, or text in quotes"

// unexpected returns the error for a token where something else is expected; want says what to
// do.
func unexpected(t token, want string) *SyntaxError {
	if t.kind == endToken {
		return &SyntaxError{t.from, t.to, "the expression ends too early", want}
	}
	detail := hints[t.text]
	if t.kind == stringToken {
		detail = ""
	} else if t.kind == numberToken && strings.HasPrefix(t.text, "-") {
		detail = noArithmetic
	}
	if detail == "" {
		detail = want
	}
	return &SyntaxError{t.from, t.to, fmt.Sprintf("unexpected %s", shorten(t.text)), detail}
}

func shorten(s string) string {
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return strconv.Quote(s)
}

// nested parses an expression inside brackets. It limits how deep they nest.
func (p *parser) nested() (node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	return p.level(looseLevel)
}

func (p *parser) enter() error {
	p.depth++
	if p.depth > maxDepth {
		return &SyntaxError{p.pos, p.pos, "expression nested too deeply", fmt.Sprintf("at most %d levels", maxDepth)}
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// level parses an expression that binds at least as tightly as the level.
func (p *parser) level(l level) (node, error) {
	switch l {
	case looseLevel:
		return p.chain("||", andLevel)
	case andLevel:
		return p.chain("&&", compareLevel)
	case compareLevel:
		return p.comparison()
	case elseLevel:
		return p.chain("??", unaryLevel)
	case unaryLevel:
	}
	return p.unary()
}

// chain parses operands joined by one associative operator. They become one node with many
// operands, so that a long chain does not become a deep tree.
func (p *parser) chain(op string, operand level) (node, error) {
	first, err := p.level(operand)
	if err != nil || !p.accept(op) {
		return first, err
	}
	list := append(make([]node, 0, 2), first)
	for {
		n, err := p.level(operand)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
		if !p.accept(op) {
			return chained(op, list), nil
		}
	}
}

func chained(op string, list []node) node {
	switch op {
	case "||":
		return orNode(list)
	case "&&":
		return andNode(list)
	}
	for _, n := range list[:len(list)-1] {
		if r, ok := n.(*Ref); ok {
			r.guarded = true
		}
	}
	return elseNode(list)
}

func isComparison(text string) bool {
	switch text {
	case "==", "!=", "<", "<=", ">", ">=", "contains", "matches", "in":
		return true
	}
	return false
}

func (p *parser) comparison() (node, error) {
	left, err := p.level(elseLevel)
	if err != nil {
		return nil, err
	}
	op, found := p.comparator()
	if !found {
		return left, nil
	}
	if _, negated := left.(*notNode); negated && op.text != "==" && op.text != "!=" {
		return nil, &SyntaxError{op.from, op.to, "! applies to the left side only", fmt.Sprintf("write !(a %s b)", op.text)}
	}
	right, err := p.level(elseLevel)
	if err != nil {
		return nil, err
	}
	if again, found := p.comparator(); found {
		return nil, &SyntaxError{again.from, again.to, "comparisons do not chain", "join two comparisons with &&, or use parentheses"}
	}
	return newComparison(op, left, right)
}

func (p *parser) comparator() (token, bool) {
	t, err := p.peek()
	if err != nil || t.kind != opToken && t.kind != nameToken || !isComparison(t.text) {
		return t, false
	}
	p.pos = t.to
	return t, true
}

func newComparison(op token, left, right node) (node, error) {
	n := &compareNode{op: op.text, left: left, right: right}
	if l, ok := right.(*literalNode); ok && op.text == "matches" {
		p, err := compilePattern(l.value)
		if err != nil {
			return nil, &SyntaxError{l.from, l.to, err.Error(), "see the syntax of RE2"}
		}
		n.pattern = p
	}
	if r, ok := right.(*Ref); ok && r.Kind == Unresolved && len(r.Path) == 1 && op.text != "in" {
		r.compare = r.To-r.From == len(r.Path[0].Name)
	}
	return n, nil
}

func (p *parser) unary() (node, error) {
	if !p.accept("!") {
		return p.primary()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	n, err := p.unary()
	if err != nil {
		return nil, err
	}
	return &notNode{n}, nil
}

// keyword returns the value of a keyword.
func keyword(word string) (value any, ok bool) {
	switch word {
	case "true":
		return true, true
	case "false":
		return false, true
	case "null":
		return nil, true
	}
	return nil, false
}

// isWord reports whether a name is a keyword, so that it can be used as a name only with a
// prefix: inputs.in.
func isWord(name string) bool {
	_, isLiteral := keyword(name)
	return isLiteral || isComparison(name)
}

func (p *parser) primary() (node, error) {
	t, err := p.peek()
	if err != nil {
		return nil, err
	}
	p.pos = t.to
	switch t.kind {
	case numberToken:
		return &literalNode{json.Number(t.text), t.from, t.to}, nil
	case stringToken:
		return &literalNode{t.text, t.from, t.to}, nil
	case nameToken, dollarToken:
		if v, ok := keyword(t.text); ok && t.kind == nameToken {
			return &literalNode{v, t.from, t.to}, nil
		}
		if isWord(t.text) {
			return nil, unexpected(t, wantValue)
		}
		return p.reference(t)
	case opToken:
		return p.bracketed(t)
	case endToken:
	}
	return nil, unexpected(t, wantValue)
}

// closer returns the bracket that closes open around one expression, or "".
func closer(open string) string {
	switch open {
	case "(":
		return ")"
	case "${":
		return "}"
	case "{{":
		return "}}"
	}
	return ""
}

func (p *parser) bracketed(open token) (node, error) {
	if open.text == "[" {
		return p.list()
	}
	closer := closer(open.text)
	if closer == "" {
		return nil, unexpected(open, wantValue)
	}
	n, err := p.nested()
	if err != nil {
		return nil, err
	}
	if err := p.expect(closer[:1], closer[1:]+" to close "+open.text); err != nil {
		return nil, err
	}
	if open.text == "{{" {
		if !strings.HasPrefix(p.text[p.pos:], "}") {
			return nil, &SyntaxError{p.pos - 1, p.pos, "{{ is closed by a single }", "write }}"}
		}
		p.pos++
	}
	if r, ok := n.(*Ref); ok && open.text != "(" {
		r.From, r.To = open.from, p.pos
	}
	return n, nil
}

func (p *parser) list() (node, error) {
	var items []node
	for !p.accept("]") {
		if len(items) > 0 {
			if err := p.expect(",", " or ]"); err != nil {
				return nil, err
			}
		}
		n, err := p.nested()
		if err != nil {
			return nil, err
		}
		items = append(items, n)
	}
	return listNode(items), nil
}
