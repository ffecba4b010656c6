//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const simple = `program: tool
version: {oldest: "1.2"}
args: [run, {if: isolated, args: --no-settings}]
stdin: "{prompt}"
env: {NO_SETTINGS: "{isolated}"}
reply: {format: text}
keys: [TOOL_KEY, OWN_*]
project_files: [.tool/settings.json, tool.json]
`

const show = `[ "$1" = --version ] && { echo 1.10.3; exit; }
echo "args $* env $NO_SETTINGS key $TOOL_KEY other $OTHER_API_KEY db $DB plain $PLAIN home $TOOL_HOME own $OWN_A go $GOFLAGS $GOBIN"
`

// In an untrusted project a CLI is started with flags that exclude the project's
// settings, and sees only common variables whose names do not look secret, and its own.
func TestIsolated(t *testing.T) {
	p := install(t, simple, show)
	p.o.Secret = []string{"GOBIN", "OWN_A"}
	p.env = append(p.env, "GOBIN=hidden", "TOOL_KEY=mine", "OTHER_API_KEY=theirs", "DB=postgres://me:word@host/db", "PLAIN=yes", "TOOL_HOME=/t", "OWN_A=b", "GOFLAGS=-v")
	task := p.task()
	for untrusted, want := range map[bool]string{
		false: "args run env  key mine other theirs db postgres://me:word@host/db plain yes home /t own b go -v hidden",
		true:  "args run --no-settings env 1 key mine other  db  plain  home  own b go -v",
	} {
		task.Untrusted = untrusted
		if res, err := p.Run(t.Context(), task, quiet); err != nil || strings.TrimSpace(res.Output) != want {
			t.Errorf("untrusted %v: %q, %v", untrusted, res.Output, err)
		}
	}
}

// A CLI without such flags is started only if the project has no settings for it, either
// in the working directory or above it in the project.
func TestNotIsolated(t *testing.T) {
	p := install(t, strings.NewReplacer(", {if: isolated, args: --no-settings}", "", `env: {NO_SETTINGS: "{isolated}"}`, "").Replace(simple), show)
	task := p.task()
	task.Untrusted, task.Settings = true, map[string]any{"dir": "below"}
	if err := os.MkdirAll(filepath.Join(task.Dir, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(t.Context(), task, quiet); err != nil {
		t.Error(err)
	}
	for _, file := range []string{"tool.json", "below/tool.json", ".tool/settings.json"} {
		path := filepath.Join(task.Dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Run(t.Context(), task, quiet); err == nil || !strings.Contains(err.Error(), "would use its "+file) || !strings.Contains(err.Error(), "`hocket trust`") {
			t.Errorf("%s: %v", file, err)
		}
		task.Untrusted = false
		if _, err := p.Run(t.Context(), task, quiet); err != nil {
			t.Error(err)
		}
		task.Untrusted = true
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// Every built-in manifest lists which settings it reads from a project and which keys are
// its own.
func TestManifestsSayWhatIsTheirs(t *testing.T) {
	for _, name := range Builtin() {
		if m := BuiltinManifest(name); len(m.ProjectFiles) == 0 || len(m.Keys) == 0 {
			t.Errorf("%s: files %q, keys %q", name, m.ProjectFiles, m.Keys)
		}
	}
}
