package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// reference parses the path after its first name.
func (p *parser) reference(first token) (node, error) {
	var short [4]Key // long enough for most paths
	path := append(short[:0], Key{Name: first.text})
	for {
		k, found, err := p.key()
		if err != nil {
			return nil, err
		}
		if !found {
			break
		}
		path = append(path, k)
	}
	ref, rest := classify(path)
	ref.Path = slices.Clone(rest)
	ref.From, ref.To = first.from, p.pos
	p.refs = append(p.refs, &ref)
	return &ref, nil
}

// plain parses ${name} or {{name}} if it contains only names and dots, as most expressions do.
// Otherwise it returns nil.
func (p *parser) plain() *Ref {
	shut := "}"
	if p.text[p.pos] == '{' {
		shut = "}}"
	}
	var short [4]Key
	path, at := short[:0], p.pos+1
	for more := true; more; more = at < len(p.text) && p.text[at] == '.' {
		from := at + 1
		if from == len(p.text) || !isNameStart(p.text[from]) {
			return nil
		}
		at = nameEnd(p.text, from)
		path = append(path, Key{Name: p.text[from:at]})
	}
	if at-p.pos > maxExpr-len(shut) || isWord(path[0].Name) || !strings.HasPrefix(p.text[at:], shut) {
		return nil
	}
	ref, rest := classify(path)
	ref.Path = slices.Clone(rest)
	ref.From, ref.To = p.pos, at+len(shut)
	p.refs = append(p.refs, &ref)
	p.pos = ref.To
	return &ref
}

// key parses .name, [0] or ["name"], if one follows immediately.
func (p *parser) key() (k Key, found bool, err error) {
	rest := p.text[p.pos:]
	switch {
	case strings.HasPrefix(rest, "?."):
		return k, false, &SyntaxError{p.pos, p.pos + 2, `unexpected "?."`, hints["?."]}
	case strings.HasPrefix(rest, "."):
		return p.dotted()
	case strings.HasPrefix(rest, "["):
		return p.indexed()
	}
	return k, false, nil
}

func (p *parser) dotted() (Key, bool, error) {
	from := p.pos + 1
	if from == len(p.text) || !isNameStart(p.text[from]) {
		return Key{}, false, &SyntaxError{p.pos, from, "a name is missing after the dot", `write [0] for an index and ["a b"] for a name with other characters`}
	}
	p.pos = nameEnd(p.text, from)
	return Key{Name: p.text[from:p.pos]}, true, nil
}

func (p *parser) indexed() (Key, bool, error) {
	p.pos++
	t, err := p.peek()
	if err != nil {
		return Key{}, false, err
	}
	k := Key{Name: t.text}
	if t.kind == numberToken {
		index, err := strconv.Atoi(t.text)
		if err != nil || index < 0 {
			return k, false, &SyntaxError{t.from, t.to, fmt.Sprintf("%s is not an index", shorten(t.text)), "indexes are whole numbers and count from 0"}
		}
		k = Key{Index: index, IsIndex: true}
	} else if t.kind != stringToken {
		return k, false, unexpected(t, "write a whole number or a name in quotes between [ and ]")
	}
	p.pos = t.to
	return k, true, p.expect("]", " after the index")
}
