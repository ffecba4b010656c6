package mermaid

import "strings"

// kind is the kind of a token. The names and their order of precedence are those of Mermaid's
// lexer, whose rules are tried one after the other at every place: the first that matches wins,
// not the longest. So "end-x" is the keyword "end", and an "o" before "--" belongs to the arrow.
type kind uint8

const (
	kEOF kind = iota
	kBad      // no rule matches
	kSpace
	kNewline
	kSemi
	kLink      // an arrow, with the white space around it
	kStartLink // "--", "==" or "-.": the text of the edge follows
	kLinkID
	kMeta // "@{"
	kString
	kMarkdown

	// The parts of an id.
	kNum
	kNode
	kLetter
	kMinus
	kDefault
	kComma
	kColon
	kAmp
	kHash
	kStar
	kDown

	kUp
	kLess
	kSep
	kClassSep // ":::"
	kStyle
	kLinkStyle
	kInterpolate
	kClassDef
	kClass
	kHref
	kClick
	kCall
	kGraph
	kSubgraph
	kEnd
	kTarget
	kAccTitle
	kAccDescr
	kAccBlock
	kDirection

	// Tokens that open a text.
	kSquare     // [
	kRound      // (
	kDiamond    // {
	kStadium    // ([
	kSubroutine // [[
	kCylinder   // [(
	kDouble     // (((
	kEllipse    // (-
	kSlash      // [/
	kBackslash  // [\
	kProps      // [|
	kTag        // >
	kPipe       // |
)

func (k kind) inID() bool    { return k >= kNum && k <= kDown }
func (k kind) isShape() bool { return k >= kSquare && k <= kTag }

// token is a token of the outermost state of the lexer.
type token struct {
	kind     kind
	from, to int // including the white space that belongs to it
}

// lexer reads tokens. What is inside brackets, quotes and edges is read by the parser, which
// knows the context: see text.go.
type lexer struct {
	text string
	at   int

	dirs  []phrase // where "direction LR" is written, in order
	sign  int      // the next "@" at or after at
	start int      // where the run that ends with it starts
	quiet int      // no arrow follows the white space up to here
}

// phrase is an occurrence of "direction LR". It takes the whole line, whatever comes before it.
type phrase struct {
	line     int // where its line starts
	from, to int
	dir      string
}

func newLexer(text string) lexer {
	l := lexer{text: text, sign: -1}
	line := 0
	for at := 0; ; {
		i := strings.Index(text[at:], "direction")
		if i < 0 {
			break
		}
		from := at + i
		if nl := strings.LastIndexByte(text[at:from], '\n'); nl >= 0 {
			line = at + nl + 1
		}
		at = from + len("direction")
		end := blanks(text, at)
		if end == at || end+2 > len(text) {
			continue
		}
		switch dir := text[end : end+2]; dir {
		case "TB", "BT", "RL", "LR", "TD":
			l.dirs = append(l.dirs, phrase{line, from, end + 2, dir})
		}
	}
	return l
}

// next reads a token.
func (l *lexer) next() token {
	from := l.at
	k, to := l.scan()
	l.at = to
	return token{k, from, to}
}

func (l *lexer) scan() (kind, int) {
	s, at := l.text, l.at
	if at >= len(s) {
		return kEOF, at
	}
	c := s[at]
	if c >= 'a' && c <= 'z' || c == '_' {
		if k, to := keyword(s, at); k != kBad {
			return k, to
		}
	}
	switch {
	case c == '@' && strings.HasPrefix(s[at:], "@{"):
		return kMeta, at + 2
	case c == '"' && strings.HasPrefix(s[at:], "\"`"):
		return kMarkdown, at + 2
	case c == '"':
		return kString, at + 1
	}
	if len(l.dirs) > 0 {
		if to := l.direction(); to > 0 {
			return kDirection, to
		}
	}
	if to := l.linkID(); to > 0 {
		return kLinkID, to
	}
	return l.plain(c)
}

// plain reads a token that is not a keyword and needs no lookahead.
func (l *lexer) plain(c byte) (kind, int) {
	s, at := l.text, l.at
	if n := blankAt(s, at); n > 0 {
		return l.blank()
	}
	switch c {
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		for at++; at < len(s) && is(s[at], isDigit); at++ {
		}
		return kNum, at
	case '#':
		if entityAt(s, at) > 0 {
			return kBad, at
		}
		return kHash, at + 1
	case ':':
		if strings.HasPrefix(s[at:], ":::") {
			return kClassSep, at + 3
		}
		return kColon, at + 1
	case '&':
		return kAmp, at + 1
	case ';':
		return kSemi, at + 1
	case ',':
		return kComma, at + 1
	case '*':
		return kStar, at + 1
	case '-', '=', '.', '~', '<', 'x', 'o':
		if k, to := linkAt(s, at); k != kBad {
			return k, blanks(s, to)
		}
	case '(', '[', '{', '|', '>':
		return opener(s, at)
	}
	return idAt(s, at)
}

// keyword reads a word that is a keyword everywhere.
func keyword(s string, at int) (kind, int) {
	if at >= len(s) {
		return kBad, at
	}
	switch s[at] {
	case 'a':
		if strings.HasPrefix(s[at:], "accTitle") || strings.HasPrefix(s[at:], "accDescr") {
			return accAt(s, at)
		}
	case 'c':
		switch {
		case strings.HasPrefix(s[at:], "call"):
			return spaced(s, at+4, kCall)
		case wordAt(s, at, "classDef"):
			return kClassDef, at + 8
		case wordAt(s, at, "class"):
			return kClass, at + 5
		case strings.HasPrefix(s[at:], "click"):
			return spaced(s, at+5, kClick)
		}
	case 'd':
		if wordAt(s, at, "default") {
			return kDefault, at + 7
		}
	case 'e':
		if wordAt(s, at, "end") {
			return kEnd, blanks(s, at+3)
		}
	case 'h':
		if strings.HasPrefix(s[at:], "href") && at+4 < len(s) {
			if n := blankAt(s, at+4); n > 0 {
				return kHref, at + 4 + n
			}
		}
	case 'i':
		if wordAt(s, at, "interpolate") {
			return kInterpolate, at + 11
		}
	case 'l':
		if wordAt(s, at, "linkStyle") {
			return kLinkStyle, at + 9
		}
	case 's':
		switch {
		case wordAt(s, at, "style"):
			return kStyle, at + 5
		case wordAt(s, at, "subgraph"):
			return kSubgraph, at + 8
		}
		return header(s, at)
	case 'f', 'g':
		return header(s, at)
	case '_':
		for _, w := range [...]string{"_self", "_blank", "_parent", "_top"} {
			if wordAt(s, at, w) {
				return kTarget, at + len(w)
			}
		}
	}
	return kBad, at
}

func header(s string, at int) (kind, int) {
	for _, w := range headers {
		if wordAt(s, at, w) {
			return kGraph, at + len(w)
		}
	}
	return kBad, at
}

// headers are the words that a chart may start with. If two match, the first one wins.
var headers = [...]string{"flowchart-elk", "swimlane-beta", "graph", "flowchart"}

// spaced returns a keyword that must be followed by white space, which is part of the token.
func spaced(s string, at int, k kind) (kind, int) {
	if end := blanks(s, at); end > at {
		return k, end
	}
	return kBad, at
}

func accAt(s string, at int) (kind, int) {
	word := s[at : at+8]
	end := blanks(s, at+8)
	if end >= len(s) {
		return kBad, at
	}
	switch {
	case s[end] == ':' && word == "accTitle":
		return kAccTitle, blanks(s, end+1)
	case s[end] == ':':
		return kAccDescr, blanks(s, end+1)
	case s[end] == '{' && word == "accDescr":
		return kAccBlock, blanks(s, end+1)
	}
	return kBad, at
}

// direction returns the end of the line if "direction LR" is written in the rest of it.
func (l *lexer) direction() int {
	for len(l.dirs) > 0 && l.dirs[0].from < l.at {
		l.dirs = l.dirs[1:]
	}
	if len(l.dirs) == 0 || l.dirs[0].line > l.at {
		return 0
	}
	p := l.phrase()
	if i := strings.IndexByte(l.text[p.to:], '\n'); i >= 0 {
		return p.to + i
	}
	return len(l.text)
}

// phrase returns the direction that applies if the line has several: Mermaid tries one after the
// other, and uses the last of its kind.
func (l *lexer) phrase() phrase {
	best := l.dirs[0]
	for _, p := range l.dirs[1:] {
		if p.line != best.line {
			break
		}
		if dirRank(p.dir) <= dirRank(best.dir) {
			best = p
		}
	}
	return best
}

func dirRank(dir string) int { return strings.Index("TB BT RL LR TD", dir) }

// linkID returns the end of the id of an edge, "e1@", if there is one here.
func (l *lexer) linkID() int {
	if l.sign < l.at {
		l.seekSign()
	}
	if l.sign >= len(l.text) || l.start > l.at {
		return 0
	}
	return l.runEnd()
}

// seekSign looks for the next "@" that can end the id of an edge, and for the start of the run
// that it ends.
func (l *lexer) seekSign() {
	s := l.text
	for l.sign = l.at; ; l.sign++ {
		i := strings.IndexByte(s[l.sign:], '@')
		if i < 0 {
			l.sign = len(s)
			return
		}
		l.sign += i
		if l.sign+1 < len(s) && s[l.sign+1] != '{' && s[l.sign+1] != '"' {
			break
		}
	}
	l.start = l.sign
	for l.start > l.at && inLinkID(s[l.start-1]) && blanksBefore(s, l.at, l.start) == l.start {
		l.start--
	}
}

// runEnd returns the offset after the last "@" of the run that contains the next one.
func (l *lexer) runEnd() int {
	s, end := l.text, l.sign+1
	for at := end; at < len(s) && inLinkID(s[at]) && blankAt(s, at) == 0; at++ {
		if s[at] == '@' && at+1 < len(s) && s[at+1] != '{' && s[at+1] != '"' {
			end = at + 1
		}
	}
	return end
}

func inLinkID(c byte) bool {
	switch c {
	case '"', '[', ']', '(', ')', '{', '}', '|':
		return false
	}
	return true
}

// blank reads white space, or the arrow after it.
func (l *lexer) blank() (kind, int) {
	s, at := l.text, l.at
	if l.quiet <= at {
		end := blanks(s, at)
		if end < len(s) {
			if k, to := linkAt(s, end); k != kBad {
				return k, blanks(s, to)
			}
		}
		l.quiet = end
	}
	if s[at] == '\n' {
		for at < len(s) && s[at] == '\n' {
			at++
		}
		return kNewline, at
	}
	for at < len(s) && s[at] != '\n' {
		n := blankAt(s, at)
		if n == 0 {
			break
		}
		at += n
	}
	return kSpace, at
}

// opener reads a token that opens a text.
func opener(s string, at int) (kind, int) {
	rest := s[at:]
	switch {
	case rest[0] == '{':
		return kDiamond, at + 1
	case rest[0] == '|':
		return kPipe, at + 1
	case rest[0] == '>':
		return kTag, at + 1
	case strings.HasPrefix(rest, "(-"):
		return kEllipse, at + 2
	case strings.HasPrefix(rest, "(["):
		return kStadium, at + 2
	case strings.HasPrefix(rest, "[["):
		return kSubroutine, at + 2
	case strings.HasPrefix(rest, "[|"):
		return kProps, at + 2
	case strings.HasPrefix(rest, "[("):
		return kCylinder, at + 2
	case strings.HasPrefix(rest, "((("):
		return kDouble, at + 3
	case strings.HasPrefix(rest, "[/"):
		return kSlash, at + 2
	case strings.HasPrefix(rest, `[\`):
		return kBackslash, at + 2
	case rest[0] == '(':
		return kRound, at + 1
	}
	return kSquare, at + 1
}

// idAt reads a part of an id, or nothing.
func idAt(s string, at int) (kind, int) {
	switch c := s[at]; {
	case c == '<':
		return kLess, at + 1
	case c == '^':
		return kUp, at + 1
	case c == '\\' && strings.HasPrefix(s[at:], `\|`):
		return kSep, at + 2
	case c == 'v' && wordAt(s, at, "v"):
		return kDown, at + 1
	}
	end := at
	for end < len(s) {
		c := s[end]
		if !is(c, isID) && (c != '-' || !innerDash(s, end)) || c == '#' && entityAt(s, end) > 0 {
			break
		}
		end++
	}
	if end > at {
		return kNode, end
	}
	if s[at] == '-' {
		return kMinus, at + 1
	}
	if n := letterAt(s, at); n > 0 {
		return kLetter, at + n
	}
	return kBad, at
}

// innerDash reports whether a dash belongs to an id and not to an arrow.
func innerDash(s string, at int) bool {
	return at+1 < len(s) && s[at+1] != '>' && s[at+1] != '-' && s[at+1] != '.'
}
