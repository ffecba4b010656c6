package mermaid

import "strings"

// shape reads the text of a node in its brackets. The opening bracket is the current token.
func (p *parser) shape(m *mention) *fault {
	open := p.tok
	if why := p.brackets(m, open.kind); why != fine {
		return p.failAt(why, inLabel, open)
	}
	return nil
}

func (p *parser) brackets(m *mention, open kind) reason {
	switch open {
	case kSquare:
		return p.simple(m, Square, "]")
	case kStadium:
		return p.simple(m, Stadium, "])")
	case kSubroutine:
		return p.simple(m, Subroutine, "]]")
	case kCylinder:
		return p.simple(m, Cylinder, ")]")
	case kDouble:
		return p.simple(m, DoubleCircle, ")))")
	case kTag:
		return p.simple(m, Odd, "]")
	case kRound:
		return p.doubled(m, Round, Circle, "(", ")")
	case kDiamond:
		return p.doubled(m, Diamond, Hexagon, "{", "}")
	case kEllipse:
		return p.ellipse(m)
	case kProps:
		return p.props(m)
	}
	return p.slanted(m, open)
}

func (p *parser) simple(m *mention, shape Shape, closer string) reason {
	m.shape = shape
	if why := p.plainText(&m.label); why != fine {
		return why
	}
	return p.close(&m.label, closer)
}

// doubled reads brackets that have another meaning if they are doubled.
func (p *parser) doubled(m *mention, one, two Shape, open, closer string) reason {
	if !strings.HasPrefix(p.text[p.at:], open) {
		return p.simple(m, one, closer)
	}
	if k, _ := opener(p.text, p.at); k != kRound && k != kDiamond {
		return wrongCloser
	}
	p.at++
	if why := p.simple(m, two, closer); why != fine {
		return why
	}
	if p.at >= len(p.text) {
		return unclosedText
	}
	if closerAt(p.text, p.at) != closer {
		return wrongCloser
	}
	p.at++
	return fine
}

func (p *parser) ellipse(m *mention) reason {
	m.shape = Ellipse
	if why := p.roundText(&m.label); why != fine {
		return why
	}
	switch {
	case p.at >= len(p.text):
		return unclosedText
	case strings.IndexByte("-/)", p.text[p.at]) < 0 || !strings.HasPrefix(p.text[p.at+1:], ")"):
		return wrongCloser
	case m.label.pieces == 0:
		return emptyText
	}
	p.at += 2
	m.label.trim(p.text)
	return fine
}

// slanted reads [/…/], [\…\], [/…\] and [\…/].
func (p *parser) slanted(m *mention, open kind) reason {
	if why := p.slantedText(&m.label); why != fine {
		return why
	}
	switch {
	case p.at >= len(p.text):
		return unclosedText
	case strings.IndexByte(`\(?=])/`, p.text[p.at]) < 0 || !strings.HasPrefix(p.text[p.at+1:], "]"):
		return wrongCloser
	case m.label.pieces == 0:
		return emptyText
	}
	straight := p.text[p.at] == '/'
	switch {
	case open == kSlash && straight:
		m.shape = LeanRight
	case open == kSlash:
		m.shape = Trapezoid
	case straight:
		m.shape = InvTrapezoid
	default:
		m.shape = LeanLeft
	}
	p.at += 2
	m.label.trim(p.text)
	return fine
}

// props reads [|field:value|text].
func (p *parser) props(m *mention) reason {
	m.shape = Rect
	for _, k := range [...]kind{kNode, kColon, kNode, kPipe} {
		p.step()
		if p.tok.kind != k {
			p.at = p.tok.from
			return wrongCloser
		}
	}
	return p.simple(m, Rect, "]")
}
