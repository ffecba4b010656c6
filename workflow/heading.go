package workflow

import (
	"strings"
	"unicode/utf8"
)

// widestHeading is how long a prompt may be to stand in a drawing, in characters.
const widestHeading = 40

// Heading is what a drawing calls a node: its title, else its prompt or question if
// that is a few words, as it is where a drawing was all that was written. It is ""
// if only the id is left.
func (n *Node) Heading() string {
	if n.Title != "" {
		return n.Title
	}
	text := ""
	switch step := n.Step.(type) {
	case *Task:
		text = step.Prompt.Text
	case *Human:
		text = step.Question.Text
	case *Call, *Choice, *Combine, *Loop, *Each:
	}
	if strings.ContainsAny(text, "\n$") || utf8.RuneCountInString(text) > widestHeading {
		return ""
	}
	return text
}
