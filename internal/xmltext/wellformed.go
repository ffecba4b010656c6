package xmltext

import (
	"strings"

	"github.com/hocket-dev/hocket/internal/lazy"
)

// checkInstruction checks <?…?>. Only the XML declaration matters.
func (b *builder) checkInstruction(t token) {
	if t.cut || !strings.HasPrefix(b.text[t.from:], "<?") {
		return
	}
	content := b.text[t.from+2 : t.to-2]
	name := content[:nameEnd(content)]
	at := Span{t.from, t.from + 2 + len(name)}
	switch {
	case name == "":
		b.problems(mistake{at: at, code: codeSyntax, summary: "<? is not followed by a name", detail: "remove it, or write &lt;? for the text itself"})
	case name != "xml":
		if strings.EqualFold(name, "xml") {
			b.problems(mistake{at: at, code: codeSyntax, summary: "the XML declaration is written in lower case", detail: "write <?xml"})
		}
	case t.from > 0:
		b.problems(mistake{
			at: at, code: codeSyntax, summary: "the XML declaration must be the first thing", detail: "move it to the top, or remove it",
		}.fixedBy(Span{t.from, t.to}, ""))
	default:
		b.checkDeclaration(t, content[len(name):], at)
	}
	if rest := content[len(name):]; name != "" && rest != "" && !isSpace(rest[0]) {
		b.problems(mistake{at: at, code: codeSyntax, summary: "a space is missing after <?" + name, detail: "write it, or remove the instruction"})
	}
}

// Declaration matches the XML declaration at the start of a text in UTF-8.
var Declaration = lazy.Regexp(`^<\?xml\s+version\s*=\s*("1\.0"|'1\.0')(\s+encoding\s*=\s*("(?i:utf-8)"|'(?i:utf-8)'))?(\s+standalone\s*=\s*("(yes|no)"|'(yes|no)'))?\s*\?>`)

func (b *builder) checkDeclaration(t token, content string, at Span) {
	version, encoding := pseudo(content, "version"), pseudo(content, "encoding")
	switch {
	case version != "1.0":
		b.problems(mistake{at: at, code: codeSyntax, summary: "the XML declaration needs version=\"1.0\"", detail: `write <?xml version="1.0" encoding="UTF-8"?>, or remove it`})
	case encoding != "" && !strings.EqualFold(encoding, "utf-8"):
		b.problems(mistake{at: at, code: codeEncoding, summary: "the file says that it is " + encoding, detail: "save it as UTF-8 and declare that"})
	case !Declaration().MatchString(b.text[t.from:t.to]):
		b.problems(mistake{at: at, code: codeSyntax, summary: "the XML declaration is not well-formed", detail: `write <?xml version="1.0" encoding="UTF-8"?>, or remove it`})
	}
}

// pseudo returns the value of name="value" in an instruction, or "".
func pseudo(content, name string) string {
	_, rest, ok := strings.Cut(content, name)
	rest = strings.TrimLeft(rest, Layout)
	if !ok || !strings.HasPrefix(rest, "=") {
		return ""
	}
	rest = strings.TrimLeft(rest[1:], Layout)
	if rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	value, _, _ := strings.Cut(rest[1:], rest[:1])
	return value
}

// declare counts the prefixes that an element declares.
func (b *builder) declare(e element, by int) {
	for _, a := range b.attrs[e.attrs:e.attrsEnd] {
		if prefix, ok := strings.CutPrefix(a.name, "xmlns:"); ok {
			if b.prefixes == nil {
				b.prefixes = map[string]int{}
			}
			b.prefixes[prefix] += by
		}
	}
}

// checkPrefixes reports prefixes of a tag that are not declared.
func (b *builder) checkPrefixes(e element, t token) {
	b.checkPrefix(e.name, Span{t.from + 1, t.from + 1 + len(e.name)})
	for _, a := range b.attrs[e.attrs:e.attrsEnd] {
		b.checkPrefix(a.name, Span{int(a.at), int(a.at) + len(a.name)})
	}
}

func (b *builder) checkPrefix(name string, span Span) {
	prefix, local, ok := strings.Cut(name, ":")
	switch {
	case !ok:
	case prefix == "" || local == "" || strings.Contains(local, ":"):
		b.problems(mistake{at: span, code: codePrefix, summary: "a name has one colon, between prefix and name", detail: "remove the colon from " + name})
	case !IsName(local):
		b.problems(mistake{at: span, code: codePrefix, summary: local + " is not a name", detail: "begin it with a letter after the colon"})
	case prefix != "xml" && prefix != "xmlns" && b.prefixes[prefix] == 0:
		b.problems(mistake{
			at: Span{span.From, span.From + len(prefix)}, code: codePrefix,
			summary: "the prefix " + prefix + " is not declared", detail: "remove it, or declare it: xmlns:" + prefix + `="…"`,
		})
	}
}
