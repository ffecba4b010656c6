package draw_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// The texts that an author gives to nodes are drawn, in whatever notation they are written.
func TestNodesShowTheirTexts(t *testing.T) {
	texts := map[string]string{
		"w.yml":  "name: w\nsteps:\n  - {id: plan, title: Plan the feature, agent: coder, prompt: \"Long ${inputs.x}\"}\n  - {id: ask, title: Ship it today, human: {question: Go on, options: [yes]}}\n  - {id: pack, title: Pack it up, workflow: packing}\n",
		"w.xml":  "<workflow name=\"w\"><step id=\"plan\" title=\"Plan the feature\" agent=\"coder\"><prompt>Long ${inputs.x}</prompt></step><human id=\"ask\" title=\"Ship it today\"><question>Go?</question><option>yes</option></human><call id=\"pack\" title=\"Pack it up\" workflow=\"packing\"/></workflow>\n",
		"w.md":   "# w\n\n```mermaid\nflowchart TD\n    plan[Plan the feature] --> ask{{Ship it today}} --> pack[[Pack it up]]\n```\n",
		"w.puml": "@startuml\nstart\n:Plan the feature;\n:Ship it today;\n:Pack it up;\nstop\n@enduml\n",
	}
	for file, text := range texts {
		w, found := syntax.Parse(file, []byte(text))
		if w == nil {
			t.Errorf("%s: %v", file, found)
			continue
		}
		for _, form := range []string{"tree", "svg", "mermaid", "plantuml", "dot"} {
			drawing, err := draw.Draw(t.Context(), w, form, draw.Fold{})
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"Plan the feature", "Ship it today", "Pack it up"} {
				if !strings.Contains(drawing, want) {
					t.Errorf("%s as %s does not show %q:\n%s", file, form, want, drawing)
				}
			}
		}
		p, err := draw.Inline{Bundle: &workflow.Bundle{Root: w}}.Draw(t.Context())
		if err != nil || !strings.Contains(p.SVG(draw.Look{}), ">Plan the feature</text>") {
			t.Errorf("%s on a page: %v", file, err)
		}
	}
}
