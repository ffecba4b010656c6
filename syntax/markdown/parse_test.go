package markdown_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/fidelity"
	"github.com/hocket-dev/hocket/syntax/markdown"
	"github.com/hocket-dev/hocket/workflow"
)

const small = "---\nname: small\n---\n\n```mermaid\nflowchart TD\n    a[\"Do it\"] --> b\n```\n\n### b\n\n---\nagent: worker\n---\n\nOne.\n\nTwo {{nodes.a.output}}.\n"

func parse(t *testing.T, file, text string) *workflow.Workflow {
	t.Helper()
	w, found := markdown.Parse(file, []byte(text))
	if found.Errors() {
		t.Fatal(found)
	}
	return w
}

// Neither Windows line endings nor a byte order mark change anything.
func TestLineEnds(t *testing.T) {
	want := workflow.Digest(parse(t, "x.md", small))
	for name, text := range map[string]string{
		"CRLF": strings.ReplaceAll(small, "\n", "\r\n"),
		"BOM":  "\uFEFF" + small,
	} {
		if got := parse(t, "x.md", text); workflow.Digest(got) != want {
			t.Errorf("%s:\n%s", name, workflow.Print(got))
		}
		laidOut, _ := markdown.Fmt("x.md", []byte(text))
		if got := parse(t, "x.md", string(laidOut)); workflow.Digest(got) != want {
			t.Errorf("%s, laid out:\n%s", name, laidOut)
		}
	}
}

// A mistake is reported at its position in the file, whatever surrounds it.
func TestPlaces(t *testing.T) {
	for _, test := range []struct{ text, code, at string }{
		{small + "\n### b\n", "markdown-section-twice", "x.md:20:5"},
		{strings.Replace(small, "agent: worker", "agent: worker\nagnet: x", 1), "yaml-unknown-key", "x.md:14:1"},
		{"> ```mermaid\n> flowchart TD\n>     a <--> b\n> ```\n", "markdown-arrow", "x.md:3:9"},
		{"- text\n\n  ~~~mermaid\n  flowchart TD\n      a <--> b\n  ~~~\n", "markdown-arrow", "x.md:5:9"},
		{"```mermaid\nflowchart TD\n    ä1[\"ö\"] --- b@{ promt: x }\n```\n", "yaml-unknown-key", "x.md:3:21"},
	} {
		_, found := markdown.Parse("x.md", []byte(test.text))
		var at []string
		for _, d := range found {
			if d.Code == test.code {
				at = append(at, d.Pos.String())
			}
		}
		if strings.Join(at, " ") != test.at {
			t.Errorf("%s is at %v, want %s:\n%v", test.code, at, test.at, found)
		}
	}
}

// The fix of a diagnostic removes it.
func TestFixes(t *testing.T) {
	for _, text := range []string{
		"```mermaid\nflowchart TD\n    a\n```text\n\nMore.\n",
		"```mermaid\nflowchart TD\n    a\n",
		"```\nflowchart TD\n    a\n```\n",
		"```mermaid\nflowchart TD\n    write_it\n```\n\n### wirte_it\n\nWrite.\n",
		"```mermaid\nflowchart TD\nsubgraph s\n    a\n```\n\nMore.\n",
		"> ```mermaid\n> flowchart TD\n>     subgraph s\n>     a[\"x\"] %% y\n> ```\n",
		"1. One\n\n   ```mermaid\n   flowchart TD\n       subgraph s\n\n       a[\"x\"]\n   ```\n",
	} {
		_, found := markdown.Parse("x.md", []byte(text))
		fixed, count := found.Fixed([]byte(text))
		if _, left := markdown.Parse("x.md", fixed); count == 0 || len(left) > 0 {
			t.Errorf("%q: %d fixes, and then %v:\n%s", text, count, left, fixed)
		}
	}
}

func TestNames(t *testing.T) {
	const chart = "```mermaid\nflowchart TD\n    a\n```\n"
	for text, want := range map[string]string{
		"---\nname: N\nid: i\n---\n# T\n" + chart: "N",
		"---\nid: i\n---\n# T\n" + chart:          "i",
		"## Flow\n\n# The title #\n" + chart:      "The title",
		chart + "\n### a\n\n# In a prompt\n":      "file",
		chart:                                     "file",
		"flowchart TD\n    a\n":                   "file",
		"---\ntitle: Of the chart\n---\nflowchart TD\n    a[\"x\"]\n": "Of the chart",
	} {
		if got := parse(t, "dir/file.md", text).Name; got != want {
			t.Errorf("%q is called %q, want %q", text, got, want)
		}
	}
}

// The report says what is drawn and what is written as keys.
func TestFidelity(t *testing.T) {
	w := parse(t, "x.md", small)
	w.Body.Nodes[0].Group = "g"
	w.Body.Edges = append(w.Body.Edges, workflow.Edge{From: "b", To: workflow.End, On: workflow.OnLabel, Label: "default"})
	var got []string
	for _, item := range markdown.Fidelity(w) {
		if item.How == fidelity.Carried {
			got = append(got, item.Node+" "+item.Construct)
		}
	}
	if want := "a parallel_group, b agent, b label edge"; strings.Join(got, ", ") != want {
		t.Errorf("carried are %v, want %s", got, want)
	}
}

func TestDiagram(t *testing.T) {
	if found := markdown.Diagram("x.md", []byte(small)); len(found) > 0 {
		t.Error(found)
	}
	broken := strings.Replace(small, "\"Do it\"", "Do (it)", 1)
	if found := markdown.Diagram("x.md", []byte(broken)); !found.Errors() || found[0].Line != 7 {
		t.Errorf("got %v", found)
	}
}

// A prompt may contain headings of any level; a mark ends it.
func TestPromptsKeepTheirHeadings(t *testing.T) {
	prompt := "# Role\n\nYou write.\n\n## Rules\n\n---\n\n| a | b |\n|---|---|\n\n### Not a node\n\n```text\n### review\n```"
	text := "```mermaid\nflowchart TD\n    write --> review\n```\n\n### write\n\n" + prompt + "\n\n### review\n\nLook.\n\n<!-- end -->\n\n## Licence\n\nFree.\n"
	w, found := markdown.Parse("x.md", []byte(text))
	if found.Errors() {
		t.Fatal(found)
	}
	for id, want := range map[string]string{"write": prompt, "review": "Look."} {
		if got := w.Body.Node(id).Step.(*workflow.Task).Prompt.Text; got != want {
			t.Errorf("the prompt of %s is %q, not %q", id, got, want)
		}
	}
}

// Mermaid reads the label of --No--> as N. A run uses what the author wrote.
func TestTheAuthorsLabelCounts(t *testing.T) {
	w, found := markdown.Parse("x.mmd", []byte("flowchart TD\n    A{{Go on?}} --No--> B\n    A --yes--> C\n"))
	if found.Errors() {
		t.Fatal(found)
	}
	if got := w.Body.Edges[0].Label + " " + w.Body.Edges[1].Label; got != "No yes" {
		t.Errorf("the labels are %s", got)
	}
}

// The text of a box is the prompt, unless the section has one.
func TestPromptOfASection(t *testing.T) {
	for section, want := range map[string]string{
		"":                               "Do it",
		"---\nagent: x\n---\n":           "Do it",
		"---\nagent: x\n---\n\nLike so.": "Like so.",
		"---\nprompt: So\n---\n":         "So",
		"---\nprompt: \"\"\n---\n":       "",
		"---\ntemplate: named\n---\n":    "",
	} {
		w := parse(t, "x.md", "```mermaid\nflowchart TD\n    a[\"Do it\"]\n```\n\n### a\n\n"+section)
		n := &w.Body.Nodes[0]
		title := "Do it"
		if want == title {
			title = ""
		}
		if got := n.Step.(*workflow.Task).Prompt.Text; got != want || n.Title != title {
			t.Errorf("%q: the prompt is %q, want %q; the title is %q", section, got, want, n.Title)
		}
		text, err := markdown.Format(w)
		if err != nil {
			t.Errorf("%q: %v", section, err)
		} else if again := parse(t, "x.md", string(text)); workflow.Digest(again) != workflow.Digest(w) {
			t.Errorf("%q becomes\n%s", section, text)
		}
	}
}

// Keys that are cut off are reported like other mistakes.
func TestTruncatedKeys(t *testing.T) {
	const text = "flowchart TD\n    a@{ agent: writer, retry: 2 }"
	for end := range len(text) {
		if _, found := markdown.Parse("x.mmd", []byte(text[:end])); end > strings.Index(text, "{") && !found.Errors() {
			t.Errorf("%q has no mistake", text[:end])
		}
	}
	w, found := markdown.Parse("x.mmd", []byte("flowchart TD\n    a@{ agent: writer\n    a --> b\n"))
	if task := w.Body.Nodes[0].Step.(*workflow.Task); task.Agent != "writer" || len(found) != 2 {
		t.Errorf("got %+v, %v", task, found)
	}
}
