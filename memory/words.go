package memory

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxWord is how long a word may be; what is longer is no word, but data.
const maxWord = 64

// words are those of a text by which it is found, in order: without case, accents
// and the ends of English words, and without words that are everywhere. A name
// such as parseConfig is there as a whole and in its parts. Of scripts that put no
// spaces between words, every two characters in sequence are a word.
//
// They hold letters, digits and marks only. Index and query both are made of
// them, so a change here needs a new index: a migration.
func words(text string) []string {
	var all []string
	text = fold(text)
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !inWord(r) }) {
		for _, piece := range pieces(run) {
			switch {
			case dense(piece[0]):
				all = append(all, pairs(piece)...)
			default:
				all = append(all, named(string(piece))...)
			}
		}
	}
	empty := everywhere()
	return slices.DeleteFunc(all, func(w string) bool { return len(w) > maxWord || len(w) < 2 || empty[w] })
}

// fold makes forms of the same letter the same, and takes off accents.
func fold(text string) string {
	bare := strings.Map(func(r rune) rune {
		if r >= 0x300 && r <= 0x36f {
			return -1
		}
		return r
	}, norm.NFKD.String(text))
	return norm.NFKC.String(bare)
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// dense says whether a character is of a script without spaces between words.
func dense(r rune) bool {
	return r > 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// pieces are the longest parts of a run of which all characters are dense, or
// none.
func pieces(run string) [][]rune {
	var all [][]rune
	for _, r := range run {
		if n := len(all); n > 0 && dense(all[n-1][0]) == dense(r) {
			all[n-1] = append(all[n-1], r)
		} else {
			all = append(all, []rune{r})
		}
	}
	return all
}

// pairs are every two characters in sequence; one alone is a word too.
func pairs(piece []rune) []string {
	if len(piece) == 1 {
		return []string{string(piece)}
	}
	all := make([]string, len(piece)-1)
	for i := range all {
		all[i] = string(piece[i : i+2])
	}
	return all
}

// named gives a word, and its parts if it is written like parseConfig.
func named(run string) []string {
	all := []string{stem(strings.ToLower(run))}
	start := 0
	var before rune
	for i, r := range run {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			all = append(all, stem(strings.ToLower(run[start:i])))
			start = i
		}
		before = r
	}
	if start > 0 {
		all = append(all, stem(strings.ToLower(run[start:])))
	}
	return all
}

// stem takes the ends off English words, so that test, tests, tested and testing
// are one. What it leaves need not be a word.
func stem(w string) string {
	if len(w) < 4 || strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		w = w[:len(w)-1]
	}
	for _, end := range []string{"ing", "ed"} {
		if rest, ok := strings.CutSuffix(w, end); ok && len(rest) >= 4 {
			w = undouble(rest)
			break
		}
	}
	if len(w) > 4 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}

// undouble makes stopp, of stopped, the same as stop.
func undouble(w string) string {
	last := w[len(w)-1]
	if last == w[len(w)-2] && strings.IndexByte("lsz", last) < 0 {
		return w[:len(w)-1]
	}
	return w
}

// distinct gives every word once, in the order in which they came.
func distinct(all []string) []string {
	seen := make(map[string]bool, len(all))
	var once []string
	for _, w := range all {
		if !seen[w] {
			seen[w] = true
			once = append(once, w)
		}
	}
	return once
}

// everywhere are words that say nothing about what a text is about.
var everywhere = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(`a about after all also an and any are as at be because been but by can could did do does
		for from had has have he her his how i if in into is it its just me more most my no not of on one only or other our
		out over please she should so some such than that the their them then there these they thi this those to too up us
		use very was we were what when where which while who why will with would you your`) {
		set[w] = true
		set[stem(w)] = true
	}
	return set
})
