package mermaid

import "strings"

// label is a text inside brackets, bars or an edge.
type label struct {
	text     string
	from, to int // where it is written, without quotes
	pieces   int
	quoted   bool
	markdown bool
	slip     bool // plain text follows a quoted one
}

// add appends a piece of the text.
func (b *label) add(s string, from, to int) {
	if b.pieces == 0 {
		b.text, b.from = s[from:to], from
	} else {
		b.text += s[from:to]
	}
	b.to = to
	b.pieces++
}

// trim removes what Mermaid does not keep of a text.
func (b *label) trim(s string) {
	if b.pieces == 1 {
		b.from = blanks(s[:b.to], b.from)
		b.to = blanksBefore(s, b.from, b.to)
		b.text = s[b.from:b.to]
	} else {
		end := blanksBefore(b.text, 0, len(b.text))
		b.text = b.text[min(blanks(b.text, 0), end):end]
	}
	if len(b.text) > 1 && b.text[0] == '"' && b.text[len(b.text)-1] == '"' {
		b.text = b.text[1 : len(b.text)-1]
		if b.pieces == 1 {
			b.from, b.to = b.from+1, b.to-1
		}
	}
}

// quote reads a string if one starts here. A string must be the beginning of a text; an empty one
// is ignored.
func (l *lexer) quote(b *label) (read bool, why reason) {
	s := l.text
	if l.at >= len(s) || s[l.at] != '"' {
		return false, fine
	}
	from := l.at + 1
	if from < len(s) && s[from] == '`' {
		return l.markdown(b, from+1)
	}
	i := strings.IndexByte(s[from:], '"')
	switch {
	case i < 0:
		return false, unclosedQuote
	case strings.HasPrefix(s[from+i:], "\"`"):
		return false, badQuote
	case i == 0:
		l.at = from + 1
		return true, fine
	case b.pieces > 0:
		return false, innerQuote
	}
	b.quoted = true
	b.add(s, from, from+i)
	l.at = from + i + 1
	return true, fine
}

// markdown reads a string between "` and `".
func (l *lexer) markdown(b *label, from int) (read bool, why reason) {
	s := l.text
	end := from
	for end < len(s) && s[end] != '`' && s[end] != '"' {
		end++
	}
	switch {
	case end >= len(s):
		return false, unclosedQuote
	case !strings.HasPrefix(s[end:], "`\""):
		return false, badMarkdown
	case end == from:
		l.at = end + 2
		return true, fine
	case b.pieces > 0:
		return false, innerQuote
	}
	b.markdown = true
	b.add(s, from, end)
	l.at = end + 2
	return true, fine
}

// invisibleAt reports whether an arrow ~~~ starts here, with which a text cannot start.
func invisibleAt(s string, at int) bool {
	at = blanks(s, at)
	return strings.HasPrefix(s[at:], "~~~")
}

// plainText reads the text inside brackets up to a bracket.
func (l *lexer) plainText(b *label) reason {
	s := l.text
	for {
		if read, why := l.quote(b); why != fine {
			return why
		} else if read {
			continue
		}
		end := l.at
		for end < len(s) && !isBracket(s[end]) && s[end] != '"' {
			end++
		}
		if end == l.at {
			return fine
		}
		if invisibleAt(s, l.at) {
			return innerArrow
		}
		b.slip = b.slip || b.quoted
		b.add(s, l.at, end)
		l.at = end
	}
}

func isBracket(c byte) bool {
	switch c {
	case '(', ')', '[', ']', '{', '}', '|':
		return true
	}
	return false
}

// slantedText reads the text of [/…/] and similar shapes, up to the closing bracket.
func (l *lexer) slantedText(b *label) reason {
	s := l.text
	for l.at < len(s) {
		if read, why := l.quote(b); why != fine {
			return why
		} else if read {
			continue
		}
		if invisibleAt(s, l.at) {
			return innerArrow
		}
		c, closes := s[l.at], strings.HasPrefix(s[l.at+1:], "]")
		if closes && strings.IndexByte(`\(?=])/`, c) >= 0 || isBracket(c) && c != '|' {
			return fine
		}
		end := l.at + 1
		if c != '/' && c != '\\' {
			for end < len(s) && (s[end] == '|' || !isBracket(s[end])) && s[end] != '/' && s[end] != '\\' {
				end++
			}
		}
		b.add(s, l.at, end)
		l.at = end
	}
	return fine
}

// roundText reads the text of (-…-) up to what closes it.
func (l *lexer) roundText(b *label) reason {
	s := l.text
	for l.at < len(s) {
		if read, why := l.quote(b); why != fine {
			return why
		} else if read {
			continue
		}
		if strings.HasPrefix(s[l.at:], "~~~") {
			return innerArrow
		}
		c := s[l.at]
		if strings.HasPrefix(s[l.at+1:], ")") && (c == '-' || c == '/' || c == ')') || isBracket(c) && c != '|' {
			return fine
		}
		if b.pieces == 1 && b.to == l.at && !b.quoted && !b.markdown {
			b.to++
			b.text = s[b.from:b.to]
		} else {
			b.add(s, l.at, l.at+1)
		}
		l.at++
	}
	return fine
}

// closerAt returns what closes a text here, or "".
func closerAt(s string, at int) string {
	rest := s[at:]
	for _, c := range [...]string{"])", "]]", ")]", ")))", "|", ")", "]", "}"} {
		if strings.HasPrefix(rest, c) {
			return c
		}
	}
	return ""
}

// edgeText reads the text between the halves of an edge, and its second half. c is the character
// of the line: - = or a dot.
func (l *lexer) edgeText(c byte, b *label) (arrow token, why reason) {
	s := l.text
	for start, at := l.at, l.at; ; {
		for at < len(s) && s[at] != c && s[at] != '"' {
			at++
		}
		switch {
		case at >= len(s):
			return arrow, unclosedEdge
		case s[at] == '"':
			if at > start {
				b.slip = b.slip || b.quoted
				b.add(s, start, at)
			}
			l.at = at
			if _, why := l.quote(b); why != fine {
				return arrow, why
			}
			start, at = l.at, l.at
			continue
		case c == '-' && !strings.HasPrefix(s[at:], "--"):
			at++
			continue
		}
		arrow.from, arrow.to = l.secondHalf(c, start, at)
		if arrow.to == 0 {
			l.at = at
			return arrow, innerLine
		}
		if arrow.from > start {
			b.slip = b.slip || b.quoted
			b.add(s, start, arrow.from)
		}
		if b.pieces == 0 {
			l.at = arrow.from
			return arrow, emptyText
		}
		arrow.kind = kLink
		l.at = blanks(s, arrow.to)
		return arrow, fine
	}
}

// secondHalf returns the arrow that ends the text of an edge, or nothing. It includes the white
// space before it, and an "x" or "o": the label of "--No-->" is "N".
func (l *lexer) secondHalf(c byte, start, at int) (from, to int) {
	s := l.text
	var k kind
	from = at
	if c == '.' {
		if from > start && s[from-1] == '-' {
			from--
		}
		k, to = dottedAt(s, from)
	} else {
		k, to = lineAt(s, at, c)
	}
	if k != kLink {
		return 0, 0
	}
	if from > start && (s[from-1] == 'x' || s[from-1] == 'o' || s[from-1] == '<') {
		from--
	}
	return blanksBefore(s, start, from), to
}

// meta reads what is between "@{" and "}". A brace counts unless it is
// in double quotes.
func (l *lexer) meta() (flow bool, why reason) {
	s := l.text
	flow = true
	for ; l.at < len(s); l.at++ {
		switch s[l.at] {
		case '\n':
			flow = false
		case '^':
			return flow, badMeta
		case '}':
			return flow, fine
		case '"':
			i := strings.IndexByte(s[l.at+1:], '"')
			if i < 0 {
				return flow, unclosedMeta
			}
			l.at += 1 + i
		}
	}
	return flow, unclosedMeta
}
