package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/trust"
)

// install runs mcp install in a home directory with a fake program.
func install(t *testing.T, home, program, script string, args ...string) (code int, out, errs string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	for _, name := range []string{"CODEX_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME"} {
		t.Setenv(name, "")
	}
	var o, e bytes.Buffer
	code = Main(append([]string{"mcp", "install"}, args...), Stdio{In: strings.NewReader(""), Out: &o, Err: &e, Agent: trust.Supervisor(os.Environ())})
	return code, o.String(), e.String()
}

func TestInstallWithTheCommandOfTheClient(t *testing.T) {
	home := t.TempDir()
	script := `for a in "$@"; do echo "$a" >> "$HOME/args"; done; echo >> "$HOME/args"
case "$2" in list) echo "hocket: x - Connected";; esac`
	code, out, errs := install(t, home, "claude", script, "--for", "claude")
	args, _ := os.ReadFile(filepath.Join(home, "args"))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if code != 0 || !strings.Contains(out, "Connected") || !strings.Contains(string(args), `"command":"`+self+`"`) || !strings.Contains(string(args), `"timeout":3600000`) || !strings.Contains(string(args), `"args":["mcp","serve","--wait","55m"]`) || !strings.Contains(string(args), "--scope\nuser\n") {
		t.Errorf("%d, %s, %s, %s", code, out, errs, args)
	}
}

func TestInstallReportsAClientThatFails(t *testing.T) {
	if code, _, errs := install(t, t.TempDir(), "claude", "echo no such thing; exit 1", "--for", "claude"); code != 1 || !strings.Contains(errs, "no such thing") {
		t.Errorf("%d, %s", code, errs)
	}
	if code, _, errs := install(t, t.TempDir(), "claude", `[ "$2" = list ] && echo "hocket: x - Failed"; exit 0`, "--for", "claude"); code != 0 || !strings.Contains(errs, "warning") {
		t.Errorf("%d, %s", code, errs)
	}
	if code, _, errs := install(t, t.TempDir(), "other", "", "--for", "codex"); code != 2 || !strings.Contains(errs, "not installed") {
		t.Errorf("%d, %s", code, errs)
	}
	if code, _, errs := install(t, t.TempDir(), "claude", "exit 0", "--for", "claude"); code != 1 || !strings.Contains(errs, "does not list the server") || strings.Contains(errs, "%!") {
		t.Errorf("%d, %s", code, errs)
	}
	if code, _, errs := install(t, t.TempDir(), "other", ""); code != 2 || !strings.Contains(errs, "missing --for") || !strings.Contains(errs, "claude, codex, copilot, cursor, gemini, opencode") {
		t.Errorf("%d, %s", code, errs)
	}
	if code, _, errs := install(t, t.TempDir(), "other", "", "--for", "emacs"); code != 2 || !strings.Contains(errs, "claude, codex, copilot, cursor, gemini, opencode") {
		t.Errorf("%d, %s", code, errs)
	}
}

func TestInstallEditsSettings(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".cursor/mcp.json")
	const before = "{\n  // my servers\n  \"mcpServers\": {\"notes\": {\"command\": \"n\"}},\n}\n"
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(before), 0o640); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := install(t, home, "other", "", "--for", "cursor"); code != 2 || !strings.Contains(errs, "--yes") || !strings.Contains(errs, `+    "hocket": {`) {
		t.Errorf("%d, %s", code, errs)
	}
	if text, _ := os.ReadFile(file); string(text) != before {
		t.Errorf("it was changed without asking: %s", text)
	}
	for range 2 {
		if code, _, errs := install(t, home, "other", "", "--for", "cursor", "--yes"); code != 0 {
			t.Fatalf("%d, %s", code, errs)
		}
	}
	text, _ := os.ReadFile(file)
	kept, _ := os.ReadFile(file + ".before-hocket")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info, err)
	}
	if !strings.Contains(string(text), "// my servers") || !strings.Contains(string(text), `"notes"`) || strings.Count(string(text), `"hocket"`) != 1 || string(kept) != before {
		t.Errorf("%s\n%s", text, kept)
	}
	if err := os.WriteFile(file, append(text, "// more\n"...), 0o640); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := install(t, home, "other", "", "--for", "cursor", "--uninstall", "--yes"); code != 0 || !strings.Contains(errs, "removed the server from cursor-agent") {
		t.Fatal(code, errs)
	}
	kept, _ = os.ReadFile(file + ".before-hocket")
	second, _ := os.ReadFile(file + ".before-hocket-2")
	if string(kept) != before || !strings.Contains(string(second), "// more") {
		t.Errorf("the first backup was overwritten: %s\n%s", kept, second)
	}
	if text, _ := os.ReadFile(file); strings.Contains(string(text), "hocket") || !strings.Contains(string(text), "// my servers") {
		t.Errorf("%s", text)
	}
}

// Removing what is not there is not an error.
func TestUninstallWithoutSettings(t *testing.T) {
	home := t.TempDir()
	if code, _, errs := install(t, home, "other", "", "--for", "cursor", "--uninstall", "--yes"); code != 0 || !strings.Contains(errs, "nothing to remove") {
		t.Errorf("%d, %s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(home, ".cursor/mcp.json")); err == nil {
		t.Error("a file was made")
	}
}

// If a client has removed the old server and cannot add the new one, the old one is restored.
func TestInstallKeepsTheOldServer(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".claude.json")
	if err := os.WriteFile(file, []byte("old hocket\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := `case "$2" in list) cat "$HOME/.claude.json";; remove) : > "$HOME/.claude.json";; *) echo no; exit 1;; esac`
	code, _, errs := install(t, home, "claude", script, "--for", "claude")
	if text, _ := os.ReadFile(file); code != 1 || string(text) != "old hocket\n" || !strings.Contains(errs, "cannot add the server") {
		t.Errorf("%d, %s, %q", code, errs, text)
	}
}

// The settings of a client with a command are not edited without asking either, and nothing else is
// done before.
func TestInstallAsksBeforeItEdits(t *testing.T) {
	home := t.TempDir()
	script := `mkdir -p "$HOME/.codex"; case "$2" in list) echo "hocket enabled";; add) printf '[mcp_servers.hocket]\n' > "$HOME/.codex/config.toml";; esac`
	code, _, errs := install(t, home, "codex", script, "--for", "codex")
	if _, err := os.Stat(filepath.Join(home, ".codex")); code != 2 || !strings.Contains(errs, "--yes") || err == nil {
		t.Errorf("%d, %s, %v", code, errs, err)
	}
	code, _, errs = install(t, home, "codex", script, "--for", "codex", "--yes")
	if text, _ := os.ReadFile(filepath.Join(home, ".codex/config.toml")); code != 0 || !strings.Contains(string(text), "tool_timeout_sec = 3600") {
		t.Errorf("%d, %s, %s", code, errs, text)
	}
}

// A dry run prints what would be done and how to do it by hand, and does nothing.
func TestInstallDryRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"claude":   {"would run:\n  claude mcp add-json --scope user hocket '{", `add this to HOME/.claude.json:` + "\n{\n  \"mcpServers\": {\n    \"hocket\": {", `"timeout": 3600000`},
		"codex":    {"would run:\n  codex mcp add hocket -- " + self + " mcp serve --wait 55m\nand then set the timeout of the server in HOME/.codex/config.toml\n", "[mcp_servers.hocket]\ncommand = \"" + self + "\"\nargs = [\"mcp\",\"serve\",\"--wait\",\"55m\"]\ntool_timeout_sec = 3600\n"},
		"gemini":   {"would run:\n  gemini mcp add --scope user --timeout 3600000 hocket ", `add this to HOME/.gemini/settings.json:`},
		"opencode": {"would run:\n  opencode mcp add hocket -- ", `"mcp": {`, `"type": "local"`},
		"copilot":  {"would run:\n  copilot mcp add hocket --timeout 3600000 -- ", `"tools": [`},
		"cursor":   {"would change HOME/.cursor/mcp.json:\n", "+    \"hocket\": {\n", `add this to HOME/.cursor/mcp.json:`},
	} {
		home := t.TempDir()
		code, out, errs := install(t, home, mcpClients[name].program, `touch "$HOME/ran"`, "--for", name, "--dry-run")
		for _, words := range want {
			if !strings.Contains(out, strings.ReplaceAll(words, "HOME", home)) || code != 0 {
				t.Errorf("%s: %d, %s%s; want %s", name, code, out, errs, words)
			}
		}
		undo, out, errs := install(t, home, mcpClients[name].program, `touch "$HOME/ran"`, "--for", name, "--uninstall", "--dry-run")
		if entries, err := os.ReadDir(home); err != nil || len(entries) != 0 || undo != 0 || !strings.Contains(out, "would ") || strings.Contains(out, "by hand") {
			t.Errorf("%s: %v, %v, %d, %s%s", name, entries, err, undo, out, errs)
		}
	}
}

// If nothing is left to do, a dry run says so. For a program, it prints JSON.
func TestInstallDryRunAgain(t *testing.T) {
	home := t.TempDir()
	if code, out, errs := install(t, home, "cursor", "true", "--for", "cursor", "--yes"); code != 0 {
		t.Fatal(code, out, errs)
	}
	code, out, errs := install(t, home, "cursor", "true", "--for", "cursor", "--dry-run")
	if want := "would not change " + home + "/.cursor/mcp.json: nothing is left to do\n"; code != 0 || out != want {
		t.Errorf("%d, %s%s", code, out, errs)
	}
	code, out, errs = install(t, home, "claude", "true", "--for", "claude", "--dry-run", "--json")
	var would installation
	if err := json.Unmarshal([]byte(out), &would); err != nil || code != 0 || would.Command[0] != "claude" || would.File != home+"/.claude.json" || !strings.Contains(would.Entry, "mcpServers") {
		t.Errorf("%v, %d, %s%s", err, code, out, errs)
	}
}

func TestCodexTimeout(t *testing.T) {
	text, err := codexTimeout([]byte("# mine\n[mcp_servers.hocket]\ncommand = \"x\"\n\n[other]\ntool_timeout_sec = 1\n"))
	if err != nil || string(text) != "# mine\n[mcp_servers.hocket]\ntool_timeout_sec = 3600\ncommand = \"x\"\n\n[other]\ntool_timeout_sec = 1\n" {
		t.Errorf("%s, %v", text, err)
	}
	if again, err := codexTimeout(text); err != nil || string(again) != string(text) {
		t.Errorf("%s, %v", again, err)
	}
	if _, err := codexTimeout([]byte("[other]\n")); err == nil {
		t.Error("no server, and no error")
	}
}

// An agent cannot set up clients.
func TestInstallIsForPeople(t *testing.T) {
	t.Setenv("HOCKET_RUN", "x")
	home := t.TempDir()
	bin := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PATH", bin)
	var o, e bytes.Buffer
	if code := Main([]string{"mcp", "install", "--for", "cursor", "--yes"}, Stdio{In: strings.NewReader(""), Out: &o, Err: &e}); code != 2 || !strings.Contains(e.String(), "reserved for people") {
		t.Errorf("%d, %s", code, e.String())
	}
}
