package draw

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/workflow"
)

// The texts in and next to the nodes of a picture, the same in every format.

// widestTitle and widestNote limit the texts in a node, in characters.
const (
	widestTitle = 40
	widestNote  = 48
)

// title returns the title of a node.
func title(n *workflow.Node) string {
	if c, ok := n.Step.(*workflow.Choice); ok && n.Title == "" && madeUp().MatchString(n.ID) {
		return shorten(choiceText(c), widestTitle)
	}
	return shorten(heading(n), widestTitle)
}

// heading returns what its author calls a node.
func heading(n *workflow.Node) string { return cmp.Or(n.Heading(), n.ID) }

// madeUp matches the generated id of a choice that its author did not name.
var madeUp = lazy.Regexp(`^choice(-\d+)?$`)

// note returns the second line of a node: its agent, or how it works. It is "" if it would
// only repeat the title.
func note(n *workflow.Node) string {
	return shorten(noteText(n), widestNote)
}

func noteText(n *workflow.Node) string {
	text := workText(n)
	if t, ok := n.Step.(*workflow.Task); n.Workspace != workflow.WorkspaceOwn || ok && t.Agent == workflow.LandAgent {
		return text
	}
	if text == "" {
		return "own workspace"
	}
	return text + ", own workspace"
}

func workText(n *workflow.Node) string {
	switch s := n.Step.(type) {
	case *workflow.Task:
		return cmp.Or(s.Does(), unless(s.Agent, n.ID))
	case *workflow.Human:
		return unless(questionText(s), title(n))
	case *workflow.Call:
		return "runs " + s.Workflow
	case *workflow.Choice:
		return unless(choiceText(s), title(n))
	case *workflow.Combine:
		return string(s.Strategy)
	case *workflow.Loop:
		return fmt.Sprintf("at most %d rounds", cmp.Or(s.Max, workflow.DefaultMaxIterations))
	case *workflow.Each:
		return eachText(s)
	}
	return ""
}

func questionText(h *workflow.Human) string {
	question, _, _ := strings.Cut(written(h.Question.Text, h.Question.Src), "\n")
	return question
}

// choiceText returns the condition or the question of a choice.
func choiceText(c *workflow.Choice) string {
	if c.Ask != nil {
		question, _, _ := strings.Cut(written(c.Ask.Prompt.Text, c.Ask.Prompt.Src), "\n")
		return question
	}
	return written(c.On.Text, c.On.Src)
}

func eachText(s *workflow.Each) string {
	items := written(s.Items.Text, s.Items.Src)
	if s.As == "" {
		return "for each of " + items
	}
	return "for each " + s.As + " of " + items
}

// edgeText returns the label of an edge, or "" for a plain one.
func edgeText(e *workflow.Edge) string {
	switch e.On {
	case workflow.OnSuccess:
		return ""
	case workflow.OnLabel:
		return shorten(e.Label, widestTitle)
	case workflow.OnWhen:
		return shorten(written(e.When.Text, e.When.Src), widestTitle)
	case workflow.OnElse, workflow.OnFailure, workflow.OnTimeout:
		return string(e.On)
	}
	return ""
}

// written returns an expression as its author wrote it, otherwise in canonical form, without the
// braces around a single reference.
func written(text string, src workflow.Source) string {
	s := strings.TrimSpace(cmp.Or(src.Text, text))
	for _, b := range [][2]string{{"${", "}"}, {"{{", "}}"}} {
		inner, ok := strings.CutPrefix(s, b[0])
		inner, closed := strings.CutSuffix(inner, b[1])
		if ok && closed && !strings.ContainsAny(inner, "{}") {
			return strings.TrimSpace(inner)
		}
	}
	return s
}

func unless(s, same string) string {
	if s == same {
		return ""
	}
	return s
}

// shorten turns a text into one line, and cuts it if it is too long for a picture.
func shorten(s string, width int) string {
	s = clean(s)
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	runes := []rune(s)
	return strings.TrimRight(string(runes[:width-1]), " ") + "…"
}

// clean turns a text into one line, and removes control characters.
func clean(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}
