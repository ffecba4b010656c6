package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// statuses returns the words that a status may be when a condition reads it, or nil if the
// reference is not a status.
func (r *Ref) statuses() []string {
	switch {
	case r.Field != "status" || len(r.Path) > 0:
	case r.Kind == Nodes:
		return []string{"success", "error", "timeout", "skipped", "cancelled"}
	case r.Kind == Groups:
		return []string{"success", "partial", "error"}
	case r.Kind == Failure:
		return []string{"error", "timeout"}
	}
	return nil
}

// statusWords warns about comparisons of a status with a word that is not a status, and returns
// these words.
func (c *checker) statusWords(p *parsed) []string {
	if p.isText {
		return nil
	}
	var wrong []string
	for i, n := range comparisons(p.expr.root) {
		status, isRef := n.left.(*Ref)
		literal, isLiteral := n.right.(*literalNode)
		if !isRef || !isLiteral || n.op != "==" && n.op != "!=" {
			continue
		}
		known := status.statuses()
		word, isWord := literal.value.(string)
		if known == nil || !isWord || slices.Contains(known, word) {
			continue
		}
		detail := "use one of " + strings.Join(known, ", ")
		if near := workflow.DidYouMean(word, known); near != "" {
			detail = near + " " + detail
		}
		wrong = append(wrong, word)
		c.findings = append(c.findings, &finding{text: p, number: i, problem: &Problem{
			Kind: UnknownStatus, Name: word, Summary: fmt.Sprintf("%q is not a status", word), Detail: detail,
		}})
	}
	return wrong
}

// comparisons returns the comparisons in an expression, in the order in which they are written.
func comparisons(root node) (list []*compareNode) {
	eachNode(root, func(n node) {
		if c, ok := n.(*compareNode); ok {
			list = append(list, c)
		}
	})
	return list
}
