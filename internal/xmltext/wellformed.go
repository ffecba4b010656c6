package xmltext

import "strings"

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
		b.checkDeclaration(content[len(name):], at)
	}
}

func (b *builder) checkDeclaration(content string, at Span) {
	if version := pseudo(content, "version"); version != "1.0" {
		b.problems(mistake{at: at, code: codeSyntax, summary: "the XML declaration needs version=\"1.0\"", detail: `write <?xml version="1.0" encoding="UTF-8"?>, or remove it`})
	}
	if encoding := pseudo(content, "encoding"); encoding != "" && !strings.EqualFold(encoding, "utf-8") {
		b.problems(mistake{at: at, code: codeEncoding, summary: "the file says that it is " + encoding, detail: "save it as UTF-8 and declare that"})
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

// checkPrefixes reports prefixes of a tag that are not declared.
func (b *builder) checkPrefixes(at int32, t token) {
	e := b.elements[at]
	b.checkPrefix(at, e.name, Span{t.from + 1, t.from + 1 + len(e.name)})
	for _, a := range b.attrs[e.attrs:e.attrsEnd] {
		b.checkPrefix(at, a.name, Span{int(a.at), int(a.at) + len(a.name)})
	}
}

func (b *builder) checkPrefix(at int32, name string, span Span) {
	prefix, local, ok := strings.Cut(name, ":")
	switch {
	case !ok || prefix == "xml" || prefix == "xmlns" && local != "":
	case prefix == "" || local == "" || strings.Contains(local, ":"):
		b.problems(mistake{at: span, code: codePrefix, summary: "a name has one colon, between prefix and name", detail: "remove the colon from " + name})
	case !b.declared(at, "xmlns:"+prefix):
		b.problems(mistake{
			at: Span{span.From, span.From + len(prefix)}, code: codePrefix,
			summary: "the prefix " + prefix + " is not declared", detail: "remove it, or declare it: xmlns:" + prefix + `="…"`,
		})
	}
}

// declared reports whether an element or one around it has an attribute.
func (b *builder) declared(at int32, name string) bool {
	for ; at >= 0; at = b.elements[at].parent {
		if b.element(at).Attr(name).Exists() {
			return true
		}
	}
	return false
}
