package strictyaml

import "strings"

// These find the characters in a line that a syntax error is most likely about. A width of
// zero means that there are none.

// wholeLine returns the line without its indentation, including comments.
func wholeLine(line string) (from, width int) {
	content := strings.TrimLeft(line, " \t")
	return len(line) - len(content), len(strings.TrimRight(content, " \t"))
}

func at(index, width int) (int, int) {
	if index < 0 {
		return 0, 0
	}
	return index, width
}

func lastQuote(line string) (from, width int) {
	for _, start := range []string{`: "`, `: '`, `- "`, `- '`, `["`, `['`, `, "`, `, '`, `{"`, `{'`} {
		if i := strings.LastIndex(line, start); i >= 0 && i+len(start) > from {
			from, width = i+len(start)-1, 1
		}
	}
	if width == 0 {
		return at(strings.IndexAny(line, `"'`), 1)
	}
	return from, width
}

func lastColon(line string) (from, width int) {
	if i := strings.LastIndex(line, ": "); i >= 0 {
		return i, 1
	}
	return at(strings.LastIndex(line, ":"), 1)
}

// strayCharacter returns the first character after the indentation, a dash, a colon or a
// bracket that no plain text may begin with.
func strayCharacter(line string) (from, width int) {
	fresh := true
	for i, r := range line {
		switch {
		case fresh && strings.ContainsRune("@`%\t", r):
			return i, 1
		case r == ' ':
		case strings.ContainsRune("-:[{,?", r):
			fresh = true
		default:
			fresh = false
		}
	}
	return 0, 0
}

// tabIndent returns a tab before the first character of a line.
func tabIndent(line string) (from, width int) {
	content := strings.TrimLeft(line, " \t")
	return at(strings.IndexByte(line[:len(line)-len(content)], '\t'), 1)
}

// bareQuestionMark returns a ? inside brackets and outside quotes, which YAML reads as a
// key indicator.
func bareQuestionMark(line string) (from, width int) {
	var quote rune
	inBrackets := false
	for i, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '{' || r == '[':
			inBrackets = true
		case r == '?' && inBrackets:
			return i, 1
		}
	}
	return 0, 0
}

func listAtEnd(line string) (from, width int) { return lastAtEnd(line, '[') }
func mapAtEnd(line string) (from, width int)  { return lastAtEnd(line, '{') }

// lastAtEnd returns the bracket at the end of a line.
func lastAtEnd(line string, bracket byte) (from, width int) {
	content := strings.TrimRight(line, " \t")
	if content == "" || content[len(content)-1] != bracket {
		return 0, 0
	}
	return len(content) - 1, 1
}

func firstTab(line string) (from, width int)       { return at(strings.IndexByte(line, '\t'), 1) }
func lastDash(line string) (from, width int)       { return at(strings.LastIndex(line, "- "), 1) }
func openBracket(line string) (from, width int)    { return at(strings.IndexAny(line, "[{"), 1) }
func firstStar(line string) (from, width int)      { return at(strings.IndexByte(line, '*'), 1) }
func firstBang(line string) (from, width int)      { return at(strings.IndexByte(line, '!'), 1) }
func firstBackslash(line string) (from, width int) { return at(strings.IndexByte(line, '\\'), 2) }
func starOrAmpersand(line string) (from, width int) {
	return at(strings.IndexAny(line, "*&"), 1)
}
