package workflow

import "testing"

// A word is fixed in favour of one name, if there is no doubt about it.
func TestMeant(t *testing.T) {
	names := []string{"agent", "agents", "on_error", "on", "when", "max", "prompt"}
	for written, want := range map[string]string{
		"agnet": "agent", "Agent": "agent", "agentt": "", "sattus": "", "onError": "on_error", "no": "", "wehn": "when", "mix": "", "MAX": "max", "propmt": "prompt", "pompous": "",
	} {
		if got := Meant(written, names); got != want {
			t.Errorf("%s is taken for %q, not %q", written, got, want)
		}
	}
}

// A change is made where its words stand, with or without quotes, and nowhere else.
func TestPlace(t *testing.T) {
	const text = "é: \"wrnog\"\r\nb: wrnog\n"
	at := func(line, from, to int) Change {
		return Change{At: Pos{File: "x", Line: line, Column: from, EndLine: line, EndColumn: to}, Was: "wrnog", Text: "wrong"}
	}
	elsewhere := at(2, 4, 9)
	elsewhere.At.File = "y"
	ds := Diagnostics{{Change: at(2, 4, 9)}, {Change: at(1, 4, 11)}, {Change: at(1, 3, 8)}, {Change: at(2, 4, 99)}, {Change: at(9, 1, 2)}, {Change: elsewhere}, {}}
	ds.Place("x", []byte(text))
	fixed, count := ds.Fixed([]byte(text))
	if want := "é: \"wrong\"\r\nb: wrong\n"; string(fixed) != want || count != 2 {
		t.Errorf("%d changes give %q", count, fixed)
	}
}
