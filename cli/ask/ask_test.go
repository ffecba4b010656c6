package ask_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/cli/ask"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/workflow"
)

func gate() ask.Question {
	return ask.Question{Text: "Release 1.2?\n", Options: []workflow.Option{
		{Value: "approve", Label: "Ship it", Description: "to everyone"}, {Value: "reject"}, {Value: "later", Label: "later"},
	}}
}

// rendered returns a question as displayed in a terminal of unlimited width.
func rendered(q ask.Question) string { return strings.Join(ask.Render(q, view.Style{}), "\n") }

func TestRender(t *testing.T) {
	want := "Release 1.2?\n  1) Ship it (approve): to everyone\n  2) reject\n  3) later\nAnswer with a number or a name."
	if diff := cmp.Diff(want, rendered(gate())); diff != "" {
		t.Error(diff)
	}
	q := gate()
	q.Custom = true
	if !strings.HasSuffix(rendered(q), "Answer with a number, a name, or any other text.") {
		t.Error(rendered(q))
	}
	if got := rendered(ask.Question{Text: "Why?", Custom: true}); got != "Why?\nAnswer with any text." {
		t.Error(got)
	}
}

func TestRenderHidesNothing(t *testing.T) {
	q := ask.Question{Text: "a\x1b[2Jb\r\u202ec\n\td", Detail: "ls\n  1) allow", Options: []workflow.Option{{Value: "x\ny\x07", Description: "z\x1b]0;t\x07\nw"}}}
	want := `a\x1b[2Jb\r\u202ec
    d

│ ls
│   1) allow
  1) x\ny\a: z\x1b]0;t\a\nw
Answer with a number or a name.`
	if diff := cmp.Diff(want, rendered(q)); diff != "" {
		t.Error(diff)
	}
}

// A question longer than the screen can be answered only after all of it was shown.
func TestLongQuestionsComeInPages(t *testing.T) {
	q := gate()
	q.Detail = strings.Repeat("line\n", 20) + "the end"
	var out bytes.Buffer
	term := ask.NewTerminal(strings.NewReader("approve\n1\nyes\nreject\n"), &out)
	term.Page = func() (view.Style, int) { return view.Style{Width: 40}, 10 }
	if got, err := term.Ask(t.Context(), q); err != nil || got != "reject" {
		t.Errorf("got %q, %v", got, err)
	}
	for i, page := range strings.Split(out.String(), "press enter for more")[:3] {
		if strings.Count(page, "\n") > 9 || strings.Contains(page, "Answer with") {
			t.Errorf("page %d: %s", i, page)
		}
	}
	if n := strings.Count(out.String(), "not an answer yet: the question continues\n"); n != 3 {
		t.Errorf("%d lines were not taken as an answer:\n%s", n, out.String())
	}
	if !strings.Contains(out.String(), "│ the end\n  1) Ship it") {
		t.Error(out.String())
	}
}

func TestInterpret(t *testing.T) {
	ratings := ask.Question{Options: []workflow.Option{{Value: "2"}, {Value: "1"}, {Value: "No"}, {Value: "no"}}}
	open := gate()
	open.Custom = true
	for _, c := range []struct {
		q          ask.Question
		line, want string
	}{
		{gate(), "approve\n", "approve"},
		{gate(), " SHIP IT \r\n", "approve"},
		{gate(), "2", "reject"},
		{gate(), "4", `"4" is not an option; answer with one of: approve, reject, later`},
		{gate(), "0", `"0" is not an option; answer with one of: approve, reject, later`},
		{gate(), "maybe", `"maybe" is not an option; answer with one of: approve, reject, later`},
		{gate(), "  \n", "the answer is empty"},
		{ask.Question{Options: []workflow.Option{{Value: "approve"}, {Value: "reject"}}}, "yes", "approve"},
		{ask.Question{Options: []workflow.Option{{Value: "yes"}, {Value: "no"}}}, "Y", "yes"},
		{ask.Question{Options: []workflow.Option{{Value: "yes"}, {Value: "no"}}}, "n", "no"},
		{ratings, "1", "1"}, // the value, before the number
		{ratings, "3", "No"},
		{ratings, "no", "no"},
		{open, "later on", "later on"},
		{open, "LATER", "later"},
		{open, "7", "7"},
		{open, "3", "later"},
		{open, "", "the answer is empty"},
	} {
		got, err := ask.Interpret(c.q, c.line)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q: got %s, want %s", c.line, got, c.want)
		}
	}
}

func TestTerminal(t *testing.T) {
	var out bytes.Buffer
	term := ask.NewTerminal(strings.NewReader("what\n\n1\nreject\nlater"), &out)
	for _, want := range []string{"approve", "reject", "later"} {
		if got, err := term.Ask(t.Context(), gate()); err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	for range 2 {
		if _, err := term.Ask(t.Context(), gate()); !errors.Is(err, ask.ErrUnanswered) {
			t.Errorf("after the end of input: %v", err)
		}
	}
	if !strings.Contains(out.String(), "> \"what\" is not an option; answer with one of: approve, reject, later\n> the answer is empty\n> ") {
		t.Errorf("shown: %s", out.String())
	}
}

func TestWithdrawnWhileThePersonTypes(t *testing.T) {
	r, w := io.Pipe()
	var out bytes.Buffer
	term := ask.NewTerminal(r, &out)
	ctx, cancel := context.WithCancelCause(t.Context())
	withdrawn := errors.New("withdrawn")
	time.AfterFunc(20*time.Millisecond, func() { cancel(withdrawn) })
	if _, err := term.Ask(ctx, gate()); !errors.Is(err, withdrawn) {
		t.Errorf("got %v", err)
	}
	go func() { _, _ = io.WriteString(w, "reject\n") }()
	if got, err := term.Ask(t.Context(), gate()); err != nil || got != "reject" {
		t.Errorf("the next question: got %q, %v", got, err)
	}
	// A question that is withdrawn before its turn is not shown.
	if _, err := term.Ask(ctx, gate()); !errors.Is(err, withdrawn) {
		t.Errorf("got %v", err)
	}
	if shown := out.String(); strings.Count(shown, "Release 1.2?") != 2 || strings.Count(shown, "> (no longer open)\n") != 1 {
		t.Errorf("shown: %s", shown)
	}
}

// Text typed before the prompt of a question appeared is not an answer to it.
func TestForgetsWhatWasTypedBefore(t *testing.T) {
	keys := &keyboard{typed: "approve\n"}
	term := ask.NewTerminal(keys, keys)
	term.Forget = func() { keys.typed = "" }
	if got, err := term.Ask(t.Context(), gate()); err != nil || got != "reject" {
		t.Errorf("got %q, %v", got, err)
	}
}

// keyboard is a person who types something before a question, and the answer when its
// prompt appears.
type keyboard struct{ typed string }

func (k *keyboard) Write(p []byte) (int, error) {
	if string(p) == "> " {
		k.typed += "reject\n"
	}
	return len(p), nil
}

func (k *keyboard) Read(p []byte) (int, error) {
	n := copy(p, k.typed)
	k.typed = k.typed[n:]
	return n, nil
}

type broken struct{}

var errBroken = errors.New("gone")

func (broken) Read([]byte) (int, error)  { return 0, errBroken }
func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestBrokenTerminal(t *testing.T) {
	if _, err := ask.NewTerminal(broken{}, io.Discard).Ask(t.Context(), gate()); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	if _, err := ask.NewTerminal(strings.NewReader("1\n"), broken{}).Ask(t.Context(), gate()); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

// Whatever is typed, the answer is one of the options, unless other text is allowed.
func FuzzInterpret(f *testing.F) {
	f.Add("1", "approve", "Ship it", false)
	f.Add(" 2 ", "2", "", true)
	f.Fuzz(func(t *testing.T, line, value, label string, custom bool) {
		q := ask.Question{Text: line, Custom: custom, Options: []workflow.Option{{Value: value, Label: label}, {Value: "other"}}}
		got, err := ask.Interpret(q, line)
		if err == nil && !custom && got != value && got != "other" {
			t.Errorf("%q gives %q", line, got)
		}
		if shown := rendered(q); strings.ContainsAny(shown, "\x1b\r\x07\x00") {
			t.Errorf("shown with control characters: %q", shown)
		}
	})
}
