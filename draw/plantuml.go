package draw

import (
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// PlantUML draws a workflow as a PlantUML state diagram. An activity diagram would look more
// familiar, but it cannot have an edge between any two places, so most workflows would be drawn
// incorrectly.
func PlantUML(w *workflow.Workflow) string {
	u := &plantUML{ids: names{}}
	p := newPicture(w)
	u.line(0, "@startuml")
	u.line(0, "hide empty description")
	u.line(0, "title %s", pumlText(w.Name))
	for _, part := range p.root.parts {
		u.part(0, part)
	}
	for _, l := range p.links {
		u.link(l)
	}
	u.line(0, "@enduml")
	return u.String()
}

type plantUML struct {
	strings.Builder
	ids names
}

func (u *plantUML) line(depth int, format string, args ...any) {
	u.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(u, format, args...)
	u.WriteByte('\n')
}

var pumlStereotypes = map[markKind]string{
	startMark:     "<<start>>",
	endMark:       "<<end>>",
	taskMark:      "",
	routerMark:    "",
	humanMark:     "<<human>>",
	callMark:      "<<call>>",
	choiceMark:    "<<choice>>",
	evaluatorMark: "<<choice>>",
	combineMark:   "<<combine>>",
}

func (u *plantUML) part(depth int, p part) {
	if p.frame == nil {
		u.mark(depth, p.mark)
		return
	}
	u.line(depth, "state %s as %s {", pumlQuoted(frameTitle(p.frame)), u.ids.of(p.frame.key))
	for _, inner := range p.frame.parts {
		u.part(depth+1, inner)
	}
	u.line(depth, "}")
}

// mark declares a state. PlantUML draws no text in a choice, so the condition is shown only at
// the edges.
func (u *plantUML) mark(depth int, m *mark) {
	text := "state " + u.ids.of(m.id)
	if lines := markLines(m); m.node != nil && len(lines) > 0 {
		text = "state " + pumlQuoted(lines...) + " as " + u.ids.of(m.id)
	}
	u.line(depth, "%s", strings.TrimRight(text+" "+pumlStereotypes[m.kind], " "))
}

func (u *plantUML) link(l link) {
	arrow := "-->"
	if l.on == workflow.OnFailure || l.on == workflow.OnTimeout {
		arrow = "-[dashed]->"
	}
	line := u.ids.of(l.from) + " " + arrow + " " + u.ids.of(l.to)
	if l.text != "" {
		line += " : " + pumlText(l.text)
	}
	u.line(0, "%s", line)
}

func pumlQuoted(lines ...string) string {
	for i, s := range lines {
		lines[i] = pumlText(s)
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

// pumlText writes every character that PlantUML could interpret as markup, as a command or as a
// preprocessor call as a numeric entity. Some are markup only when they are doubled.
func pumlText(s string) string {
	var b strings.Builder
	var before rune
	for _, r := range s {
		doubled := r == before && strings.ContainsRune("*_/-=.[]", r)
		if doubled || strings.ContainsRune("\"\\<>{}|~'!$%&#@`^", r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}
