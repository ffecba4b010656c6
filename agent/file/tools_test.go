package file_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/file"
	"github.com/hocket-dev/hocket/internal/disktest"
	"github.com/hocket-dev/hocket/workflow"
)

// tools returns a function that calls the tools of an agent with permissions.
func tools(t *testing.T, task *agent.Task, permissions string) func(name, args string) (string, error) {
	t.Helper()
	task.Agent = &agent.Definition{Name: "file", Permissions: object(t, permissions)}
	all, done, err := file.New().Traits().Tools(task)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	return func(name, args string) (string, error) {
		for _, tool := range all {
			if tool.Name == name {
				return tool.Call(t.Context(), object(t, args), task, func([]byte) {})
			}
		}
		return "", fmt.Errorf("there is no tool %s", name)
	}
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := workflow.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func TestToolsRead(t *testing.T) {
	dir := project(t)
	put(t, filepath.Join(dir, "lines"), "one\ntwo\nthree\nfour")
	put(t, filepath.Join(dir, "long"), strings.Repeat(strings.Repeat("x", 99)+"\n", 2000))
	call := tools(t, &agent.Task{Dir: dir}, `{"read": {"*": "allow", "b.txt": "deny"}}`)
	for _, c := range []struct{ name, args, want string }{
		{"read_file", `{"path": "lines"}`, "     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n"},
		{"read_file", `{"path": "./sub/../lines", "from": 2, "lines": 2}`, "     2\ttwo\n     3\tthree\n(1 more lines; continue with from: 4)"},
		{"list_files", `{}`, "a.go\nb.txt\nbig\nin\nlines\nlong\n"},
		{"list_files", `{"glob": "**/*.go"}`, "a.go\nsub/c.go\nsub/deep/d.go\n"},
		{"list_files", `{"path": "sub", "glob": "*.py"}`, "(no files)"},
		{"search_files", `{"pattern": "^(?i:PACKAGE)"}`, "a.go:1:package a\n"},
		{"search_files", `{"pattern": "B"}`, "(no matches in 10 files)"}, // "in" is a link to b.txt
		{"search_files", `{"pattern": "t[hw]", "glob": "li*"}`, "lines:2:two\nlines:3:three\n"},
		{"search_files", `{"pattern": "nothing like it"}`, "(no matches in 10 files)"},
	} {
		if got, err := call(c.name, c.args); err != nil || got != c.want {
			t.Errorf("%s %s\ngot  %q, %v\nwant %q", c.name, c.args, got, err, c.want)
		}
	}
	for _, c := range []struct{ name, args, want string }{
		{"read_file", `{"path": "../secret"}`, "is outside the project"},
		{"read_file", `{"path": "out"}`, "is outside the project"},
		{"read_file", `{"path": "/etc/passwd"}`, "is outside the project"},
		{"read_file", `{"path": "./b.txt"}`, "do not allow this (read)"},
		{"read_file", `{"path": "bin/data"}`, "is not UTF-8 text"},
		{"read_file", `{"path": "lines", "from": 9}`, `"lines" has 4 lines`},
		{"read_file", `{"path": "none"}`, "does not exist"},
		{"read_file", `{"file": "none"}`, "invalid arguments for the tool"},
		{"list_files", `{"path": ".."}`, "is outside the project"},
		{"search_files", `{"pattern": "["}`, "invalid pattern"},
		{"search_files", `{"pattern": "x", "path": "outdir"}`, "is outside the project"},
	} {
		if got, err := call(c.name, c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s\ngot  %q, %v\nwant %q", c.name, c.args, got, err, c.want)
		}
	}
	for name, args := range map[string]string{"read_file": `{"path": "long"}`, "search_files": `{"pattern": "xx", "glob": "long"}`} {
		if got, err := call(name, args); err != nil || len(got) > 70<<10 || !strings.Contains(got, " more ") && !strings.Contains(got, "(more ") {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

func TestToolsWrite(t *testing.T) {
	dir := project(t)
	var asked []string
	task := &agent.Task{Key: "k", Dir: dir, Ask: func(_ context.Context, q agent.Question) (string, error) {
		asked = append(asked, q.Detail)
		return "deny", nil
	}}
	call := tools(t, task, `{"write": "allow"}`)
	for _, c := range []struct{ name, args, want string }{
		{"write_file", `{"path": "new/x.txt", "content": "a b a"}`, "wrote new/x.txt (5 bytes)"},
		{"edit_file", `{"path": "new/x.txt", "old": "b", "new": "c"}`, "changed new/x.txt in 1 places"},
		{"edit_file", `{"path": "new/x.txt", "old": "a", "new": "z", "all": true}`, "changed new/x.txt in 2 places"},
	} {
		if got, err := call(c.name, c.args); err != nil || got != c.want {
			t.Errorf("%s %s: got %q, %v", c.name, c.args, got, err)
		}
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "new/x.txt")); string(got) != "z c z" {
		t.Errorf("got %q", got)
	}
	for _, c := range []struct{ name, args, want string }{
		{"edit_file", `{"path": "new/x.txt", "old": "z", "new": "y"}`, "occurs 2 times"},
		{"edit_file", `{"path": "new/x.txt", "old": "none", "new": "y"}`, "does not occur"},
		{"edit_file", `{"path": "new/x.txt", "old": "", "new": "y"}`, "old is empty"},
		{"edit_file", `{"path": "new/x.txt", "old": "c", "new": "c"}`, "the same"},
		{"edit_file", `{"path": "none", "old": "a", "new": "b"}`, "does not exist"},
		{"write_file", `{"path": "../x", "content": ""}`, "is outside the project"},
		{"write_file", `{"path": "outdir/x", "content": ""}`, "is outside the project"},
		{"write_file", `{"path": "sub/../.git/hooks/pre-commit", "content": "evil"}`, "did not allow"},
		{"write_file", `{"path": ".GIT/config", "content": "evil"}`, "did not allow"},
	} {
		if got, err := call(c.name, c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: got %q, %v", c.name, c.args, got, err)
		}
	}
	if len(asked) != 2 || !strings.HasPrefix(asked[0], ".git/hooks/pre-commit\n\nevil") {
		t.Errorf("asked %q", asked)
	}
	if _, err := tools(t, task, `{"write": "deny"}`)("write_file", `{}`); err == nil || !strings.Contains(err.Error(), "there is no tool") {
		t.Errorf("got %v", err)
	}
}

func TestEditsSideBySide(t *testing.T) {
	dir := project(t)
	const n = 20
	text := ""
	for i := range n {
		text += fmt.Sprintf("<%d>", i)
	}
	put(t, filepath.Join(dir, "many"), text)
	call := tools(t, &agent.Task{Key: "k", Dir: dir}, `{"write": "allow"}`)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if _, err := call("edit_file", fmt.Sprintf(`{"path": "many", "old": "<%d>", "new": "."}`, i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, _ := os.ReadFile(filepath.Join(dir, "many")); string(got) != strings.Repeat(".", n) {
		t.Errorf("edits were lost: %s", got)
	}
}

func TestExact(t *testing.T) {
	for settings, want := range map[string]bool{`{}`: false, `{"path": "x"}`: false, `{"action": "read", "path": "x"}`: true} {
		if got := file.New().Traits().Exact(&agent.Task{Settings: object(t, settings)}); got != want {
			t.Errorf("%s: exact %v", settings, got)
		}
	}
}

// A link in a project cannot be used to reach forbidden files.
func TestToolsSeeThroughLinks(t *testing.T) {
	dir := project(t)
	put(t, filepath.Join(dir, ".git", "config"), "[core]\n")
	put(t, filepath.Join(dir, "secret", "key"), "hidden\n")
	for link, to := range map[string]string{"docs": ".git", "open": "secret", "note.txt": "secret/key"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("no links here")
		}
	}
	call := tools(t, &agent.Task{Dir: dir}, `{"mode": "edit", "read": {"*": "allow", "secret/*": "deny"}}`)
	for _, c := range []struct{ name, args string }{
		{"write_file", `{"path": "docs/config", "content": "evil"}`},
		{"write_file", `{"path": "docs/new/hook", "content": "evil"}`},
		{"edit_file", `{"path": "docs/config", "old": "core", "new": "evil"}`},
		{"read_file", `{"path": "open/key"}`},
		{"read_file", `{"path": "note.txt"}`},
	} {
		if got, err := call(c.name, c.args); err == nil {
			t.Errorf("%s %s: it gave %q", c.name, c.args, got)
		}
	}
	if got, err := call("search_files", `{"pattern": "hidden", "glob": "*/*"}`); err != nil || strings.Contains(got, "key") {
		t.Errorf("search gave %q, %v", got, err)
	}
	if got, err := call("search_files", `{"pattern": "hidden", "glob": "*"}`); err != nil || strings.Contains(got, "note") {
		t.Errorf("search gave %q, %v", got, err)
	}
}

// A search covers many files, so it does not ask about each. It skips files that need
// asking, even if a person would allow them.
func TestSearchPassesOverWhatNeedsAsking(t *testing.T) {
	dir := project(t)
	put(t, filepath.Join(dir, "private", "key"), "findable\n")
	put(t, filepath.Join(dir, "public", "key"), "findable\n")
	task := &agent.Task{Dir: dir, Ask: func(context.Context, agent.Question) (string, error) {
		t.Error("a person was asked")
		return "allow", nil
	}}
	call := tools(t, task, `{"read": {"*": "allow", "private/*": "ask"}}`)
	if got, err := call("search_files", `{"pattern": "findable"}`); err != nil || got != "public/key:1:findable\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestSyncedBeforeReplaced(t *testing.T) {
	disktest.Unsynced(t, func() {
		dir := project(t)
		put(t, filepath.Join(dir, "notes"), "old")
		call := tools(t, &agent.Task{Dir: dir}, `{"mode": "edit"}`)
		if got, err := call("write_file", `{"path": "notes", "content": "new"}`); err == nil {
			t.Errorf("it was written without a sync: %q", got)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "notes")); string(got) != "old" {
			t.Errorf("the file was replaced: %q, %v", got, err)
		}
	})
}

func TestToolsEditStaysSmall(t *testing.T) {
	dir := project(t)
	put(t, filepath.Join(dir, "many"), strings.Repeat("a", 1<<20))
	call := tools(t, &agent.Task{Dir: dir}, `{"mode": "edit"}`)
	args := fmt.Sprintf(`{"path": "many", "old": "a", "new": %q, "all": true}`, strings.Repeat("b", 1<<20))
	if got, err := call("edit_file", args); err == nil || !strings.Contains(err.Error(), "would become larger than 8 MiB") {
		t.Errorf("got %q, %v", got, err)
	}
}
