package check

import (
	"cmp"
	"strings"
	"unicode"

	"github.com/hocket-dev/hocket/workflow"
)

// answer is one possible decision of a node, in all its spellings: true is also yes.
type answer []string

// answers returns all possible decisions of a node. Nil means that any is possible.
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

// labels are the distinct labels of a node's edges.
type labels struct {
	list   []string
	folded []string
	first  map[string]string // the label that an answer with this key chooses
}

func (n *node) labels() labels {
	all := labels{first: make(map[string]string)}
	seen := make(map[string]bool)
	for _, e := range n.out {
		if e.On != workflow.OnLabel || seen[e.Label] {
			continue
		}
		seen[e.Label] = true
		all.list, all.folded = append(all.list, e.Label), append(all.folded, workflow.BareLabel(e.Label))
		if key := keyOf(e.Label); all.first[key] == "" {
			all.first[key] = e.Label
		}
	}
	return all
}

// keyOf returns the key by which labels and decisions are compared.
func keyOf(s string) string { return cmp.Or(workflow.BareLabel(s), s) }

// of returns the label that an answer chooses: one that is equal, otherwise the only label that
// the answer contains as a whole word. It returns "" if there is none.
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

// hasWord reports whether a lower-case text contains a folded label as a whole word.
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

// decided describes which labels the answers of a node choose.
type decided struct {
	answers []answer // nil means any
	labels  map[string]bool
	rest    []answer // those that choose no label
}

// decides returns which labels the answers of a node choose. It is cached, because many rules
// need it.
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
