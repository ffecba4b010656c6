package agent

import "strings"

// swallowing lists constructs of XML and Markdown that hide everything up to their end.
var swallowing = []struct{ open, end string }{
	{"<!--", "-->"}, {"<![cdata[", "]]>"}, {"<?", "?>"}, {"<!", ">"},
	{"<script", "</script"}, {"<style", "</style"}, {"<pre", "</pre"}, {"<textarea", "</textarea"}, {"<title", "</title"}, {"<xmp", "</xmp"},
	{"<iframe", "</iframe"}, {"<noscript", "</noscript"}, {"<noembed", "</noembed"}, {"<noframes", "</noframes"}, {"<plaintext", "\x00"}, // it has no end
}

// escapeOpen puts a backslash after the bracket of unterminated constructs.
func escapeOpen(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	lower := asciiLower(text)
	marks := map[int]bool{}
	for _, s := range swallowing {
		if !strings.Contains(lower, s.open) {
			continue
		}
		from := max(0, strings.LastIndex(lower, s.end)-len(s.open)+1)
		for {
			at := strings.Index(lower[from:], s.open)
			if at < 0 {
				break
			}
			marks[from+at] = true
			from += at + 1
		}
	}
	markQuoted(text, marks)
	if len(marks) == 0 {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])
		if marks[i] {
			b.WriteByte('\\')
		}
	}
	return b.String()
}

// markQuoted marks the brackets of tags that contain an attribute value with an
// unterminated quote.
func markQuoted(text string, marks map[int]bool) {
	for _, quote := range []byte{'"', '\''} {
		at := strings.LastIndexByte(text, quote)
		if at < 0 || !strings.HasSuffix(strings.TrimRight(text[:at], " \t\n"), "=") {
			continue
		}
		from := strings.LastIndexByte(text[:at], '>') + 1
		if strings.Count(text[from:at], string(quote))%2 != 0 { // a closing quote
			continue
		}
		for i := from; i < at; i++ {
			if next := text[i+1] | 0x20; text[i] == '<' && next >= 'a' && next <= 'z' {
				marks[i] = true
			}
		}
	}
}

// asciiLower preserves byte positions, which strings.ToLower does not.
func asciiLower(text string) string {
	lower := []byte(text)
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}

// fenceMark is the opening of a code fence: a character and how many of it.
type fenceMark struct {
	char byte
	n    int
}

// escapeFences puts a backslash before every code fence of a text if one might be open at
// its end.
func escapeFences(text string) string {
	if !fenceLeftOpen(text) {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		content := strings.TrimLeft(line, " ")
		if _, _, ok := fenceOf(content); ok {
			lines[i] = line[:len(line)-len(content)] + `\` + content
		}
	}
	return strings.Join(lines, "\n")
}

// fenceLeftOpen parses fences as CommonMark does. An indented fence after a list may or may
// not belong to an item, with which it would end, so both cases are tracked. Whatever is in
// an item or a quotation ends before our next tag.
func fenceLeftOpen(text string) bool {
	const tooMany = 16
	closed, list := true, false
	var open []fenceMark
	for line := range strings.SplitSeq(text, "\n") {
		content := strings.TrimLeft(line, " ")
		indent := len(line) - len(content)
		list = list || isListItem(content)
		mark, info, ok := fenceOf(content)
		if !ok || indent > 3 {
			continue
		}
		var next []fenceMark
		stays := closed && (indent > 0 && list)
		for _, o := range open {
			if o.char == mark.char && mark.n >= o.n && strings.Trim(info, " \t") == "" {
				stays = true
			} else {
				next = append(next, o)
			}
		}
		if closed && (mark.char == '~' || !strings.Contains(info, "`")) {
			next = append(next, mark)
		} else if closed {
			stays = true
		}
		if closed, open = stays, next; len(open) > tooMany {
			return true
		}
	}
	return len(open) > 0
}

// fenceOf parses the fence at the beginning of a line, and returns what follows it.
func fenceOf(content string) (mark fenceMark, info string, ok bool) {
	if !strings.HasPrefix(content, "```") && !strings.HasPrefix(content, "~~~") {
		return fenceMark{}, "", false
	}
	info = strings.TrimLeft(content, content[:1])
	return fenceMark{content[0], len(content) - len(info)}, info, true
}

// isListItem reports whether a line may begin a list item.
func isListItem(content string) bool {
	rest := strings.TrimLeft(content, "0123456789")
	if rest == "" {
		return false
	}
	if len(rest) < len(content) {
		return rest[0] == '.' || rest[0] == ')'
	}
	return rest[0] == '-' || rest[0] == '*' || rest[0] == '+' || rest[0] == '>'
}
