package workflow

import (
	"strings"
	"unicode/utf8"
)

// widestHeading is the maximum length, in characters, of a prompt that appears in a drawing.
const widestHeading = 40

// Heading returns the text of a node in a drawing: its title, otherwise its prompt or question if
// that is short, as in workflows that were only drawn. It returns "" if there is only the id.
func (n *Node) Heading() string {
	if n.Title != "" {
		return n.Title
	}
	text := ""
	switch step := n.Step.(type) {
	case *Task:
		if step.Branches == OneBranch { // otherwise it is only for conflicts
			text = step.Prompt.Text
		}
	case *Human:
		text = step.Question.Text
	case *Call, *Choice, *Combine, *Loop, *Each:
	}
	if strings.ContainsAny(text, "\n$") || utf8.RuneCountInString(text) > widestHeading {
		return ""
	}
	return text
}
