package expr

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// right is what to write instead of what is often written.
var right = map[string]string{
	"=": "==", "is": "==", "equals": "==", "&": "&&", "and": "&&", "|": "||", "or": "||", "not": "!", "}": "}}",
}

// shortLine is how long a text may be so that advice shows all of it.
const shortLine = 80

// change adds to a mistake of the syntax what to write instead, if that does away
// with it: as the whole line, and as a change.
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

// reads says whether a text has fewer mistakes than the one of the finding, or has
// none up to an offset.
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
