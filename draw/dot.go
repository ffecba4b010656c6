package draw

import (
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// DOT draws a workflow for Graphviz.
func DOT(w *workflow.Workflow) string {
	d := &dot{ids: names{}, anchors: map[string]string{}}
	p := newPicture(w)
	d.line(0, "digraph %s {", dotText(clean(w.Name)))
	d.line(1, `graph [compound=true, fontname="Helvetica", fontsize=11];`)
	d.line(1, `node [fontname="Helvetica", fontsize=11, shape=box, style=rounded];`)
	d.line(1, `edge [fontname="Helvetica", fontsize=10];`)
	for _, part := range p.root.parts {
		d.part(1, part)
	}
	for _, l := range p.links {
		d.link(l)
	}
	d.line(0, "}")
	return d.String()
}

type dot struct {
	strings.Builder
	ids names
	// anchors are the marks that represent an Each frame: Graphviz draws an edge to a cluster as
	// an edge to a node in it, clipped at the border.
	anchors map[string]string
}

func (d *dot) line(depth int, format string, args ...any) {
	d.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(d, format, args...)
	d.WriteByte('\n')
}

var dotShapes = map[markKind]string{
	startMark:     `shape=circle, style=filled, fillcolor=black, width=0.2, label=""`,
	endMark:       `shape=doublecircle, style=filled, fillcolor=black, width=0.15, label=""`,
	taskMark:      ``,
	routerMark:    ``,
	humanMark:     `shape=hexagon, style=""`,
	callMark:      `peripheries=2`,
	choiceMark:    `shape=diamond, style=""`,
	evaluatorMark: `shape=diamond, style=""`,
	combineMark:   `shape=invtrapezium, style=""`,
}

func (d *dot) part(depth int, p part) {
	if p.frame == nil {
		d.mark(depth, p.mark)
		return
	}
	f := p.frame
	d.line(depth, "subgraph %s {", "cluster_"+d.ids.of(f.key))
	d.line(depth+1, "label=%s; labeljust=l; style=%s;", dotText(frameTitle(f)), frameStyle[f.kind])
	for _, inner := range f.parts {
		d.part(depth+1, inner)
	}
	d.line(depth, "}")
	if f.kind == eachFrame {
		d.anchors[f.id] = firstMark(f)
	}
}

var frameStyle = map[frameKind]string{loopFrame: "rounded", eachFrame: "bold", groupFrame: "dashed"}

func (d *dot) mark(depth int, m *mark) {
	attrs := without("", dotShapes[m.kind])
	if m.node != nil {
		attrs = append([]string{"label=" + dotText(markLines(m)...)}, attrs...)
	}
	d.line(depth, "%s [%s];", d.ids.of(m.id), strings.Join(attrs, ", "))
}

func firstMark(f *frame) string {
	for _, p := range f.parts {
		if p.mark != nil {
			return p.mark.id
		}
		if id := firstMark(p.frame); id != "" {
			return id
		}
	}
	return ""
}

func (d *dot) link(l link) {
	var attrs []string
	from, to := l.from, l.to
	if anchor := d.anchors[from]; anchor != "" {
		attrs = append(attrs, "ltail="+"cluster_"+d.ids.of(from))
		from = anchor
	}
	if anchor := d.anchors[to]; anchor != "" {
		attrs = append(attrs, "lhead="+"cluster_"+d.ids.of(to))
		to = anchor
	}
	if l.text != "" {
		attrs = append(attrs, "label="+dotText(l.text))
	}
	switch l.on {
	case workflow.OnFailure, workflow.OnTimeout:
		attrs = append(attrs, "style=dashed")
	case workflow.OnSuccess, workflow.OnLabel, workflow.OnWhen, workflow.OnElse:
	}
	if l.back {
		attrs = append(attrs, "constraint=false")
	}
	line := d.ids.of(from) + " -> " + d.ids.of(to)
	if len(attrs) > 0 {
		line += " [" + strings.Join(attrs, ", ") + "]"
	}
	d.line(1, "%s;", line)
}

// dotText quotes text for Graphviz. The only escape inside quotes is \"; a backslash would begin
// another kind of escape (\n, \l, \N), so it is doubled.
func dotText(lines ...string) string {
	for i, s := range lines {
		lines[i] = dotEscapes.Replace(s)
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
