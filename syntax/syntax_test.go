package syntax_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax"
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
		{"", "hello", ""},
		{"-", "{\"name\": \"x\", \"steps\": []}", "yaml"},
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
	if _, err := syntax.Format(nil, "toml"); err == nil || !strings.Contains(err.Error(), "there are yaml") {
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
