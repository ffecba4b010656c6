package activity

import "strings"

// statements returns the statements on one line, if there are several and PlantUML knows each of
// them.
func statements(s string) []part {
	var found []part
	from, last := -1, ""
	end := func(to int) bool {
		if from < 0 {
			return true
		}
		p := part{from, back(s, to)}
		from = -1
		found = append(found, p)
		return complete(p.of(s))
	}
	for i := blanks(s, 0); i < len(s); i = blanks(s, i) {
		start, word := i, ""
		switch c := s[i]; {
		case c == ':':
			stop := strings.IndexByte(s[i:], ';')
			if stop < 0 {
				return nil
			}
			i += stop + 1
			if last == "repeat" || last == "backward" {
				last = ":"
				continue
			}
			word = ":"
		case c == '(':
			if i = balanced(s, i); i < 0 || from < 0 {
				return nil
			}
			continue
		case c == ';':
			i++
			continue
		case c == '-':
			if i = arrowBetween(s, i); i < 0 || from < 0 || !end(start) {
				return nil
			}
			last = ""
			continue
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			for i < len(s) && s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' {
				i++
			}
			word = lower(s[start:i])
		default:
			return nil
		}
		if from >= 0 && goesOn(last, word) {
			last = word
			continue
		}
		if word != ":" && !opensStatement(word) || !end(start) {
			return nil
		}
		from, last = start, word
	}
	if !end(len(s)) || len(found) < 2 {
		return nil
	}
	return found
}

// balanced returns the offset after the parenthesis that closes the one at i, or -1.
func balanced(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// arrowBetween returns the offset after an arrow that is before an activity, or
// -1.
func arrowBetween(s string, i int) int {
	for i < len(s) && s[i] == '-' {
		i++
	}
	if byteAt(s, i, '>') < 0 || byteAt(s, blanks(s, i+1), ':') < 0 && opensNone(s, blanks(s, i+1)) {
		return -1
	}
	return i + 1
}

func opensNone(s string, i int) bool {
	end := wordEnd(s, i)
	return end == i || !opensStatement(lower(s[i:end]))
}

// goesOn reports whether a word belongs to the same statement as the word before it.
func goesOn(last, word string) bool {
	switch word {
	case "then", "is", "equal", "equals", "not":
		return true
	case "if":
		return last == "else" || last == "end"
	case "while":
		return last == "repeat" || last == "end"
	case "again":
		return last == "fork" || last == "split"
	case "fork", "split", "merge":
		return last == "end"
	case "end":
		return last == "fork" || last == "split" || last == "while"
	}
	return false
}

func opensStatement(word string) bool {
	switch word {
	case "start", "stop", "end", "if", "else", "elseif", "endif", "switch", "case", "endswitch", "while",
		"endwhile", "repeat", "repeatwhile", "fork", "forkagain", "endfork", "split", "splitagain", "endsplit",
		"kill", "detach", "break":
		return true
	}
	return false
}
