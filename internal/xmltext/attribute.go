package xmltext

import (
	"slices"
	"strings"
)

// attribute reads one attribute. It reports whether the text ends within it.
func (s *scanner) attribute(spaced bool) (cut bool) {
	at := s.pos
	name := s.name()
	if name == "" {
		s.strayInTag()
		return false
	}
	if !spaced {
		s.problems(mistake{
			at: Span{at, s.pos}, code: codeAttribute,
			summary: "a space is missing before " + name, detail: "put a space between attributes",
		}.fixedBy(Span{at, at}, " "))
	}
	a := attribute{name: name, at: int32(at)}
	afterName := s.pos
	s.space()
	if s.pos >= len(s.text) || s.text[s.pos] != '=' {
		s.pos = afterName
		s.noValue(a)
		return s.pos >= len(s.text)
	}
	s.pos++
	s.space()
	switch {
	case s.pos >= len(s.text):
		s.noValue(a)
		return true
	case s.text[s.pos] == '"' || s.text[s.pos] == '\'':
		return s.quoted(a)
	}
	s.unquoted(a)
	return false
}

// strayInTag skips what is not allowed in a tag.
func (s *scanner) strayInTag() {
	from := s.pos
	for s.pos++; s.pos < len(s.text) && !isSpace(s.text[s.pos]) && !strings.ContainsRune("<>/", rune(s.text[s.pos])); {
		s.pos++
	}
	s.problems(mistake{
		at: Span{from, s.pos}, code: codeSyntax,
		summary: "not allowed in a tag: " + s.text[from:s.pos], detail: "remove it, or write it as name=\"value\"",
	})
}

// noValue takes an attribute without a value, such as `required`.
func (s *scanner) noValue(a attribute) {
	a.from = int32(s.pos)
	a.to = a.from
	s.problems(mistake{
		at: Span{int(a.at), int(a.at) + len(a.name)}, code: codeAttribute,
		summary: a.name + " has no value", detail: "write " + a.name + `="…"`,
	})
	s.add(a)
}

// quoted reads a value in quotes.
func (s *scanner) quoted(a attribute) (cut bool) {
	quote := s.text[s.pos]
	s.pos++
	from := s.pos
	end := strings.IndexByte(s.text[from:], quote)
	value := s.text[from:]
	if end >= 0 {
		value = value[:end]
	}
	if i := strings.IndexByte(value, '<'); i >= 0 || end < 0 {
		return s.unclosed(a, value, i, end < 0)
	}
	if cut := s.swallowed(value, from+end+1); cut >= 0 {
		s.neverClosed(a, from, value[:cut], true)
		return false
	}
	s.pos = from + end + 1
	a.from, a.to = int32(from), int32(from+end)
	s.checkReferences(Span{from, from + end})
	s.add(a)
	return false
}

// unclosed handles a value that contains a <, or never ends. If its line ends, or a tag
// does, before the <, the quote was forgotten; otherwise the < was meant literally, even if
// the end of the value has not arrived yet.
func (s *scanner) unclosed(a attribute, value string, bracket int, endless bool) (cut bool) {
	from := s.pos
	stop := strings.IndexAny(value, "\n>")
	if bracket >= 0 && (stop < 0 || bracket < stop) {
		s.problems(mistake{
			at: Span{from + bracket, from + bracket + 1}, code: codeSyntax,
			summary: "< is not allowed in the value of " + a.name, detail: "write &lt; for the character itself",
		}.fixedBy(Span{from + bracket, from + bracket + 1}, "&lt;"))
		a.from, a.to = int32(from), int32(from+len(value))
		s.pos = min(from+len(value)+1, len(s.text))
		s.add(a)
		return endless
	}
	if stop < 0 {
		stop = len(value)
	}
	s.neverClosed(a, from, strings.TrimSuffix(strings.TrimRight(value[:stop], Layout), "/"), false)
	return s.pos >= len(s.text)
}

// swallowed returns how much of a value is meant if its closing quote was forgotten and it
// ends at the opening quote of the next attribute: name="a id="1". It returns -1 if the
// value is correct.
func (s *scanner) swallowed(value string, behind int) int {
	before, ok := strings.CutSuffix(strings.TrimRight(value, Layout), "=")
	if !ok || behind >= len(s.text) || isSpace(s.text[behind]) || s.text[behind] == '/' || s.text[behind] == '>' {
		return -1
	}
	name := strings.LastIndexAny(before, Layout)
	if name < 0 || !IsName(before[name+1:]) {
		return -1
	}
	return len(strings.TrimRight(before[:name], Layout))
}

// neverClosed handles a value whose closing quote is missing.
func (s *scanner) neverClosed(a attribute, from int, value string, certain bool) {
	end := from + len(value)
	m := mistake{
		at: Span{from - 1, end}, code: codeAttribute,
		summary: "the value of " + a.name + " is never closed", detail: "write " + a.name + `="` + shortened(value) + `"`,
	}
	if certain {
		m = m.fixedBy(Span{end, end}, s.text[from-1:from])
	}
	s.problems(m)
	s.pos = end
	a.from, a.to = int32(from), int32(end)
	s.add(a)
}

func shortened(text string) string {
	if len(text) > 40 {
		return strings.ToValidUTF8(text[:40], "") + "…"
	}
	return text
}

// unquoted reads a value without quotes, up to a space or the end of the tag.
func (s *scanner) unquoted(a attribute) {
	from := s.pos
	for s.pos < len(s.text) && !isSpace(s.text[s.pos]) && s.text[s.pos] != '>' && s.text[s.pos] != '<' && !strings.HasPrefix(s.text[s.pos:], "/>") {
		s.pos++
	}
	if s.pos == from {
		s.noValue(a)
		return
	}
	a.from, a.to = int32(from), int32(s.pos)
	value := s.text[from:s.pos]
	m := mistake{
		at: Span{from, s.pos}, code: codeAttribute,
		summary: "the value of " + a.name + " has no quotes", detail: "write " + a.name + `="` + shortened(value) + `"`,
	}
	if !strings.ContainsAny(value, `"'&`) {
		m = m.fixedBy(Span{from, s.pos}, `"`+value+`"`)
	}
	s.problems(m)
	s.add(a)
}

// add enters an attribute of the tag that is being read.
func (s *scanner) add(a attribute) { s.attrs = append(s.attrs, a) }

// dropTwice reports duplicate attributes of a tag, and keeps the first.
func (s *scanner) dropTwice(t token, first int) {
	list := s.attrs[first:]
	if len(list) < 2 || !hasTwice(list) {
		return
	}
	seen := make(map[string]attribute, len(list))
	s.attrs = append(s.attrs[:first], slices.DeleteFunc(list, func(a attribute) bool {
		before, twice := seen[a.name]
		if twice {
			s.problems(s.twice(t, before, a))
			return true
		}
		seen[a.name] = a
		return false
	})...)
}

func hasTwice(list []attribute) bool {
	if len(list) > 16 {
		names := make(map[string]bool, len(list))
		for _, a := range list {
			names[a.name] = true
		}
		return len(names) < len(list)
	}
	for i, a := range list {
		for _, b := range list[:i] {
			if a.name == b.name {
				return true
			}
		}
	}
	return false
}

// the fix is certain only if both say the same
func (s *scanner) twice(t token, first, second attribute) mistake {
	m := mistake{
		at: Span{int(second.at), int(second.at) + len(second.name)}, code: codeAttribute,
		summary: "<" + t.name + "> has " + second.name + " twice", detail: "remove one of them",
	}
	if s.text[first.from:first.to] == s.text[second.from:second.to] {
		from := int(second.at)
		for from > 0 && isSpace(s.text[from-1]) {
			from--
		}
		m = m.fixedBy(Span{from, min(int(second.to)+1, len(s.text))}, "")
	}
	return m
}

// checkReferences reports every & that does not begin a reference.
func (s *scanner) checkReferences(span Span) {
	raw := s.text[span.From:span.To]
	for at := strings.IndexByte(raw, '&'); at >= 0; {
		_, size := reference(raw[at:])
		if size == 0 {
			s.badReference(span.From+at, raw[at:])
			size = 1
		}
		i := strings.IndexByte(raw[at+size:], '&')
		if i < 0 {
			return
		}
		at += size + i
	}
}

func (s *scanner) badReference(at int, raw string) {
	m := mistake{
		at: Span{at, at + 1}, code: codeEntity, summary: "a bare & does not begin a reference",
		detail: "write &amp; for the character itself",
	}
	name := raw[1 : 1+nameEnd(raw[1:])]
	switch {
	case strings.HasPrefix(raw, "&#") && strings.IndexByte(raw[:min(len(raw), 16)], ';') > 0:
		size := strings.IndexByte(raw, ';') + 1
		m.at.To = at + size
		m.summary, m.detail = raw[:size]+" is not a character that XML allows", "remove it"
		s.problems(m)
		return
	case name != "" && len(name) < 40 && strings.HasPrefix(raw[1+len(name):], ";"):
		m.at.To = at + len(name) + 2
		m.summary = "unknown entity &" + name + ";"
		m.detail = "write &amp;" + name + "; for the text itself; XML knows lt, gt, amp, quot and apos"
		if char, ok := knownEntities[name]; ok {
			m.detail = "write the character itself: " + char
			m = m.fixedBy(m.at, char)
			s.problems(m)
			return
		}
	}
	s.problems(m.fixedBy(Span{at, at + 1}, "&amp;"))
}

// knownEntities are those of HTML that models write in XML.
var knownEntities = map[string]string{
	"nbsp": "\u00a0", "copy": "©", "hellip": "…", "mdash": "—", "ndash": "–", "rarr": "→", "larr": "←", "times": "×",
	"ldquo": "“", "rdquo": "”", "lsquo": "‘", "rsquo": "’", "bull": "•", "euro": "€", "deg": "°",
}
