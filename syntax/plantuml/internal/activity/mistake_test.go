package activity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/internal/tooltest"
	"github.com/hocket-dev/hocket/workflow"
)

// mistakes are diagrams with a mistake, between @startuml and @enduml unless they have their own:
// the code that is reported first, its position, and the diagram after the fixes.
var mistakes = []struct {
	name, text, code, at, fixed string
}{
	{"if left open", "if (ok?) then (yes)\n  :publish;\nstop", "plantuml-unclosed", "2:1", "if (ok?) then (yes)\n  :publish;\nstop\nendif"},
	{
		"if left open in a split", "split\n  :a;\n  if (x) then (y)\n    :b;\nsplit again\n  :c;\nend split",
		"plantuml-unclosed", "4:3", "split\n  :a;\n  if (x) then (y)\n    :b;\nendif\nsplit again\n  :c;\nend split",
	},
	{
		"two left open", "fork\n  while (more)\n    if (x) then (y)\n      :a;\nend fork",
		"plantuml-unclosed", "3:3", "fork\n  while (more)\n    if (x) then (y)\n      :a;\nendif\nendwhile\nend fork",
	},
	{"group left open", "partition Build {\n  :compile;", "plantuml-unclosed", "2:1", "partition Build {\n  :compile;\n}"},
	{"stray end", ":a;\nend fork {or}\n:b;", "plantuml-stray", "3:1", ":a;\n:b;"},
	{"stray brace", ":a;\n}\n:b;", "plantuml-stray", "3:1", ":a;\n:b;"},

	{"no semicolon", ":read the code\n:review it", "plantuml-semicolon", "2:1", ":read the code;\n:review it;"},
	{"no semicolon before a keyword", "while (a) is (b)\n:read\nendwhile", "plantuml-semicolon", "3:1", "while (a) is (b)\n:read;\nendwhile"},
	{"else without parentheses", "if (a) then (b)\n:c;\nelse no\n:d;\nendif", "plantuml-condition", "4:1", "if (a) then (b)\n:c;\nelse (no)\n:d;\nendif"},
	{"endwhile without parentheses", "while (a) is (b)\n:c;\nendwhile no", "plantuml-condition", "4:1", "while (a) is (b)\n:c;\nendwhile (no)"},
	{"no semicolon at the end", ":read\nstop", "plantuml-semicolon", "2:1", ":read;\nstop"},
	{"no semicolon behind two lines", ":read\n  the code\nstop", "plantuml-semicolon", "2:1", ":read\n  the code;\nstop"},
	{"label without semicolon", ":a;\n-> go on\n:b;", "plantuml-semicolon", "3:1", ":a;\n-> go on;\n:b;"},
	{"repeat without semicolon", "repeat :again\n:a;\nrepeat while (x)", "plantuml-semicolon", "2:1", "repeat :again;\n:a;\nrepeat while (x)"},
	{"semicolon in a label", "repeat\n:a;\nrepeat while (x) -> done;", "plantuml-semicolon", "4:25", "repeat\n:a;\nrepeat while (x) -> done"},

	{"arrow between activities", ":a; --> :b;", "plantuml-arrow", "2:4", ":a;\n:b;"},
	{"two activities", "  :a;:b;", "plantuml-joined", "2:6", "  :a;\n  :b;"},
	{"long arrow", ":a;\n--> yes;\n:b;", "plantuml-arrow", "3:1", ":a;\n-> yes;\n:b;"},
	{"long arrow to an activity", ":a;\n--> :b;", "plantuml-arrow", "3:1", ":a;\n:b;"},
	{"long arrow without semicolon", ":a;\n--> yes\n:b;", "plantuml-arrow", "3:1", ":a;\n-> yes;\n:b;"},
	{"arrow before an activity", ":a;\n-> :b;", "plantuml-arrow", "3:1", ":a;\n:b;"},
	{"arrow of another notation", ":a;\n==> yes;\n:b;", "plantuml-arrow", "3:1", ":a;\n-> yes;\n:b;"},
	{
		"if on one line", "if (ok) then (yes) :a; else (no) :b; endif",
		"plantuml-joined", "2:19", "if (ok) then (yes)\n:a;\nelse (no)\n:b;\nendif",
	},
	{"start and more", "start :a; stop", "plantuml-joined", "2:6", "start\n:a;\nstop"},

	{"late lane", "start\n:a;\n|Writer|\n:b;", "plantuml-late-lane", "4:1", "| |\nstart\n:a;\n|Writer|\n:b;"},
	{"late lane in a fork", "fork\n|A|\n:a;\nfork again\n|B|\n:b;\nend fork", "plantuml-late-lane", "3:1", "|A|\nfork\n|A|\n:a;\nfork again\n|B|\n:b;\nend fork"},
	{"late lane in an if", "if (Good?) then (yes)\n|A|\n:a;\nendif", "plantuml-late-lane", "3:1", "| |\nif (Good?) then (yes)\n|A|\n:a;\nendif"},

	{"note right of", ":Welcome;\nnote right of Welcome\n  hello\nend note", "plantuml-note-form", "3:1", ":Welcome;\nnote right\n  hello\nend note"},
	{"note top", ":a;\nnote top: hello", "plantuml-note-form", "3:1", ":a;\nnote right: hello"},
	{"note over", ":a;\nnote over a : hello", "plantuml-note-form", "3:1", ":a;\nnote right: hello"},
	{"note left of", ":a;\nnote left of a\nx\nend note\n:b;", "plantuml-note-form", "3:1", ":a;\nnote left\nx\nend note\n:b;"},
	{"note without end", ":a;\nnote right\n  agent: x\n:b;", "plantuml-note-form", "3:1", ":a;\nnote right\n  agent: x\nend note\n:b;"},
	{"note end with a comment", ":a;\nnote right\n  x\nend note ' done\n:b;", "plantuml-note-form", "5:1", ":a;\nnote right\n  x\nend note\n' done\n:b;"},
	{"note end with blanks", ":a;\nnote right\n  x\nend  note\n:b;", "plantuml-note-form", "5:1", ":a;\nnote right\n  x\nend note\n:b;"},

	{"comment behind kill", ":a;\nkill ' ends here", "plantuml-comment", "3:6", ":a;\n' ends here\nkill"},
	{"comment behind an activity", ":a; ' first\n:b;", "plantuml-comment", "2:5", "' first\n:a;\n:b;"},
	{"slashes behind an activity", ":a; // first\n:b;", "plantuml-comment", "2:5", "' first\n:a;\n:b;"},
	{"comment behind endif", "if (a) then (b)\n:c;\nendif ' done", "plantuml-comment", "4:7", "if (a) then (b)\n:c;\n' done\nendif"},
	{"slashes", "// the beginning\n:a;", "plantuml-comment", "2:1", "' the beginning\n:a;"},
	{"hash", ":a;\n# next\n:b;", "plantuml-comment", "3:1", ":a;\n' next\n:b;"},
	{"percent", ":a;\n%% next\n:b;", "plantuml-comment", "3:1", ":a;\n' next\n:b;"},

	{"end switch", "switch (x)\ncase (a)\n:b;\nend switch", "plantuml-keyword", "5:1", "switch (x)\ncase (a)\n:b;\nendswitch"},
	{"case with a colon", "switch (x)\ncase a:\n:b;\nendswitch", "plantuml-condition", "3:1", "switch (x)\ncase (a)\n:b;\nendswitch"},
	{"case in parentheses with a colon", "switch (x)\ncase (a):\n:b;\nendswitch", "plantuml-condition", "3:1", "switch (x)\ncase (a)\n:b;\nendswitch"},
	{"default", "switch (x)\ncase (a)\n:b;\ndefault\n:c;\nendswitch", "plantuml-keyword", "5:1", "switch (x)\ncase (a)\n:b;\ncase (default)\n:c;\nendswitch"},
	{"elif", "if (a) then (b)\n:c;\nelif (d)\n:e;\nendif", "plantuml-keyword", "4:1", "if (a) then (b)\n:c;\nelseif (d) then\n:e;\nendif"},
	{"until", "repeat\n:a;\nuntil (done?)", "plantuml-keyword", "4:1", "repeat\n:a;\nrepeat while (done?) is (no) not (yes)"},
	{"repeat until", "repeat\n:a;\nrepeat until (done?)", "plantuml-keyword", "4:1", "repeat\n:a;\nrepeat while (done?) is (no) not (yes)"},
	{"join", "fork\n:a;\nfork again\n:b;\njoin", "plantuml-keyword", "6:1", "fork\n:a;\nfork again\n:b;\nend fork"},
	{"parallel", "parallel\n:a;\nfork again\n:b;\nend parallel", "plantuml-keyword", "2:1", "fork\n:a;\nfork again\n:b;\nend fork"},
	{"end partition", "partition P {\n:a;\nend partition", "plantuml-keyword", "4:1", "partition P {\n:a;\n}"},
	{"group end", "group G\n:a;\ngroup end\n:b;", "plantuml-keyword", "4:1", "group G\n:a;\n}\n:b;"},
	{"for", "for (each file)\n:a;\nend for", "plantuml-keyword", "2:1", "while (each file)\n:a;\nendwhile"},
	{"for each", "for each file in files\n:a;\nendfor", "plantuml-keyword", "2:1", "while (each file in files)\n:a;\nendwhile"},
	{"endif with a label", "if (a) then (b)\n:c;\nendif (done)", "plantuml-keyword", "4:1", "if (a) then (b)\n:c;\nendif"},
	{"end split of a fork", "fork\n:a;\nfork again\n:b;\nend split", "plantuml-keyword", "6:1", "fork\n:a;\nfork again\n:b;\nend fork"},

	{"if without parentheses", "if a > 1 then (yes)\n:b;\nendif", "plantuml-condition", "2:1", "if (a > 1) then (yes)\n:b;\nendif"},
	{"if without anything", "if ready then\n:b;\nendif", "plantuml-condition", "2:1", "if (ready) then\n:b;\nendif"},
	{"while without parentheses", "while more is (yes)\n:b;\nendwhile", "plantuml-condition", "2:1", "while (more) is (yes)\n:b;\nendwhile"},
	{"else if without parentheses", "if (a) then (b)\n:c;\nelse if d then (e)\n:f;\nendif", "plantuml-condition", "4:1", "if (a) then (b)\n:c;\nelseif (d) then (e)\n:f;\nendif"},
	{"then below", "if (a)\nthen (yes)\n:b;\nendif", "plantuml-condition", "3:1", "if (a) then (yes)\n:b;\nendif"},
	{"empty label", "if (a) then ()\n:b;\nendif", "plantuml-condition", "2:6", "if (a) then\n:b;\nendif"},
	{"empty label of a while", "while (a) is ()\n:b;\nendwhile", "plantuml-condition", "2:9", "while (a)\n:b;\nendwhile"},
	{"while then", "while (a) then (b)\n:c;\nendwhile", "plantuml-condition", "2:9", "while (a) is (b)\n:c;\nendwhile"},
	{"if equals then label", "if (c) equals (x) then (yes)\n:a;\nendif", "plantuml-condition", "2:6", "if (c equals x) then (yes)\n:a;\nendif"},
	{"blank before the semicolon", "if (a) then (b) ;\n:c;\nendif", "plantuml-condition", "2:6", "if (a) then (b)\n:c;\nendif"},
	{"while over lines", "while (a\n  and b)\n:c;\nendwhile", "plantuml-condition", "2:1", "while (a\\nand b)\n:c;\nendwhile"},

	{"kill in an empty branch", "if (a) then (b)\n:c;\nelse\nkill\nendif", "plantuml-kill", "5:1", "if (a) then (b)\n:c;\nelse\nstop\nendif"},
	{"kill behind stop", ":a;\nstop\nkill", "plantuml-kill", "4:1", ":a;\nstop"},

	{"old shape", ":read|\n:write;", "plantuml-version", "2:1", ":read; <<procedure>>\n:write;"},
	{"old colour", "#LightBlue:read;\n:write;", "plantuml-version", "2:1", ":read; <<#LightBlue>>\n:write;"},

	{"colour of a lane", "|#LightPurple|A|\n:a;", "plantuml-colour", "2:2", "|A|\n:a;"},
	{"colour of a step", ":a; <<task>> <<#Lila>>", "plantuml-colour", "2:13", ":a; <<task>>"},
	{"colour of an arrow", ":a;\n-[#lila,dashed]-> x;\n:b;", "plantuml-colour", "3:1", ":a;\n-> x;\n:b;"},
	{"colour of a note", ":a;\nnote right #lila\nx\nend note", "plantuml-colour", "3:11", ":a;\nnote right\nx\nend note"},
	{"colour of a group", "partition P #lila {\n:a;\n}", "plantuml-colour", "2:12", "partition P {\n:a;\n}"},

	{"theme", "!theme Plain\n:a;", "plantuml-syntax", "2:1", "!theme plain\n:a;"},
	{"unknown theme", "!theme nothing-like-it\n:a;", "plantuml-syntax", "2:1", ":a;"},
	{"direction", "left to right direction\n:a;", "plantuml-syntax", "2:1", ":a;"},
	{"allowmixing", "allowmixing\n:a;", "plantuml-syntax", "2:1", ":a;"},
	{"else with a colon", "if (a) then (b)\n:c;\nelse:\n:d;\nendif", "plantuml-syntax", "4:5", "if (a) then (b)\n:c;\nelse\n:d;\nendif"},
	{"no colon", ":a;\nread the code;\n:b;", "plantuml-syntax", "3:1", ":a;\n:read the code;\n:b;"},
	{"full-width punctuation", "：read；\n:b;", "plantuml-syntax", "2:1", ":read;\n:b;"},
	{"brace below", "partition P\n{\n:a;\n}", "plantuml-syntax", "3:1", "partition P {\n:a;\n}"},

	{"no markers", "start\n:a;\nstop\n", "plantuml-startuml", "1:1", "@startuml\nstart\n:a;\nstop\n@enduml\n"},
	{"no end", "@startuml\n:a;\n", "plantuml-startuml", "1:1", "@startuml\n:a;\n@enduml\n"},
	{"fences", "```plantuml\n:a;\n```", "plantuml-startuml", "2:1", ":a;"},
}

func marked(text string) string {
	if strings.HasPrefix(text, "@startuml") || strings.HasSuffix(text, "\n") {
		return text
	}
	return "@startuml\n" + text + "\n@enduml\n"
}

func TestMistakes(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			text := []byte(marked(m.text))
			meant, ds := Parse(source.New("", text))
			if len(ds) == 0 {
				t.Fatal("nothing was found")
			}
			if got := fmt.Sprintf("%s at %d:%d", ds[0].Code, ds[0].Line, ds[0].Column); got != m.code+" at "+m.at {
				t.Errorf("found %s, not %s at %s:\n%s", got, m.code, m.at, ds)
			}
			fixed := fix(text, 5)
			if string(fixed) != marked(m.fixed) {
				t.Errorf("the fix gives\n%s\nnot\n%s\n%s", fixed, marked(m.fixed), ds)
			}
			drawn, left := Parse(source.New("", fixed))
			if len(left) > 0 && m.name != "old colour" { // no version knows the colours of the other
				t.Errorf("the fixed diagram still has\n%s", left)
			}
			if m.code == CodeLateLane {
				return // the fix adds a lane
			}
			if got, want := ourTree(meant, true), ourTree(drawn, true); got != want {
				t.Errorf("what was read is not what was meant:\n%s\n%s", got, want)
			}
		})
	}
}

// fix applies fixes until nothing changes.
func fix(text []byte, rounds int) []byte {
	for range rounds {
		_, ds := Parse(source.New("", text))
		next, count := ds.Fixed(text)
		if count == 0 {
			break
		}
		text = next
	}
	return text
}

func TestMistakesAreFixedForPlantUML(t *testing.T) {
	var fixed []string
	for _, m := range mistakes {
		fixed = append(fixed, string(fix([]byte(marked(m.text)), 5)))
	}
	for _, tool := range tooltest.PlantUML {
		for i, r := range tool.Read(t, fixed...) {
			if !r.Accepted() {
				t.Errorf("%s: PlantUML %s refuses what the fixes give", mistakes[i].name, tool.Version)
			}
		}
	}
}

// A diagram without diagnostics is read as PlantUML reads it: the reader repairs nothing without
// reporting it.
func TestNothingIsRepairedSilently(t *testing.T) {
	for name, text := range everything(t) {
		d, ds := Parse(source.New("", text))
		if len(ds) > 0 {
			continue
		}
		r := drawn(text)
		if r.stopped || r.foreign {
			t.Errorf("%s: PlantUML refuses it, and nothing was found", name)
		}
		if got, want := ourTree(d, true), ourTree(r.diagram, true); got != want {
			t.Errorf("%s is read as\n%s\nnot as PlantUML does\n%s", name, got, want)
		}
	}
}

func TestAllMistakesAreFoundAtOnce(t *testing.T) {
	text := "@startuml\n-> a\n:b; --> :c;\nif x then\n:d; ' why\nelif (y)\n:e;\nend fork\nswitch (z)\ncase q:\n:f;\nend switch\n@enduml\n"
	_, ds := Parse(source.New("", []byte(text)))
	var got []string
	for _, d := range ds {
		got = append(got, fmt.Sprintf("%d %s", d.Line, strings.TrimPrefix(d.Code, "plantuml-")))
	}
	want := "2 semicolon, 3 arrow, 4 condition, 4 unclosed, 5 comment, 6 keyword, 8 stray, 10 condition, 12 keyword"
	if strings.Join(got, ", ") != want {
		t.Errorf("found %s\nnot %s\n%s", strings.Join(got, ", "), want, ds)
	}
	fixed := fix([]byte(text), 5)
	if _, left := Parse(source.New("", fixed)); len(left) > 0 {
		t.Errorf("left in\n%s\n%s", fixed, left)
	}
}

// An activity continues up to the first line that ends in a semicolon, whatever the
// lines above it look like.
func TestReadsAnActivityOverLinesAsPlantUMLDoes(t *testing.T) {
	for _, inner := range []string{"|echo|\n|echo|", "start\nwith hello\nend\nand so on", "stop\nwhen the hero wins", "note left\nthe rest",
		"if (a) then (b)\nelse", "fork again\n}", ":Review it", "repeat while (a)"} {
		d, ds := Parse(source.New("", []byte("@startuml\n|A|\n:Write\n"+inner+";\n:Next;\n@enduml\n")))
		if ds.Errors() {
			t.Errorf("%q: %s", inner, ds)
		}
		want := fmt.Sprintf("simple text=%q lane=\"A\"\nsimple text=\"Next\" lane=\"A\"\n", "Write\n"+inner)
		if got := ourTree(d, true); !strings.HasSuffix(got, want) {
			t.Errorf("%q is read as\n%s", inner, got)
		}
	}
}

func TestUnclosedNamesBothPlaces(t *testing.T) {
	_, ds := Parse(source.New("", []byte("@startuml\n\n\nsplit\n:a;\n\nif (x) then (y)\n:b;\nsplit again\n:c;\nend split\n@enduml\n")))
	if len(ds) != 1 || ds[0].Severity != workflow.Error || ds[0].Summary != `if at line 7 is not closed before "split again" (line 9)` {
		t.Errorf("found %s", ds)
	}
}

// A missing semicolon hides an if in the text of an activity. Only that is reported, not the else
// and the endif, which are left unchanged.
func TestSemicolonBeforeIf(t *testing.T) {
	const text = "@startuml\n:read\nif (a) then (b)\n:c;\nelse (d)\n:e;\nendif\n@enduml\n"
	_, found := Parse(source.New("f.puml", []byte(text)))
	if len(found) != 1 || found[0].Severity != workflow.Error || found[0].Code != codeSemicolon || found[0].Line != 3 {
		t.Fatal(found)
	}
	fixed, _ := found.Fixed([]byte(text))
	if _, found := Parse(source.New("f.puml", fixed)); len(found) > 0 {
		t.Errorf("%s\n%s", found, fixed)
	}
}
