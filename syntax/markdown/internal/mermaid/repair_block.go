package mermaid

import "strings"

// endSubgraph repairs "end subgraph", "}" and an "end" without a subgraph.
func (s *slip) endSubgraph() (f finding, ok bool) {
	before, _ := s.v.line(s.from)
	switch {
	case s.why == untitled && strings.TrimSpace(s.s[before:s.from]) == "end":
		return finding{code: codeEnd, from: s.from, to: s.from + len("subgraph"), summary: `"subgraph" is not allowed after "end"`,
			remedy: "write only end to close a subgraph", edits: []edit{{blanksBefore(s.s, before, s.from), s.eol, ""}}}, true
	case s.why == extraEnd && strings.TrimSpace(s.line()) == "end":
		return finding{code: codeEnd, from: s.from, to: s.from + len("end"), summary: `this "end" does not close a subgraph`,
			remedy: "remove the line", edits: []edit{{before, min(s.eol+1, len(s.s)), ""}}}, true
	}
	return f, false
}

// brace repairs a } that is meant to close a subgraph.
func (s *slip) brace() (f finding, ok bool) {
	if s.place != atStart || strings.TrimSpace(s.line()) != "}" || len(s.r.frames) == 0 {
		return f, false
	}
	return finding{code: codeEnd, from: s.from, to: s.from + 1, summary: `"}" does not close a subgraph`,
		edits: []edit{{s.from, s.from + 1, "end"}}}, true
}

// subgraph repairs the line that opens a subgraph.
func (s *slip) subgraph() (f finding, ok bool) {
	if s.place != inSubgraph && s.place != inTitle || s.st.form != subgraphForm {
		return f, false
	}
	start := skipBlanks(s.s, s.from+len("subgraph"))
	end := blanksBefore(s.s, start, max(start, s.eol))
	f = finding{code: codeSubgraph, from: s.at, to: min(s.at+1, len(s.s)), summary: visible(s.s, s.at) + " is not allowed in the name of a subgraph",
		remedy: `open a subgraph with: subgraph id ["title"]`}
	if f.from < start || f.from >= end {
		f.from, f.to = s.from, s.eol
		f.summary = "the name of a subgraph cannot be read"
	}
	if start >= end {
		f.summary, f.remedy = "this subgraph has no name", `add a name`
		f.edits = []edit{{s.from + len("subgraph"), s.eol, ` " "`}}
		return f, true
	}
	f.edits = []edit{{start, s.eol, subgraphName(s.s[start:end])}}
	return f, true
}

// subgraphName returns the name of a subgraph as it has to be written.
func subgraphName(name string) string {
	name = strings.TrimSpace(strings.TrimRight(name, "{: "))
	id := 0
	for id < len(name) && (is(name[id], isWord) || name[id] == '-') {
		id++
	}
	rest := strings.TrimSpace(name[id:])
	if id > 0 && rest == "" {
		return name
	}
	if id == 0 {
		return `"` + inQuotes(strings.Trim(name, `"`)) + `"`
	}
	open, closer := rest[0], rest[len(rest)-1]
	switch {
	case len(rest) < 2 || rest == `[""]` || rest == "[]":
		return name[:id]
	case open == '[' && closer == ']', open == '{' && closer == '}', open == '"' && closer == '"',
		open == '(' && closer == ')' && name[id] == '(':
		title := strings.Trim(strings.TrimSpace(rest[1:len(rest)-1]), `"`)
		return name[:id] + ` ["` + inQuotes(title) + `"]`
	case open == '(' && closer == ')':
		return name[:id] + ` ["` + inQuotes(name) + `"]`
	}
	return `"` + inQuotes(strings.Trim(name, `"`)) + `"`
}

// style repairs a style.
func (s *slip) style() (f finding, ok bool) {
	if s.place != inStyle || s.open.to == 0 {
		return f, false
	}
	word := s.s[s.open.from:s.open.to]
	from := skipBlanks(s.s, s.open.to)
	text := s.s[from:blanksBefore(s.s, from, s.eol)]
	repaired := repairStyle(word, text)
	if repaired == text && blanksBefore(s.s, from, s.eol) == s.eol {
		return f, false
	}
	at := min(s.at, s.eol)
	f = finding{code: codeStyle, from: at, to: min(at+1, len(s.s)), summary: visible(s.s, at) + " is not allowed in a " + word}
	f.edits = []edit{{s.open.to, s.eol, " " + repaired}}
	return f, true
}

// repairStyle returns the rest of a style in a form that Mermaid can read.
func repairStyle(word, text string) string {
	end := strings.TrimRight(text, ";, \t")
	fields := strings.Fields(end)
	switch word {
	case "class":
		if len(fields) < 2 {
			return text
		}
		return strings.Join(fields[:len(fields)-1], "") + " " + fields[len(fields)-1]
	case "linkStyle":
		for len(fields) > 2 && (strings.HasSuffix(fields[0], ",") || strings.HasPrefix(fields[1], ",")) {
			fields = append([]string{fields[0] + fields[1]}, fields[2:]...)
		}
	default:
		for len(fields) > 2 && strings.HasSuffix(fields[0], ",") {
			fields = append([]string{fields[0] + fields[1]}, fields[2:]...)
		}
	}
	if len(fields) < 2 {
		return text
	}
	return fields[0] + " " + repairValues(strings.Join(fields[1:], " "))
}

// repairValues repairs the values of a style: colors as numbers, quotes, = and ;.
func repairValues(s string) string {
	s = strings.NewReplacer(`"`, "", `'`, "", "!important", "").Replace(s)
	var b strings.Builder
	for at := 0; at < len(s); {
		if strings.HasPrefix(s[at:], "rgb") {
			if color, n := rgb(s[at:]); n > 0 {
				b.WriteString(color)
				at += n
				continue
			}
		}
		switch c := s[at]; c {
		case '=':
			b.WriteByte(':')
		case ';':
			b.WriteByte(',')
		case '(', ')', '[', ']', '{', '}', '|':
		default:
			b.WriteByte(c)
		}
		at++
	}
	values := strings.Split(b.String(), ",")
	kept := values[:0]
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" {
			kept = append(kept, v)
		}
	}
	return strings.Join(kept, ",")
}

// rgb returns a color that is written as a function in hexadecimal form.
func rgb(s string) (color string, n int) {
	open, end := strings.IndexByte(s, '('), strings.IndexByte(s, ')')
	if open < 0 || end < open || open > len("rgba") {
		return "", 0
	}
	parts := strings.Split(s[open+1:end], ",")
	if len(parts) < 3 {
		return "", 0
	}
	color = "#"
	for _, p := range parts[:3] {
		value := 0
		for _, c := range strings.TrimSpace(p) {
			if c < '0' || c > '9' {
				return "", 0
			}
			value = min(255, value*10+int(c-'0'))
		}
		color += string("0123456789abcdef"[value>>4]) + string("0123456789abcdef"[value&15])
	}
	return color, end + 1
}
