package mermaid

import (
	"strings"
)

// prepare cleans the text and reads its front matter and header. It returns the view of the
// statements and where they start, or nil if this is not a flowchart.
func (r *reader) prepare(v *view) (*view, int) {
	const attempts = 6
	for range attempts {
		chart, front := clean(v)
		if f, ok := preface(v, chart, front); ok {
			r.wrong(v, f)
			if len(f.edits) == 0 {
				return nil, 0
			}
			v = v.changed(0, len(v.text), f.edits)
			continue
		}
		r.frontMatter(v, front)
		r.unclosedDirective(v, front)
		return r.header(chart)
	}
	return nil, 0
}

// preface looks for mistakes before the header.
func preface(v, chart *view, front frontMatter) (f finding, bad bool) {
	s := v.text
	at := blanks(s, 0)
	_, to := v.line(at)
	first := strings.ToLower(strings.TrimSpace(s[at:to]))
	switch {
	case strings.HasPrefix(first, "```") || strings.HasPrefix(first, "~~~"):
		return finding{code: codeFence, from: at, to: to, summary: "a code fence inside the chart",
			remedy: "remove the line", edits: cutLine(v, at)}, true
	case first == "mermaid":
		return finding{code: codeHeader, from: at, to: to, summary: `the chart starts with "mermaid"`,
			remedy: "the word belongs after the opening fence", edits: cutLine(v, at)}, true
	case !strings.HasPrefix(first, "---") || front.found:
		return f, false
	case at > 0 && strings.Contains(s[at+3:], "\n---"):
		return finding{code: codeFrontMatter, from: at, to: at + 3, summary: "the front matter is not at the start of the text",
			remedy: "remove what comes before ---", edits: []edit{{from: 0, to: at}}}, true
	}
	f = finding{code: codeFrontMatter, from: at, to: at + 3, summary: "the front matter is not closed",
		remedy: "close it with a line ---"}
	if head := headerLine(s, at+3); head > 0 {
		f.edits = []edit{{from: head, to: head, text: "---\n"}}
	}
	return f, true
}

// cutLine returns the edits that remove a line.
func cutLine(v *view, at int) []edit {
	from, to := v.line(at)
	return []edit{{from: from, to: min(to+1, len(v.text))}}
}

// headerLine returns the start of the first line that starts a chart.
func headerLine(s string, at int) int {
	for at = lineEnd(s, at); at < len(s); at = lineEnd(s, at) {
		for _, w := range headers {
			if wordAt(s, blanks(s, at), w) {
				return at
			}
		}
	}
	return 0
}

// header reads the first line of a chart.
func (r *reader) header(v *view) (*view, int) {
	const attempts = 4
	for range attempts {
		from, end, f := r.headerAt(v)
		if f.code == "" {
			r.chart.Header = v.span(from, end)
			return v, r.headerEnd(v, end)
		}
		r.wrong(v, f)
		if len(f.edits) == 0 {
			return nil, 0
		}
		v = v.changed(0, len(v.text), f.edits)
		v = v.cut(comments(v.text))
	}
	return nil, 0
}

// headerEnd returns where the statements start.
func (r *reader) headerEnd(v *view, end int) int {
	l := newLexer(v.text)
	l.at = end
	if t := l.next(); t.kind == kSpace {
		l.next()
	}
	return l.at
}

// headerAt reads the header, or returns what is wrong with it.
func (r *reader) headerAt(v *view) (from, end int, f finding) {
	s := v.text
	from = blanks(s, 0)
	word := ""
	for _, w := range headers {
		if wordAt(s, from, w) {
			word = w
			break
		}
	}
	if word == "" || from+len(word) < len(s) && s[from+len(word)] == '-' && looksLikeLinkIn(s[from+len(word):lineEnd(s, from)]) {
		return 0, 0, noHeader(v, from)
	}
	if word == "swimlane-beta" {
		r.version(v, from, from+len(word), "swimlane-beta needs Mermaid 12", nil)
	}
	end = from + len(word)
	start := blanks(s, end)
	if start >= len(s) || strings.Contains(s[end:start], "\n") {
		return from, end, f
	}
	dir, known := directionAt(s, start)
	if known == "" {
		return 0, 0, wrongDirection(v, start, dir)
	}
	r.chart.Direction = known
	end = start + len(dir)
	return from, end, behindHeader(v, end)
}

// directionAt returns the direction at a place as it is written, and its name.
func directionAt(s string, at int) (written, known string) {
	switch s[at] {
	case '<':
		return "<", "RL"
	case '>':
		return ">", "LR"
	case '^':
		return "^", "BT"
	}
	written = s[at:words(s, at)]
	switch written {
	case "TB", "TD", "v":
		return written, "TB"
	case "LR", "RL", "BT", "BR":
		return written, written
	}
	return written, ""
}

// likely maps wrong directions to those that people probably mean.
var likely = map[string]string{"UD": "TD", "DU": "BT", "DT": "BT", "DOWN": "TD", "UP": "BT", "LEFT": "RL", "RIGHT": "LR"}

// wrongDirection returns the finding for a direction that Mermaid does not know.
func wrongDirection(v *view, at int, dir string) finding {
	f := finding{code: codeHeader, from: at, to: at + max(1, len(dir)), remedy: "the directions are TD, TB, BT, LR and RL"}
	if dir == "" {
		f.summary = visible(v.text, at) + " is not allowed where the direction is expected"
		f.edits = []edit{{from: at, to: at, text: "TD\n"}}
		if v.text[at] == '-' { // flowchart-v2
			for f.to < len(v.text) && blankAt(v.text, f.to) == 0 {
				f.to++
			}
			f.edits = []edit{{from: at, to: f.to}}
		}
		return f
	}
	f.summary = `"` + short(dir) + `" is not a direction`
	upper := strings.ToUpper(dir)
	better := likely[upper]
	switch _, known := directionAt(upper, 0); {
	case better != "":
	case known != "":
		better = upper
	case strings.HasPrefix(strings.TrimLeft(v.text[at+len(dir):], " "), "\n"):
		better = "TD"
	default:
		f.edits = []edit{{from: at, to: at, text: "TD\n"}}
		return f
	}
	f.edits = []edit{{from: at, to: at + len(dir), text: better}}
	return f
}

// behindHeader returns the finding for text that is not allowed after the header on its line.
func behindHeader(v *view, end int) (f finding) {
	s := v.text
	l := newLexer(s)
	l.at = end
	t := l.next()
	if t.kind == kNewline || t.kind == kSemi {
		return f
	}
	at := end
	if t.kind == kSpace {
		if at = t.to; l.next().kind == kNewline {
			return f
		}
	}
	f = finding{code: codeHeader, from: at, to: at + 1, summary: visible(s, at) + " is not allowed after the header"}
	_, eol := v.line(at)
	switch rest := strings.TrimSpace(s[at:eol]); {
	case strings.Trim(rest, ":.,{") == "":
		f.remedy = "nothing may follow the direction"
		f.edits = []edit{{from: end, to: eol}}
	default:
		f.remedy = "put a statement or a comment on its own line"
		f.edits = []edit{{from: end, to: at, text: "\n"}}
	}
	return f
}

// notations are the other diagrams of Mermaid, by the word they start with.
var notations = []struct{ word, name string }{
	{"sequenceDiagram", "a sequence diagram"}, {"classDiagram", "a class diagram"}, {"stateDiagram", "a state diagram"},
	{"erDiagram", "an entity relationship diagram"}, {"gantt", "a Gantt chart"}, {"pie", "a pie chart"},
	{"journey", "a user journey"}, {"gitGraph", "a Git graph"}, {"mindmap", "a mind map"}, {"timeline", "a timeline"},
	{"quadrantChart", "a quadrant chart"}, {"requirement", "a requirement diagram"}, {"C4", "a C4 diagram"},
	{"sankey", "a Sankey diagram"}, {"xychart", "an XY chart"}, {"block", "a block diagram"}, {"packet", "a packet diagram"},
	{"architecture", "an architecture diagram"}, {"kanban", "a Kanban board"}, {"radar", "a radar chart"},
	{"treemap", "a treemap"}, {"zenuml", "a ZenUML diagram"}, {"agentflow-beta", "an agentflow diagram"}, {"info", "an info diagram"},
}

// noHeader returns the finding for a text that does not start like a flowchart.
func noHeader(v *view, at int) finding {
	s := v.text
	f := finding{code: codeHeader, from: at, to: at + 1, summary: "the chart has no header", remedy: "start with flowchart TD"}
	if at >= len(s) {
		f.from, f.to, f.summary = 0, 0, "the chart is empty"
		return f
	}
	for _, n := range notations {
		if strings.HasPrefix(s[at:], n.word) {
			f.code, f.to = codeNotation, at+len(n.word)
			f.summary, f.remedy = "this is "+n.name+", not a flowchart", "only flowcharts are supported; start with flowchart TD"
			return f
		}
	}
	lower := strings.ToLower(s[at:min(len(s), at+16)])
	for _, w := range [...]string{"flowchart", "graph"} {
		if !strings.HasPrefix(lower, w) || strings.HasPrefix(s[at:], w+"-") {
			continue
		}
		f.to = at + len(w)
		f.summary = `"` + s[at:f.to] + `" is not a valid start of a chart`
		f.remedy = "write the word in lower case, followed by a space"
		text := w
		if at := f.to; at < len(s) && is(s[at], isWord) {
			text += " "
		}
		f.edits = []edit{{from: at, to: f.to, text: text}}
		return f
	}
	first := s[at:lineEnd(s, at)]
	if looksLikeLinkIn(first) || wordAt(first, 0, "subgraph") {
		f.edits = []edit{{from: at, to: at, text: "flowchart TD\n"}}
	}
	return f
}
