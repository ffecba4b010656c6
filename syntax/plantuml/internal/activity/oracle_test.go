package activity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/internal/tooltest"
)

// PlantUML reads the broken diagrams of these tests as the reader does.
func TestReadsMistakesAsPlantUMLDoes(t *testing.T) {
	var all []string
	for _, m := range mistakes {
		if !strings.HasPrefix(m.name, "no ") || !strings.Contains(m.name, "marker") {
			all = append(all, marked(m.text))
		}
	}
	for i, r := range newest.Read(t, all...) {
		if problem := disagreement([]byte(all[i]), r.Accepted(), &r, true); problem != "" {
			t.Errorf("%s\n%s", problem, all[i])
		}
	}
}

var texts = []string{
	"plain", "two\nlines", `back\slash`, `\n`, `\\n`, "tab\there", " blanks ", "semi; colon;", ":colon:", "a <<b>>", "[[x", "it's",
	"'quote", "/' not a comment '/", "$name and %name(x)", "a; <<b>>", "ends in \\", "(a) then (b)", "{{x}}", "über\n\n日本", "-> arrow", "",
}

// PlantUML shows an escaped text unchanged.
func TestEscapedTextsForPlantUML(t *testing.T) {
	var diagrams []string
	for _, text := range texts {
		diagrams = append(diagrams, marked(":"+Escape(text)+";"))
	}
	for i, r := range newest.Read(t, diagrams...) {
		want := fmt.Sprintf("simple text=%q\n", texts[i])
		if texts[i] == "" {
			want = "simple\n"
		}
		if got := realTree(&r, false); got != want {
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
	for _, tool := range tooltest.PlantUML {
		r := tool.Read(t, marked(":a;\nnote right\n"+text+"\nend note"))[0]
		if got, want := realTree(&r, false), fmt.Sprintf("simple text=\"a\"\n* note RIGHT NOTE %q\n", text); got != want {
			t.Errorf("PlantUML %s reads\n%s\nnot\n%s", tool.Version, got, want)
		}
	}
}
