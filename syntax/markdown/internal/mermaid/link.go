package mermaid

import "strings"

// linkAt reads an arrow, or the first half of one that is followed by a text, without the white
// space around it.
func linkAt(s string, at int) (kind, int) {
	if at >= len(s) {
		return kBad, at
	}
	body := at
	if c := s[at]; c == 'x' || c == 'o' || c == '<' {
		body++
	}
	if body >= len(s) {
		return kBad, at
	}
	switch s[body] {
	case '-':
		if k, to := lineAt(s, body, '-'); k != kBad {
			return k, to
		}
		return dottedAt(s, body)
	case '=':
		return lineAt(s, body, '=')
	case '.':
		return dottedAt(s, body)
	case '~':
		if to := run(s, body, '~'); body == at && to-at >= 3 {
			return kLink, to
		}
	}
	return kBad, at
}

// lineAt reads "-->", "---", "--x", "--o" and the like, or "--" alone.
func lineAt(s string, at int, c byte) (kind, int) {
	to := run(s, at, c)
	switch {
	case to-at < 2:
		return kBad, at
	case to < len(s) && (s[to] == 'x' || s[to] == 'o' || s[to] == '>'):
		return kLink, to + 1
	case to-at > 2:
		return kLink, to
	}
	return kStartLink, to
}

// dottedAt reads "-.->" and the like, or "-." alone.
func dottedAt(s string, at int) (kind, int) {
	dots := at
	if s[at] == '-' {
		dots++
	}
	to := run(s, dots, '.')
	if to == dots {
		return kBad, at
	}
	if to < len(s) && s[to] == '-' {
		to++
		if to < len(s) && (s[to] == 'x' || s[to] == 'o' || s[to] == '>') {
			to++
		}
		return kLink, to
	}
	if dots > at {
		return kStartLink, dots + 1
	}
	return kBad, at
}

func run(s string, at int, c byte) int {
	for at < len(s) && s[at] == c {
		at++
	}
	return at
}

// linkStyle describes what an arrow looks like.
type linkStyle struct {
	head, tail Head
	stroke     Stroke
	length     int
}

// styleOf returns how Mermaid draws an arrow that is written in one piece.
func styleOf(arrow string) (l linkStyle) {
	line := arrow[:len(arrow)-1]
	l.head = headOf(arrow[len(arrow)-1])
	if l.head != NoHead && tailOf(arrow[0]) == l.head {
		l.tail = l.head
		line = line[1:]
	}
	l.length = len(line) - 1
	switch {
	case strings.HasPrefix(line, "="):
		l.stroke = Thick
	case strings.HasPrefix(line, "~"):
		l.stroke = Invisible
	}
	if dots := strings.Count(line, "."); dots > 0 {
		l.stroke, l.length = Dotted, dots
	}
	l.length = min(l.length, 10)
	return l
}

// styleOfPair returns how Mermaid draws an arrow that has a text between its halves. It cannot
// draw halves that do not match: then mixed is true.
func styleOfPair(start, end string) (l linkStyle, mixed bool) {
	l = styleOf(end)
	tail := tailOf(start[0])
	stroke := Normal
	switch {
	case strings.Contains(start, "."):
		stroke = Dotted
	case strings.Contains(start, "="):
		stroke = Thick
	}
	mixed = stroke != l.stroke || tail != NoHead && (tail != l.head || l.tail != NoHead)
	l.tail = tail
	return l, mixed
}

func headOf(c byte) Head {
	switch c {
	case '>':
		return ArrowHead
	case 'o':
		return CircleHead
	case 'x':
		return CrossHead
	}
	return NoHead
}

func tailOf(c byte) Head {
	if c == '<' {
		return ArrowHead
	}
	if c == 'x' || c == 'o' {
		return headOf(c)
	}
	return NoHead
}
