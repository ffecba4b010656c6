package jsonpath

import (
	"encoding/json"
	"slices"
)

// The grammar of filters, from the loosest binding to the tightest: ||, &&, !
// and parentheses, comparisons and tests.

func (p *parser) or() (logical, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	list, err := p.joined("||", p.and)
	if err != nil || len(list) == 1 {
		return only(list, err)
	}
	return orTest(list), nil
}

func (p *parser) and() (logical, error) {
	list, err := p.joined("&&", p.basic)
	if err != nil || len(list) == 1 {
		return only(list, err)
	}
	return andTest(list), nil
}

func only(list []logical, err error) (logical, error) {
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

func (p *parser) joined(op string, one func() (logical, error)) ([]logical, error) {
	var list []logical
	for {
		l, err := one()
		if err != nil {
			return nil, err
		}
		list = append(list, l)
		before := p.pos
		p.blanks()
		if !p.accept(op) {
			p.pos = before
			return list, nil
		}
		p.blanks()
	}
}

// basic parses a condition in parentheses, a comparison or a test. All except the comparison may
// be negated.
func (p *parser) basic() (logical, error) {
	negated := p.accept("!")
	if negated {
		p.blanks()
	}
	test, err := p.test(negated)
	if err != nil || !negated {
		return test, err
	}
	return notTest{test}, nil
}

func (p *parser) test(negated bool) (logical, error) {
	if p.accept("(") {
		return p.parenthesised()
	}
	start := p.pos
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	before := p.pos
	p.blanks()
	if op := p.comparator(); op != "" {
		if negated {
			p.pos = before
			return nil, p.errorf("write !(…) to negate a comparison")
		}
		return p.comparison(op, left, start)
	}
	p.pos = before
	return p.existence(left, start)
}

func (p *parser) parenthesised() (logical, error) {
	p.blanks()
	inner, err := p.or()
	if err != nil {
		return nil, err
	}
	p.blanks()
	if !p.accept(")") {
		return nil, p.errorf("expected ), found %s", p.found())
	}
	return inner, nil
}

func (p *parser) comparator() string {
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if p.accept(op) {
			return op
		}
	}
	return ""
}

func (p *parser) comparison(op string, left operand, start int) (logical, error) {
	if err := p.wants(valueKind, left, start); err != nil {
		return nil, err
	}
	p.blanks()
	start = p.pos
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	if err := p.wants(valueKind, right, start); err != nil {
		return nil, err
	}
	return comparison{op, left, right}, nil
}

// existence returns a test for an operand that is not compared.
func (p *parser) existence(o operand, start int) (logical, error) {
	switch o := o.(type) {
	case *query:
		return existsTest{o}, nil
	case *call:
		if functions[o.name].gives == logicalKind {
			return callTest{o}, nil
		}
		return nil, &Error{start, "the result of " + o.name + " must be compared with something"}
	case literal:
	}
	return nil, &Error{start, "a literal must be compared with something"}
}

// wants checks that an operand has the kind that is required in its place.
func (p *parser) wants(k kind, o operand, at int) error {
	switch o := o.(type) {
	case literal:
		if k == nodesKind {
			return &Error{at, "expected a path, found a literal"}
		}
	case *query:
		if k == valueKind && !o.singular() {
			return &Error{at, "the path may find several values; only one can be used here"}
		}
	case *call:
		if functions[o.name].gives != k {
			return &Error{at, "the result of " + o.name + " cannot be used here"}
		}
	}
	return nil
}

// operand parses a literal, a path or a call.
func (p *parser) operand() (operand, error) {
	switch c := p.peek(); {
	case c == '$' || c == '@':
		p.pos++
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer p.leave()
		segments, err := p.segments()
		return &query{relative: c == '@', segments: segments}, err
	case c == '\'' || c == '"':
		s, err := p.quoted()
		return literal{s}, err
	case c == '-' || isDigit(c):
		return p.number()
	case c >= 'a' && c <= 'z':
		return p.word()
	}
	return nil, p.errorf("expected a value or a path, found %s", p.found())
}

func (p *parser) number() (operand, error) {
	start := p.pos
	p.accept("-")
	first := p.pos
	n := p.digits()
	if n == 0 || n > 1 && p.text[first] == '0' {
		p.pos = first
		return nil, p.errorf("a number cannot begin with %s", p.found())
	}
	if p.accept(".") && p.digits() == 0 {
		return nil, p.errorf("expected a digit, found %s", p.found())
	}
	if p.accept("e") || p.accept("E") {
		if !p.accept("+") {
			p.accept("-")
		}
		if p.digits() == 0 {
			return nil, p.errorf("expected a digit, found %s", p.found())
		}
	}
	return literal{json.Number(p.text[start:p.pos])}, nil
}

var words = map[string]any{"true": true, "false": false, "null": nil}

// word parses true, false, null or a call.
func (p *parser) word() (operand, error) {
	start := p.pos
	for c := p.peek(); c == '_' || isDigit(c) || c >= 'a' && c <= 'z'; c = p.peek() {
		p.pos++
	}
	name := p.text[start:p.pos]
	if p.accept("(") {
		return p.call(name, start)
	}
	if v, ok := words[name]; ok {
		return literal{v}, nil
	}
	return nil, &Error{start, "unknown word " + name + "; to select a member, write @." + name}
}

func (p *parser) call(name string, start int) (operand, error) {
	function, ok := functions[name]
	if !ok {
		return nil, &Error{start, "unknown function " + name}
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	c := &call{name: name}
	for i, k := range function.takes {
		p.blanks()
		if i > 0 && !p.accept(",") {
			return nil, p.errorf("%s takes %d arguments; expected a comma, found %s", name, len(function.takes), p.found())
		}
		p.blanks()
		at := p.pos
		arg, err := p.operand()
		if err == nil {
			err = p.wants(k, arg, at)
		}
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, arg)
	}
	p.blanks()
	if !p.accept(")") {
		return nil, p.errorf("expected ) to close the call of %s, found %s", name, p.found())
	}
	c.compile()
	return c, nil
}

// compile compiles the pattern of match and search, if it is a literal.
func (c *call) compile() {
	if !slices.Contains([]string{"match", "search"}, c.name) {
		return
	}
	if l, ok := c.args[1].(literal); ok {
		c.pattern = compile(l.value, c.name == "match")
	}
}
