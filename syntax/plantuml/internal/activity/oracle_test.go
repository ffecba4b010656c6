package activity

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/source"
)

// diagrams use every statement of the notation, in forms that are easily read
// wrong.
var diagrams = []string{
	"start\n:a; <<task>> <<#red>>\n:b\n  c\n d; <<input>>\n- e\n* f <<x>>\n<<y>> :g;\nstop",
	":a\\nb\\\\nc\\td;\n:e\n\\nf;\nnote left: g\\nh\n:i; [[http://x.org]]",
	"if (f(x) > g(y)) then (yes (sure))\n:a;\n(no) elseif (b) then (c)\n:d;\nelse if (e) is (f) then\n:g;\nelse ([x)\nend\nendif",
	"IF (a\nb) THEN (c)\n-> d;\nELSE (e\nf)\nENDIF;\n",
	"switch (a) <<b>>\ncase (c)\n:d;\n-> e;\ncase ()\ncase (f (g))\nstop\nendswitch",
	"while (a) is (b)\n-> c;\n:d;\nbackward :e;\nend while (f)\nend\nwhile (g) equals (h);\nbreak\nwhile end\nstop",
	"repeat :a; <<b>>\n:c;\n(in) backward :d; (out)\nnote right: e\nrepeat while (f) is (g) not (h)\n->i;\n:j;\nrepeat\nrepeatwhile (k) not (l)\nrepeat\nrepeat while (m\nn) is (o\np)",
	"|#LightBlue|A| Alpha\n|B|\nfork\n|A|\n:a;\n-> x;\nforkagain\n:b;\nend merge {or}\nsplit\n:c;\nsplit again\n|B|\nsplit end;\nswimlane #red C D as E\n:d;",
	"partition \"P (1)\" #red {\n:a;\ngroup G\n:b;\nend group\npackage #blue H I {\nnote right\nx\nend note\n}\n}\ncard {\n}",
	":a;\nnote right #red : b\nfloating note left <<x>>\n  c:\n\n    - d\n\te\nend note\nnote\n  {{\n  end note\n  }}\n 'gone\nendnote\n(A)\ndetach\n(A);\nlabel L_1\ngoto L_1;\nkill",
	"title\n  T\n  U\nend title\nheader H\nlegend right\nL\nendlegend\nskinparam a {\n b c\n}\n<style>\nactivityDiagram {\n}\n</style>\nscale 2\nhide footbox\n!theme plain\n!pragma a b\n-[#red,dashed]-> x;\n:a;\nlink #blue\n:b;",
	":a \\\nb;\n' c\n/' d\ne '/\n/' f '/ :g;\n:h; /' i '/\n:j – k;\n  ' l \\\n:m;",
	"if (a) then (b)\nnote right: 1\n:c;\nnote right: 2\nelse\nnote right: 3\nendif\nnote right: 4\nfork\nnote right: 5\n:d;\nend fork\nnote right: 6\nsplit\nnote right: 7\n:e;\nend split\nnote right: 8",
	"!pragma a\n!assume transparent dark\n:a;\nnote right\n!pragma b\nend note", "!pragma\n:a;", "!assume transparent\n:a;",
	"!theme\n:a;", "!theme aws\n:a;",
	"skinparam a.b<<c>> d\n:a;", "skinparam a: b\n:a;", "skinparam a| b\n:a;", "page 2x2 a\n:a;", "skin >rose\n:a;",
	"skin rose\nminwidth 9\npage 2x2\nscale max 9*9\nscale 2/3\nfootbox\nhide \"a b\" circled\nset separator ::\nsprite $s [4x4/16] {\n00\n}\n:a;",
	":a;\n:b;\n/' c\n:d;",
	"foo detach", ":a;\nfoo detach", "stop\n-> a\nb;\n:c;\n-> d;\nstop\n:e;",
}

// PlantUML reads the diagrams of these tests as the reader does, the broken ones
// too.
func TestReadsItsOwnDiagramsAsPlantUMLDoes(t *testing.T) {
	all := append([]string(nil), diagrams...)
	for _, m := range mistakes {
		if !strings.HasPrefix(m.name, "no ") || !strings.Contains(m.name, "marker") {
			all = append(all, m.text)
		}
	}
	dir := t.TempDir()
	var files []string
	for i, text := range all {
		path := filepath.Join(dir, fmt.Sprintf("%d.puml", i))
		if err := os.WriteFile(path, []byte(marked(text)), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	compare(t, plantuml(t, "1.2026.8", files), func(v *verdict) []byte {
		text, err := os.ReadFile(v.File)
		if err != nil {
			t.Fatal(err)
		}
		return text
	})
}

var texts = []string{
	"plain", "two\nlines", `back\slash`, `\n`, `\\n`, "tab\there", " blanks ", "semi; colon;", ":colon:", "a <<b>>", "[[x", "it's",
	"'quote", "/' not a comment '/", "$name and %name(x)", "a; <<b>>", "ends in \\", "(a) then (b)", "{{x}}", "über\n\n日本", "-> arrow", "",
}

// PlantUML shows an escaped text as it was.
func TestEscapedTextsForPlantUML(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, text := range texts {
		path := filepath.Join(dir, fmt.Sprintf("%d.puml", i))
		if err := os.WriteFile(path, []byte(marked(":"+Escape(text)+";")), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	for i, v := range plantuml(t, "1.2026.8", files) {
		want := fmt.Sprintf("simple text=%q\n", texts[i])
		if texts[i] == "" {
			want = "simple\n"
		}
		v.File = ""
		if got := realTree(&v); got != want {
			t.Errorf("%q is shown as %s", texts[i], got)
		}
	}
}

func TestEscape(t *testing.T) {
	for _, text := range texts {
		if got := Unescape(Escape(text)); got != text {
			t.Errorf("%q became %q", text, got)
		}
		d, _ := Parse(source.New("", []byte(marked(":"+Escape(text)+";"))))
		if got := d.Body[0].(*Activity).Text.String(); got != text {
			t.Errorf("%q is read as %q", text, got)
		}
	}
	if got := Escape("a\r\nb\rc"); got != `a\nb\nc` {
		t.Errorf("carriage returns are written as %q", got)
	}
}

var noteLines = []struct {
	text string
	safe bool
}{
	{"agent: writer", true}, {"  - a: 'quoted'", true}, {"", true}, {"   ", true}, {"{{x}}", true}, {"{{x", true}, {":a;", true},
	{"end", true}, {"end notes", true}, {"a end note", true}, {"it's", true}, {"$x and %x(1)", true}, {"a /' b", true},
	{`a\\`, false}, {"note right", true}, {"x @enduml", true}, {"stop", true}, {"// x", true}, {"#x", true},
	{"'quoted'", false}, {"  'quoted'", false}, {"/' a", false}, {"!include x", false}, {"!", false}, {"@enduml", false}, {" @endx", false},
	{"{{", false}, {"  {{ ", false}, {"{{json", false}, {"}}", false}, {"end note", false}, {"endnote", false}, {"END NOTE", false},
	{`a\`, false}, {"at %date()", false}, {"a – b", false}, {"a '/", false}, {"two\nlines", false},
}

func TestSafeNoteLine(t *testing.T) {
	for _, l := range noteLines {
		if got := SafeNoteLine(l.text); got != l.safe {
			t.Errorf("%q is safe: %v", l.text, got)
		}
	}
}

// PlantUML keeps safe lines of notes.
func TestSafeNoteLinesForPlantUML(t *testing.T) {
	want := []string{"x:"}
	for _, l := range noteLines {
		if l.safe {
			want = append(want, l.text)
		}
	}
	text := strings.Join(append(want, "y"), "\n")
	path := filepath.Join(t.TempDir(), "a.puml")
	if err := os.WriteFile(path, []byte(marked(":a;\nnote right\n"+text+"\nend note")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1.2026.8", "1.2024.7"} {
		v := plantuml(t, version, []string{path})[0]
		v.File = ""
		if got, want := realTree(&v), fmt.Sprintf("simple text=\"a\"\n* note RIGHT NOTE %q\n", text); got != want {
			t.Errorf("PlantUML %s reads\n%s\nnot\n%s", version, got, want)
		}
	}
}
