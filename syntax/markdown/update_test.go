package markdown_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/syntax/internal/notationtest"
	"github.com/hocket-dev/hocket/syntax/markdown"
	"github.com/hocket-dev/hocket/workflow"
)

// A change of the model changes the lines that say it, and no others.
func TestUpdateChangesWhatChanged(t *testing.T) {
	const file = "testdata/ok/review.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	loop := func(w *workflow.Workflow) *workflow.Graph { return w.Body.Nodes[0].Body() }
	task := func(w *workflow.Workflow, id string) *workflow.Task { return loop(w).Node(id).Step.(*workflow.Task) }
	for name, test := range map[string]struct {
		change     func(w *workflow.Workflow)
		gone, come []string // lines
	}{
		"nothing": {change: func(*workflow.Workflow) {}},
		"a prompt": {
			change: func(w *workflow.Workflow) { task(w, "manner").Prompt.Text = "Look at ${vars.sources}." },
			gone:   []string{"Look at {{nodes.collect.output}}."},
			come:   []string{"Look at {{vars.sources}}."},
		},
		"a word": {
			change: func(w *workflow.Workflow) { loop(w).Node("facts").Timeout = time.Minute },
			come:   []string{"timeout: 1m"},
		},
		"a setting": {
			change: func(w *workflow.Workflow) { task(w, "collect").Settings["temperature"] = true },
			gone:   []string{"temperature: 0.1"},
			come:   []string{"temperature: true"},
		},
		"the head": {
			change: func(w *workflow.Workflow) { w.Description = "Shorter" },
			gone:   []string{`description: "A paper is read, judged and, if need be, changed"`},
			come:   []string{"description: Shorter"},
		},
		"a new section": {
			change: func(w *workflow.Workflow) {
				task(w, "judge").Settings = nil
				task(w, "judge").Prompt.Text = "Judge it.\n\nBe fair."
			},
			gone: []string{`prompt: "{file:prompts/judge.md}"`, "---", "---"},
			come: []string{"Judge it.", "Be fair.", "", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := markdown.Parse(file, text)
			test.change(w)
			got, err := markdown.Update(file, text, w)
			if err != nil {
				t.Fatal(err)
			}
			gone, come := lineDiff(string(text), string(got))
			if strings.Join(gone, "\n") != strings.Join(test.gone, "\n") || strings.Join(trim(come), "\n") != strings.Join(trim(test.come), "\n") {
				t.Errorf("gone:\n%s\ncome:\n%s", strings.Join(gone, "\n"), strings.Join(come, "\n"))
			}
		})
	}
}

func trim(lines []string) []string {
	var kept []string
	for _, l := range lines {
		if l != "" {
			kept = append(kept, l)
		}
	}
	return kept
}

// lineDiff are the lines that only one of two texts has, counted.
func lineDiff(a, b string) (gone, come []string) {
	count := map[string]int{}
	for line := range strings.SplitSeq(b, "\n") {
		count[line]++
	}
	for line := range strings.SplitSeq(a, "\n") {
		if count[line]--; count[line] < 0 {
			gone = append(gone, line)
		}
	}
	for line := range strings.SplitSeq(b, "\n") {
		if count[line] > 0 {
			count[line]--
			come = append(come, line)
		}
	}
	return gone, come
}

// A change of the flow draws the chart anew, and keeps prose, sections, comments
// and what decorates it.
func TestUpdateRedraws(t *testing.T) {
	const text = `---
name: flow
version: "3" # kept
---

# flow

Some prose.

` + "```mermaid" + `
---
title: A title
---
graph LR
    %% the first step
    a["Do it"] --> b
    %% about b
    b --> c["The end"]
    classDef loud fill:#f00
    class a loud
    style c fill:#0f0
    linkStyle 0 stroke:#00f
` + "```" + `

### b

---
# a comment
agent:   worker
---

Do  the rest.

<!-- end -->

## Notes

Kept.
`
	w, found := markdown.Parse("flow.md", []byte(text))
	if found.Errors() {
		t.Fatal(found)
	}
	g := &w.Body
	g.Nodes = append(g.Nodes[:2:2], workflow.Node{ID: "d", Step: &workflow.Task{Agent: "worker", Prompt: workflow.Template{Text: "New."}}})
	g.Edges = []workflow.Edge{g.Edges[0], {From: "b", To: "d", On: workflow.OnLabel, Label: "more"}}
	got, err := markdown.Update("flow.md", []byte(text), w)
	if err != nil {
		t.Fatal(err)
	}
	notationtest.Golden(t, "testdata/redrawn.golden", string(got))
	if again, found := markdown.Parse("flow.md", got); found.Errors() || workflow.Digest(again) != workflow.Digest(w) {
		t.Errorf("it means something else: %v", found)
	}
}

// A new section is not the beginning of the prose behind the flowchart.
func TestUpdateKeepsProseBehindTheFlowchart(t *testing.T) {
	for _, prose := range []string{"", "\n## Notes\n\nKept.\n", "Kept.\n", "\n### b\n\nDo it.\n"} {
		text := "# Flow\n\n```mermaid\nflowchart TD\n    a[\"Do this\"] --> b[\"Do that\"]\n```\n" + prose
		w, found := markdown.Parse("flow.md", []byte(text))
		if len(found) > 0 {
			t.Fatal(found)
		}
		w.Body.Nodes[0].Timeout = time.Minute
		got, err := markdown.Update("flow.md", []byte(text), w)
		if err != nil || !strings.HasSuffix(string(got), prose) {
			t.Errorf("%v\n%s", err, got)
		}
		if again, _ := markdown.Parse("flow.md", got); workflow.Digest(again) != workflow.Digest(w) {
			t.Errorf("means something else:\n%s", got)
		}
	}
}
