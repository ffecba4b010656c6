package web

import (
	"fmt"
	"strings"
	"testing"
)

// What is invisible is shown, except where it is sent back.
func TestReveal(t *testing.T) {
	const page = "<title>a\u202eb</title><button value=\"c\u202ed\">e\x1bf · …</button><textarea rows=\"1\">g\u2066h</textarea><p>i\u009bj\tk\nl\u200bm 👩‍🚀</p>"
	const want = "<title>a\\u202eb</title><button value=\"c\u202ed\">e\\x1bf · …</button><textarea rows=\"1\">g\u2066h</textarea><p>i\\u009bj\tk\nl\\u200bm 👩‍🚀</p>"
	if got := string(reveal([]byte(page))); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	gap := strings.Repeat(" ", 40)
	const gaps = "\n%s<h2>\n%sa%sb%s\n</h2><pre>%sc</pre><pre class=\"text log\" id=\"a\">d%se</pre>"
	in, want2 := strings.ReplaceAll(gaps, "%s", gap), fmt.Sprintf(gaps, gap, gap, "&lt;40 spaces&gt;", gap, "&lt;40 spaces&gt;", gap)
	if got := string(reveal([]byte(in))); got != want2 {
		t.Errorf("got  %q\nwant %q", got, want2)
	}
	if got := string(reveal([]byte("\u202e<textarea>half\u202e"))); got != "\\u202e<textarea>half\u202e" {
		t.Errorf("of half a page, got %q", got)
	}
}

// A part of a log begins and ends where nothing is torn apart, and is never empty.
func TestCutsOfALog(t *testing.T) {
	long := strings.Repeat("x", lookBehind)
	for _, test := range []struct{ name, part, want string }{
		{"line", "rest\nline\n" + long, "line\n" + long},
		{"line that is too far away", long + long + "abc\n", long + "abc\n"},
		{"character", long[1:] + "→" + long, long},
		{"sequence", long[2:] + "\x1b[31mred" + long, "\x1b[31mred" + long},
		{"link", long[5:] + "\x1b]8;;http://x/\x07" + long, "\x1b]8;;http://x/\x07" + long},
		{"sequence before", long[9:] + "\x1b[31mred!" + long, long},
		{"short", "ab", "b"},
	} {
		if got := test.part[beginning([]byte(test.part)):]; got != test.want {
			t.Errorf("%s: begins with %.40q (%d bytes), want %.40q (%d bytes)", test.name, got, len(got), test.want, len(test.want))
		}
	}
	for in, want := range map[string]string{
		"": "", "abc": "abc", "gr\xc3": "gr", "a\xe2\x82": "a", "a\xe2\x82\xac": "a€", "a\x1b": "a", "a\x1b[3": "a", "a\x1b[31m": "a\x1b[31m",
		"a\x1b]8;;http": "a", "a\x1b]0;x\x07": "a\x1b]0;x\x07", "a\xff\xff\xff\xff\xff": "a\xff\xff\xff\xff\xff",
	} {
		if got := in[:ending([]byte(in))]; got != want {
			t.Errorf("%q ends as %q, want %q", in, got, want)
		}
	}
}

// A string of a terminal that does not end hides only its line.
func TestReadable(t *testing.T) {
	if got := readable([]byte("a\x1b]0;title\nrm -r /\x1b[2J\x1b]8;;javascript:x\x07link\x1b]8;;\x1b\\!")); got != "a\nrm -r /link!" {
		t.Errorf("got %q", got)
	}
}
