package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
)

// printed returns diffs as a text.
func printed(diffs []diff) string {
	var b strings.Builder
	for _, d := range diffs {
		fmt.Fprintf(&b, "%s +%d -%d", d.Path, d.Added, d.Removed)
		if d.Note != "" {
			fmt.Fprintf(&b, " (%s)", d.Note)
		}
		for _, l := range append(d.Lines, d.Rest...) {
			fmt.Fprintf(&b, "|%s%s", map[string]string{"ins": "+", "del": "-", "": " ", "gap": "~"}[l.Kind], l.Text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Each agent says in its own words what it changes.
func TestDiffsOfCalls(t *testing.T) {
	const patch = `*** Begin Patch\n*** Update File: a.txt\n@@ func x\n one\n-two\n+2\n*** Add File: b.txt\n+new\n*** Delete File: c.txt\n*** End Patch\n`
	const patches = "a.txt +1 -1|~func x| one|-two|+2\nb.txt +1 -0|+new\nc.txt +0 -0 (It is deleted.)\n"
	for _, test := range []struct{ name, tool, args, want, rest string }{
		{"claude edit", "Edit", `{"file_path":"/p/a.txt","old_string":"one\ntwo\nthree","new_string":"one\n2\nthree","replace_all":true}`, "/p/a.txt +1 -1| one|-two|+2| three\n", `{"replace_all":true}`},
		{"claude multi edit", "MultiEdit", `{"file_path":"a.txt","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":""}]}`, "a.txt +1 -1|-a|+b\na.txt +0 -1|-c\n", ""},
		{"claude write", "Write", `{"file_path":"a.txt","content":"x\ny\n"}`, "a.txt +2 -0 (The whole file. What it was before is not known.)|+x|+y\n", ""},
		{"gemini replace", "replace", `{"file_path":"a.txt","old_string":"a","new_string":"b"}`, "a.txt +1 -1|-a|+b\n", ""},
		{"opencode edit", "edit", `{"filePath":"a.txt","oldString":"a","newString":"b"}`, "a.txt +1 -1|-a|+b\n", ""},
		{"copilot edit", "edit", `{"path":"a.txt","old_str":"a","new_str":"b"}`, "a.txt +1 -1|-a|+b\n", ""},
		{"copilot create", "create", `{"path":"a.txt","file_text":"b"}`, "a.txt +1 -0 (The whole file. What it was before is not known.)|+b\n", ""},
		{"goose edit", "edit", `{"path":"a.txt","before":"a","after":"b"}`, "a.txt +1 -1|-a|+b\n", ""},
		{"opencode patch", "apply_patch", `{"patchText":"` + patch + `"}`, patches, ""},
		{"codex patch", "apply_patch", `"` + patch + `"`, patches, ""},
		{"codex command", "shell", `{"command":["apply_patch","` + patch + `"],"workdir":"/p"}`, patches, `{"workdir":"/p"}`},
		{"codex changes", "edit", `{"changes":{"a.txt":{"type":"update","unified_diff":"@@ -1 +1 @@\n-a\n+b\n"},"b.txt":{"type":"add","content":"c"}}}`, "a.txt +1 -1|~-1 +1|-a|+b\nb.txt +1 -0 (The whole file. What it was before is not known.)|+c\n", ""},
		{"git diff", "patch", `{"patch":"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- old\n+new\n--- a/y\n+++ /dev/null\n@@ -1 +0 @@\n-z\n"}`, "x +1 -1|~-1 +1|--- old|+new\ny +0 -1 (It is deleted.)|~-1 +0|-z\n", ""},
		{"other tool", "memory", `{"path":"a","content":"b"}`, "", `{"content":"b","path":"a"}`},
		{"command", "Bash", `{"command":"ls"}`, "", `{"command":"ls"}`},
		{"codex file change", "file_change", `[{"path":"a.txt","kind":"update"}]`, "", `[{"kind":"update","path":"a.txt"}]`},
		{"wrong types", "edit", `{"path":1,"old_string":["a"],"new_string":null,"edits":7,"changes":false}`, "", `{"changes":false,"edits":7,"new_string":null,"old_string":["a"],"path":1}`},
	} {
		var args any
		if err := json.Unmarshal([]byte(test.args), &args); err != nil {
			t.Fatal(test.name, err)
		}
		diffs, rest := diffsOf(test.tool, args)
		if got := printed(diffs); got != test.want {
			t.Errorf("%s: the diff is\n%s, want\n%s", test.name, got, test.want)
		}
		var got bytes.Buffer
		if text := argumentsText(rest); text != "" && json.Compact(&got, []byte(text)) != nil || got.String() != test.rest {
			t.Errorf("%s: the rest is %s, want %s", test.name, text, test.rest)
		}
	}
}

// Lines that stay are folded, and a long diff is shown in two parts.
func TestLongDiffs(t *testing.T) {
	numbers := func(from, to int) (text string) {
		for i := from; i < to; i++ {
			text += fmt.Sprintln(i)
		}
		return text
	}
	if got, want := printed([]diff{newDiff("a", compared(numbers(0, 30), numbers(0, 20)+"x\n"+numbers(21, 30)))}), "a +1 -1|~17 lines that stay| 17| 18| 19|-20|+x| 21| 22| 23|~6 lines that stay\n"; got != want {
		t.Errorf("the diff is %s, want %s", got, want)
	}
	d := newDiff("a", compared(numbers(0, 5000), numbers(10000, 15000)))
	if len(d.Lines) != shownLines || len(d.Rest) != 10000-shownLines || d.Added != 5000 || d.Removed != 5000 {
		t.Errorf("%d and %d lines, +%d -%d", len(d.Lines), len(d.Rest), d.Added, d.Removed)
	}
}

// What was too long to keep is shown as far as it was kept.
func TestDiffOfACutCall(t *testing.T) {
	for _, args := range []map[string]any{
		{"content": strings.Repeat("é\"line\n", 20000), "file_path": "a.txt"},
		{"file_path": "a.txt", "new_string": strings.Repeat("é\"line\n", 20000)},
	} {
		var line []byte
		agent.Transcript(func(l []byte) { line = l })(agent.ToolCall{ID: "1", Tool: "Write", Arguments: args})
		all := entriesOf(line, false)
		if len(all) != 1 || len(all[0].Diffs) != 1 || all[0].Diffs[0].Added < 1000 || !strings.Contains(all[0].Diffs[0].Note, "too long to keep") {
			t.Errorf("%.500v", all)
		}
	}
}
