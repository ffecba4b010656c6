package draw

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// marked.css has what pages define in their own style sheets, and the colour of what is marked.
//
//go:embed marked.css
var markedStyle string

// Marks say what stands out in a drawing, such as what no test uses.
type Marks struct {
	Text string // what is said about it, in a few words
	Node func(id string) bool
	// Edge reports whether an edge stands out. detail is its label or condition; to may be [workflow.End] or
	// [workflow.Again].
	Edge func(from string, on workflow.On, detail, to string) bool
}

// none marks nothing.
var none = &Marks{Node: func(string) bool { return false }, Edge: func(string, workflow.On, string, string) bool { return false }}

func (m *Marks) edge(e *workflow.Edge) bool { return m.Edge(e.From, e.On, detailOf(e), e.To) }

func detailOf(e *workflow.Edge) string {
	if e.On == workflow.OnLabel {
		return e.Label
	}
	return e.When.Text
}

// says adds what is said about something that stands out.
func (m *Marks) says(text string, marked bool) string {
	switch {
	case !marked:
		return text
	case text == "":
		return m.Text
	}
	return text + ", " + m.Text
}

// MarkedForms returns the formats in which Marked draws.
func MarkedForms() []string { return []string{"tree", "mermaid", "svg"} }

// Marked draws a workflow in one of the [MarkedForms].
func Marked(ctx context.Context, w *workflow.Workflow, form string, m Marks) (string, error) {
	switch form {
	case "tree":
		return tree(w, &m), nil
	case "mermaid":
		return mermaidOf(w, &m), nil
	case "svg":
		return m.svg(ctx, w)
	}
	return "", fmt.Errorf("draw: unknown format %q; expected one of: %s", form, strings.Join(MarkedForms(), ", "))
}

// svg draws a picture of a page and gives it its own style.
func (m *Marks) svg(ctx context.Context, w *workflow.Workflow) (string, error) {
	p, err := Inline{Bundle: &workflow.Bundle{Root: w}}.Draw(ctx)
	if err != nil {
		return "", err
	}
	class := func(marked bool) string {
		if marked {
			return "marked"
		}
		return ""
	}
	last := func(place string) string { return place[strings.LastIndexByte(place, '/')+1:] }
	marked := func(e Edge) bool { // several edges can share a line
		return len(e.From) > 0 && !slices.ContainsFunc(e.From, func(from string) bool { return !m.Edge(last(from), e.On, e.Case, last(e.To)) })
	}
	text := p.SVG(Look{
		Node: func(place string) string { return class(m.Node(last(place))) },
		Edge: func(e Edge) string { return class(marked(e)) },
		Label: func(of []Edge) string {
			return class(!slices.ContainsFunc(of, func(e Edge) bool { return !marked(e) }))
		},
	})
	head, body, _ := strings.Cut(text, "\n")
	return head + "\n<style>\n" + style + markedStyle + "</style>\n" + `<rect class="paper" width="100%" height="100%" rx="12"/>` + "\n" + body, nil
}
