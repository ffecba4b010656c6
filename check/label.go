package check

import (
	"slices"
	"strings"
	"unicode"

	"github.com/hocket-dev/hocket/workflow"
)

// fold makes decisions comparable: case and the punctuation around them do not
// count.
func fold(s string) string {
	return strings.ToLower(strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r)
	}))
}

// answer is something that a node can decide for, in all its words: true is
// also yes.
type answer []string

// answers are all that a node can decide for. Nil: anything.
func (n *node) answers() []answer {
	switch s := n.Step.(type) {
	case *workflow.Human:
		if s.Custom {
			return nil
		}
		var list []answer
		for _, o := range s.Options {
			list = append(list, answer{o.Value})
		}
		return list
	case *workflow.Choice:
		return decisions(s.On)
	case *workflow.Task, *workflow.Call, *workflow.Combine, *workflow.Loop, *workflow.Each:
	}
	return nil
}

// labels are those of a node's edges, once each.
func (n *node) labels() []string {
	var list []string
	for _, e := range n.out {
		if e.On == workflow.OnLabel && !slices.Contains(list, e.Label) {
			list = append(list, e.Label)
		}
	}
	return list
}

// label is the one that an answer decides for: the same words, else the only
// label that stands in it as a whole word. "": none.
func (a answer) label(labels []string) string {
	for _, word := range a {
		for _, label := range labels {
			if label == word || fold(label) != "" && fold(label) == fold(word) {
				return label
			}
		}
	}
	found := ""
	for _, label := range labels {
		if !hasWord(a[0], label) {
			continue
		}
		if found != "" {
			return ""
		}
		found = label
	}
	return found
}

// hasWord says whether a label stands in a text between characters that belong
// to no word.
func hasWord(text, label string) bool {
	text, label = strings.ToLower(text), fold(label)
	if label == "" {
		return false
	}
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	for {
		before, after, ok := strings.Cut(text, label)
		if !ok {
			return false
		}
		left, right := []rune(before), []rune(after)
		if (len(left) == 0 || !isWord(left[len(left)-1])) && (len(right) == 0 || !isWord(right[0])) {
			return true
		}
		text = after
	}
}

// answerable are the labels of a node that one of its answers decides for, and
// rest are the answers that decide for no label.
func (n *node) answerable(answers []answer) (labels map[string]bool, rest []answer) {
	all := n.labels()
	labels = make(map[string]bool)
	for _, a := range answers {
		if label := a.label(all); label != "" {
			labels[label] = true
		} else {
			rest = append(rest, a)
		}
	}
	return labels, rest
}
