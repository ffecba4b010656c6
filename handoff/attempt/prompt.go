package attempt

import (
	_ "embed"
	"maps"
	"strings"
	"sync"
	"text/template"

	"github.com/hocket-dev/hocket/handoff/protocol"
)

//go:embed prompt.md
var promptText string

var promptTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("prompt").Parse(promptText)) })

// methods tell the agent how to work with each method.
var methods = map[protocol.Method]string{
	protocol.Spike: "This is research. Do not change anything outside your folder and the temporary folder; attempts to write elsewhere fail. Write what you find to your folder.",
	protocol.TDD:   "Work test first: write a test that fails because the work is not done, then make it pass, then clean up.",
}

// Prompt returns the prompt for the agent.
func (h *Handoff) Prompt() string {
	var files []protocol.Deliverable
	for _, d := range h.Request.Deliverables[:h.own()] {
		if d.Kind == protocol.File {
			d.Path = h.path(d)
			files = append(files, d)
		}
	}
	_, guided := h.demands()
	return h.text(map[string]any{"Files": files, "Messages": h.messagesPart(), "Writing": h.writing(), "Guide": protocol.ResponseGuide(guided, h.Session)})
}

// context returns the request as a message for an agent that is working on another task. It does
// not say what to deliver or how to answer: see demands.
func (h *Handoff) context() string { return h.text(map[string]any{"Asks": h.asks()}) }

// text returns the request as text, with additional parts.
func (h *Handoff) text(parts map[string]any) string {
	q := h.Request
	var extra []string
	for _, a := range q.Attributes {
		extra = append(extra, a.Name+": "+a.Value)
	}
	for _, e := range q.Extensions {
		extra = append(extra, e.XML)
	}
	if q.Notes != "" {
		extra = append(extra, "Notes for whoever continues: "+q.Notes)
	}
	var b strings.Builder
	maps.Copy(parts, map[string]any{
		"Summary": q.Summary, "Intent": q.Intent, "Parent": q.ParentAgent, "Details": q.Details, "Method": methods[q.Workflow],
		"Constraints": q.Constraints, "Extra": extra, "Context": strings.TrimSpace(h.Context), "Dir": h.Dir,
	})
	err := promptTemplate().Execute(&b, parts)
	if err != nil {
		panic("handoff: prompt: " + err.Error()) // the template and its data are ours
	}
	return strings.TrimSpace(b.String()) + "\n"
}
