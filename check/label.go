package check

import (
	"cmp"
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
type labels struct {
	list   []string
	folded []string
	first  map[string]string // that an answer of a key decides for
}

func (n *node) labels() labels {
	all := labels{first: make(map[string]string)}
	seen := make(map[string]bool)
	for _, e := range n.out {
		if e.On != workflow.OnLabel || seen[e.Label] {
			continue
		}
		seen[e.Label] = true
		all.list, all.folded = append(all.list, e.Label), append(all.folded, fold(e.Label))
		if key := keyOf(e.Label); all.first[key] == "" {
			all.first[key] = e.Label
		}
	}
	return all
}

// keyOf is the same for a label and the words that decide for it.
func keyOf(s string) string { return cmp.Or(fold(s), s) }

// of is the label that an answer decides for: the same words, else the only
// label that stands in it as a whole word. "": none.
func (l labels) of(a answer) string {
	for _, word := range a {
		if label := l.first[keyOf(word)]; label != "" {
			return label
		}
	}
	found, text := "", strings.ToLower(a[0])
	for i, label := range l.list {
		if !hasWord(text, l.folded[i]) {
			continue
		}
		if found != "" {
			return ""
		}
		found = label
	}
	return found
}

// hasWord says whether a folded label stands in a text of small letters, between
// characters that belong to no word.
func hasWord(text, label string) bool {
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

// decided is what the answers of a node decide for.
type decided struct {
	answers []answer // nil: anything
	labels  map[string]bool
	rest    []answer // those that decide for no label
}

// decides is what the answers of a node decide for; many rules ask.
func (n *node) decides() *decided {
	if n.decided == nil {
		n.decided = &decided{answers: n.answers(), labels: make(map[string]bool)}
		all := n.labels()
		for _, a := range n.decided.answers {
			if label := all.of(a); label != "" {
				n.decided.labels[label] = true
			} else {
				n.decided.rest = append(n.decided.rest, a)
			}
		}
	}
	return n.decided
}
