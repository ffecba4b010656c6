package expr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SyntaxError describes a text that does not parse. From and To are byte offsets in it.
type SyntaxError struct {
	From, To int
	Summary  string // what is wrong
	Detail   string // how to fix it; may be ""
}

func (e *SyntaxError) Error() string {
	s := fmt.Sprintf("expr: %s at offset %d", e.Summary, e.From)
	if e.Detail != "" {
		s += "; " + e.Detail
	}
	return s
}

type tokenKind int

const (
	endToken    tokenKind = iota
	nameToken             // a bare name, including keywords
	dollarToken           // $NAME
	numberToken
	stringToken
	opToken // an operator or bracket
)

// token is one token. text is the name, the operator, the number, or the value of a quoted
// string.
type token struct {
	kind     tokenKind
	text     string
	from, to int
}

// isOp reports whether text is an operator or bracket of two characters; all others have one.
func isOp(text string) bool {
	switch text {
	case "${", "{{", "||", "&&", "==", "!=", "<=", ">=", "??":
		return true
	}
	return false
}

// singles are the operators and brackets of one character. The second half is not part of the
// language; it is here so that errors can name these characters.
const singles = "()[],}<>!" + "=&|?+-*/%.{$:;`#@^~\\"

// hints say what to write instead of common mistakes.
var hints = map[string]string{
	"=": "write == to compare", "&": "write &&", "|": "write ||",
	"and": "write &&", "or": "write ||", "not": "write !",
	"is": "write ==", "equals": "write ==", "?.": "write a.b; a missing part is null",
	"+": noArithmetic, "-": noArithmetic, "*": noArithmetic, "/": noArithmetic, "%": noArithmetic,
	"(":          "functions are not supported; the operators are ! " + operators,
	"startsWith": `write matches "^text"`, "endsWith": `write matches "text$"`, "includes": "write contains",
	"{": "write ${name} or {{name}}, not both around one name",
}

const (
	operators    = "== != < <= > >= contains in matches && || ??"
	noArithmetic = "arithmetic is not supported; let a step compute the value"
)

// scan returns the token at pos.
func scan(text string, pos int) (token, *SyntaxError) {
	for pos < len(text) && (text[pos] == ' ' || text[pos] == '\t' || text[pos] == '\r' || text[pos] == '\n') {
		pos++
	}
	if pos == len(text) {
		return token{kind: endToken, from: pos, to: pos}, nil
	}
	switch c := text[pos]; {
	case isNameStart(c):
		end := nameEnd(text, pos)
		return token{nameToken, text[pos:end], pos, end}, nil
	case c == '$' && pos+1 < len(text) && isNameStart(text[pos+1]):
		end := nameEnd(text, pos+1)
		return token{dollarToken, text[pos+1 : end], pos, end}, nil
	case isDigit(c), c == '-' && pos+1 < len(text) && isDigit(text[pos+1]):
		return scanNumber(text, pos)
	case c == '"' || c == '\'':
		return scanString(text, pos)
	}
	return scanOp(text, pos)
}

func scanOp(text string, pos int) (token, *SyntaxError) {
	if end := pos + 2; end <= len(text) && isOp(text[pos:end]) {
		return token{opToken, text[pos:end], pos, end}, nil
	}
	if strings.IndexByte(singles, text[pos]) >= 0 {
		return token{opToken, text[pos : pos+1], pos, pos + 1}, nil
	}
	r, size := utf8.DecodeRuneInString(text[pos:])
	return token{}, &SyntaxError{pos, pos + size, fmt.Sprintf("unexpected character %q", r), "put text in quotes; names consist of letters A to Z, digits, _ and -"}
}

// scanNumber scans a number in the syntax of JSON.
func scanNumber(text string, from int) (token, *SyntaxError) {
	end := from
	if text[end] == '-' {
		end++
	}
	first := end
	end = digitsEnd(text, end)
	if text[first] == '0' && end > first+1 {
		return token{}, &SyntaxError{from, end, "a number cannot begin with 0", "put it in quotes if it is text"}
	}
	if end+1 < len(text) && text[end] == '.' && isDigit(text[end+1]) {
		end = digitsEnd(text, end+1)
	}
	if end < len(text) && (text[end] == 'e' || text[end] == 'E') {
		exponent := end + 1
		if exponent < len(text) && (text[exponent] == '+' || text[exponent] == '-') {
			exponent++
		}
		if exponent < len(text) && isDigit(text[exponent]) {
			end = digitsEnd(text, exponent)
		}
	}
	if end < len(text) && isNamePart(text[end]) {
		end = nameEnd(text, end)
		return token{}, &SyntaxError{from, end, fmt.Sprintf("%q is neither a number nor a name", text[from:end]), "a name begins with a letter or _; put text in quotes"}
	}
	return token{numberToken, text[from:end], from, end}, nil
}

func digitsEnd(text string, from int) int {
	for from < len(text) && isDigit(text[from]) {
		from++
	}
	return from
}

// scanString scans a quoted string. A backslash that does not begin a known escape is a plain
// backslash, because regular expressions contain many.
func scanString(text string, from int) (token, *SyntaxError) {
	quote := text[from]
	if end := strings.IndexByte(text[from+1:], quote); end >= 0 && strings.IndexByte(text[from+1:from+1+end], '\\') < 0 {
		return token{stringToken, text[from+1 : from+1+end], from, from + end + 2}, nil
	}
	var b strings.Builder
	for i := from + 1; i < len(text); i++ {
		switch c := text[i]; c {
		case quote:
			return token{stringToken, b.String(), from, i + 1}, nil
		case '\\':
			meant, size := unescape(text[i+1:])
			b.WriteString(meant)
			i += size
		default:
			b.WriteByte(c)
		}
	}
	return token{}, &SyntaxError{from, len(text), "text without closing quote", fmt.Sprintf("end it with %c", quote)}
}

// unescape returns the meaning of a backslash before rest, and how many bytes of rest belong to
// it.
func unescape(rest string) (meant string, size int) {
	if rest == "" {
		return `\`, 0
	}
	switch rest[0] {
	case '\\', '"', '\'':
		return rest[:1], 1
	case 'n':
		return "\n", 1
	case 't':
		return "\t", 1
	case 'r':
		return "\r", 1
	case 'u':
		if len(rest) >= 5 {
			if r, err := strconv.ParseUint(rest[1:5], 16, 16); err == nil {
				return string(rune(r)), 5
			}
		}
	}
	return `\`, 0
}

// printString writes s so that scanString reads it again.
func printString(b *strings.Builder, s string) {
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}
