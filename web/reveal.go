package web

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/visible"
)

// reveal makes visible what the text of a page hides, see [visible.HTML]. Otherwise a person could approve something else than
// what the page seems to say. Attributes and fields of forms stay as they are, since they are sent back. page is what
// html/template wrote: there is no < or > in it that does not belong to a tag.
func reveal(page []byte) []byte {
	const field, fieldEnd = "<textarea", "</textarea"
	var out bytes.Buffer
	literal, log := false, false // in a pre, and one of them is a log
	for len(page) > 0 {
		end := bytes.IndexByte(page, '<')
		if end < 0 {
			end = len(page)
		}
		text := string(page[:end])
		switch page = page[end:]; {
		case log: // of a program that may write tables; nobody approves it
			out.WriteString(visible.HTML(text, false))
		case literal:
			out.WriteString(visible.HTML(text, true))
		default: // around it is the white space of the template
			middle := strings.Trim(text, " \t\r\n")
			before, after, _ := strings.Cut(text, middle)
			out.WriteString(before + visible.HTML(middle, true) + after)
		}
		end = bytes.IndexByte(page, '>') + 1
		if bytes.HasPrefix(page, []byte(field)) {
			end = bytes.Index(page, []byte(fieldEnd))
		}
		if end <= 0 {
			end = len(page)
		}
		switch tag := page[:end]; {
		case bytes.HasPrefix(tag, []byte("<pre")):
			literal, log = true, bytes.Contains(tag, []byte(`class="text log"`))
		case bytes.HasPrefix(tag, []byte("</pre")):
			literal, log = false, false
		}
		out.Write(page[:end])
		page = page[end:]
	}
	return out.Bytes()
}

// escapes matches the control sequences of terminals. A string that has no end extends to the end of its line at most, so that it
// cannot hide what follows.
var escapes = lazy.Regexp("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b\n]*(\x07|\x1b\\\\)?|[@-Z\\\\-_])")

// readable returns a log without the control sequences of terminals.
func readable(text []byte) string {
	return strings.ToValidUTF8(escapes().ReplaceAllString(string(text), ""), "\uFFFD")
}

// lookBehind is how many bytes at the beginning of a part of a log are examined for a good place to begin.
const lookBehind = 2048

// beginning returns where the text of a part of a log that was cut somewhere can begin: after a line break, or in a very
// long line neither inside of a character nor of a control sequence.
func beginning(part []byte) int {
	ahead := part[:min(lookBehind, len(part)/2)]
	if at := bytes.IndexByte(ahead, '\n'); at >= 0 {
		return at + 1
	}
	at := len(ahead)
	if start := bytes.LastIndexByte(ahead, 0x1b); start >= 0 {
		if s := escapes().FindIndex(part[start:]); s != nil && s[0] == 0 && start+s[1] > at {
			return start
		}
	}
	for at < len(part) && !utf8.RuneStart(part[at]) {
		at++
	}
	return at
}

// unfinished matches the beginning of a control sequence at the end of a text.
var unfinished = lazy.Regexp("\x1b(\\[[0-?]*[ -/]*|\\][^\x07\x1b\n]{0,999}\x1b?)?$")

// ending returns where the text of a log ends that is still being written: not inside of a character or a control
// sequence, the rest of which comes later.
func ending(part []byte) int {
	if s := unfinished().FindIndex(part[max(0, len(part)-lookBehind):]); s != nil {
		return max(0, len(part)-lookBehind) + s[0]
	}
	for at := len(part) - 1; at >= max(0, len(part)-utf8.UTFMax); at-- {
		if utf8.RuneStart(part[at]) {
			if !utf8.FullRune(part[at:]) {
				return at
			}
			break
		}
	}
	return len(part)
}
