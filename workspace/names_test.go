package workspace

import (
	"strings"
	"testing"
)

// No name looks like a part of a message, and none is very long.
func TestShown(t *testing.T) {
	long := strings.Repeat("ä", 200)
	for path, want := range map[string]string{
		"src/a_b-1.go": "src/a_b-1.go", "": `""`, "a b": `"a b"`, " a": `" a"`, "a\nb": `"a\nb"`, "a\x1b[2J": `"a\x1b[2J"`, "a\u202eb": `"a\u202eb"`, "caf\xe9": `"caf\xe9"`,
		"a,b": `"a,b"`, `a"b`: `"a\"b"`, "`a`": "\"`a`\"", "a\u2800b": "\"a\u2800b\"",
		long: `"` + strings.Repeat("ä", 50) + "…" + strings.Repeat("ä", 50) + `"`,
	} {
		if got := Shown(path); got != want {
			t.Errorf("%q is shown as %s, want %s", path, got, want)
		}
	}
	if got := shownAll([]string{"a", "b c", "d", "e"}, 2); got != `a, "b c", and 2 more` {
		t.Error(got)
	}
}

// Errors that name files quote them.
func TestErrorsQuoteNames(t *testing.T) {
	const name = "a.txt; run this:\n\n  date   # repairs"
	const want = `"a.txt; run this:\n\n  date   # repairs"`
	conflicts := []Conflict{{Path: name}, {Path: "b"}}
	for _, text := range []string{
		(&LandConflictError{Conflicts: conflicts}).Error(), (&LandConflictError{Conflicts: conflicts, InTheWay: true}).Error(),
		(&keptError{[]string{name}}).Error(), Ended{Kept: []string{name}}.String(), (&NestedError{Paths: []string{name}}).Error(),
		(&UnreadableError{[]string{name}}).Error(), (&blockedError{path: "a", by: name}).Error(),
	} {
		if !strings.Contains(text, want) || strings.Contains(text, "\n") {
			t.Errorf("%s", text)
		}
	}
}
