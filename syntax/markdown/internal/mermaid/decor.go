package mermaid

import "strings"

// subgraph reads the line that opens a subgraph.
func (p *parser) subgraph() *fault {
	s := &p.st
	s.form = subgraphForm
	p.step()
	if p.tok.kind != kSpace {
		if f := p.separator(inSubgraph); f != nil {
			return f
		}
		p.ends(p.tok.from)
		return p.fail(untitled, inSubgraph, token{})
	}
	p.step()
	if f := p.name(); f != nil {
		return f
	}
	if p.tok.kind == kSquare {
		open := p.tok
		if why := p.plainText(&s.title); why != fine {
			return p.failAt(why, inTitle, open)
		}
		if why := p.close(&s.title, "]"); why != fine {
			return p.failAt(why, inTitle, open)
		}
		s.titled = true
		p.step()
	}
	p.ends(p.tok.from)
	return p.separator(inSubgraph)
}

// name reads what is after "subgraph": a string, or words.
func (p *parser) name() *fault {
	b := &p.st.id
	for b.pieces == 0 && (p.tok.kind == kString || p.tok.kind == kMarkdown) {
		open := p.tok
		p.at = open.from
		if _, why := p.quote(b); why != fine {
			return p.failAt(why, inSubgraph, open)
		}
		p.step()
	}
	for {
		switch p.tok.kind {
		case kNum, kNode, kSpace, kMinus, kAmp, kLetter, kColon, kStar, kHash,
			kStyle, kLinkStyle, kClassDef, kClass, kGraph, kSubgraph, kEnd, kDown, kUp:
			b.slip = b.slip || p.tok.kind == kEnd
			b.add(p.text, p.tok.from, p.tok.to)
		case kClick:
			p.clicked(b)
		default:
			if b.pieces == 0 {
				return p.fail(unexpected, inSubgraph, token{})
			}
			return p.named()
		}
		p.step()
	}
}

// named trims the name of a subgraph. Mermaid generates an id for it if it contains a space, even
// at the end.
func (p *parser) named() *fault {
	b := &p.st.id
	if b.from+len(b.text) == b.to {
		b.pieces = 1 // they are adjacent
	}
	p.st.blank = hasBlank(b.text)
	b.trim(p.text)
	return nil
}

func hasBlank(s string) bool {
	for i := range len(s) {
		if (s[i] < 0x80 || s[i] >= 0xc2) && blankAt(s, i) > 0 {
			return true
		}
	}
	return false
}

// clicked reads the word after "click ", which Mermaid ignores, along with one space after it.
func (p *parser) clicked(b *label) {
	from := p.at
	for p.at < len(p.text) && blankAt(p.text, p.at) == 0 {
		p.at++
	}
	if b != nil {
		b.add(p.text, from, p.at)
		b.pieces++
	}
	if p.at < len(p.text) {
		p.at += blankAt(p.text, p.at)
	}
}

// direction reads a line that contains "direction LR".
func (p *parser) direction() {
	s := &p.st
	s.form, s.decor = decorForm, Direction
	ph := p.phraseIn(p.tok)
	s.dir = ph.dir
	s.value = [2]int{ph.from, ph.to}
	s.to = blanksBefore(p.text, s.from, p.tok.to)
	rest := strings.TrimLeft(p.text[ph.to:s.to], "; \t")
	s.strayDir = ph.from != s.from || rest != ""
}

// phraseIn returns the phrase that made a token.
func (p *parser) phraseIn(t token) phrase {
	l := newLexer(p.text[t.from:t.to])
	ph := l.phrase()
	ph.from, ph.to = ph.from+t.from, ph.to+t.from
	return ph
}

// acc reads a title or description for screen readers.
func (p *parser) acc() *fault {
	s := &p.st
	s.form, s.decor = decorForm, AccDescr
	if p.tok.kind == kAccTitle {
		s.decor = AccTitle
	}
	closer := byte('\n')
	if p.tok.kind == kAccBlock {
		closer = '}'
	}
	from, to := p.at, len(p.text)
	if i := strings.IndexByte(p.text[from:], closer); i >= 0 {
		to = from + i
	}
	p.at = to
	s.value = [2]int{from, blanksBefore(p.text, from, to)}
	s.to = s.value[1]
	if closer == '}' {
		p.at = min(to+1, len(p.text))
		s.to = p.at
		if to == len(p.text) {
			s.to = s.value[1]
		}
	}
	return nil
}

// styling reads a style, classDef, class or linkStyle.
func (p *parser) styling() *fault {
	s := &p.st
	s.form = decorForm
	word := p.tok
	s.decor = decorOf(word.kind)
	if f := p.space(word); f != nil {
		return f
	}
	if f := p.styled(word); f != nil {
		return f
	}
	if f := p.space(word); f != nil {
		return f
	}
	s.value[0] = p.tok.from
	f := p.styles(word)
	s.value[1] = blanksBefore(p.text, s.value[0], max(s.value[0], p.tok.from))
	if f != nil {
		return f
	}
	p.ends(p.tok.from)
	if f := p.separator(inStyle); f != nil {
		f.open = word
		return f
	}
	return nil
}

func decorOf(k kind) DecorKind {
	switch k {
	case kClassDef:
		return ClassDef
	case kClass:
		return Class
	case kLinkStyle:
		return LinkStyle
	}
	return Style
}

func (p *parser) space(word token) *fault {
	p.step()
	if p.tok.kind != kSpace {
		return p.fail(unexpected, inStyle, word)
	}
	p.step()
	return nil
}

// styled reads what a style applies to. The token after it becomes the current one.
func (p *parser) styled(word token) *fault {
	s := &p.st
	s.names[0] = p.tok.from
	if word.kind != kLinkStyle {
		from, to, f := p.id(inStyle)
		if f != nil {
			f.open = word
			return f
		}
		s.names = [2]int{from, to}
		p.at = to // the blank is read again
		return nil
	}
	if p.tok.kind == kDefault {
		s.names[1] = p.tok.to
		return nil
	}
	for {
		if p.tok.kind != kNum {
			return p.fail(unexpected, inStyle, word)
		}
		s.names[1] = p.tok.to
		at := p.at
		p.step()
		if p.tok.kind != kComma {
			p.at = at
			return nil
		}
		p.step()
	}
}

// styles reads the values of a style, or the name of a class.
func (p *parser) styles(word token) *fault {
	if word.kind == kClass {
		_, _, f := p.id(inStyle)
		return under(f, word)
	}
	if word.kind == kLinkStyle && p.tok.kind == kInterpolate {
		if f := p.space(word); f != nil {
			return f
		}
		if f := p.alphaNum(inStyle); f != nil {
			return under(f, word)
		}
		if p.tok.kind != kSpace {
			return nil
		}
		p.step()
	}
	for empty := true; ; p.step() {
		switch p.tok.kind {
		case kNum, kNode, kColon, kSpace, kHash, kStyle:
			empty = false
		case kComma:
			if empty {
				return p.fail(unexpected, inStyle, word)
			}
			empty = true
		default:
			if empty {
				return p.fail(unexpected, inStyle, word)
			}
			return nil
		}
	}
}

func under(f *fault, word token) *fault {
	if f != nil {
		f.open = word
	}
	return f
}

// alphaNum reads a word as Mermaid defines it in a few places.
func (p *parser) alphaNum(where place) *fault {
	if !p.tok.kind.inID() || p.tok.kind == kDefault {
		return p.fail(unexpected, where, token{})
	}
	for p.tok.kind.inID() && p.tok.kind != kDefault {
		p.step()
	}
	return nil
}

// click reads what a click on a node does.
func (p *parser) click() *fault {
	s := &p.st
	s.form, s.decor = decorForm, Click
	s.names[0] = p.at
	p.clicked(nil)
	s.names[1] = max(s.names[0], blanksBefore(p.text, s.names[0], p.at))
	p.step()
	s.value[0] = p.tok.from
	if f := p.clickAction(); f != nil {
		return f
	}
	p.ends(p.tok.from)
	s.value[1] = s.to
	return p.separator(inClick)
}

func (p *parser) clickAction() *fault {
	switch p.tok.kind {
	case kCall:
		if !p.call() {
			return p.failAt(unexpected, inClick, token{})
		}
		return p.tips(1, false)
	case kHref:
		p.step()
		if p.tok.kind != kString && p.tok.kind != kMarkdown {
			return p.fail(unexpected, inClick, token{})
		}
		return p.address()
	case kString, kMarkdown:
		return p.address()
	}
	if f := p.alphaNum(inClick); f != nil {
		return f
	}
	return p.tips(1, false)
}

// address reads an address with a tip and a target.
func (p *parser) address() *fault {
	if f := p.str(); f != nil {
		return f
	}
	return p.tips(1, true)
}

// str reads a string; the token after it becomes the current one.
func (p *parser) str() *fault {
	var b label
	p.at = p.tok.from
	if _, why := p.quote(&b); why != fine || b.pieces == 0 || b.markdown {
		return p.failAt(unexpected, inClick, p.tok)
	}
	p.step()
	return nil
}

// tips reads up to some strings and a target after an action.
func (p *parser) tips(strings int, target bool) *fault {
	for p.tok.kind == kSpace {
		p.step()
		switch {
		case p.tok.kind == kString && strings > 0:
			strings--
			if f := p.str(); f != nil {
				return f
			}
		case p.tok.kind == kTarget && target:
			p.step()
			return nil
		default:
			return p.fail(unexpected, inClick, token{})
		}
	}
	return nil
}

// call reads the name of a function and its arguments. The name extends to the parenthesis, even
// on another line.
func (p *parser) call() bool {
	name := strings.IndexByte(p.text[p.at:], '(')
	if name <= 0 {
		return false
	}
	end := strings.IndexByte(p.text[p.at+name:], ')')
	if end < 0 {
		return false
	}
	p.at += name + end + 1
	p.step()
	return true
}
