package memory

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord is the maximum length of a word; anything longer is data.
const maxWord = 64

// words returns the words of a query in order: stemmed, without case and accents, and without
// stop words. A name such as parseConfig is included as a whole and in parts. In scripts
// without spaces between words, every two consecutive characters are a word.
//
// Words contain only letters, digits and marks.
func words(text string) []string { return split(text, pairs) }

// indexWords returns the words by which a text is found: those of words, and each Chinese
// character, as many are words on their own. See [wordsVersion].
func indexWords(text string) []string {
	return split(text, func(piece []rune) []string {
		all := pairs(piece)
		if len(piece) > 1 {
			for _, r := range piece {
				if unicode.Is(unicode.Han, r) {
					all = append(all, string(r))
				}
			}
		}
		return all
	})
}

// split returns the words of a text. unspaced converts consecutive characters of a script
// without spaces to words.
func split(text string, unspaced func(piece []rune) []string) []string {
	var all []string
	text = fold(text)
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !inWord(r) }) {
		for _, piece := range pieces(run) {
			switch {
			case dense(piece[0]):
				all = append(all, unspaced(piece)...)
			default:
				all = append(all, named(string(piece))...)
			}
		}
	}
	empty := everywhere()
	return slices.DeleteFunc(all, func(w string) bool { return len(w) > maxWord || len(w) < 2 || empty[w] })
}

// fold unifies variants of the same letter, and removes accents, vowel points and characters
// that only stretch a word.
func fold(text string) string {
	bare := strings.Map(func(r rune) rune {
		if r >= 0x300 && unicode.In(r, accents) {
			return -1
		}
		return r
	}, norm.NFKD.String(text))
	return alike().Replace(norm.NFKC.String(bare))
}

// accents are marks that people often omit: those of Latin, Greek and Cyrillic letters, and
// of Hebrew and Arabic.
var accents = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x300, Hi: 0x36f, Stride: 1}, {Lo: 0x591, Hi: 0x5bd, Stride: 1}, {Lo: 0x5bf, Hi: 0x5bf, Stride: 1}, {Lo: 0x5c1, Hi: 0x5c2, Stride: 1},
	{Lo: 0x5c4, Hi: 0x5c5, Stride: 1}, {Lo: 0x5c7, Hi: 0x5c7, Stride: 1}, {Lo: 0x610, Hi: 0x61a, Stride: 1}, {Lo: 0x640, Hi: 0x640, Stride: 1},
	{Lo: 0x64b, Hi: 0x65f, Stride: 1}, {Lo: 0x670, Hi: 0x670, Stride: 1}, {Lo: 0x6d6, Hi: 0x6dc, Stride: 1}, {Lo: 0x6df, Hi: 0x6e8, Stride: 1}, {Lo: 0x6ea, Hi: 0x6ed, Stride: 1},
}}

// alike replaces letters that people write in several ways, and that Unicode does not
// decompose.
var alike = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("ß", "ss", "ẞ", "SS", "æ", "ae", "Æ", "AE", "œ", "oe", "Œ", "OE", "ø", "o", "Ø", "O", "đ", "d", "Đ", "D", "ð", "d", "Ð", "D",
		"þ", "th", "Þ", "TH", "ł", "l", "Ł", "L", "ħ", "h", "Ħ", "H", "ı", "i", "ى", "ي", "ی", "ي", "ة", "ه", "ک", "ك")
})

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// dense reports whether a character belongs to a script without spaces between words.
func dense(r rune) bool {
	return r > 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// pieces splits a run of characters into the longest parts that are all dense or all not.
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

// pairs returns every two consecutive characters; a single character is a word, too.
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

// named returns a word, and its parts if it is written like parseConfig.
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

// stem removes the endings of words, so that test, tests, tested and testing are the same.
// The result need not be a word.
func stem(w string) string {
	if strings.ContainsFunc(w, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return withoutAffixes(w)
	}
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

// affixes are the prefixes and suffixes of languages, and how many letters must remain.
var affixes = sync.OnceValue(func() []affix {
	return []affix{
		{unicode.Arabic, strings.Fields("وال بال كال فال لل ال"), strings.Fields("ها ان ات ون ين يه ه ي"), 3},
		{unicode.Hebrew, strings.Fields("ה ו ב כ ל מ ש"), strings.Fields("ים ות"), 3},
		{unicode.Cyrillic, nil, strings.Fields("иями ями ами иях ах ях ого его ому ему ыми ими ов ев ей ой ый ий ая яя ое ее ые ие ую юю ом ем ам ям ия ию ии а я о е ы и у ю ь й"), 4},
	}
})

type affix struct {
	script         *unicode.RangeTable
	before, behind []string
	least          int
}

// withoutAffixes removes all prefixes and one suffix. It treats every word alike, so removing
// part of the stem does no harm.
func withoutAffixes(w string) string {
	first, _ := utf8.DecodeRuneInString(w)
	for _, a := range affixes() {
		if !unicode.Is(a.script, first) {
			continue
		}
		for cut := true; cut; {
			w, cut = cutOne(w, a.before, a.least, strings.CutPrefix)
		}
		w, _ = cutOne(w, a.behind, a.least, strings.CutSuffix)
	}
	return w
}

func cutOne(w string, parts []string, least int, cut func(w, part string) (string, bool)) (string, bool) {
	for _, part := range parts {
		if rest, ok := cut(w, part); ok && utf8.RuneCountInString(rest) >= least {
			return rest, true
		}
	}
	return w, false
}

// undouble makes stopp, of stopped, the same as stop.
func undouble(w string) string {
	last := w[len(w)-1]
	if last == w[len(w)-2] && strings.IndexByte("lsz", last) < 0 {
		return w[:len(w)-1]
	}
	return w
}

// distinct removes duplicates, and keeps the order.
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

// everywhere are stop words.
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
