package activity

import "strings"

// keyword reads a line that begins with a letter.
func keyword(s string) stmt {
	switch s[0] | 0x20 {
	case 'b':
		if at := word(s, 0, "break"); at > 0 && semicolon(s, at) == len(s) {
			return stmt{kind: kBreak}
		}
		return backward(s, 0)
	case 'c':
		if st := caseLine(s); st.kind != kUnknown {
			return st
		}
		return first(s, group, heading)
	case 'e':
		return elseOrEnd(s)
	case 'f':
		if at := word(s, 0, "fork"); at > 0 {
			return fork(s, at)
		}
		return first(s, note, heading, setting)
	case 'g':
		return first(s, group, jump)
	case 'h':
		return first(s, heading, setting)
	case 'i':
		return ifLine(s, 0)
	case 'k', 'd':
		if at := max(word(s, 0, "kill"), word(s, 0, "detach")); at > 0 && semicolon(s, at) == len(s) {
			return stmt{kind: kKill, keyword: part{0, at}}
		}
	case 'l':
		return first(s, jump, heading)
	case 'm':
		return first(s, heading, setting)
	case 'n':
		return note(s)
	case 'p':
		return first(s, group, setting)
	case 'r':
		return letterR(s)
	case 's':
		return letterS(s)
	case 't':
		return heading(s)
	case 'w':
		if at := words(s, 0, "while", "end"); at > 0 {
			return endWhile(s, at)
		}
		return whileLine(s, 0)
	}
	return stmt{}
}

func first(s string, tries ...func(string) stmt) stmt {
	for _, try := range tries {
		if st := try(s); st.kind != kUnknown {
			return st
		}
	}
	return stmt{}
}

func letterR(s string) stmt {
	if at := words(s, 0, "repeat", "while"); at > 0 {
		if st := repeatWhile(s, at); st.kind != kUnknown {
			return st
		}
	}
	if st := repeat(s, 0); st.kind != kUnknown {
		return st
	}
	return first(s, group, heading, setting)
}

func letterS(s string) stmt {
	for _, mark := range []struct {
		name string
		kind kind
	}{{"start", kStart}, {"stop", kStop}} {
		if at := word(s, 0, mark.name); at > 0 {
			if group, ok := tail(s, at); ok {
				return stmt{kind: mark.kind, group: group}
			}
		}
	}
	if at := word(s, 0, "split"); at > 0 {
		return split(s, at)
	}
	if st := switchLine(s, 0); st.kind != kUnknown {
		return st
	}
	return first(s, swimlane, setting)
}

// tail reports whether only a semicolon, white space and stereotypes follow.
func tail(s string, at int) (group part, ok bool) {
	if at == len(s) {
		return part{}, true
	}
	at = blanks(s, semicolon(s, at))
	if at == len(s) {
		return part{}, true
	}
	group, end := stereotypes(s)
	return group, group.written() && end <= at && group.from >= at
}

func fork(s string, at int) stmt {
	if group, ok := tail(s, at); ok {
		return stmt{kind: kFork, group: group}
	}
	if again := words(s, at, "", "again"); again > 0 && semicolon(s, again) == len(s) {
		return stmt{kind: kForkAgain}
	}
	if end := words(s, at, "", "end"); end > 0 {
		return endFork(s, end, false)
	}
	return stmt{}
}

func endFork(s string, at int, merge bool) stmt {
	st := stmt{kind: kEndFork, merge: merge}
	at = blanks(s, at)
	end := len(s)
	if at < end && s[end-1] == ';' {
		end--
	}
	if at == end {
		return st
	}
	if end-at < 3 || s[at] != '{' || s[end-1] != '}' {
		return stmt{}
	}
	st.label = part{at + 1, end - 1}
	return st
}

func split(s string, at int) stmt {
	if semicolon(s, at) == len(s) {
		return stmt{kind: kSplit}
	}
	if again := words(s, at, "", "again"); again > 0 && semicolon(s, again) == len(s) {
		return stmt{kind: kSplitAgain}
	}
	if end := words(s, at, "", "end"); end > 0 && semicolon(s, end) == len(s) {
		return stmt{kind: kEndSplit}
	}
	return stmt{}
}

func elseOrEnd(s string) stmt {
	if word(s, 0, "else") > 0 {
		if st := elseIf(s, 0); st.kind == kElseIf {
			return st
		}
		if st := elseLine(s); st.kind == kElse {
			return st
		}
		if st := elseIf(s, 0); st.kind != kUnknown {
			return st
		}
		return elseLine(s)
	}
	at := word(s, 0, "end")
	if at < 0 {
		return stmt{}
	}
	if group, ok := tail(s, at); ok {
		return stmt{kind: kEnd, group: group}
	}
	next := blanks(s, at)
	if end := word(s, next, "if"); end > 0 {
		if group, ok := tail(s, end); ok {
			return stmt{kind: kEndIf, group: group}
		}
	}
	if end := word(s, next, "while"); end > 0 {
		return endWhile(s, end)
	}
	if end := word(s, next, "fork"); end > 0 {
		return endFork(s, end, false)
	}
	if end := word(s, next, "merge"); end > 0 {
		return endFork(s, end, true)
	}
	if end := word(s, next, "split"); end > 0 && semicolon(s, end) == len(s) {
		return stmt{kind: kEndSplit}
	}
	if end := word(s, at, "switch"); end > 0 {
		if group, ok := tail(s, end); ok && s[len(s)-1] != ';' {
			return stmt{kind: kEndSwitch, group: group}
		}
	}
	if end := word(s, next, "group"); end > 0 && next <= at+1 && semicolon(s, end) == len(s) {
		return stmt{kind: kGroupEnd}
	}
	return stmt{}
}

func endWhile(s string, at int) stmt {
	at = blanks(s, at)
	if semicolon(s, at) == len(s) {
		return stmt{kind: kEndWhile}
	}
	end := len(s)
	if s[end-1] == ';' {
		end--
	}
	if s[at] != '(' || end-at < 3 || s[end-1] != ')' {
		return stmt{}
	}
	return stmt{kind: kEndWhile, label: part{at + 1, end - 1}}
}

func caseLine(s string) stmt {
	at := word(s, 0, "case")
	if at < 0 {
		return stmt{}
	}
	open := byteAt(s, blanks(s, at), '(')
	end := back(s, len(s))
	if open < 0 || end <= open || s[end-1] != ')' {
		return stmt{}
	}
	return stmt{kind: kCase, label: part{open, end - 1}}
}

// jump reads label, goto and link.
func jump(s string) stmt {
	for _, mark := range []struct {
		name string
		kind kind
	}{{"label", kLabel}, {"goto", kGoto}} {
		at := word(s, 0, mark.name)
		if at < 0 {
			continue
		}
		from := blanks(s, at)
		if end := name(s, from); from > at && end > 0 && semicolon(s, end) == len(s) {
			return stmt{kind: mark.kind, test: part{from, end}}
		}
		return stmt{}
	}
	if at := word(s, 0, "link"); at > 0 {
		from := blanks(s, at)
		if from > at && byteAt(s, from, '#') > 0 {
			if end := wordEnd(s, from+1); end > from+1 && semicolon(s, end) == len(s) {
				return stmt{kind: kLink, color: part{from, end}}
			}
		}
	}
	return stmt{}
}

// group parses the opener of a frame. Its name is as short as possible.
func group(s string) stmt {
	at := -1
	for _, w := range []string{"partition", "package", "rectangle", "card", "group"} {
		if at = word(s, 0, w); at > 0 {
			break
		}
	}
	if end := word(s, 0, "groupend"); end > 0 && semicolon(s, end) == len(s) {
		return stmt{kind: kGroupEnd} // `group end` opens a group with the name end
	}
	if at < 0 || blanks(s, at) == at {
		return stmt{}
	}
	st := stmt{kind: kGroup, keyword: part{0, at}}
	from, end := blanks(s, at), len(s)
	if s[end-1] == '{' {
		end = back(s, end-1)
	}
	if stereo := strings.Index(s[from:max(end, from)], "<<"); stereo >= 0 && strings.HasSuffix(s[:end], ">>") && end-from-stereo > 4 {
		st.group = part{from + stereo, end}
		end = max(back(s, from+stereo), from)
	}
	if c := colours(s, from); c > 0 && blanks(s, c) > c {
		st.color = part{from, c}
		from = blanks(s, c)
	} else if hash := strings.LastIndexByte(s[from:max(end, from)], '#'); hash > 0 {
		if h := from + hash; colours(s[:end], h) == end && back(s, h) < h {
			st.color = part{h, end}
			end = back(s, h)
		}
	}
	st.test = part{from, max(end, from)}
	return st
}

// note reads the first line of a note.
func note(s string) stmt {
	at := word(s, 0, "note")
	floating := false
	if at < 0 {
		if at = word(s, 0, "floating note"); at < 0 {
			return stmt{}
		}
		floating = true
	}
	st := stmt{kind: kNote, floating: floating}
	at = blanks(s, at)
	if end := word(s, at, "left"); end > 0 {
		st.side, at = Left, end
	} else if end := word(s, at, "right"); end > 0 {
		st.side, at = Right, end
	}
	at = blanks(s, at)
	if one := noteText(s, at, st); one.kind == kNote {
		return one
	}
	at = blanks(s, tags(s, at))
	if end := stereotype(s, at); end > 0 {
		st.group = part{at, end}
		at = blanks(s, end)
	}
	if at < len(s) && colours(s, at) == len(s) {
		st.color = part{at, len(s)}
		at = len(s)
	}
	if at != len(s) {
		return stmt{}
	}
	st.kind = kNoteOpen
	return st
}

// noteText reads a note in one line after its side.
func noteText(s string, at int, st stmt) stmt {
	if end := colours(s, at); end > 0 {
		st.color = part{at, end}
		at = blanks(s, end)
	}
	at = blanks(s, tags(s, at))
	if end := stereotype(s, at); end > 0 {
		st.group = part{at, end}
		at = blanks(s, end)
	}
	if byteAt(s, at, ':') < 0 {
		return stmt{}
	}
	st.test = part{blanks(s, at+1), len(s)}
	return st
}

func tags(s string, at int) int {
	for at < len(s) && s[at] == '$' {
		end := at + 1
		for end < len(s) && blanks(s, end) == end && strings.IndexByte("{}\"<>$:", s[end]) < 0 {
			end++
		}
		if end == at+1 {
			return at
		}
		at = end
		if next := blanks(s, at); next > at && next < len(s) && s[next] == '$' {
			at = next
		}
	}
	return at
}

// stereotype returns the offset after <<…>>, or -1.
func stereotype(s string, at int) int {
	if !strings.HasPrefix(s[at:], "<<") || len(s) < at+5 {
		return -1
	}
	end := strings.Index(s[at+3:], ">>")
	if end < 0 {
		return -1
	}
	return at + 3 + end + 2
}
