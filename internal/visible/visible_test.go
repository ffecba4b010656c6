package visible_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/internal/visible"
)

func TestTextHidesNothing(t *testing.T) {
	for in, want := range map[string]string{
		"plain text":                            "plain text",
		"\x1b[2Jls\x00\x7f\r":                   `\x1b[2Jls\x00\x7f\r`,
		"ls \u202e hs | x\u202c \u2066a\u2069":  `ls \u202e hs | x\u202c \u2066a\u2069`,
		"a\u200bb\u00adc\ufeffd\u2028e":         `a\u200bb\u00adc\ufeffd\u2028e`,
		"rm\u3164\u2800\u115f":                  `rm\u3164\u2800\u115f`,
		"a\u200db\ufe0f":                        `a\u200db\ufe0f`,
		"tags \U000e0041":                       `tags \U000e0041`,
		"bad \xff utf8":                         `bad \xff utf8`,
		"two\nlines\n\tindented":                "two\nlines\n    indented",
		"ls" + strings.Repeat(" ", 260) + "; x": "ls<260 spaces>; x",
		"ls" + strings.Repeat("\t", 10) + "; x": "ls<40 spaces>; x",
		"ls" + strings.Repeat("\u00a0", 30):     "ls<30 spaces>",
		"name          value":                   "name          value",
		"Publier\u00a0?　はい":                     `Publier\u00a0?\u3000はい`,
		"❤\ufe0f\u200d🔥 👨\u200d👩 می\u200cخواهم": "❤\ufe0f\u200d🔥 👨\u200d👩 می\u200cخواهم",
		"❤" + strings.Repeat("\ufe0f", 3):       "❤\ufe0f" + `\ufe0f\ufe0f`,
		"a" + strings.Repeat("\u0301", 6):       "a" + strings.Repeat("\u0301", 4) + `\u0301\u0301`,
		"ls\U0001d159\U00016fe4\ue000":          `ls\U0001d159\U00016fe4\ue000`,
		"ls" + strings.Repeat("\u3000", 20):     "ls<40 spaces>",
	} {
		if got := visible.Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

// A page has the same escapes, but its white space stays, and what its text may be part of.
func TestHTMLHidesNothing(t *testing.T) {
	for in, want := range map[string]string{
		"a\u202eb\u00adc\u2028d\u3164e\u2800":        `a\u202eb\u00adc\u2028d\u3164e\u2800`,
		"a\ufe0fb\U000e0100c\U0001d173":              `a\ufe0fb\U000e0100c\U0001d173`,
		"1\u202f000\tx\r\n\u00a0&lt; ❤\ufe0f\u200d🔥": "1\u202f000\tx\r\n\u00a0&lt; ❤\ufe0f\u200d🔥",
		"ls" + strings.Repeat(" ", 260) + "; x":      "ls&lt;260 spaces&gt;; x",
		"a" + strings.Repeat("\u0301", 6):            "a" + strings.Repeat("\u0301", 4) + `\u0301\u0301`,
	} {
		if got := visible.HTML(in, true); got != want {
			t.Errorf("HTML(%q) = %q, want %q", in, got, want)
		}
	}
	if wide := "ls" + strings.Repeat(" ", 260) + "; x"; visible.HTML(wide, false) != wide {
		t.Error("a gap is not kept")
	}
}
