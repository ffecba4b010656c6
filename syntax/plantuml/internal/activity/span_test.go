package activity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// checkSpans reports what is wrong with the positions in a tree: all must be in the file, elements
// must follow each other, and children must be within their parents.
func checkSpans(d *Diagram, size int) error {
	c := spanCheck{size: size}
	c.body(d.Body, d.Whole)
	for _, decor := range d.Decor {
		c.inside(decor.Span, source.Span{To: size}, "decor")
	}
	return c.err
}

type spanCheck struct {
	size int
	err  error
}

func (c *spanCheck) inside(s, outer source.Span, what string) {
	if c.err == nil && (s.From < outer.From || s.To > outer.To || s.From > s.To || s.To > c.size) {
		c.err = fmt.Errorf("%s stands at %v, which is not in %v", what, s, outer)
	}
}

func (c *spanCheck) body(body []Element, outer source.Span) {
	at := outer.From
	for _, e := range body {
		s := e.Common().Span
		c.inside(s, outer, fmt.Sprintf("%T", e))
		if s.From < at && c.err == nil {
			c.err = fmt.Errorf("%T at %v overlaps what ends at %d", e, s, at)
		}
		at = s.To
		c.element(e, s)
	}
}

func (c *spanCheck) branches(bs []Branch, outer source.Span) {
	for i := range bs {
		c.inside(bs[i].Opener, outer, "the opener of a branch")
		c.body(bs[i].Body, outer)
	}
}

func (c *spanCheck) element(e Element, s source.Span) {
	switch e := e.(type) {
	case *Activity:
		c.inside(e.Text.Span, s, "text")
	case *If:
		c.branches(e.Branches, s)
		if e.Else != nil {
			c.branches([]Branch{*e.Else}, s)
		}
	case *Switch:
		c.body(e.Early, s)
		c.branches(e.Cases, s)
	case *Fork:
		c.branches(e.Branches, s)
	case *Split:
		c.branches(e.Branches, s)
	case *While:
		c.body(e.Body, s)
	case *Repeat:
		c.body(e.Body, s)
	case *Group:
		c.body(e.Body, s)
	case *Note:
		for _, l := range e.Lines {
			c.inside(l.Span, s, "a line of a note")
		}
	case *Start, *Stop, *Break, *Goto, *Label, *Connector, *Arrow, *LaneMark, *Backward, *Kill:
	}
}

func TestSpans(t *testing.T) {
	text := "@startuml Review it\n  |Writer|\n  if (is it \"ok\"?) then (yes)\n    :read\\nit; <<task>>\n    note right\n      a: 1\n\n        b: 2\n    end note\n  else (no)\n" +
		"    -> back;\n    repeat :again;\n    repeat while (x) is (y) not (z)\n  endif\n@enduml\n"
	d, ds := Parse(source.New("", []byte(text)))
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	branch := d.Body[1].(*If)
	act := branch.Branches[0].Body[0].(*Activity)
	note := act.Notes[0]
	loop := branch.Else.Body[1].(*Repeat)
	for _, c := range []struct {
		at   source.Span
		want string
	}{
		{d.NameSpan, "Review it"},
		{d.Opener, "@startuml Review it"},
		{d.Closer, "@enduml"},
		{d.Lanes[0].Span, "|Writer|"},
		{branch.Opener, `if (is it "ok"?) then (yes)`},
		{branch.Closer, "endif"},
		{branch.Branches[0].Test.Span, `is it "ok"?`},
		{branch.Branches[0].Label.Span, "yes"},
		{branch.Else.Opener, "else (no)"},
		{act.Text.Span, `read\nit`},
		{note.Opener, "note right"},
		{note.Closer, "end note"},
		{note.Lines[0].Span, "a: 1"},
		{note.Lines[2].Span, "  b: 2"},
		{loop.Start.Span, "again"},
		{loop.Test.Span, "x"},
		{loop.Yes.Span, "y"},
		{loop.Not.Span, "z"},
		{loop.Arrow.Label.Span, "back"},
		{loop.Span, "repeat :again;\n    repeat while (x) is (y) not (z)"},
	} {
		if got := text[c.at.From:c.at.To]; got != c.want {
			t.Errorf("at %v stands %q, not %q", c.at, got, c.want)
		}
	}
}

// Statements over several lines keep their positions.
func TestSpansOfJoinedLines(t *testing.T) {
	for _, c := range []struct{ text, raw, at string }{
		{"@startuml\n:one \\\n  two three;\n@enduml\n", "one   two three", "one \\\n  two three"},
		{"@startuml\n:one – two;\n@enduml\n", "one - two", "one – two"},
		{"@startuml\n/' c '/ :one;\n@enduml\n", "one", "one"},
		{"@startuml\r\n:one\r\n' c\r\ntwo;\r\n@enduml\r\n", "one\ntwo", "one\r\n' c\r\ntwo"},
		{" * @startuml\n * :one;\n * @enduml\n", "one", "one"},
	} {
		d, ds := Parse(source.New("", []byte(c.text)))
		if len(ds) > 0 {
			t.Errorf("%q: %s", c.text, ds)
		}
		act := d.Body[0].(*Activity)
		at := act.Text.Span
		if got := c.text[at.From:at.To]; act.Text.Raw != c.raw || got != c.at {
			t.Errorf("%q: the text is %q at %q", c.text, act.Text.Raw, got)
		}
	}
}

func TestSpansOfDiagrams(t *testing.T) {
	for name, text := range everything(t) {
		d, _ := Parse(source.New("", text))
		if err := checkSpans(d, len(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDepth(t *testing.T) {
	deep := func(n int) workflow.Diagnostics {
		text := "@startuml\n" + strings.Repeat("if (a) then (b)\n", n) + ":x;\n" + strings.Repeat("endif\n", n) + "@enduml\n"
		_, ds := Parse(source.New("", []byte(text)))
		return ds
	}
	if ds := deep(maxDepth); len(ds) > 0 {
		t.Errorf("%d blocks: %s", maxDepth, ds[0])
	}
	if ds := deep(maxDepth + 1); len(ds) != 1 || ds[0].Code != codeDepth {
		t.Errorf("%d blocks: %d findings, the first is %s", maxDepth+1, len(ds), ds[:1])
	}
}

func FuzzParse(f *testing.F) {
	for _, m := range mistakes {
		f.Add(marked(m.text))
	}
	for _, found := range []string{
		"00;:;", "000000000\npAr", "000000000\nsplit    '000000000000000000000\nsplitAgAin",
		"@start0\n:0\nnote right 1\n00\nnot \n!en ", "@start0\n@start0", "*\\\n ", "case :",
	} {
		f.Add(found)
	}
	f.Add("@startuml\n:a\\\n:b;\nnote right\n{{\n}}\nend note\n/' c\n'/\n!procedure $x()\n!endprocedure\n@enduml")
	f.Fuzz(func(t *testing.T, text string) {
		d, ds := Parse(source.New("", []byte(text)))
		if err := checkSpans(d, len(text)); err != nil {
			t.Errorf("%v\n%q", err, text)
		}
		for _, x := range ds {
			if x.Line < 1 || x.Summary == "" || x.Detail == "" {
				t.Errorf("%+v", x)
			}
		}
		ds.Fixed([]byte(text))
		drawn([]byte(text))
	})
}

func FuzzEscape(f *testing.F) {
	f.Add("a\nb\\n\tc\\")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\r") {
			t.Skip()
		}
		raw := Escape(text)
		if got := Unescape(raw); got != text {
			t.Errorf("%q became %q", text, got)
		}
		if strings.ContainsAny(raw, "\n\t") {
			t.Errorf("%q is not one line", raw)
		}
	})
}
