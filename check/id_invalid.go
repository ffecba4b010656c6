package check

import (
	"slices"
	"strings"
	"unicode"

	"github.com/hocket-dev/hocket/workflow"
)

var idInvalid = rule{
	code:     "id-invalid",
	severity: workflow.Error,
	summary:  "an id must be usable in addresses",
	node: func(p *pass, n *node) {
		switch {
		case n.ID == "":
			p.errorf(n.Pos, "give it an id", "this %s has no id", kindWord(n))
		case slices.Contains(marks, n.ID):
			p.errorf(n.Pos, "rename it", "%q cannot be an id: as a target, it has a fixed meaning", n.ID)
		case strings.ContainsFunc(n.ID, isMark):
			p.errorf(n.Pos, "leave out spaces and / # [ ] @", "%q cannot be an id", n.ID)
		}
	},
}

// marks are the words that authors write for [workflow.End] and [workflow.Again].
var marks = []string{"end", "again"}

// isMark reports whether addresses use a character, as in node#2, node[3], call/node, and the
// targets @end and @again.
func isMark(r rune) bool {
	return strings.ContainsRune("/#[]@", r) || unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar
}
