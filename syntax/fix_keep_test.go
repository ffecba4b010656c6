package syntax_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	host "github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// fixAll applies all fixes that can be applied.
func fixAll(file, text string) (fixed string, left int) {
	for range 20 {
		next, made, refused := syntax.Fix(file, []byte(text), host.CheckText(file, []byte(text)))
		if left = refused; made == 0 || string(next) == text {
			break
		}
		text = string(next)
	}
	return text, left
}

// A fix restores what the author meant, or leaves the file unchanged.
func TestFixKeepsWhatTheAuthorWrote(t *testing.T) {
	const fence = "```"
	for _, test := range []struct {
		name, file, text, want string
		left                   int // fixes that would lose something
	}{
		{name: "a fence that is not closed", file: "a.md",
			text: fence + "mermaid\nflowchart TD\n  a[One] --> b[Two]\n\n### a\n\n---\nagent: reviewer\n---\n\nDo it\n",
			want: fence + "mermaid\nflowchart TD\n  a[One] --> b[Two]\n" + fence + "\n\n### a\n\n---\nagent: reviewer\n---\n\nDo it\n"},
		{name: "a fence at the end of a line", file: "a.md",
			text: fence + "mermaid\nflowchart TD\n  a[One] --> b" + fence + "\n\n### a\n\nDo it\n",
			want: fence + "mermaid\nflowchart TD\n  a[One] --> b\n" + fence + "\n\n### a\n\nDo it\n"},
		{name: "a fence that the fence of a prompt closes", file: "a.md",
			text: fence + "mermaid\nflowchart TD\n  a --> b\n\n### a\n\nRun\n\n" + fence + "\nmake\n" + fence + "\n",
			want: fence + "mermaid\nflowchart TD\n  a --> b\n" + fence + "\n\n### a\n\nRun\n\n" + fence + "\nmake\n" + fence + "\n"},
		{name: "a label that is not closed before an arrow", file: "a.mmd",
			text: "flowchart TD\n  a[One --> b[Two]\n  b --> c{Good? -->|yes| d(Go)\n",
			want: "flowchart TD\n  a[\"One\"] --> b[Two]\n  b --> c{\"Good?\"} -->|yes| d(Go)\n"},
		{name: "a label that is not closed before a second node", file: "a.mmd",
			text: "flowchart TD\n  x(Round & y[\"Two\"] --> z\n",
			want: "flowchart TD\n  x(\"Round\") & y[\"Two\"] --> z\n"},
		{name: "a label that is not closed before a subgraph", file: "a.mmd",
			text: "flowchart TD\n  a --> d([Done]\n  subgraph s [Rest]\n  x(Round) --> y\n  end\n",
			want: "flowchart TD\n  a --> d([\"Done\"])\n  subgraph s [Rest]\n  x(Round) --> y\n  end\n"},
		{name: "the label of an arrow that is not closed", file: "a.mmd",
			text: "flowchart TD\n  a -->|yes b{{Publish it?}}\n",
			want: "flowchart TD\n  a -->|\"yes\"| b{{Publish it?}}\n"},
		{name: "an arrow without its head", file: "a.mmd",
			text: "flowchart TD\n  a -- b & c\n",
			want: "flowchart TD\n  a --> b & c\n"},
		{name: "an id with a blank", file: "a.mmd",
			text: "flowchart TD\n  write code[Write] --> b\n  b --> write code\n",
			want: "flowchart TD\n  write_code[Write] --> b\n  b --> write_code\n"},
		{name: "an arrow in a label that needs quotes", file: "a.mmd", left: 1,
			text: "flowchart TD\n  a[f(x) --> y] --> b\n",
			want: "flowchart TD\n  a[f(x) --> y] --> b\n"},
		{name: "a label that is not opened", file: "a.mmd",
			text: "flowchart TD\n  a --> bTwo words] --> c\n",
			want: "flowchart TD\n  a --> bTwo words] --> c\n"},
		{name: "parentheses without their other half", file: "a.puml",
			text: "@startuml\nswitch (Which?)\ncase (one\n:a;\ncase two)\n:b;\nendswitch\n@enduml\n",
			want: "@startuml\nswitch (Which?)\ncase (one)\n:a;\ncase (two)\n:b;\nendswitch\n@enduml\n"},
		{name: "a block that is not opened", file: "a.puml", left: 2,
			text: "@startuml\n:a;\nfork again\n:b;\nend fork\n@enduml\n",
			want: "@startuml\n:a;\nfork again\n:b;\nend fork\n@enduml\n"},
		{name: "branches of an if that is not opened", file: "a.puml", left: 2,
			text: "@startuml\n:a;\nelse (no)\n:b;\nendif\n@enduml\n",
			want: "@startuml\n:a;\nelse (no)\n:b;\nendif\n@enduml\n"},
		{name: "an if below the end that it belongs to", file: "a.puml", left: 2,
			text: "@startuml\ntitle loops\nstart\nwhile (true)\n  :Try;\n  note right\n    output: result\n  end note\n:End it;\n    break\n  endif\n  backward :Rest;\nendwhile\n  if (result == \"done\") then (yes)\nstop\n@enduml\n",
			want: "@startuml\ntitle loops\nstart\nwhile (true)\n  :Try;\n  note right\n    output: result\n  end note\n:End it;\n    break\n  endif\n  backward :Rest;\nendwhile\n  if (result == \"done\") then (yes)\nstop\n@enduml\n"},
		{name: "a fence that is closed by another", file: "a.md",
			text: fence + "mermaid\nflowchart TD\n  a --> b\n" + fence + "text\n\n### a\n\nRun\n\n" + fence + "sh\nmake\n" + fence + "\n",
			want: fence + "mermaid\nflowchart TD\n  a --> b\n" + fence + "\n\n### a\n\nRun\n\n" + fence + "sh\nmake\n" + fence + "\n"},
		{name: "a fence with a typing mistake, behind which a prompt was read", file: "a.md", left: 1,
			text: fence + "mermaid\nflowchart TD\n  a --> b\n" + fence + "\n\n### a\n\n" + fence + "sh\nmake\n``\"`\n\n### b\n\nGo\n",
			want: fence + "mermaid\nflowchart TD\n  a --> b\n" + fence + "\n\n### a\n\n" + fence + "sh\nmake\n``\"`\n\n### b\n\nGo\n"},
		{name: "an if and a diagram that are not closed", file: "a.puml",
			text: "@startuml\nif (x) then (yes)\n:a;\n",
			want: "@startuml\nif (x) then (yes)\n:a;\nendif\n@enduml\n"},
		{name: "a diagram that is closed too early", file: "a.puml",
			text: "@startuml\nif (x) then (yes)\n:a;\n@enduml\n:b;\nendif\n",
			want: "@startuml\nif (x) then (yes)\n:a;\n@enduml\n:b;\nendif\n"},
		{name: "a number that belongs to a key", file: "a.yml", left: 2,
			text: "name: x\nlimits: {max_steps 5, max_depth: 3}\nsteps:\n  - agent: x\n    prompt: hi\n    retry: {attempts 2, delay: 5s}\n",
			want: "name: x\nlimits: {max_steps 5, max_depth: 3}\nsteps:\n  - agent: x\n    prompt: hi\n    retry: {attempts 2, delay: 5s}\n"},
		{name: "a number in a note", file: "a.puml", left: 1,
			text: "@startuml\n:a;\nnote right\n  agent: x\n  prompt: hi\n  retry: {attempts 2, delay: 5s}\nend note\n@enduml\n",
			want: "@startuml\n:a;\nnote right\n  agent: x\n  prompt: hi\n  retry: {attempts 2, delay: 5s}\nend note\n@enduml\n"},
		{name: "a typing mistake in the end of a note", file: "a.puml",
			text: "@startuml\n:a;\nnote right\n  for_each: files\nendn ote\nstop\n@enduml\n",
			want: "@startuml\n:a;\nnote right\n  for_each: files\nend note\nstop\n@enduml\n"},
		{name: "the line of a subgraph that is not read", file: "a.mmd", left: 1,
			text: "flowchart TD\n  a --> f\n  subgrpah f\n  b --> c\n  end\n",
			want: "flowchart TD\n  a --> f\n  subgrpah f\n  b --> c\n  end\n"},
		{name: "an end of nothing", file: "a.mmd",
			text: "flowchart TD\n  a --> b\n  end\n",
			want: "flowchart TD\n  a --> b\n"},
		{name: "an element that would get into another", file: "a.xml",
			text: "<workflow name=\"x\">\n  <agent id=\"a\"><task>one</task>\n  <agent id=\"b\"><task>two</task></agent>\n</workflow>\n",
			want: "<workflow name=\"x\">\n  <agent id=\"a\"><task>one</task>\n  </agent>\n  <agent id=\"b\"><task>two</task></agent>\n</workflow>\n"},
		{name: "an end tag whose start tag is missing", file: "a.xml", left: 1,
			text: "<workflow name=\"x\">\n  <agent id=\"a\"><task>one</task></loop>\n  <agent id=\"b\"><task>two</task></agent>\n</workflow>\n",
			want: "<workflow name=\"x\">\n  <agent id=\"a\"><task>one</task></loop>\n  <agent id=\"b\"><task>two</task></agent>\n</workflow>\n"},
	} {
		got, left := fixAll(test.file, test.text)
		if diff := cmp.Diff(test.want, got); diff != "" || left != test.left {
			t.Errorf("%s: %d left (-want +got):\n%s", test.name, left, diff)
		}
	}
}

// How paths join again is not a spelling mistake, so it is not fixed.
func TestFixKeepsJoins(t *testing.T) {
	for _, end := range []string{"{or", "or}", "(or)", "[or]", "or"} {
		text := "@startuml\nfork\n:One;\nfork again\n:Two;\nend fork " + end + "\n:Last;\n@enduml\n"
		got, _ := fixAll("a.puml", text)
		w, found := syntax.Parse("a.puml", []byte(got))
		if got != text && (found.Errors() || !strings.Contains(workflow.Print(w), "join need=1")) {
			t.Errorf("end fork %s:\n%s", end, got)
		}
	}
}

// Whichever mark is missing in a file, --fix loses none of its words.
func TestFixLosesNoWord(t *testing.T) {
	for _, file := range []string{"../examples/notations/polish.md", "../examples/notations/polish.puml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range text {
			if !strings.ContainsRune("[](){}|\"`;:><#", rune(c)) {
				continue
			}
			broken := string(slices.Delete(slices.Clone(text), i, i+1))
			fixed, _ := fixAll(file, broken)
			if words := lost([]byte(broken), []byte(fixed)); words != "" {
				t.Errorf("%s without byte %d: lost are %s\n%s", file, i, words, cmp.Diff(broken, fixed))
			}
		}
	}
}
