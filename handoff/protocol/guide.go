package protocol

import (
	_ "embed"
	"strings"
	"sync"
	"text/template"
)

//go:embed response.md
var guideText string

// guide is parsed when it is used for the first time: most processes never do.
var guide = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("response.md").Funcs(template.FuncMap{
		"number": func(i int) int { return i + 1 },
		"indent": func(text string) string { return strings.ReplaceAll(text, "\n", "\n     ") },
	}).Parse(guideText))
})

// ResponseGuide returns the instructions for an agent on how to answer a request: a response with
// the id of its session, and what the response must contain.
func ResponseGuide(q *Request, session string) string {
	asked := struct {
		Session                   string
		Files, Decisions, Reports []Deliverable
	}{Session: session}
	for _, d := range q.Deliverables {
		switch d.Kind {
		case File:
			d.Path = d.PathIn(session)
			asked.Files = append(asked.Files, d)
		case Decision:
			asked.Decisions = append(asked.Decisions, d)
		case Report:
			asked.Reports = append(asked.Reports, d)
		}
	}
	var b strings.Builder
	if err := guide().Execute(&b, asked); err != nil {
		panic("protocol: response.md: " + err.Error()) // it has no functions that fail
	}
	return strings.TrimSpace(b.String())
}
