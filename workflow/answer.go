package workflow

import (
	"slices"
	"strings"
	"unicode"
)

// The answers of a question without options and labels.
const (
	Approve = "approve"
	Reject  = "reject"
)

// Offered are the answers that a person may give to a human node of g: its own
// options; else the labels of its edges; else, unless any text will do, approve
// and reject.
func (g *Graph) Offered(n *Node) []Option {
	h, ok := n.Step.(*Human)
	if !ok {
		return nil
	}
	if len(h.Options) > 0 {
		return h.Options
	}
	var options []Option
	for i := range g.Edges {
		e := &g.Edges[i]
		known := func(o Option) bool { return o.Value == e.Label }
		if e.From == n.ID && e.On == OnLabel && !slices.ContainsFunc(options, known) {
			options = append(options, Option{Value: e.Label})
		}
	}
	if len(options) == 0 && !h.Custom {
		return []Option{{Value: Approve}, {Value: Reject}}
	}
	return options
}

// Chosen is the value of the option that somebody names by its value or label.
// To approve and reject people may also say yes, no and the like.
func Chosen(options []Option, said string) (value string, ok bool) {
	for _, o := range options {
		if said == o.Value {
			return o.Value, true
		}
	}
	word := BareLabel(said)
	if word == "" {
		return "", false
	}
	for _, o := range options {
		if word == BareLabel(o.Value) || word == BareLabel(o.Label) {
			return o.Value, true
		}
	}
	plain := len(options) == 2 && options[0].Value == Approve && options[1].Value == Reject
	switch word {
	case "yes", "y", "ok", "true", "approved":
		return Approve, plain
	case "no", "n", "false", "rejected":
		return Reject, plain
	}
	return "", false
}

// BareLabel is a label as it is compared: without case and without punctuation
// around it.
func BareLabel(s string) string {
	return strings.ToLower(strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r)
	}))
}
