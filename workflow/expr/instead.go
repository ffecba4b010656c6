package expr

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// right maps common mistakes to the correct form.
var right = map[string]string{
	"=": "==", "is": "==", "equals": "==", "&": "&&", "and": "&&", "|": "||", "or": "||", "not": "!", "}": "}}",
}

// shortLine is the maximum length of a text that hints show in full.
const shortLine = 80

// change adds to a syntax error what to write instead, if that fixes it: as the whole line, and
// as a change.
func (f *finding) change(written string, from, to int) {
	instead, known := right[written[from:to]]
	if !known || instead == "}}" && strings.HasPrefix(strings.TrimLeft(written[to:], " "), "}") {
		return
	}
	text := written[:from] + instead + written[to:]
	if !f.reads(text, from+len(instead)) {
		return
	}
	f.problem.Change = workflow.Change{At: f.problem.Pos, Was: written[from:to], Text: instead}
	if len(text) <= shortLine && !strings.Contains(text, "\n") {
		f.problem.Detail = "write " + strings.TrimSpace(text)
	}
}

// reads reports whether a text has fewer mistakes than the text of the finding, or none up to an
// offset.
func (f *finding) reads(text string, upTo int) bool {
	if f.text.isText {
		_, before := faults(f.text.src.Text, Mixed)
		_, after := faults(text, Mixed)
		return len(after) < len(before)
	}
	_, err := ParseExpr(text, Mixed)
	e := syntaxError(err)
	return e == nil || e.From > upTo
}
