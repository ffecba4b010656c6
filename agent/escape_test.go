package agent

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func percent(rest string) (rune, int) { return meaning('%', rest) }

// A tag may begin with any letter, and nothing else.
func TestMarkQuoted(t *testing.T) {
	for letter, want := range map[string]bool{"a": true, "b": true, "y": true, "z": true, "A": true, "Z": true, "`": false, "@": false, "{": false, "[": false, "1": false} {
		marks := map[int]bool{}
		markQuoted("<"+letter+` href="`, marks)
		if marks[0] != want {
			t.Errorf("<%s is a tag: %v", letter, !want)
		}
	}
}

// Tests the ways to escape a character, each with the length of the escape.
func TestWrittenCharacters(t *testing.T) {
	for _, c := range []struct {
		text string
		read func(string) (rune, int)
		want rune
		size int
	}{
		{"#60;", entity, '<', 4}, {"#60", entity, '<', 3}, {"#60x", entity, '<', 3}, {"#0000060;", entity, '<', 9}, {"#x3c;", entity, '<', 5}, {"#X3C", entity, '<', 4},
		{"#", entity, 0, 0}, {"#;", entity, 0, 0}, {"#x", entity, 0, 0}, {"#xg", entity, 0, 0}, {"#x1fffff;", entity, 0x1fffff, 9}, {"#x200000;", entity, 0, 0},
		{"lt;", entity, '<', 3}, {"LT;", entity, '<', 3}, {"Lt;", entity, '≪', 3}, {"lt", entity, '<', 2}, {"ltx", entity, '<', 2}, {"colon;", entity, ':', 6}, {"COLON;", entity, ':', 6},
		{"nosuch;", entity, 0, 0}, {"l", entity, 0, 0}, {"", entity, 0, 0}, {";", entity, 0, 0}, {"é;", entity, 0, 0}, {"gt", entity, 0, 0},
		{"u003c", backslashed, '<', 5}, {"u003cx", backslashed, '<', 5}, {"u003", backslashed, 0, 0}, {"u003g", backslashed, 0, 0}, {"x3c", backslashed, '<', 3}, {"x3", backslashed, 0, 0}, {"x3g", backslashed, 0, 0},
		{"U0000003c", backslashed, '<', 9}, {"U0000003", backslashed, 0, 0}, {"u{3c}", backslashed, '<', 5}, {"x{3C}y", backslashed, '<', 5}, {"u{}", backslashed, 0, 0}, {"u{3c", backslashed, 0, 0}, {"u{3cx", backslashed, 0, 0},
		{"3c", percent, '<', 2}, {"3cx", percent, '<', 2}, {"3", percent, 0, 0}, {"80", percent, 0, 0}, {"7f", percent, 0x7f, 2}, {"3g", percent, 0, 0},
		{"074", backslashed, '<', 3}, {"0745", backslashed, '<', 3}, {"74", backslashed, '<', 2}, {"7", backslashed, 7, 1}, {"8", backslashed, 0, 0}, {"n", backslashed, 0, 0}, {"/", backslashed, 0, 0},
	} {
		if got, size := c.read(c.text); got != c.want || size != c.size {
			t.Errorf("%q: %q of %d bytes, want %q of %d", c.text, got, size, c.want, c.size)
		}
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ r, want rune }{
		{'A', 'a'}, {'Z', 'z'}, {'a', 'a'}, {'@', '@'}, {'[', '['}, {'!', '!'}, {'<', '<'}, {'0', 'o'}, {'1', '1'}, {0, skipped}, {' ', skipped}, {'\n', skipped}, {0x7f, skipped}, {'~', '~'},
		{'о', 'o'}, {'с', 'c'}, {'к', 'k'}, {'е', 'e'}, {'т', 't'}, {'һ', 'h'}, {'≪', '<'}, {'ː', ':'}, {'ノ', '/'},
		{'É', 'e'}, {'Ｈ', 'h'}, {'＜', '<'}, {'К', 'k'}, {'я', 'я'}, {'Я', 'я'}, {0x200b, skipped}, {0x115f, skipped}, {0x1160, skipped}, {0x2800, skipped}, {0x3164, skipped}, {0xffa0, skipped}, {utf8.RuneError, skipped},
	} {
		if got := fold(c.r); got != c.want {
			t.Errorf("%q looks like %q, want %q", c.r, got, c.want)
		}
	}
	for letter, others := range twins {
		for _, r := range others {
			if got := fold(r); got != letter {
				t.Errorf("%q looks like %q, want %q", r, got, letter)
			}
		}
	}
}

func TestListItems(t *testing.T) {
	for text, want := range map[string]bool{"- a": true, "* a": true, "+ a": true, "> a": true, "1. a": true, "12) a": true, "1": false, "12": false, "1a": false, "a": false, "": false, ". a": false} {
		if isListItem(text) != want {
			t.Errorf("%q begins an item: %v", text, !want)
		}
	}
}

// Text that does not fit is dropped or truncated, and no more than necessary.
func TestRoom(t *testing.T) {
	parts := []string{"aaaa", "bbbb", "cccc"} // of 6 bytes each
	for _, c := range []struct {
		max, used int
		fromEnd   bool
		want      string
		left      int
	}{
		{0, 99, true, "aaaa bbbb cccc", 99}, {20, 20, true, "aaaa bbbb cccc", 20}, {20, 21, true, "aaaa bbbb", 15}, {20, 21, false, "bbbb cccc", 15},
		{20, 26, true, "aaaa bbbb", 20}, {20, 27, true, "aaaa", 15}, {20, 99, false, "", 81},
	} {
		r := room{max: c.max, used: c.used}
		if got := strings.Join(r.fit(parts, c.fromEnd), " "); got != c.want || r.used != c.left {
			t.Errorf("%+v: %q, and %d are used", c, got, r.used)
		}
	}
	for _, c := range []struct {
		max, used int
		texts     []string
		want      string
		cut       int
	}{
		{0, 99, []string{"0123456789"}, "0123456789", 0},
		{20, 20, []string{"0123456789"}, "0123456789", 0},
		{20, 22, []string{"01", "0123456789"}, "01|01" + cutMark, 2},
		{20, 22, []string{"0123456789", "01"}, "01" + cutMark + "|01", 2},
		{20, 23, []string{"0éé56789abc"}, "0é" + cutMark, 4}, // does not split characters
		{20, 99, []string{"0123456789", "012345678"}, cutMark + "|" + cutMark, 7},
		{20, 99, []string{"012345"}, "012345", 0}, // the mark would be as long
		{20, 99, nil, "", 0},
	} {
		r, texts := room{max: c.max, used: c.used}, c.texts
		if cut := r.cut(texts); cut != c.cut || strings.Join(texts, "|") != c.want || r.used != c.used-cut {
			t.Errorf("%+v: cut %d, %q, and %d are used", c, cut, texts, r.used)
		}
	}
}
