package view_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/cli/view"
)

func TestNoEscapeSequenceSurvives(t *testing.T) {
	for in, want := range map[string]string{
		"plain text":                            "plain text",
		"\x1b[31mred\x1b[0m":                    "red",
		"\x1b]0;title\x07after":                 "after",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\a":  "link",
		"\x1bP1$r0m\x1b\\x":                     "x",
		"\x1b(Bx":                               "x",
		"\u009b31mx":                            "x",
		"\u009d0;t\u009cx":                      "x",
		"a\x00b\x08c\x7fd":                      "abcd",
		"cut off \x1b[31":                       "cut off",
		"cut off \x1b]0;title":                  "cut off",
		"\x1b":                                  "",
		"\u202eevil\u202c \u2066x\u2069":        "evil x",
		"two\nlines\tand   spaces ":             "two lines and spaces",
		"bad \xff utf8":                         "bad \ufffd utf8",
		"\x1b[2\x1b[3mboth":                     "both",
		"\x1b[?1049h\x1b[2J\x1b[Hfull\x1b[?25l": "full",
	} {
		if got := view.Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
	if got := view.Text("a\n\tb\x1b[1m\r\n"); got != "a\n\tb\n" {
		t.Errorf("Text keeps lines and tabs, got %q", got)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("\x1b[31mred\x1b]0;t\x07 \u009b1m")
	f.Add("\x1b\x1b[[A\x1bP\x1b")
	f.Fuzz(func(t *testing.T, s string) {
		for _, got := range []string{view.Line(s), view.Text(s)} {
			if strings.ContainsAny(got, "\x1b\x07\x08\r\x00\u009b\u009d\u0090") {
				t.Errorf("%q became %q", s, got)
			}
		}
	})
}

func TestWidths(t *testing.T) {
	if got := view.Width("日本語ab"); got != 8 {
		t.Errorf("width %d", got)
	}
	if got := (view.Style{}).Cut("日本語ab", 5); got != "日本…" {
		t.Errorf("cut to %q", got)
	}
	if got := view.Pad("日", 4); got != "日  " {
		t.Errorf("padded to %q", got)
	}
	if got := (view.Style{}).Cut("abc", 0); got != "" {
		t.Errorf("cut to %q", got)
	}
}

func TestUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0s", 340 * time.Millisecond: "0.3s", 9990 * time.Millisecond: "9.9s", 42 * time.Second: "42s",
		185 * time.Second: "3m05s", 2*time.Hour + 7*time.Minute: "2h07m", 76 * time.Hour: "3d04h", -time.Second: "0s",
	} {
		if got := view.Duration(d); got != want {
			t.Errorf("Duration(%s) = %q, want %q", d, got, want)
		}
	}
	for n, want := range map[uint64]string{12: "12 B", 3_400_000_000: "3.4 GB", 123_456: "123 kB"} {
		if got := view.Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}
