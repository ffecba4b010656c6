package activity

import "strings"

// The patterns with parentheses. PlantUML tries every closing parenthesis from the left as the
// end of the condition until the rest of the line matches. So parentheses within a condition may
// be unbalanced, and a rest that does not match becomes part of the condition.

// ifLine reads an if, at an offset after a colour or a link.
func ifLine(s string, at int) stmt {
	open := word(s, at, "if")
	if open < 0 {
		return stmt{}
	}
	if st := ifIs(s, open); st.kind == kIf {
		return st
	}
	from := blanks(s, open)
	if end := stereotype(s, from); end > 0 {
		from = blanks(s, end)
	}
	if byteAt(s, from, '(') < 0 {
		return stmt{}
	}
	if st := thenLine(s, from+1, false); st.kind != kUnknown {
		st.kind = kIf
		return st
	}
	if st := thenWhen(s, from+1); st.kind == kIf {
		return st
	}
	return stmt{kind: kIfOpen, test: part{from + 1, len(s)}}
}

// thenLine reads a condition with an optional then and label. Only the label of
// an elseif may be empty or begin with an arrow.
func thenLine(s string, from int, elseIf bool) stmt {
	end, group, tight := closing(s)
	for i := from; i < len(s); i++ {
		if s[i] != ')' {
			continue
		}
		st := stmt{test: part{from, i}, group: group, kind: kIf}
		if i == end {
			return st
		}
		then := word(s, blanks(s, i+1), "then")
		if then < 0 {
			continue
		}
		open := blanks(s, then)
		if g, ok := tail(s, open); ok {
			st.group = g
			return st
		}
		if byteAt(s, open, '(') < 0 || end < 0 || !tight {
			continue
		}
		label := open + 1
		if elseIf {
			if _, behind := arrow(s, label); behind > 0 {
				label = behind
			}
			if end >= label {
				st.label = part{label, end}
				return st
			}
		} else if end > label {
			st.label = part{label, end}
			return st
		}
	}
	return stmt{}
}

// ifIs reads `if (test) is (label) then`.
func ifIs(s string, at int) stmt {
	open := byteAt(s, blanks(s, at), '(')
	if open < 0 {
		return stmt{}
	}
	group, end := stereotypes(s)
	end = back(s, end)
	if end > 0 && s[end-1] == ';' {
		end = back(s, end-1)
	}
	if end < 5 || word(s, end-4, "then") < 0 {
		return stmt{}
	}
	end = back(s, end-4)
	if end == 0 || s[end-1] != ')' {
		return stmt{}
	}
	i, label := isLabel(s, open)
	if i < 0 || end-1 <= label {
		return stmt{}
	}
	return stmt{kind: kIf, test: part{open, i}, label: part{label, end - 1}, group: group}
}

// isLabel returns the first `) is (`, and where the text in the parentheses begins, or -1.
func isLabel(s string, from int) (end, label int) {
	return between(s, from, isWordAt)
}

func isWordAt(s string, at int) int {
	if end := word(s, at, "is"); end > 0 {
		return end
	}
	if end := word(s, at, "equals"); end > 0 {
		return end
	}
	return word(s, at, "equal")
}

func notWordAt(s string, at int) int { return word(s, at, "not") }

// between returns the first closing parenthesis that is followed by a word and an
// opening parenthesis.
func between(s string, from int, is func(string, int) int) (end, label int) {
	for i := from; i < len(s); i++ {
		if s[i] != ')' {
			continue
		}
		if w := is(s, blanks(s, i+1)); w > 0 {
			if open := byteAt(s, blanks(s, w), '('); open > 0 {
				return i, open
			}
		}
	}
	return -1, -1
}

// thenWhen reads the old form `if (test) then when text`.
func thenWhen(s string, from int) stmt {
	for i := from + 1; i < len(s); i++ {
		if s[i] != ')' {
			continue
		}
		then := word(s, blanks(s, i+1), "then")
		if then < 0 || blanks(s, then) == then {
			continue
		}
		if when := word(s, blanks(s, then), "when"); when > 0 && blanks(s, when) > when {
			return stmt{kind: kIf, test: part{from, i}, label: part{blanks(s, when), len(s)}}
		}
	}
	return stmt{}
}

func elseIf(s string, at int) stmt {
	at = words(s, at, "else", "if")
	if at < 0 {
		return stmt{}
	}
	open := byteAt(s, blanks(s, at), '(')
	if open < 0 {
		return stmt{}
	}
	if st := elseIfIs(s, open); st.kind == kElseIf {
		return st
	}
	if st := thenLine(s, open, true); st.kind != kUnknown {
		st.kind = kElseIf
		return st
	}
	return stmt{kind: kElseIfOpen, test: part{open, len(s)}}
}

// elseIfIs reads `elseif (test) is (label) then`.
func elseIfIs(s string, open int) stmt {
	i, label := isLabel(s, open)
	if i < 0 {
		return stmt{}
	}
	end := len(s)
	if s[end-1] == ';' {
		end--
	}
	end = back(s, end)
	if end > 4 && word(s, end-4, "then") > 0 {
		end = back(s, end-4)
	}
	if end-1 <= label || s[end-1] != ')' {
		return stmt{}
	}
	return stmt{kind: kElseIf, test: part{open, i}, label: part{label, end - 1}}
}

func elseLine(s string) stmt {
	at := word(s, 0, "else")
	from := blanks(s, at)
	end := len(s)
	if s[end-1] == ';' {
		end--
	}
	end = back(s, end)
	if from >= end {
		return stmt{kind: kElse}
	}
	if s[from] != '(' {
		if when := word(s, from, "when"); from > at && when > 0 && blanks(s, when) > when {
			return stmt{kind: kElse, label: part{blanks(s, when), len(s)}}
		}
		return stmt{}
	}
	label := from + 1
	if _, behind := arrow(s, label); behind > 0 {
		label = behind
	}
	if s[end-1] != ')' || end-1 < label {
		return stmt{kind: kElseOpen, label: part{label, len(s)}}
	}
	return stmt{kind: kElse, label: part{label, end - 1}}
}

func switchLine(s string, at int) stmt {
	at = word(s, at, "switch")
	if at < 0 {
		return stmt{}
	}
	open := byteAt(s, blanks(s, at), '(')
	end, group, _ := closing(s)
	if open < 0 || end < open || s[back(s, len(s))-1] == ';' || semicolonBefore(s, group) {
		return stmt{}
	}
	return stmt{kind: kSwitch, test: part{open, end}, group: group}
}

// semicolonBefore reports whether a semicolon is before stereotypes.
func semicolonBefore(s string, group part) bool {
	if !group.written() {
		return false
	}
	at := back(s, group.from)
	return at > 0 && s[at-1] == ';'
}

func whileLine(s string, at int) stmt {
	at = word(s, at, "while")
	if at < 0 {
		return stmt{}
	}
	open := byteAt(s, blanks(s, at), '(')
	end, group, tight := closing(s)
	if open < 0 || end < open || !tight {
		return stmt{}
	}
	if i, label := isLabel(s, open); i >= 0 && end > label {
		return stmt{kind: kWhile, test: part{open, i}, label: part{label, end}, group: group}
	}
	return stmt{kind: kWhile, test: part{open, end}, group: group}
}

func repeat(s string, at int) stmt {
	at = word(s, at, "repeat")
	if at < 0 {
		return stmt{}
	}
	at = blanks(s, at)
	if at == len(s) {
		return stmt{kind: kRepeat}
	}
	group, end := stereotypes(s)
	if s[at] == ':' {
		end = back(s, end)
		if end-1 > at && s[end-1] == ';' {
			return stmt{kind: kRepeat, test: part{at + 1, end - 1}, group: group}
		}
		return stmt{}
	}
	if group.written() && group.from == at {
		return stmt{kind: kRepeat, group: group}
	}
	return stmt{}
}

// repeatWhile parses what follows `repeat while`.
func repeatWhile(s string, at int) stmt {
	at = blanks(s, at)
	if byteAt(s, at, '(') < 0 {
		if st, ok := repeatRest(s, at); ok {
			return st
		}
		return stmt{}
	}
	open := at + 1
	if i, yes := isLabel(s, open); i >= 0 {
		if j, no := between(s, yes+1, notWordAt); j >= 0 {
			if end, st := repeatEnd(s, no+1); end >= 0 {
				st.test, st.label, st.out = part{open, i}, part{yes, j}, part{no, end}
				return st
			}
		}
	}
	if i, no := between(s, open, notWordAt); i >= 0 {
		if end, st := repeatEnd(s, no+1); end >= 0 {
			st.test, st.out = part{open, i}, part{no, end}
			return st
		}
	}
	if i, yes := isLabel(s, open); i >= 0 {
		if end, st := repeatEnd(s, yes+1); end >= 0 {
			st.test, st.label = part{open, i}, part{yes, end}
			return st
		}
	}
	for i := len(s) - 1; i >= open; i-- {
		if s[i] == ')' {
			if st, ok := repeatRest(s, i+1); ok {
				st.test = part{open, i}
				return st
			}
		}
	}
	return stmt{kind: kRepeatWhileOpen, test: part{open, len(s)}}
}

// repeatEnd returns the first closing parenthesis after which a repeat may end.
func repeatEnd(s string, from int) (int, stmt) {
	for i := from; i < len(s); i++ {
		if s[i] == ')' {
			if st, ok := repeatRest(s, i+1); ok {
				return i, st
			}
		}
	}
	return -1, stmt{}
}

// repeatRest reports whether a repeat may end at an offset: with an arrow with a label, or with a
// semicolon and stereotypes.
func repeatRest(s string, at int) (stmt, bool) {
	at = blanks(s, at)
	st := stmt{kind: kRepeatWhile}
	if at < len(s) && s[at] == '-' {
		if style, end := arrow(s, at); end > 0 {
			st.arrow, st.style = true, style
			if from := blanks(s, end); from < len(s) {
				st.in = part{from, len(s)}
			}
			return st, true
		}
	}
	if at > len(s) {
		return st, false
	}
	group, ok := tail(s, at)
	st.group = group
	return st, ok
}

// backward reads the activity on the way back of a loop.
func backward(s string, at int) stmt {
	at = word(s, at, "backward")
	if at < 0 {
		return stmt{}
	}
	colon := blanks(s, at)
	if byteAt(s, colon, ':') < 0 {
		return stmt{}
	}
	from := colon + 1
	if group, end := stereotypes(s); byteAt(s, back(s, end)-1, ';') > from {
		return stmt{kind: kBackward, test: part{from, back(s, end) - 1}, group: group}
	}
	end := back(s, len(s))
	for i := from; i < len(s) && s[end-1] == ')'; i++ {
		if s[i] != ';' {
			continue
		}
		open := strings.IndexByte(s[i:], '(')
		if open < 0 {
			break
		}
		group, behind := stereotypes(s[:back(s, i+open)])
		if blanks(s, i+1) >= behind {
			label := i + open + 1
			if _, far := arrow(s, label); far > 0 {
				label = far
			}
			return stmt{kind: kBackward, test: part{from, i}, group: group, out: part{label, max(end-1, label)}}
		}
	}
	return stmt{kind: kBackwardOpen, test: part{blanks(s, from), len(s)}}
}
