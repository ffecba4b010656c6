package syntax

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/workflow"
)

var (
	// The name of a character, as in &amp; and #quot;, is not a word.
	entity = lazy.Regexp(`[&#]#?\w+;`)
	// The operators of a condition count as words, because people write them out.
	word      = lazy.Regexp(`[\pL\pN]+|==?|&&|\|\||!`)
	operators = map[string]string{"=": "is", "==": "is", "equals": "is", "&&": "and", "||": "or", "!": "not"}
	number    = lazy.Regexp(`^\pN`)
	// Words of a notation that close something.
	closing = lazy.Regexp("(?i)^\\s*((end ?[a-z]*|</[^<>]*>|```+[a-z]*|~~~+[a-z]*)\\s*)+$")
)

// losesWords reports whether a fix removes a word or a number of the author. It may move, join
// and split words, replace one by another, and remove a closing mark. It may not turn one closing
// mark into another.
func losesWords(text []byte, fix *workflow.Fix) bool {
	var was, is []string
	for _, e := range fix.Edits {
		old, text := around(text, e)
		was, is = append(was, words(old)...), append(is, words(text)...)
	}
	if strings.Join(was, "") == strings.Join(is, "") {
		return false
	}
	return slices.ContainsFunc(fix.Edits, func(e workflow.Edit) bool {
		old, text := around(text, e)
		lost, new := slices.Compact(without(words(old), is)), without(words(text), was)
		if len(lost) == 0 {
			return false
		}
		if closesAt(old, e.Text) {
			return len(new) > 0 && workflow.Meant(lost[0], new) == ""
		}
		return len(lost) > 1 || len(new) == 0 || number().MatchString(lost[0])
	})
}

// closes reports whether a fix adds, removes or changes a closing mark.
func closes(text []byte, fix *workflow.Fix) bool {
	return slices.ContainsFunc(fix.Edits, func(e workflow.Edit) bool { return closesAt(string(text[e.From:e.To]), e.Text) })
}

func closesAt(old, new string) bool {
	return old+new != "" && (old == "" || closing().MatchString(old)) && (new == "" || closing().MatchString(new))
}

// words returns the words and numbers of a text, in lower case.
func words(text string) []string {
	found := word().FindAllString(strings.ToLower(entity().ReplaceAllString(text, " ")), -1)
	for i, w := range found {
		if o := operators[w]; o != "" {
			found[i] = o
		}
	}
	return found
}

// without returns the words of a list that occur less often in the other.
func without(list, other []string) []string {
	count := map[string]int{}
	for _, w := range other {
		count[w]++
	}
	var rest []string
	for _, w := range list {
		if count[w]--; count[w] < 0 {
			rest = append(rest, w)
		}
	}
	return rest
}

// around returns the text that an edit replaces and its replacement, extended to whole words.
func around(text []byte, e workflow.Edit) (old, new string) {
	from, to := e.From, e.To
	for from > 0 && inWord(text[from-1]) {
		from--
	}
	for to < len(text) && inWord(text[to]) {
		to++
	}
	return string(text[from:to]), string(text[from:e.From]) + e.Text + string(text[e.To:to])
}

// inWord treats every byte beyond ASCII as part of a word.
func inWord(b byte) bool {
	return b >= 0x80 || b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}
