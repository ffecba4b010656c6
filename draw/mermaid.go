package draw

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/workflow"
)

// Mermaid draws a workflow as a Mermaid flowchart. It uses only what all versions since Mermaid
// 10 read in the same way: plain ids, quoted labels, one statement per line.
func Mermaid(w *workflow.Workflow) string { return mermaidOf(w, none) }

func mermaidOf(w *workflow.Workflow, marks *Marks) string {
	m := &mermaid{ids: names{}, marks: marks}
	p := newPicture(w)
	m.line(0, "flowchart TD")
	for _, part := range p.root.parts {
		m.part(1, part)
	}
	for i, l := range p.links {
		m.link(i, l)
	}
	m.style()
	return m.String()
}

// style makes what is marked stand out.
func (m *mermaid) style() {
	if len(m.nodes) > 0 {
		m.line(1, "classDef marked stroke:#cf222e,color:#cf222e,stroke-dasharray:2 4")
		m.line(1, "class %s marked", strings.Join(m.nodes, ","))
	}
	if len(m.links) > 0 {
		m.line(1, "linkStyle %s stroke:#cf222e,color:#cf222e", strings.Join(m.links, ","))
	}
}

type mermaid struct {
	strings.Builder
	ids   names
	marks *Marks

	nodes, links []string // those that are marked
}

func (m *mermaid) line(depth int, format string, args ...any) {
	m.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(m, format, args...)
	m.WriteByte('\n')
}

// mermaidShapes are the brackets around a label.
var mermaidShapes = map[markKind][2]string{
	startMark:     {"((", "))"},
	endMark:       {"(((", ")))"},
	taskMark:      {"[", "]"},
	routerMark:    {"[", "]"},
	humanMark:     {"{{", "}}"},
	callMark:      {"[[", "]]"},
	choiceMark:    {"{", "}"},
	evaluatorMark: {"{", "}"},
	combineMark:   {"[/", "\\]"},
}

func (m *mermaid) part(depth int, p part) {
	if p.frame == nil {
		shape := mermaidShapes[p.mark.kind]
		m.line(depth, "%s%s%s%s", m.ids.of(p.mark.id), shape[0], mermaidText(markLines(p.mark)...), shape[1])
		if p.mark.node != nil && m.marks.Node(p.mark.node.ID) {
			m.nodes = append(m.nodes, m.ids.of(p.mark.id))
		}
		return
	}
	if n := p.frame.node; n != nil && m.marks.Node(n.ID) {
		m.nodes = append(m.nodes, m.ids.of(p.frame.key))
	}
	m.line(depth, "subgraph %s [%s]", m.ids.of(p.frame.key), mermaidText(frameTitle(p.frame)))
	for _, inner := range p.frame.parts {
		m.part(depth+1, inner)
	}
	m.line(depth, "end")
}

func (m *mermaid) link(i int, l link) {
	arrow := "-->"
	if l.on == workflow.OnFailure || l.on == workflow.OnTimeout {
		arrow = "-.->"
	}
	text := l.text
	if l.edge != nil && m.marks.edge(l.edge) {
		if text != "" { // a plain edge has its colour
			text = m.marks.says(text, true)
		}
		m.links = append(m.links, strconv.Itoa(i))
	}
	if text != "" {
		arrow += "|" + mermaidText(text) + "|"
	}
	m.line(1, "%s %s %s", m.ids.of(l.from), arrow, m.ids.of(l.to))
}

// mermaidText quotes a label. Mermaid reads entities and some Markdown in it,
// and the words "direction LR" as a statement even inside quotes.
func mermaidText(lines ...string) string {
	for i, s := range lines {
		s = mermaidEscapes.Replace(s)
		s = mermaidList().ReplaceAllStringFunc(s, func(m string) string {
			return fmt.Sprintf("%s#%d; ", m[:len(m)-2], m[len(m)-2])
		})
		lines[i] = strings.ReplaceAll(s, "direction ", "direction#nbsp;")
	}
	return `"` + cmp.Or(strings.Join(lines, "<br/>"), " ") + `"` // an empty label is an error
}

var mermaidEscapes = strings.NewReplacer(
	"#", "#35;", `"`, "#quot;", "&", "#amp;", "<", "#lt;", ">", "#gt;", "`", "#96;",
	"*", "#42;", "%", "#37;", "__", "#95;#95;", " _", " #95;", "_ ", "#95; ", "\\", "#92;",
)

// mermaidList matches the beginning of a list in Markdown, which Mermaid refuses.
var mermaidList = lazy.Regexp(`^(\d+[.)]|[-+]) `)

// markLines returns the lines of text in a mark.
func markLines(m *mark) []string {
	switch {
	case m.node == nil:
		return []string{string(m.kind)}
	case single(m.node) != nil:
		one := single(m.node)
		return without("", title(m.node), note(one), note(m.node))
	default:
		return without("", title(m.node), note(m.node))
	}
}

// frameTitle returns the heading of a frame.
func frameTitle(f *frame) string {
	if f.kind == groupFrame {
		return "group " + shorten(f.id, widestTitle)
	}
	return string(f.kind) + " " + title(f.node) + ", " + note(f.node)
}

func without(drop string, lines ...string) []string {
	var kept []string
	for _, s := range lines {
		if s != drop {
			kept = append(kept, s)
		}
	}
	return kept
}
