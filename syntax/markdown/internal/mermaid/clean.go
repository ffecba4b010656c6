package mermaid

import (
	"strings"
	"unicode/utf8"
)

// clean changes a text in the way that Mermaid does before parsing it.
func clean(v *view) (chart *view, front frontMatter) {
	v = v.cut(newlines(v.text))
	v = v.cut(attributes(v.text))
	front = findFrontMatter(v)
	if front.found {
		v = v.changed(front.end, len(v.text), nil)
	}
	v = v.cut(directives(v.text))
	v = v.cut(comments(v.text))
	v = v.cut(stylesEnd(v.text, "style"))
	v = v.cut(stylesEnd(v.text, "classDef"))
	return v.cut(braces(v.text)), front
}

// newlines returns the carriage returns, which Mermaid treats as newlines.
func newlines(s string) (edits []edit) {
	for at := 0; ; at++ {
		i := strings.IndexByte(s[at:], '\r')
		if i < 0 {
			return edits
		}
		at += i
		e := edit{from: at, to: at + 1, text: "\n"}
		if strings.HasPrefix(s[at+1:], "\n") {
			e.text = ""
		}
		edits = append(edits, e)
	}
}

// attributes returns the quotes of attributes in HTML tags, which become single quotes.
func attributes(s string) (edits []edit) {
	if !strings.Contains(s, `="`) {
		return nil
	}
	for at := 0; ; {
		open := strings.IndexByte(s[at:], '<')
		if open < 0 {
			return edits
		}
		at += open + 1
		name := words(s, at)
		if name == at {
			continue
		}
		end := strings.IndexByte(s[name:], '>')
		if end < 0 {
			return edits
		}
		at = name + end + 1
		for tag := name; ; {
			from := strings.Index(s[tag:at], `="`)
			if from < 0 {
				break
			}
			from += tag + 1
			to := strings.IndexByte(s[from+1:at], '"')
			if to < 0 {
				break
			}
			to += from + 1
			edits = append(edits, edit{from, from + 1, "'"}, edit{to, to + 1, "'"})
			tag = to + 1
		}
	}
}

// directives returns the %%{…}%%, wherever they are. Mermaid does not require their end.
func directives(s string) (edits []edit) {
	for at := 0; ; {
		i := strings.Index(s[at:], "%%{")
		if i < 0 {
			return edits
		}
		from := at + i
		at = from + 3
		if end := directiveEnd(s, at); end > 0 {
			edits = append(edits, edit{from: from, to: end})
			at = end
		}
	}
}

// directiveEnd returns the end of the directive whose inside starts here, or 0.
func directiveEnd(s string, at int) int {
	at = blanks(s, at)
	name := words(s, at)
	if name == at {
		return 0
	}
	at = blanks(s, name)
	if strings.HasPrefix(s[at:], ":") {
		at = blanks(s, at+1)
	}
	if end := words(s, at); end > at {
		at = blanks(s, end)
	} else if i := strings.Index(s[at:], "}%%"); i >= 0 {
		at += i
	} else {
		return len(s)
	}
	if strings.HasPrefix(s[at:], "}%%") {
		at += 3
	}
	return at
}

// comments returns the lines that start with %% and have more text, with the blank lines before
// them, and the white space at the start of the text.
func comments(s string) (edits []edit) {
	line := 0 // start of the first line of the current white space
	if !strings.Contains(s, "%%") {
		line = len(s)
	}
	for line < len(s) {
		at := blanks(s, line)
		if strings.HasPrefix(s[at:], "%%") && !strings.HasPrefix(s[at+2:], "{") && !strings.HasPrefix(s[at+2:], "\n") && at+2 < len(s) {
			end := lineEnd(s, at)
			edits = append(edits, edit{from: line, to: end})
			line = end
			continue
		}
		line = lineEnd(s, at)
	}
	return trimStart(s, edits)
}

// lineEnd returns the start of the next line.
func lineEnd(s string, at int) int {
	if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(s)
}

// trimStart adds the white space at the start of the text to the edits.
func trimStart(s string, edits []edit) []edit {
	at := 0
	n := 0
	for {
		at = blanks(s, at)
		if n < len(edits) && edits[n].from <= at {
			at = max(at, edits[n].to)
			n++
			continue
		}
		break
	}
	if at == 0 || at >= len(s) {
		return edits
	}
	rest := edits[n:]
	return append([]edit{{to: at}}, rest...)
}

// stylesEnd returns the semicolons at the end of styles with a color: Mermaid removes them,
// because "#fff;" looks like an entity.
func stylesEnd(s, word string) (edits []edit) {
	for at := 0; ; {
		i := strings.Index(s[at:], word)
		if i < 0 {
			return edits
		}
		at += i + len(word)
		end := lineEnd(s, at)
		if last := strings.LastIndexByte(s[at:end], ';'); last >= 0 && colored(s[at:at+last]) {
			edits = append(edits, edit{from: at + last, to: at + last + 1})
		}
		at = end
	}
}

// colored reports whether a colon is followed by # in the same word.
func colored(s string) bool {
	inValue := false
	for i := range len(s) {
		switch c := s[i]; {
		case c == ':':
			inValue = true
		case c == '#' && inValue:
			return true
		case c < utf8.RuneSelf && is(c, isBlank), c >= utf8.RuneSelf && blankAt(s, i) > 0:
			inValue = false
		}
	}
	return false
}

// braces returns the white space between a closing brace and the end of its line, with the blank
// lines that follow.
func braces(s string) (edits []edit) {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '}')
		if i < 0 {
			return edits
		}
		at += i + 1
		end := blanks(s, at)
		if last := strings.LastIndexByte(s[at:end], '\n'); last > 0 {
			edits = append(edits, edit{from: at, to: at + last})
		}
		at = end
	}
}

// frontMatter is the YAML between two lines of dashes at the start of a text.
type frontMatter struct {
	found      bool
	indent     string
	from, to   int // the YAML
	end        int
	unfinished bool // it starts, but does not end
}

func findFrontMatter(v *view) (f frontMatter) {
	s := v.text
	at := 0
	for at < len(s) && s[at] != '\n' && blankAt(s, at) > 0 {
		at += blankAt(s, at)
	}
	if !strings.HasPrefix(s[at:], "---") {
		return f
	}
	f.indent = s[:at]
	open := blanks(s, at+3)
	first := strings.IndexByte(s[at+3:open], '\n')
	if first < 0 {
		return f
	}
	f.from = at + 3 + first + 1
	for at = f.from - 1; ; at++ {
		i := strings.Index(s[at:], "\n"+f.indent+"---")
		if i < 0 {
			f.unfinished = true
			return f
		}
		at += i
		after := at + 1 + len(f.indent) + 3
		last := strings.LastIndexByte(s[after:blanks(s, after)], '\n')
		if at < f.from || last < 0 {
			continue
		}
		f.found, f.to, f.end = true, at, after+last+1
		return f
	}
}
