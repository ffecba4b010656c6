package file_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/file"
	"github.com/hocket-dev/hocket/workflow"
)

// project creates a directory with some files, and a secret next to it.
func project(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	for name, text := range map[string]string{
		"a.go": "package a\n", "b.txt": "B", "sub/c.go": "C", "sub/deep/d.go": "D", "sub/deep/e.md": "E",
		".hidden/f.go": "F", ".env": "K=V", "bin/data": "\xff\x00", "big": strings.Repeat("x", 3000), "../secret": "S", "../other/x.go": "X",
	} {
		put(t, filepath.Join(dir, name), text)
	}
	for link, to := range map[string]string{"out": "../secret", "outdir": "../other", "in": "b.txt", "broken": "none", "indir": "sub"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	return dir
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, settings string) (string, error) {
	t.Helper()
	v, err := workflow.ParseJSON([]byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	task := &agent.Task{Key: "run/write@1", Agent: &agent.Definition{Name: "file", Builtin: true}, Settings: v.(map[string]any), Dir: dir}
	r, err := file.New().Run(t.Context(), task, func([]byte) {})
	return r.Output, err
}

func TestReadAndList(t *testing.T) {
	dir := project(t)
	for _, c := range []struct{ settings, want string }{
		{`{"action": "read", "path": "a.go"}`, "package a\n"},
		{`{"action": "read", "path": "sub/../b.txt"}`, "B"},
		{`{"action": "read", "path": "in"}`, "B"},
		{`{"action": "read", "path": "big", "max_output_kb": 3}`, strings.Repeat("x", 3000)},
		{`{"action": "list"}`, `["a.go","b.txt","big","in"]`},
		{`{"action": "list", "glob": "*/"}`, `["bin","indir","sub"]`},
		{`{"action": "list", "glob": ".*"}`, `[".env"]`},
		{`{"action": "list", "glob": "*.go"}`, `["a.go"]`},
		{`{"action": "list", "glob": "**/*.go"}`, `["a.go","sub/c.go","sub/deep/d.go"]`},
		{`{"action": "list", "glob": "**"}`, `["a.go","b.txt","big","bin/data","in","sub/c.go","sub/deep/d.go","sub/deep/e.md"]`},
		{`{"action": "list", "glob": "**/"}`, `["bin","indir","sub","sub/deep"]`},
		{`{"action": "list", "glob": "sub/**/*.[gm]?"}`, `["sub/c.go","sub/deep/d.go","sub/deep/e.md"]`},
		{`{"action": "list", "glob": "**/deep/**/*.go"}`, `["sub/deep/d.go"]`},
		{`{"action": "list", "glob": "indir/*"}`, `["indir/c.go"]`},
		{`{"action": "list", "glob": "outdir/*"}`, `[]`},
		{`{"action": "list", "glob": "a.go/*"}`, `[]`},
		{`{"action": "list", "path": "sub"}`, `["sub/c.go"]`},
		{`{"action": "list", "path": "./sub/", "glob": "*/*.go"}`, `["sub/deep/d.go"]`},
		{`{"action": "list", "path": ".hidden", "glob": "*"}`, `[".hidden/f.go"]`},
		{`{"action": "list", "glob": "nothing*"}`, `[]`},
	} {
		if got, err := run(t, dir, c.settings); err != nil || got != c.want {
			t.Errorf("%s\ngot  %.200s, %v\nwant %.200s", c.settings, got, err, c.want)
		}
	}
}

func TestChangesAreRecorded(t *testing.T) {
	dir := project(t)
	var got []agent.Entry
	for _, settings := range []map[string]any{
		{"action": "write", "path": "new/n.txt", "content": "1"}, {"action": "write", "path": "b.txt", "content": "2"},
		{"action": "append", "path": "log.txt", "content": "3"}, {"action": "append", "path": "b.txt", "content": "4"},
		{"action": "read", "path": "b.txt"}, {"action": "write", "path": "sub", "content": "a directory"},
	} {
		task := &agent.Task{Key: "run/write@1", Agent: &agent.Definition{}, Settings: settings, Dir: dir, KeepEntry: func(e agent.Entry) { got = append(got, e) }}
		_, err := file.New().Run(t.Context(), task, func([]byte) {})
		if (err != nil) != (settings["path"] == "sub") {
			t.Errorf("%v: %v", settings, err)
		}
	}
	want := []agent.Entry{
		agent.FileChange{Path: "new/n.txt", Change: agent.Created}, agent.FileChange{Path: "b.txt", Change: agent.Modified},
		agent.FileChange{Path: "log.txt", Change: agent.Created}, agent.FileChange{Path: "b.txt", Change: agent.Modified},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestRefusals(t *testing.T) {
	dir := project(t)
	for _, c := range []struct {
		settings  string
		permanent bool
		want      string
	}{
		{`{"action": "read", "path": "none"}`, false, `"none" does not exist`},
		{`{"action": "read", "path": "sub"}`, true, `"sub" is not a file`},
		{`{"action": "read", "path": "../secret"}`, true, `"../secret" is outside the project`},
		{`{"action": "read", "path": "/etc/passwd"}`, true, `"/etc/passwd" is outside the project`},
		{`{"action": "read", "path": "out"}`, true, `"out" is outside the project`},
		{`{"action": "read", "path": "outdir/x.go"}`, true, `"outdir/x.go" is outside the project`},
		{`{"action": "read", "path": "big", "max_output_kb": 2}`, true, `"big" exceeds 2 KiB; raise max_output_kb`},
		{`{"action": "read", "path": "bin/data"}`, true, `"bin/data" is not UTF-8 text at byte 1; use a shell step to encode it, for example with base64`},
		{`{"action": "write", "path": "../new", "content": "x"}`, true, `"../new" is outside the project`},
		{`{"action": "write", "path": "outdir/new", "content": "x"}`, true, `"outdir/new" is outside the project`},
		{`{"action": "write", "path": "out", "content": "x"}`, true, `"out" is a symbolic link; write to the file that it points to`},
		{`{"action": "write", "path": "sub", "content": "x"}`, true, `"sub" is not a file`},
		{`{"action": "write", "path": "a.go/b", "content": "x"}`, false, `"a.go/b": not a directory`},
		{`{"action": "append", "path": "out", "content": "x"}`, true, `"out" is outside the project`},
		{`{"action": "append", "path": "sub", "content": "x"}`, true, `"sub" is not a file`},
		{`{"action": "append", "path": "../new", "content": "x"}`, true, `"../new" is outside the project`},
		{`{"action": "list", "path": "none"}`, false, `"none" does not exist`},
		{`{"action": "list", "path": "outdir"}`, true, `"outdir" is outside the project`},
		{`{"action": "list", "path": "a.go"}`, false, `"a.go": not a directory`},
		{`{"action": "list", "glob": "../*"}`, true, `glob "../*": write it relative to path, without empty parts, . or ..`},
		{`{"action": "list", "glob": "/etc/*"}`, true, `glob "/etc/*": write it relative to path, without empty parts, . or ..`},
		{`{"action": "list", "glob": "[a"}`, true, `glob "[a": invalid pattern "[a"`},
		{`{"action": "delete", "path": "a"}`, true, `settings: setting "action" cannot be "delete"; write one of read, write, append, list`},
		{`{"path": "a"}`, true, `settings: setting "action" is missing`},
		{`{"action": "read"}`, true, `settings: setting "path" is missing`},
		{`{"action": "write", "path": "a"}`, true, `settings: setting "content" is missing`},
		{`{"action": "read", "path": "a", "content": "x"}`, true, `settings: setting "content" cannot be combined with the others; remove it`},
	} {
		_, err := run(t, dir, c.settings)
		var failed *agent.Error
		if !errors.As(err, &failed) || failed.Message != c.want || failed.Permanent != c.permanent {
			t.Errorf("%s\ngot  %#v\nwant %s", c.settings, err, c.want)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "../secret")); string(data) != "S" {
		t.Errorf("what is outside the project has changed: %q", data)
	}
}

func TestListTooLong(t *testing.T) {
	dir := t.TempDir()
	for i := range 30 {
		put(t, filepath.Join(dir, strings.Repeat("x", 50)+string(rune('a'+i))), "")
	}
	if _, err := run(t, dir, `{"action": "list", "max_output_kb": 1}`); err == nil || !strings.HasPrefix(err.Error(), "the list of 30 paths exceeds 1 KiB") {
		t.Errorf("got %v", err)
	}
}

func TestWrite(t *testing.T) {
	dir := project(t)
	for _, c := range []struct{ settings, path, want string }{
		{`{"action": "write", "path": "new/dir/report.md", "content": "# Hi\n"}`, "new/dir/report.md", "# Hi\n"},
		{`{"action": "write", "path": "b.txt", "content": ""}`, "b.txt", ""},
		{`{"action": "write", "path": "b.txt", "content": {"n": 12345678901234567890, "l": [1.50]}}`, "b.txt", `{"l":[1.50],"n":12345678901234567890}`},
		{`{"action": "append", "path": "b.txt", "content": "\nmore"}`, "b.txt", `{"l":[1.50],"n":12345678901234567890}` + "\nmore"},
		{`{"action": "append", "path": "logs/new.txt", "content": "first"}`, "logs/new.txt", "first"},
	} {
		out, err := run(t, dir, c.settings)
		got, readErr := os.ReadFile(filepath.Join(dir, c.path))
		if err != nil || readErr != nil || string(got) != c.want || out != c.path {
			t.Errorf("%s\ngot  %q, %q, %v, %v\nwant %q", c.settings, out, got, err, readErr, c.want)
		}
	}
}

func TestWriteKeepsTheMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such modes here")
	}
	dir := project(t)
	name := filepath.Join(dir, "a.go")
	if err := os.Chmod(name, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, dir, `{"action": "write", "path": "a.go", "content": "x"}`); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// While a file is rewritten continuously, a reader sees either the old or the new
// content.
func TestWriteIsAtomic(t *testing.T) {
	dir := project(t)
	texts := []string{strings.Repeat("a", 200_000), strings.Repeat("b", 100_000)}
	name := filepath.Join(dir, "shared")
	put(t, name, texts[0])
	done := make(chan error)
	go func() {
		for i := range 20 {
			if _, err := run(t, dir, `{"action": "write", "path": "shared", "content": "`+texts[i%2]+`"}`); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			expectNoLeftovers(t, dir)
			return
		default:
			if data, err := os.ReadFile(name); err != nil || string(data) != texts[0] && string(data) != texts[1] {
				t.Fatalf("half a file: %d bytes, %v", len(data), err)
			}
		}
	}
}

// An attempt that is repeated after a crash has the same key, and so finds the files that
// it left the first time.
func TestWriteClearsWhatACrashLeft(t *testing.T) {
	dir := t.TempDir()
	sum := sha256.Sum256([]byte("run/write@1\x00" + filepath.Join("a", "b")))
	put(t, filepath.Join(dir, "a", ".hocket-"+hex.EncodeToString(sum[:8])+".tmp"), "half of i")
	if _, err := run(t, dir, `{"action": "write", "path": "a/b", "content": "all of it"}`); err != nil {
		t.Error(err)
	}
	expectNoLeftovers(t, filepath.Join(dir, "a"))
}

func expectNoLeftovers(t *testing.T, dir string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(dir, ".hocket-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCancelled(t *testing.T) {
	dir := project(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	task := &agent.Task{Settings: map[string]any{"action": "write", "path": "never", "content": "x"}, Dir: dir}
	if _, err := file.New().Run(ctx, task, func([]byte) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "never")); err == nil {
		t.Error("it was written nevertheless")
	}
}

func TestNoProject(t *testing.T) {
	if _, err := run(t, filepath.Join(t.TempDir(), "none"), `{"action": "list"}`); err == nil || !strings.HasPrefix(err.Error(), "project: ") {
		t.Errorf("got %v", err)
	}
}

// For any path and glob, nothing outside the project is found.
func FuzzList(f *testing.F) {
	f.Add(".", "**/*.go")
	f.Add("sub/..", "**/**/[a-z]*/")
	f.Add("outdir", "../*")
	dir := f.TempDir()
	for _, name := range []string{"in/a", "in/sub/b", "secret/inside"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755), os.WriteFile(filepath.Join(dir, name), nil, 0o644)); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(dir, "in", "out")); err != nil {
		f.Skip(err)
	}
	f.Fuzz(func(t *testing.T, path, glob string) {
		task := &agent.Task{Settings: map[string]any{"action": "list", "path": path, "glob": glob}, Dir: filepath.Join(dir, "in")}
		r, err := file.New().Run(t.Context(), task, func([]byte) {})
		if err != nil {
			return
		}
		v, err := workflow.ParseJSON([]byte(r.Output))
		if _, ok := v.([]any); err != nil || !ok || strings.Contains(r.Output, "inside") {
			t.Errorf("%q %q gives %s, %v", path, glob, r.Output, err)
		}
	})
}
