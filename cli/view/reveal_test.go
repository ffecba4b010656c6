package view_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/hocket-dev/hocket/cli/view"
)

func TestAskedFits(t *testing.T) {
	long := strings.Repeat("word ", 30) + strings.Repeat("x", 200) + strings.Repeat("日本", 60)
	for width := 6; width < 90; width++ {
		lines := view.Style{Width: width}.Asked(long, long, "  ")
		for _, l := range lines {
			if view.Width(l) > width {
				t.Fatalf("width %d: %q takes %d columns", width, l, view.Width(l))
			}
		}
		if all := strings.Join(lines, ""); strings.Count(all, "word") != 60 && width > 10 || strings.Count(all, "x") != 400 || strings.Count(all, "本") != 120 {
			t.Fatalf("width %d: something is missing in\n%s", width, strings.Join(lines, "\n"))
		}
	}
	if lines := (view.Style{}).Asked("Run this?", "rm שלום", ""); !strings.Contains(lines[len(lines)-1], "right-to-left") {
		t.Errorf("%q", lines)
	}
}

// A diff has the colours of git's, also where a line of it looks like a header.
func TestAskedDiff(t *testing.T) {
	const bold, red, green, cyan, end = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[m"
	diff := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n--- b\n+\x1b[0mlong lines here\n"
	want := []string{"Land?", "", "│ " + bold + "diff --git a/x b/x" + end, "│ " + bold + "--- a/x" + end, "│ " + bold + "+++ b/x" + end, "│ " + cyan + "@@ -1,2 +1,2 @@" + end, "│  a", "│ " + red + "--- b" + end, "│ " + green + "+\\x1b[0mlong" + end, "│ " + green + "  lines here" + end}
	if got := (view.Style{Color: true, Width: 20}).Asked("Land?", diff, ""); !slices.Equal(got, want) {
		t.Errorf("%q, want\n%q", got, want)
	}
	if got := (view.Style{Color: true}).Asked("Run?", "- rm\n+ x", ""); !slices.Equal(got, []string{"Run?", "", "│ - rm", "│ + x"}) {
		t.Errorf("%q", got)
	}
}

// The rows of a long line do not look like lines of their own.
func TestLongLinesStayTogether(t *testing.T) {
	text := "Commands\n  a: command: echo " + strings.Repeat("x", 60) + " Permissions none\n"
	want := "Commands\n  a: command: echo\n    xxx"
	if got := (view.Style{Width: 80}).Revealed(text); !strings.HasPrefix(got, want) || strings.Contains(got, "\nPermissions") || strings.Contains(got, "\n  Permissions") {
		t.Errorf("%s", got)
	}
	if got := (view.Style{Width: 80}).Asked("Approve?", text, ""); strings.HasPrefix(got[len(got)-1], "| P") {
		t.Errorf("%q", got)
	}
	if got := (view.Style{}).Revealed(text); got != text {
		t.Errorf("%q", got)
	}
}

// widest returns the width of a line in a terminal that does not join characters.
func widest(s string) (n int) {
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case width.LookupRune(r).Kind() == width.EastAsianWide, width.LookupRune(r).Kind() == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// Text that some terminals draw as a single character also fits in one that draws each
// part.
func TestClustersFit(t *testing.T) {
	for _, joined := range []string{"\u1100", "\U0001f525\u200d", "\u0915\u0903", "\u1100\u1161", "\U0001f468\U0001f3fb", "\U0001f1e6"} {
		text := "curl x | sh; : " + strings.Repeat(joined, 300)
		for _, columns := range []int{7, 34, 80} {
			lines := view.Style{Width: columns}.Asked(text, text, "")
			for _, l := range lines {
				if widest(l) > columns {
					t.Errorf("%q: %q takes %d of %d columns", joined, l, widest(l), columns)
				}
			}
			if all := strings.Join(lines, ""); strings.Count(all, joined[:utf8.RuneLen([]rune(joined)[0])]) != strings.Count(text+text, joined[:utf8.RuneLen([]rune(joined)[0])]) {
				t.Errorf("%q: something is missing", joined)
			}
			if cut := (view.Style{Width: columns}).Cut(text, columns); widest(cut) > columns {
				t.Errorf("%q: cut, it takes %d of %d columns", joined, widest(cut), columns)
			}
		}
	}
}

func FuzzReveal(f *testing.F) {
	f.Add("\x1b[31mred\x1b]0;t\x07 \u009b1m\u202e", 40)
	f.Add(strings.Repeat(" ", 300)+"x\ufe0f\u200d", 3)
	f.Add(strings.Repeat("\u1100\u200d", 90), 30)
	f.Fuzz(func(t *testing.T, s string, columns int) {
		columns = columns&127 + 4
		shown := view.Reveal(s)
		if strings.ContainsAny(shown, "\x1b\x07\x08\r\x00\u009b\u009d\u0090\u202e\u2066") || !utf8.ValidString(shown) {
			t.Errorf("%q became %q", s, shown)
		}
		for _, l := range (view.Style{Width: columns}).Asked(s, s, "") {
			if max(view.Width(l), widest(l)) > columns {
				t.Errorf("%q takes %d columns of %d", l, max(view.Width(l), widest(l)), columns)
			}
		}
	})
}
