package mermaid

// reason says why a statement cannot be parsed.
type reason uint8

const (
	fine          reason = iota
	unexpected           // a token that is not allowed here
	unclosedQuote        // a string does not end
	badQuote             // a string ends before a backtick
	badMarkdown          // a Markdown string contains a quote or a backtick
	innerQuote           // a quote inside a text
	innerArrow           // ~~~ at the start of a text
	wrongCloser          // a bracket that does not end the text
	emptyText            // no text at all
	unclosedText         // a text does not end
	unclosedEdge         // the text of an edge does not end
	innerLine            // the text of an edge contains the character of its line
	unclosedMeta         // an @{ does not end
	badMeta              // an @{ contains a character that is not allowed
	untitled             // a subgraph without a name
	extraEnd             // an "end" without a subgraph
	secondHeader         // a second "flowchart"
	missingTarget        // an arrow has no target
)

// fault is where and why parsing failed.
type fault struct {
	why   reason
	tok   token // the token at which it failed
	open  token // what is open: the bracket, the edge or the @{; zero if nothing is
	place place
}

// place is the construct in which a fault occurred.
type place uint8

const (
	atStart place = iota // at the start of a statement
	inNode               // where a node is expected
	afterNode
	inLabel    // inside the brackets of a node
	inEdge     // inside the text of an edge
	inBars     // between the bars of an edge
	afterBars  // after them
	afterEdge  // after an arrow
	inMeta     // inside an @{
	inSubgraph // in the line that opens a subgraph
	inTitle    // inside the brackets of its title
	inStyle    // in a style, classDef, class or linkStyle
	inClick
)

// form is the kind of a statement.
type form uint8

const (
	noForm form = iota
	chainForm
	subgraphForm
	endForm
	decorForm
)

// statement is one statement as it is written. It is reused: its slices belong to the parser.
type statement struct {
	form     form
	from, to int

	nodes  []mention // of a chain
	links  []link
	joints []int // of a chain: index of the first node after each link

	id, title label // of a subgraph
	titled    bool
	blank     bool // its name contains a space, possibly at the end

	decor    DecorKind
	names    [2]int // range of its ids
	value    [2]int
	dir      string
	strayDir bool // "direction" hides what is before it
}

// mention is a node in a chain.
type mention struct {
	from, to int // its id
	end      int // after its shape
	shape    Shape
	open     token
	label    label
	class    [2]int
	meta     metaText
}

// metaText is an @{…} as it is written.
type metaText struct {
	from, to int // between the braces; to is 0 if there is none
	flow     bool
}

// link is an edge in a chain.
type link struct {
	id       [2]int
	from, to int // the arrow and its label, without white space around them
	style    linkStyle
	mixed    bool
	first    token // the first half, or the only one
	second   token
	label    label
}

// parser parses one statement after the other. It changes only itself.
type parser struct {
	lexer
	tok   token // the next one
	st    statement
	whole int // the line that ends here contains no HTML; see splitEntity
}

func newParser(text string) *parser { return &parser{lexer: newLexer(text)} }

func (p *parser) step() { p.tok = p.next() }

func (p *parser) fail(why reason, where place, open token) *fault {
	return &fault{why: why, tok: p.tok, open: open, place: where}
}

// failAt returns a fault at the current place of the lexer.
func (p *parser) failAt(why reason, where place, open token) *fault {
	return &fault{why: why, tok: token{kBad, p.at, p.at}, open: open, place: where}
}

// statement reads the next statement. At the end of the text its form is noForm.
func (p *parser) statement() *fault {
	s := &p.st
	p.skip()
	*s = statement{nodes: s.nodes[:0], links: s.links[:0], joints: s.joints[:0], from: p.at}
	p.step()
	switch p.tok.kind {
	case kEOF:
		s.to = s.from
		return nil
	case kSubgraph:
		return p.subgraph()
	case kEnd:
		s.form, s.to = endForm, p.tok.from+len("end")
		return nil
	case kDirection:
		p.direction()
		return nil
	case kGraph:
		return p.fail(secondHeader, atStart, token{})
	case kAccTitle, kAccDescr, kAccBlock:
		return p.acc()
	case kStyle, kClassDef, kClass, kLinkStyle:
		return p.styling()
	case kClick:
		return p.click()
	}
	return p.chain()
}

// skip skips what is between statements.
func (p *parser) skip() {
	for p.at < len(p.text) {
		if p.text[p.at] == ';' {
			p.at++
		} else if n := blankAt(p.text, p.at); n > 0 {
			p.at += n
		} else {
			return
		}
	}
}

// separator ends a statement.
func (p *parser) separator(where place) *fault {
	switch p.tok.kind {
	case kNewline, kSemi, kEOF:
		return nil
	}
	return p.fail(unexpected, where, token{})
}

// ends leaves the separator to the next statement, so that it is known where this one ends.
func (p *parser) ends(at int) {
	p.st.to = blanksBefore(p.text, p.st.from, at)
}

func (p *parser) chain() *fault {
	s := &p.st
	s.form = chainForm
	if f := p.group(atStart); f != nil {
		return f
	}
	for {
		switch p.tok.kind {
		case kLink, kStartLink, kLinkID:
			if f := p.link(); f != nil {
				return f
			}
			s.joints = append(s.joints, len(s.nodes))
			if f := p.group(afterEdge); f != nil {
				return f
			}
		default:
			p.ends(p.tok.from)
			return p.separator(afterNode)
		}
	}
}

// group reads nodes joined by &, up to what follows.
func (p *parser) group(where place) *fault {
	for {
		if f := p.node(where); f != nil {
			return f
		}
		if p.tok.kind == kMeta {
			if f := p.nodeMeta(); f != nil {
				return f
			}
		}
		if p.tok.kind != kSpace {
			return nil
		}
		p.step()
		if p.tok.kind != kAmp {
			return nil
		}
		p.step()
		if p.tok.kind != kSpace {
			return p.fail(unexpected, inNode, token{})
		}
		p.step()
		where = inNode
	}
}

// id reads an id, and returns its range.
func (p *parser) id(where place) (from, to int, f *fault) {
	if !p.tok.kind.inID() {
		return 0, 0, p.fail(unexpected, where, token{})
	}
	from = p.tok.from
	for p.tok.kind.inID() {
		to = p.tok.to
		p.step()
	}
	return from, to, nil
}

func (p *parser) node(where place) *fault {
	if where == afterEdge && p.tok.kind == kEOF {
		return p.fail(missingTarget, afterEdge, token{})
	}
	from, to, f := p.id(where)
	if f != nil {
		return f
	}
	p.st.nodes = append(p.st.nodes, mention{from: from, to: to, end: to})
	m := &p.st.nodes[len(p.st.nodes)-1]
	if p.tok.kind.isShape() {
		m.open = p.tok
		if f := p.shape(m); f != nil {
			return f
		}
		m.end = p.at
		p.step()
	}
	if p.tok.kind == kClassSep {
		p.step()
		from, to, f := p.id(afterNode)
		if f != nil {
			return f
		}
		m.class = [2]int{from, to}
	}
	return nil
}

func (p *parser) nodeMeta() *fault {
	open := p.tok
	m := &p.st.nodes[len(p.st.nodes)-1]
	m.meta.from = p.at
	flow, why := p.meta()
	if why != fine {
		return p.failAt(why, inMeta, open)
	}
	m.meta.to, m.meta.flow = p.at, flow
	p.at++
	p.step()
	if p.tok.kind == kMeta {
		return p.fail(unexpected, afterNode, token{})
	}
	return nil
}

// link reads an arrow with its label.
func (p *parser) link() *fault {
	p.st.links = append(p.st.links, link{})
	l := &p.st.links[len(p.st.links)-1]
	if p.tok.kind == kLinkID {
		l.id = [2]int{p.tok.from, p.tok.to - 1}
		l.from = p.tok.from
		p.step()
		if p.tok.kind != kLink && p.tok.kind != kStartLink {
			return p.fail(unexpected, inEdge, token{})
		}
	}
	l.first = p.trimmed(p.tok)
	if l.id[1] == 0 {
		l.from = l.first.from
	}
	l.to = l.first.to
	if p.tok.kind == kLink {
		l.style = styleOf(p.text[l.first.from:l.first.to])
		return p.bars(l)
	}
	open := p.tok
	line := p.text[l.first.to-1]
	arrow, why := p.edgeText(line, &l.label)
	if why != fine {
		return p.failAt(why, inEdge, open)
	}
	l.label.trim(p.text)
	l.second = p.trimmed(arrow)
	l.to = l.second.to
	l.style, l.mixed = styleOfPair(p.text[l.first.from:l.first.to], p.text[l.second.from:l.second.to])
	p.step()
	return nil
}

// trimmed returns a token without the blanks around it.
func (p *parser) trimmed(t token) token {
	t.from = blanks(p.text[:t.to], t.from)
	t.to = blanksBefore(p.text, t.from, t.to)
	return t
}

// bars reads the label between bars, if there is one.
func (p *parser) bars(l *link) *fault {
	p.step()
	if p.tok.kind != kPipe {
		return nil
	}
	open := p.tok
	if why := p.plainText(&l.label); why != fine {
		return p.failAt(why, inBars, open)
	}
	if why := p.close(&l.label, "|"); why != fine {
		return p.failAt(why, inBars, open)
	}
	l.to = p.at
	p.step()
	if p.tok.kind == kSpace {
		p.step()
	}
	if !p.tok.kind.inID() {
		return p.fail(unexpected, afterBars, open)
	}
	return nil
}

// close reads the bracket that must close a text.
func (p *parser) close(b *label, closer string) reason {
	switch {
	case p.at >= len(p.text):
		return unclosedText
	case closerAt(p.text, p.at) != closer:
		return wrongCloser
	case b.pieces == 0:
		return emptyText
	}
	p.at += len(closer)
	b.trim(p.text)
	return fine
}
