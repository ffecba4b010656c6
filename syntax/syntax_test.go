package syntax_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/internal/growth"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

func TestPicksTheNotation(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a.yml", "", "yaml"},
		{"dir/A.YAML", "anything", "yaml"},
		{"-", "# c\nname: x\nsteps: []\n", "yaml"},
		{"a.txt", "steps:\n  - agent: a\n", "yaml"},
		{"a.xml", "<workflow/>", "xml"},
		{"-", "<?xml version='1.0'?>\n<!-- c -->\n<root><agents/></root>", "xml"},
		{"a.xml", "<worfklow name='x'/>", "xml"},
		{"pom.xml", "<project/>", ""},
		{"a.puml", "@startuml\n:a;\n@enduml\n", "plantuml"},
		{"-", "prose\n  @startuml\n:a;\n@enduml\n", "plantuml"},
		{"-", "an @startuml in a line\n", ""},
		{"-", "' c\nstart\n:a;\nstop\n", "plantuml"},
		{"-", "start\nnothing\n", ""},
		{"", "hello", ""},
		{"-", "{\"name\": \"x\", \"steps\": []}", "yaml"},
		{"-", "{\"description\":\"x\",\"steps\":[]}", "yaml"},
		{"a.json", "{\"nodes\": [], \"edges\": []}", "json"},
		{"-", " {\"agents\":[{\n\"name\": \"x\"}],\"nodes\": [], \"edges\": []}", "json"},
		{"a.mmd", "%% c\nflowchart TD\n  a\n", "mermaid"},
		{"a.md", "# T\n\n```mermaid\nflowchart LR\na\n```\n", "mermaid"},
		{"-", "---\nname: x\n---\n~~~mermaid\ngraph TD\na\n~~~\n", "mermaid"},
		{"README.md", "# T\n\n```mermaid\nsequenceDiagram\n```\n", ""},
		{"README.md", "# T\n\n````\n```mermaid\nflowchart TD\n```\n````\n", ""},
		{"-", "name: x\nsteps:\n- prompt: |\n   ```mermaid\n   flowchart TD\n   ```\n", "yaml"},
		{"package.json", "{\"name\": \"x\"}", ""},
	} {
		n, ok := syntax.Of(c.file, []byte(c.text))
		if n.Name != c.want || ok != (c.want != "") {
			t.Errorf("%s %q: got %q, want %q", c.file, c.text, n.Name, c.want)
		}
	}
}

func TestReadsAWorkflowInAnAnswer(t *testing.T) {
	answer := "Here it is:\n\n```yaml\nname: x\nsteps:\n  - agnet: a\n```\nDone.\n"
	w, found := syntax.Parse("", []byte(answer))
	if w == nil || w.Name != "x" {
		t.Fatalf("got %v, %v", w, found)
	}
	if len(found) != 1 || found[0].Line != 6 || found[0].Column != 5 {
		t.Errorf("the mistake in line 6 is reported as %v", found)
	}
	w, found = syntax.Parse("", []byte(answer[:len(answer)-30]))
	if w == nil || w.Name != "x" {
		t.Errorf("of an answer under way: got %v, %v", w, found)
	}
	w, found = syntax.Parse("", []byte("Here:\n\n```yaml\nname: x\nsteps:\n  - agent: a\n```\n"))
	if w == nil || w.Name != "x" || len(found) > 0 {
		t.Errorf("below what looks like a key: got %v, %v", w, found)
	}
}

// XML is found in prose, and repaired if it is not well-formed; a file that ends in .xml is not
// repaired.
func TestRepairsXMLInAnAnswer(t *testing.T) {
	const plan = "<workflow name='x'>\n<agent id='1' name='a'><task>salt & pepper</task></agent>\n"
	for _, c := range []struct {
		file, text string
		lines      []int // of the repairs
	}{
		{"-", plan + "</workflow>", []int{2}},
		{"-", plan, []int{1, 2}},
		{"-", "I'd write a <workflow>:\n\n" + plan + "</workflow>\nDone.", []int{4}},
		{"a.txt", "Here:\n~~~xml\n" + plan + "</workflow>\n~~~\n", []int{4}},
		{"a.md", "<think>a <root/>?</think>\n" + strings.ReplaceAll(plan, "&", "&amp;") + "</workflow>", nil},
	} {
		w, found := syntax.Parse(c.file, []byte(c.text))
		if w == nil || w.Name != "x" || len(w.Body.Nodes) != 1 || found.Errors() {
			t.Errorf("%q: got %v, %v", c.text, w, found)
			continue
		}
		var lines []int
		for _, d := range found {
			lines = append(lines, d.Line)
		}
		if !slices.Equal(lines, c.lines) {
			t.Errorf("%q: repairs in lines %v, want %v", c.text, lines, c.lines)
		}
		if fixed, n := found.Fixed([]byte(c.text)); n > 0 {
			if _, left := syntax.Parse(c.file, fixed); len(left) > 0 {
				t.Errorf("%q: left are %v in %q", c.text, left, fixed)
			}
		}
		if w, found := syntax.Parse("a.xml", []byte(c.text)); w != nil || !found.Errors() {
			t.Errorf("%q is taken as a file: %v", c.text, found)
		}
	}
	for _, text := range []string{"a <workflow> here", "<wofklow name='x'><agent id='1'/>"} {
		if w, found := syntax.Parse("-", []byte(text)); w != nil || !found.Errors() {
			t.Errorf("%q: got %v, %v", text, w, found)
		}
	}
}

// A Markdown file in a fence contains fences that models do not make shorter.
func TestReadsMarkdownInAFence(t *testing.T) {
	answer := "Here it is:\n```markdown\n# x\n```mermaid\nflowchart TD\na --> b\n```\n### a\nDo this:\n```json\n{}\n```\n### b\nAnd that.\n```\nRun it:\n```sh\nhocket run x.md\n```\n"
	w, found := syntax.Parse("-", []byte(answer))
	if w == nil || len(found) > 0 || len(w.Body.Nodes) != 2 {
		t.Fatalf("got %v, %v", w, found)
	}
	for i, want := range []string{"Do this:\n```json\n{}\n```", "And that."} {
		if got := w.Body.Nodes[i].Step.(*workflow.Task).Prompt.Text; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestUnknownNotationSaysWhatIsSupported(t *testing.T) {
	w, found := syntax.Parse("a.toml", []byte("x = 1\n"))
	if w != nil || len(found) != 1 || !strings.Contains(found[0].Detail, ".yml or .yaml") {
		t.Errorf("got %v", found)
	}
	text, found := syntax.Fmt("a.toml", []byte("x = 1\n"))
	if string(text) != "x = 1\n" || !found.Errors() {
		t.Errorf("got %q, %v", text, found)
	}
	if _, err := syntax.Format(nil, "toml"); err == nil || !strings.Contains(err.Error(), "the notations are yaml") {
		t.Errorf("got %v", err)
	}
}

func TestReadsAndWrites(t *testing.T) {
	w, found := syntax.Parse("a.yml", []byte("name: x\nsteps:\n- agent: a\n- agent: b\n"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	text, err := syntax.Format(w, "yaml")
	if want := "name: x\n\nsteps:\n  - agent: a\n  - agent: b\n"; err != nil || string(text) != want {
		t.Errorf("got %q, %v", text, err)
	}
	text, _ = syntax.Fmt("a.yml", []byte("name:  x\nsteps:\n- agent: a\n"))
	if want := "name: x\nsteps:\n  - agent: a\n"; string(text) != want {
		t.Errorf("got %q", text)
	}
}

// The texts in the boxes of a drawing are kept when it is converted to another kind of drawing.
func TestConvertedBoxes(t *testing.T) {
	w, found := syntax.Parse("a.mmd", []byte("flowchart TD\n  A[Write] --> B[Review it]\n  B --> C{{Ship?}}\n"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	text, err := syntax.Format(w, "plantuml")
	if err != nil {
		t.Fatal(err)
	}
	for _, box := range []string{":Write;", ":Review it;", ":Ship?;"} {
		if !strings.Contains(string(text), box) {
			t.Errorf("%s is missing:\n%s", box, text)
		}
	}
	again, _ := syntax.Parse("a.puml", text)
	if workflow.Digest(again) != workflow.Digest(w) {
		t.Errorf("the workflow is another one:\n%s", text)
	}
}

// Every notation keeps the title and the colour of a lane, there and back.
func TestLaneTitles(t *testing.T) {
	w, found := syntax.Parse("a.puml", []byte("@startuml\n|#LightBlue|res| Research team\n|pub|\nstart\n|res|\n:Look;\n|pub|\n:Print;\nstop\n@enduml\n"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	for _, titles := range [][2]string{{"Research team", ""}, {"Research | team\n2", "pub"}} {
		w.Agents[0].Title, w.Agents[1].Title = titles[0], titles[1]
		for _, notation := range []string{"markdown", "xml", "json", "yaml", "plantuml"} {
			text, err := syntax.Format(w, notation)
			if err != nil {
				t.Fatal(err)
			}
			again, found := syntax.Parse("a"+map[string]string{"markdown": ".md", "xml": ".xml", "json": ".json", "yaml": ".yml", "plantuml": ".puml"}[notation], text)
			if len(found) > 0 || len(again.Agents) != 2 || again.Agents[0].Title != titles[0] || again.Agents[1].Title != titles[1] || again.Agents[0].Color != "LightBlue" {
				t.Errorf("%s: %v %+v\n%s", notation, found, again.Agents, text)
			}
		}
	}
}

// A workflow need not have a name, in any notation.
func TestNoName(t *testing.T) {
	w, found := syntax.Parse("a.yml", []byte("name: \"\"\nsteps:\n  - agent: x\n"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	for _, notation := range syntax.Notations() {
		n, _ := syntax.Named(notation)
		written, err := n.Format(w)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := n.Parse("a"+n.Endings[0], written); again == nil || again.Name != "" {
			t.Errorf("%s gives it a name:\n%s", notation, written)
		}
	}
}

// A text keeps its last line break, or the lack of one, in every notation.
func TestLastLineBreak(t *testing.T) {
	for _, mark := range []string{"|", "|-", "|+"} {
		text := "name: x\nsteps:\n  - id: a\n    agent: x\n    prompt: " + mark + "\n      one\n\n      two\n\n  - human:\n      question: " + mark + "\n        three\n"
		w, found := syntax.Parse("a.yml", []byte(text))
		if len(found) > 0 {
			t.Fatal(found)
		}
		for _, notation := range syntax.Notations() {
			n, _ := syntax.Named(notation)
			written, err := n.Format(w)
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := n.Parse("a"+n.Endings[0], written); workflow.Digest(again) != workflow.Digest(w) {
				t.Errorf("under %s the text is another in %s:\n%s", mark, notation, written)
			}
		}
	}
}

// Parsing takes time in proportion to the size of the file, whatever is wrong with it.
func TestWorkIsLinear(t *testing.T) {
	again := func(above, line, below string) func(int) string {
		return func(n int) string { return above + strings.Repeat(line, n) + below }
	}
	for _, c := range []struct {
		file string
		n    int
		text func(n int) string
	}{
		{"a.puml", 1000, again("@startuml\n|w|\nif (a) then (b)\n:c;\n", "elseif (a) then (b)\n", "endif\n@enduml\n")},
		{"a.puml", 1000, again("@startuml\n|w|\n", ":a\n", "@enduml\n")},
		{"a.mmd", 1000, again("flowchart TD\nA", " & A", " --> B\n")},
		{"a.md", 1000, again("# X\n\n```mermaid\nflowchart TD\nA --> B\n```\n\n## A\n\n", "### x\n", "")},
		{"a.md", 4000, again("", "```\n", "")},
		{"a.yml", 500, func(n int) string {
			text := []string{"inputs:\n"}
			for i := range n {
				text = append(text, fmt.Sprintf("  a%d: string\n", i))
			}
			return strings.Join(text, "") + "steps:\n" + strings.Repeat("- {agent: x, prompt: '${b}'}\n", n)
		}},
	} {
		growth.Linear(t, c.n, c.text, func(text string) { syntax.Parse(c.file, []byte(text)) })
		if t.Failed() {
			t.Fatalf("in %s: %.80s", c.file, c.text(10))
		}
	}
}

// An answer can contain several workflows, and end in the middle of one.
func TestFindsAllWorkflowsInAnAnswer(t *testing.T) {
	const one = "<workflow name='x'><agent id='1' name='a'/></workflow>"
	for _, c := range []struct {
		text, want string // the notation of each workflow, with ! if it is open
	}{
		{"", ""},
		{"no plan", ""},
		{"a <workflow> here", ""},
		{one, "xml"},
		{"Here:\n" + one + "\nDone.", "xml"},
		{one + "\nor\n" + one, "xml xml"},
		{"```xml\n" + one + "\n```\n```yaml\nname: x\nsteps: []\n```\n", "xml yaml"},
		{"```xml\n" + one[:40], "xml!"},
		{"```xml\n" + one[:len(one)-11] + "\n```\n", "xml"},
		{"```yaml\nname: x\nsteps:\n  - agent: a", "yaml!"},
		{"name: x\nsteps:\n  - agent: a", "yaml"},
		{"A <workflow> with an <agent>:\n\n" + one, "xml"},
	} {
		var got []string
		for _, a := range syntax.Answers([]byte(c.text)) {
			name := a.Notation.Name
			if a.Open {
				name += "!"
			}
			got = append(got, name)
			if !strings.HasPrefix(c.text, "```xml\n") && len(a.Text) > len(c.text) {
				t.Errorf("%q: positions move", c.text)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: got %v, want %s", c.text, got, c.want)
		}
	}
}

// A workflow that is being written is read up to its last complete line or tag.
func TestReadsPartialAnswers(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "Let me think": 0,
		"Here:\n<workflow name='x'><agent id='1' name='a'/><agent id='2' na": 2,
		"```yaml\nname: x\nsteps:\n  - {id: a, agent: b}\n  - {id: c, ag":    1,
		"```mermaid\nflowchart TD\n  a --> b\n  b --> cdef":                  2,
	} {
		n := 0
		if w := syntax.Partial([]byte(text)); w != nil {
			n = len(w.Body.Nodes)
		}
		if n != want {
			t.Errorf("%q: %d steps, want %d", text, n, want)
		}
	}
}
