package plantuml

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/syntax/plantuml/internal/activity"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// Only texts that every version of PlantUML keeps unchanged are drawn. All others go into a note,
// in quotes.

// isSafeText reports whether a text can appear in an activity.
func isSafeText(s string) bool {
	return isShort(s) && onlyMarks(s, " \n,.-_()/&+?!:'\"=#") && activity.Unescape(activity.Escape(s)) == s
}

// isSafeLabel reports whether a text can appear in parentheses, and is read as the same answer.
func isSafeLabel(s string) bool {
	return isShort(s) && onlyMarks(s, " ,.-_/&+!'#") && !isElse(s)
}

// isSafeName reports whether a text can be the name of a lane, a partition or a
// diagram.
func isSafeName(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isShort(s) && onlyMarks(s, " ,.-_&+") && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// isSafeTest reports whether a condition can appear in parentheses: what follows a closing one
// must not look like the words after a test.
func isSafeTest(s string) bool {
	if !isShort(s) || !onlyMarks(s, " ,.-_/&+?!:\"=#()<>[]|^*") || strings.ContainsAny(s, "\n") {
		return false
	}
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	lower := strings.ToLower(s)
	for _, word := range []string{"then", "is", "equals", "equal", "not", "when"} {
		if strings.Contains(lower, ") "+word) || strings.Contains(lower, ")"+word) {
			return false
		}
	}
	return depth == 0 && !strings.Contains(s, "[[") && !strings.Contains(s, "<<") && testOf(s) == expr.ConditionTest
}

func isShort(s string) bool {
	return s != "" && len(s) <= 200 && strings.TrimSpace(s) == s && utf8.ValidString(s)
}

// onlyMarks reports whether a text consists of letters, digits and the given marks.
func onlyMarks(s, marks string) bool {
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && !strings.ContainsRune(marks, r) {
			return false
		}
	}
	return true
}

// readable returns an id in words, if the same id can be derived from them again.
func readable(id string) string {
	text := strings.ReplaceAll(id, "-", " ")
	if r, size := utf8.DecodeRuneInString(text); unicode.IsLower(r) {
		text = string(unicode.ToUpper(r)) + text[size:]
	}
	return text
}
