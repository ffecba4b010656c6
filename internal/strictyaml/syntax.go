package strictyaml

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/workflow"
)

var errUnreadable = errors.New("yaml: cannot parse the structure of the file")

// checkCharacters reports the first character that YAML does not allow, or that YAML 1.1
// and 1.2 interpret differently (line separators of other scripts).
func (d *Document) checkCharacters() bool {
	for i, l := range d.lines {
		content := d.text[l.from:l.to]
		if l.plain {
			continue
		}
		column := 1
		for at := 0; at < len(content); column++ {
			r, size := utf8.DecodeRune(content[at:])
			if detail, summary := badCharacter(r, size); summary != "" {
				d.report(workflow.Errorf(d.mark(i+1, column, 1), codeEncoding, detail, "%s", summary))
				return false
			}
			at += size
		}
	}
	return true
}

func badCharacter(r rune, size int) (detail, summary string) {
	code := "U+" + strings.ToUpper(strconv.FormatInt(0x10000+int64(r), 16)[1:])
	switch {
	case r == utf8.RuneError && size <= 1:
		return "save the file as UTF-8", "the file is not valid UTF-8"
	case r == '\r':
		return "end lines with a line feed", "a carriage return without a line feed"
	case r == 0x85, r == 0x2028, r == 0x2029:
		return `write it as "\u` + code[2:] + `" in double quotes`, "the line separator " + code + " is ambiguous"
	case r < ' ' && r != '\t', r >= 0x7f && r < 0xa0, r == 0xFEFF, r == 0xFFFE, r == 0xFFFF:
		return `remove it, or write it as "\u` + code[2:] + `" in double quotes`, "the control character " + code + " is not allowed"
	}
	return "", ""
}

// remedy explains a message of the library, and says what to do. The first match wins.
type remedy struct {
	message string // contained in the library's message
	summary string
	detail  string
	where   func(line string) (from, width int) // bytes; nil: the whole line
	opening bool                                // the error is where the library saw the construct begin
	quotes  bool                                // it may be a value that needs quotes
}

// closer are remedies for lines in which their character is found. They take precedence
// over those that know only the message.
var closer = []remedy{
	{message: "cannot start any token", summary: "tabs cannot be used for indentation", detail: "use spaces instead of the tab", where: tabIndent},
	{message: "did not find expected ',' or", summary: "inside { } and [ ] text with ? needs quotes", detail: `put the whole text in quotes, such as "ok?"`, where: bareQuestionMark},
	{message: "node content", summary: "inside { } and [ ] text with ? needs quotes", detail: `put the whole text in quotes, such as "ok?"`, where: bareQuestionMark},
	{message: "node content", summary: "the list in [ ] is not closed", detail: "close it with ]", where: listAtEnd},
	{message: "node content", summary: "the map in { } is not closed", detail: "close it with }", where: mapAtEnd},
}

var remedies = []remedy{
	{message: "found unexpected end of stream", summary: "the quote that opens here is not closed", detail: "close the quote", where: lastQuote, opening: true},
	{message: "found unexpected document indicator", summary: "the quote that opens here is not closed", detail: "close the quote", where: lastQuote, opening: true},
	{message: "cannot start any token", summary: "a value cannot begin with this character", detail: "put the text in quotes, and indent with spaces", where: strayCharacter, quotes: true},
	{message: "tab character", summary: "tabs cannot be used for indentation", detail: "use spaces instead of the tab", where: firstTab},
	{message: "mapping values are not allowed", summary: `": " is not allowed here`, detail: `put the text in quotes if it contains ": "; otherwise check the indentation`, where: lastColon, quotes: true},
	{message: "block sequence entries are not allowed", summary: "a list cannot begin here", detail: "begin the list on the next line, indented", where: lastDash},
	{message: "could not find expected ':'", summary: "this is not a key with a value", detail: "write `key: value`; text over several lines begins with `key: |`"},
	{message: "did not find expected key", summary: "this does not match the lines above", detail: "indent it like the lines around it; put text that contains quotes in quotes", quotes: true},
	{message: "did not find expected '-' indicator", summary: "this does not match the list above", detail: "begin it with `- `, or indent it like a key above"},
	{message: "did not find expected ',' or ']'", summary: "the list in [ ] is not closed, or a comma is missing", detail: "inside [ ] put text with ${…}, commas or brackets in quotes", where: openBracket},
	{message: "did not find expected ',' or '}'", summary: "the map in { } is not closed, or a comma is missing", detail: "inside { } put text with ${…}, commas or brackets in quotes", where: openBracket},
	{message: "unknown anchor", summary: "an alias without its anchor", detail: "put text that begins with * in quotes", where: firstStar, quotes: true},
	{message: "unknown escape character", summary: "an unknown escape sequence", detail: `in double quotes write \\ for a backslash, or use single quotes`, where: firstBackslash},
	{message: "hexdecimal number", summary: "an escape with invalid digits", detail: `write \u with four hexadecimal digits`, where: firstBackslash},
	{message: "invalid Unicode character", summary: "an invalid escape", detail: "write the character itself", where: firstBackslash},
	{message: "alphabetic or numeric character", summary: "a value cannot begin with this character", detail: "put text that begins with * or & in quotes", where: starOrAmpersand, quotes: true},
	{message: "exceeded max depth", summary: "too many levels of nesting", detail: "make it flatter"},
	{message: "tag", summary: "a tag that cannot be read", detail: "put text that begins with ! in quotes", where: firstBang, quotes: true},
	{message: "expected '>'", summary: "a tag that cannot be read", detail: "put text that begins with ! in quotes", where: firstBang, quotes: true},
	{message: "expected '!'", summary: "a tag that cannot be read", detail: "put text that begins with ! in quotes", where: firstBang, quotes: true},
	{message: "directive", summary: "a line that begins with %", detail: "put text that begins with % in quotes"},
	{message: "node content", summary: "a value is missing here", detail: "put text with special characters in quotes", quotes: true},
	{message: "block scalar", summary: "unexpected text after | or >", detail: "begin the text on the next line"},
	{message: "comment or line break", summary: "unexpected text after | or >", detail: "begin the text on the next line"},
	{message: "document start", summary: "this does not belong to the lines above", detail: "check the indentation"},
	{message: "", summary: "this is not well-formed YAML", detail: "check the indentation and the quotes"},
}

var reportedLine = lazy.Regexp(`line (\d+): `)

// syntaxError turns an error of the library into a diagnostic. The line that the library
// names is often where the construct began, and sometimes one too early; the shortest part
// of the file that fails in the same way is more accurate.
func (d *Document) syntaxError(err error) workflow.Diagnostic {
	message := err.Error()
	r := remedyFor(message)
	number := 1
	if m := reportedLine().FindStringSubmatch(message); m != nil {
		number, _ = strconv.Atoi(m[1])
	}
	if !r.opening {
		number = d.failingLine(withoutLine(message), number)
	}
	number = d.contentLine(number)
	l := d.lines[number-1]
	content := string(d.text[l.from:l.to])
	for _, c := range closer {
		if _, width := c.where(content); width > 0 && strings.Contains(message, c.message) {
			r = c
			break
		}
	}
	from, width := wholeLine(content)
	if r.where != nil {
		if f, w := r.where(content); w > 0 {
			from, width = f, min(w, len(content)-f)
		}
	}
	pos := d.mark(number, 1+utf8.RuneCountInString(content[:from]), utf8.RuneCountInString(content[from:from+width]))
	found := workflow.Errorf(pos, codeSyntax, r.detail, "%s", r.summary)
	if r.quotes {
		found = d.fixed(found, number)
	}
	return found
}

func remedyFor(message string) remedy {
	for _, r := range remedies {
		if strings.Contains(message, r.message) {
			return r
		}
	}
	panic("strictyaml: the last remedy must match everything")
}

func withoutLine(message string) string { return reportedLine().ReplaceAllString(message, "") }

// failingLine returns the first line with which the file, cut after it, fails with the same
// message: no shorter part does, every longer part does.
func (d *Document) failingLine(message string, from int) int {
	from = min(max(from, 1), len(d.lines))
	step := 1
	low, high := from, len(d.lines)
	for low+step < high && !d.failsUpTo(low+step, message) {
		low, step = low+step, step*2
	}
	high = min(low+step, high)
	if d.failsUpTo(from, message) {
		return from
	}
	for low+1 < high {
		if middle := (low + high) / 2; d.failsUpTo(middle, message) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

func (d *Document) failsUpTo(number int, message string) bool {
	cut := d.text[:d.lines[number-1].to]
	dec := yaml.NewDecoder(bytes.NewReader(append(bytes.Clone(cut), '\n')))
	for {
		if _, err := decode(dec); err != nil {
			return withoutLine(err.Error()) == message
		}
	}
}

// contentLine returns the nearest line that is not blank: this one, or one above, or one
// below.
func (d *Document) contentLine(number int) int {
	number = min(max(number, 1), len(d.lines))
	for n := number; n >= 1; n-- {
		if l := d.lines[n-1]; len(bytes.TrimSpace(d.text[l.from:l.to])) > 0 {
			return n
		}
	}
	for n := number; n <= len(d.lines); n++ {
		if l := d.lines[n-1]; len(bytes.TrimSpace(d.text[l.from:l.to])) > 0 {
			return n
		}
	}
	return number
}
