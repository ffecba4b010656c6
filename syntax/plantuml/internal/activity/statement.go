package activity

import (
	"strings"
	"unicode/utf8"
)

// A stmt is a parsed line. Its parts are offsets into the line, and their meaning depends on the
// kind.
type stmt struct {
	kind    kind
	keyword part
	test    part // the condition, or the text of what is drawn
	label   part // after then, else, case or is
	in      part // before the keyword
	out     part // after everything
	style   part // of an arrow
	color   part
	group   part // stereotypes
	url     part

	side     Side
	floating bool
	merge    bool
	arrow    bool // an arrow follows the test of a repeat
}

// A part is a range of a line. It never begins at 0, where the keyword is.
type part struct{ from, to int }

func (p part) written() bool { return p.from > 0 }

func (p part) of(s string) string { return s[p.from:p.to] }

type kind uint8

// The kinds of lines. Those that end in Open continue on the next line.
const (
	kUnknown kind = iota
	kBlank
	kHeading
	kHeadingOpen
	kSetting
	kStyleOpen
	kSkinOpen
	kSpriteOpen
	kLane
	kGroup
	kGroupEnd
	kArrow
	kArrowOpen
	kLink
	kActivity
	kActivityOpen
	kListItem
	kIf
	kIfOpen
	kElseIf
	kElseIfOpen
	kElse
	kElseOpen
	kEndIf
	kSwitch
	kCase
	kEndSwitch
	kWhile
	kEndWhile
	kRepeat
	kRepeatWhile
	kRepeatWhileOpen
	kBackward
	kBackwardOpen
	kFork
	kForkAgain
	kEndFork
	kSplit
	kSplitAgain
	kEndSplit
	kStart
	kStop
	kEnd
	kConnector
	kBreak
	kKill
	kLabel
	kGoto
	kNote
	kNoteOpen
)

// classify returns the first of PlantUML's patterns that matches a line.
func classify(s string) stmt {
	if s == "" || blanks(s, 0) == len(s) {
		return stmt{kind: kBlank}
	}
	st := byFirst(s)
	if loose(st.kind) && killLoosely(s) {
		return stmt{kind: kKill, keyword: part{0, len(s)}}
	}
	return st
}

// loose reports whether PlantUML tries its pattern of `kill` before that of a kind. The pattern
// was meant to match a whole line, but matches every line that begins with kill or ends in
// detach.
func loose(k kind) bool {
	switch k {
	case kUnknown, kLink, kNote, kNoteOpen, kActivityOpen, kListItem, kLabel, kGoto, kElseIfOpen:
		return true
	}
	return false
}

func killLoosely(s string) bool {
	if word(s, 0, "kill") >= 0 {
		return true
	}
	end := len(s)
	if s[end-1] == ';' {
		end--
	}
	return end >= 6 && word(s, end-6, "detach") == end
}

func byFirst(s string) stmt {
	switch s[0] {
	case ':':
		return activity(s, 1)
	case '|':
		return lane(s)
	case '}':
		if s == "}" {
			return stmt{kind: kGroupEnd}
		}
	case '-', '*':
		return dash(s)
	case '(':
		return parenthesis(s)
	case '<':
		return angle(s)
	case '[':
		if end := strings.Index(s, "]]"); end > 0 && strings.HasPrefix(s, "[[") {
			if st := ifLine(s, blanks(s, end+2)); st.kind != kUnknown {
				st.url = part{0, end + 2}
				return st
			}
		}
	case '#':
		return coloured(s)
	case '!':
		return setting(s)
	case 0xc2:
		if at := blanks(s, 0); at < len(s) && s[at] == ':' {
			return activity(s, at+1)
		}
	default:
		return keyword(s)
	}
	return stmt{}
}

// activity parses what follows the colon at an offset.
func activity(s string, at int) stmt {
	if s[len(s)-1] == ';' && len(s) > at {
		return stmt{kind: kActivity, test: part{at, len(s) - 1}}
	}
	if end, group, url := activityEnd(s); end >= at {
		return stmt{kind: kActivity, test: part{at, end}, group: group, url: url}
	}
	return stmt{kind: kActivityOpen, test: part{at, len(s)}}
}

// activityEnd returns the semicolon that ends an activity, apart from stereotypes and a link, or
// -1 if there is none.
func activityEnd(s string) (end int, group, url part) {
	at := back(s, len(s))
	url, at = link(s[:at])
	group, at = stereotypes(s[:at])
	at = back(s, at)
	if at == 0 || s[at-1] != ';' {
		return -1, part{}, part{}
	}
	return at - 1, group, url
}

func lane(s string) stmt {
	at := 1
	var color part
	if end := colour(s, 1); end > 0 {
		for _, e := range []int{end, wordEnd(s, 2)} {
			if byteAt(s, e, '|') > 0 && e >= 4 && laneName(s, e+1).kind == kLane {
				color, at = part{1, e}, e+1
				break
			}
		}
	}
	st := laneName(s, at)
	st.color = color
	return st
}

func laneName(s string, at int) stmt {
	end := strings.IndexByte(s[at:], '|')
	if end < 1 || strings.IndexByte(s[at+end+1:], '|') >= 0 {
		return stmt{}
	}
	st := stmt{kind: kLane, test: part{at, at + end}}
	if rest := at + end + 1; rest < len(s) {
		st.label = part{rest, len(s)}
	}
	return st
}

// swimlane reads the form with a keyword.
func swimlane(s string) stmt {
	at := word(s, 0, "swimlane")
	name := blanks(s, max(at, 0))
	if at < 0 || name == at || name == len(s) || strings.IndexByte(s, '|') >= 0 {
		return stmt{}
	}
	st := stmt{kind: kLane}
	if end := colour(s, name); end > 0 && blanks(s, end) < len(s) {
		st.color = part{name, end}
		name = blanks(s, end)
	}
	st.test = part{name, len(s)}
	for i := name + 1; i < len(s); i++ {
		if blanks(s, i) == i {
			continue
		}
		as := word(s, blanks(s, i), "as")
		if as > 0 && blanks(s, as) > as && blanks(s, as) < len(s) {
			st.test.to, st.label = i, part{blanks(s, as), len(s)}
			break
		}
		i = blanks(s, i) - 1
	}
	return st
}

// dash parses an arrow or the list form of an activity.
func dash(s string) stmt {
	if s[0] == '-' {
		if style, at := arrow(s, 0); at > 0 {
			st := stmt{kind: kArrowOpen, style: style}
			from := blanks(s, at)
			switch {
			case from == len(s):
				st.kind = kArrow
			case s[len(s)-1] == ';':
				st.kind, st.label = kArrow, part{from, len(s) - 1}
			default:
				st.label = part{from, len(s)}
			}
			return st
		}
	}
	return listItem(s)
}

func listItem(s string) stmt {
	from := 1
	if next := blanks(s, 1); next > 1 {
		_, n := utf8.DecodeRuneInString(s[1:])
		from += n
	}
	st := stmt{kind: kListItem}
	url, end := link(s)
	st.url = url
	st.group, end = stereotypes(s[:end])
	st.test = part{from, max(back(s, end), from)}
	return st
}

// parenthesis parses a connector, or a statement that has a label before its keyword.
func parenthesis(s string) stmt {
	if st := labelled(s, 0); st.kind != kUnknown {
		return st
	}
	return connector(s, 0)
}

func connector(s string, at int) stmt {
	open := byteAt(s, at, '(')
	if open < 0 || open >= len(s) {
		return stmt{}
	}
	r, n := utf8.DecodeRuneInString(s[open:])
	if blanks(s, open) > open && r != 0xa0 || r > 0xffff {
		return stmt{}
	}
	end := byteAt(s, open+n, ')')
	if end < 0 || semicolon(s, end) != len(s) {
		return stmt{}
	}
	return stmt{kind: kConnector, test: part{open, open + n}}
}

// labelled reads `(label) elseif` and `(label) backward`.
func labelled(s string, at int) stmt {
	from := at + 1
	if _, end := arrow(s, from); end > 0 {
		from = end
	}
	for i := from; i < len(s); i++ {
		if s[i] != ')' {
			continue
		}
		next := blanks(s, i+1)
		st := backward(s, next)
		if st.kind != kBackward {
			st = elseIf(s, next)
		}
		if st.kind == kBackward || st.kind == kElseIf || st.kind == kElseIfOpen {
			st.in = part{from, i}
			return st
		}
	}
	return stmt{}
}

func angle(s string) stmt {
	if strings.HasPrefix(s, "<<") {
		if end := strings.Index(s[2:], ">>"); end > 0 {
			if at := blanks(s, end+4); byteAt(s, at, ':') > 0 {
				if st := activity(s, at+1); st.kind == kActivity {
					return st
				}
			}
		}
		return stmt{}
	}
	return style(s)
}

// coloured parses what follows a colour and a colon.
func coloured(s string) stmt {
	if color, at := prefix(s); at > 0 {
		st := keywordAt(s, at)
		switch st.kind {
		case kIf, kIfOpen, kSwitch, kWhile, kElseIf, kElseIfOpen, kRepeat, kConnector:
			st.color = color
			return st
		}
	}
	if end := colours(s, 0); end > 0 && byteAt(s, end, ':') > 0 {
		return stmt{kind: kActivityOpen, color: part{0, end}, test: part{end + 1, len(s)}}
	}
	return stmt{}
}

// keywordAt parses what may follow a colour.
func keywordAt(s string, at int) stmt {
	if at >= len(s) {
		return stmt{}
	}
	switch s[at] | 0x20 {
	case 'i':
		return ifLine(s, at)
	case 's':
		return switchLine(s, at)
	case 'w':
		return whileLine(s, at)
	case 'r':
		return repeat(s, at)
	case 'e':
		return elseIf(s, at)
	}
	if s[at] == '(' {
		return connector(s, at)
	}
	return stmt{}
}
