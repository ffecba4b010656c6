package importer_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/agent/importer"
	"github.com/hocket-dev/hocket/workflow"
)

// places says where the agent of a test is defined, and the text around its keys.
var places = map[string]struct{ file, before, after string }{
	"claude":   {".claude/agents/a.md", "---\nname: a\n", "\n---\nYou.\n"},
	"codex":    {".codex/agents/a.toml", "name = 'a'\ndeveloper_instructions = 'You.'\n", ""},
	"copilot":  {".github/agents/a.md", "---\nname: a\n", "\n---\nYou.\n"},
	"cursor":   {".cursor/agents/a.md", "---\nname: a\n", "\n---\nYou.\n"},
	"gemini":   {".gemini/agents/a.md", "---\nname: a\n", "\n---\nYou.\n"},
	"opencode": {".opencode/agent/a.md", "---\n", "\n---\nYou.\n"},
	"qwen":     {".qwen/agents/a.md", "---\nname: a\n", "\n---\nYou.\n"},
}

// imported returns an agent with some keys, imported for the real executors.
func imported(t *testing.T, from, keys string, more ...string) importer.Found {
	t.Helper()
	target := importer.Target{
		Knows:  func(name string) bool { return name != "cursor" },
		Serves: func(string) bool { return true },
		Unenforced: func(d *agent.Definition) (list []string) {
			if d.Agent == "" {
				return nil
			}
			for _, problem := range cli.New(cli.Options{Builtin: d.Agent}).Traits().Permissions(d.Permissions) {
				list = append(list, problem.String())
			}
			return list
		},
	}
	p := places[from]
	found, err := importer.Find(from, importer.Place{FS: files(append(more, p.file, p.before+keys+p.after)...)}, target)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", keys, found, err)
	}
	return found[0]
}

// may reports whether an imported agent has a power without asking.
func may(f importer.Found, power agent.Power) bool {
	if p, named := f.Agent.Permissions[string(power)]; named {
		return p != "deny" && p != "ask"
	}
	return power != agent.MayWrite || f.Agent.Permissions["mode"] != "read-only"
}

// only and denying are how each program lists the tools of an agent; "" if it has no such
// list.
var (
	only = map[string]string{
		"claude": "tools: [WORD]", "copilot": "tools: [WORD]", "gemini": "tools: [WORD]", "qwen": "tools: [WORD]",
		"opencode": "tools: {\"*\": false, WORD: true}",
	}
	denying = map[string]string{
		"claude": "disallowedTools: [WORD]", "qwen": "disallowedTools: [WORD]", "opencode": "permission: {WORD: deny}", "codex": "[features]\nWORD = false",
	}
)

// Tests every tool of every program, both in a list of allowed tools and in one of denied
// tools.
func TestToolWords(t *testing.T) {
	for _, from := range importer.Formats() {
		for power, words := range importer.Tools(from) {
			for _, word := range words {
				t.Run(from+"/"+word, func(t *testing.T) {
					if keys := strings.ReplaceAll(only[from], "WORD", word); keys != "" {
						f := imported(t, from, keys)
						for _, other := range agent.Powers {
							if f.Refuse != "" || other != power && other != agent.MayRead && may(f, other) {
								t.Errorf("%s: may %s: %q %v", keys, other, f.Refuse, f.Agent.Permissions)
							}
						}
						if read := power == agent.MayRead; may(f, agent.MayRead) != read && from != "opencode" { // which is copied word for word
							t.Errorf("%s: read should be %v: %v", keys, read, f.Agent.Permissions)
						}
					}
					if keys := strings.ReplaceAll(denying[from], "WORD", word); keys != "" {
						f := imported(t, from, keys)
						words, _ := f.Agent.Permissions["deny"].([]any)
						if f.Refuse != "" || !slices.Contains(words, any(word)) && (power == "" || may(f, power)) {
							t.Errorf("%s: still may: %q %v", keys, f.Refuse, f.Agent.Permissions)
						}
					}
				})
			}
		}
	}
}

// permissionRows are other permission keys, with the resulting permissions of the definition, or
// the reason for refusing the agent.
var permissionRows = []struct{ from, keys, want string }{
	{"claude", "permissionMode: plan", `{"mode":"read-only"}`},
	{"claude", "permissionMode: dontAsk", `{"mode":"read-only"}`},
	{"claude", "permissionMode: acceptEdits", `{"mode":"edit"}`},
	{"claude", "permissionMode: bypassPermissions", `{"mode":"full"}`},
	{"claude", "permissionMode: default", `{"mode":"ask"}`},
	{"claude", "permissionMode: manual", `{"mode":"ask"}`},
	{"claude", "permissionMode: auto", `{"mode":"ask"}`},
	{"claude", "permissionMode: delegate", "refused: its `permissionMode: delegate` cannot be imported"},
	{"claude", "permissionMode: [plan]", "refused: its `permissionMode: [\"plan\"]` cannot be imported"},
	{"claude", "tools:", `{"mode":"read-only","network":"deny","read":"deny","shell":"deny"}`},
	{"claude", "tools: '*'", `null`},
	{"claude", "tools: Read, Bash, WebFetch, WebSearch", `{"mode":"read-only"}`},
	{"claude", "tools: Read, Write, Bash\npermissionMode: bypassPermissions", `{"mode":"edit","network":"deny","shell":"allow"}`},
	{"claude", "tools: Read, Bash, WebFetch\npermissionMode: bypassPermissions", `{"allow":["WebFetch"],"mode":"read-only","shell":"allow"}`},
	{"claude", "tools: Read, Bash(git log *)", `{"allow":["Bash(git log *)"],"mode":"read-only","network":"deny"}`},
	{"claude", "tools: Read, Bash\npermissionMode: default", `{"mode":"ask","network":"deny","write":"deny"}`},
	{"claude", "disallowedTools: Bash, WebFetch, WebSearch, Task", `{"deny":["Task"],"network":"deny","shell":"deny"}`},
	{"claude", "disallowedTools: Bash(rm *)", `{"deny":["Bash(rm *)"]}`},
	{"claude", "disallowedTools: mcp__docs__write", `{"deny":["mcp__docs__write"]}`},
	{"claude", "disallowedTools: '*'", `{"mode":"read-only","network":"deny","read":"deny","shell":"deny"}`},
	{"claude", "disallowedTools: {Bash: true}", "refused: its `disallowedTools: "},
	{"claude", "tools: Edit(docs/**), Read\npermissionMode: acceptEdits", `{"mode":"ask","network":"deny","shell":"deny","write":{"*":"deny","docs/*":"allow"}}`},
	{"claude", "tools: Read,Write(docs/**), Edit(./x.md)", `{"mode":"ask","network":"deny","shell":"deny","write":{"*":"deny","docs/*":"allow","x.md":"allow"}}`},
	{"claude", "tools: Read, Write(docs/**)\npermissionMode: default", `{"mode":"ask","network":"deny","shell":"deny","write":{"*":"deny","docs/*":"ask"}}`},
	{"claude", "tools: Read, Write(docs/**)\npermissionMode: plan", `{"mode":"read-only","network":"deny","shell":"deny"}`},
	{"claude", "tools: Read, Bash, Write(docs/**)\npermissionMode: bypassPermissions", `{"mode":"ask","network":"deny","shell":"allow","write":{"*":"deny","docs/*":"allow"}}`},
	{"claude", "tools: Read(src/**)", `{"mode":"ask","network":"deny","read":{"*":"deny","src/*":"allow"},"shell":"deny","write":"deny"}`},
	{"claude", "tools: Read(src/**), Edit", `{"mode":"ask","network":"deny","read":{"*":"deny","src/*":"allow"},"shell":"deny","write":"allow"}`},
	{"claude", "tools: Read(src/**)\npermissionMode: plan", "refused: its permissions cannot be enforced"},
	{"claude", "tools: Read, Edit(src/*.go)", "refused: its `tools: Edit(src/*.go)` cannot be imported"},
	{"claude", "tools: Read, Edit(../x/**)", "refused: its `tools: Edit(../x/**)` cannot be imported"},
	{"claude", "tools: Read, Edit(//etc/**)", "refused: its `tools: Edit(//etc/**)` cannot be imported"},
	{"claude", "tools: Read, Edit(**)", "refused: its `tools: Edit(**)` cannot be imported"},
	{"claude", "tools: Bash\npermissionMode: bypassPermissions\nhooks: {PreToolUse: [{matcher: Bash}]}", "refused: its `hooks.PreToolUse: "},
	{"claude", "hooks: {PermissionRequest: [{}]}", "refused: its `hooks.PermissionRequest: "},
	{"claude", "hooks: [x]", "refused: its `hooks: "},
	{"claude", "hooks: {PostToolUse: [{matcher: Edit}], Stop: [{}], PreToolUse: []}", `null`},
	{"qwen", "hooks: {PreToolUse: [{matcher: Bash}]}", "refused: its `hooks.PreToolUse: "},
	{"gemini", "tools: [write_file(docs/**), read_file]", `{"mode":"ask","network":"deny","shell":"deny","write":{"*":"deny","docs/*":"allow"}}`},
	{"qwen", "tools: [read_file(docs/**)]", "refused: its permissions cannot be enforced"},
	{"copilot", "tools: [read, 'edit(docs/**)']", `{"mode":"ask","network":"deny","shell":"deny","write":{"*":"deny","docs/*":"allow"}}`},

	{"codex", "sandbox_mode = 'read-only'", `{"mode":"read-only"}`},
	{"codex", "sandbox_mode = 'workspace-write'", `{"mode":"edit"}`},
	{"codex", "sandbox_mode = 'danger-full-access'", `null`},
	{"codex", "sandbox_mode = 'other'", "refused: its `sandbox_mode: other`"},
	{"codex", "approval_policy = 'never'", `null`},
	{"codex", "approval_policy = 'on-request'", `null`},
	{"codex", "approval_policy = 'on-failure'", `null`},
	{"codex", "approval_policy = 'untrusted'", "refused: its `approval_policy: untrusted`"},
	{"codex", "web_search = 'disabled'", `{"network":"deny"}`},
	{"codex", "web_search = 'live'", `null`},
	{"codex", "tools = {web_search = false}", `{"network":"deny"}`},
	{"codex", "tools = {view_image = false}", "refused: its `deny: view_image`"},
	{"codex", "features = {other = false}", "refused: its `deny: other`"},
	{"codex", "features = {other = true}", `null`},
	{"codex", "sandbox_workspace_write = {network_access = false}", `{"network":"deny"}`},
	{"codex", "sandbox_workspace_write = {network_access = true, writable_roots = ['/x']}", `null`},
	{"codex", "sandbox_workspace_write = {exclude_slash_tmp = true}", "refused: its `sandbox_workspace_write.exclude_slash_tmp: true`"},
	{"codex", "sandbox_workspace_write = {exclude_tmpdir_env_var = true}", "refused: its `sandbox_workspace_write.exclude_tmpdir_env_var: true`"},
	{"codex", "default_permissions = 'x'", "refused: its `default_permissions: x`"},

	{"copilot", "tools: ['*']", `null`},
	{"copilot", "tools: []", `{"mode":"read-only","network":"deny","read":"deny","shell":"deny"}`},
	{"copilot", "tools: 'read, docs/*'", `{"mode":"read-only","network":"deny","shell":"deny"}`},

	{"cursor", "readonly: true", `{"mode":"read-only"}`},
	{"cursor", "readonly: false", `null`},
	{"cursor", "readonly: maybe", "refused: its `readonly: maybe`"},

	{"gemini", "tools: ['*']", `null`},
	{"gemini", "tools: []", `{"mode":"read-only","network":"deny","read":"deny","shell":"deny"}`},
	{"gemini", "tools: [read_file, run_shell_command]", `{"mode":"read-only","network":"deny"}`},

	{"opencode", "permission: allow", `{"mode":"full"}`},
	{"opencode", "permission: deny", `{"deny":["*"],"mode":"read-only","network":"deny","read":"deny","shell":"deny"}`},
	{"opencode", "permission: ask", "refused: its permissions cannot be enforced: opencode does not ask before it uses `read`"},
	{"opencode", "permission: never", "refused: its `permission: never`"},
	{"opencode", "permission: {edit: deny}", `{"mode":"read-only"}`},
	{"opencode", "permission: {edit: allow}", `{"mode":"edit"}`},
	{"opencode", "permission: {edit: ask}", `{"mode":"ask","network":"allow","write":"ask"}`},
	{"opencode", "permission: {bash: allow}", `{"shell":"allow"}`},
	{"opencode", "permission: {bash: ask}", `{"mode":"ask","network":"allow","shell":"ask","write":"allow"}`},
	{"opencode", "permission: {webfetch: allow}", `{"network":"allow"}`},
	{"opencode", "permission: {webfetch: ask}", `{"mode":"ask","network":"ask","write":"allow"}`},
	{"opencode", "permission: {read: deny}", `{"read":"deny"}`},
	{"opencode", "permission: {read: {\"*.env\": deny}}", "refused: its permissions cannot be enforced: opencode does not ask before it uses `read`"},
	{"opencode", "permission: {task: ask}", `{"deny":["task"]}`},
	{"opencode", "permission: {task: {\"*\": deny, helper: allow}}", `{"deny":["task"]}`},
	{"opencode", "permission: {\"docs_*\": deny}", `{"deny":["docs_*"]}`},
	{"opencode", "permission: {\"*\": deny, \"docs_*\": allow, docs_write: deny, other: deny}", `{"allow":["docs_*"],"deny":["*","docs_write"],"mode":"read-only","network":"deny","read":"deny","shell":"deny"}`},
	{"opencode", "permission: {\"*\": allow, bash: deny}", `{"mode":"edit","network":"allow","shell":"deny"}`},
	{"opencode", "permission: {\"*\": deny, bash: allow, grep: allow}", `{"allow":["grep"],"deny":["*"],"mode":"read-only","network":"deny","read":"deny","shell":"allow"}`},
	{"opencode", "permission: {bash: allow, \"*\": deny}", `{"deny":["*"],"mode":"read-only","network":"deny","read":"deny","shell":"deny"}`},
	{"opencode", "permission: {bash: {\"*\": ask, \"git log*\": allow, \"rm *\": deny}}", `{"mode":"ask","network":"allow","shell":{"*":"ask","git log*":"allow","rm *":"deny"},"write":"allow"}`},
	{"opencode", "permission: {bash: {\"git log*\": allow, \"*\": deny}}", `{"shell":"deny"}`},
	{"opencode", "permission: {bash: {\"git push*\": allow, \"git *\": deny}}", `{"mode":"ask","network":"allow","shell":{"*":"allow","git *":"deny"},"write":"allow"}`},
	{"opencode", "permission: {bash: {\"git push --dry*\": allow, \"*--force\": deny}}", "refused: its `permission.bash.git push --dry*: allow`"},
	{"opencode", "permission: {bash: {\"rm ?\": deny}}", "refused: its `permission.bash.rm ?: deny`"},
	{"opencode", "permission: {bash: {\"*\": deny, \"ls ?\": allow}}", `{"shell":"deny"}`},
	{"opencode", "permission: {edit: maybe}", "refused: its `permission.edit: maybe`"},
	{"opencode", "permissions: {bash: deny}", `{"shell":"deny"}`},
	{"opencode", "tools: {write: false}", `{"mode":"read-only"}`},
	{"opencode", "tools: {bash: false, read: true}", `{"shell":"deny"}`},
	{"opencode", "tools: {bash: maybe}", "refused: its `tools.bash: maybe`"},
	{"opencode", "tools: [read]", "refused: its `tools: [\"read\"]`"},
	{"opencode", "tools: {bash: true}\npermission: {bash: deny}", `{"shell":"deny"}`},

	{"qwen", "approvalMode: plan", `{"mode":"read-only"}`},
	{"qwen", "approvalMode: auto-edit", `{"mode":"edit"}`},
	{"qwen", "approvalMode: auto_edit", `{"mode":"edit"}`},
	{"qwen", "approvalMode: yolo", `{"mode":"full"}`},
	{"qwen", "approvalMode: default", `{"mode":"ask"}`},
	{"qwen", "approvalMode: auto", `{"mode":"ask"}`},
	{"qwen", "approvalMode: yes", "refused: its `approvalMode: yes`"},
	{"qwen", "permissionMode: dontAsk", `{"mode":"read-only"}`},
	{"qwen", "permissionMode: acceptEdits", `{"mode":"edit"}`},
	{"qwen", "permissionMode: bypassPermissions", `{"mode":"full"}`},
	{"qwen", "approvalMode: plan\npermissionMode: bypassPermissions", `{"mode":"read-only"}`},
	{"qwen", "tools: []\napprovalMode: yolo", `{"mode":"read-only","network":"deny","read":"deny","shell":"deny"}`},
	{"qwen", "disallowedTools: [run_shell_command, web_fetch, web_search]", `{"network":"deny","shell":"deny"}`},
}

// settingsRows are settings of a program for all of its agents, in addition to those of the agent.
var settingsRows = []struct{ from, file, settings, keys, want string }{
	{"claude", ".claude/settings.json", `{"permissions": {"defaultMode": "plan", "deny": ["Bash", "Read(./.env)"]}}`, "", `{"deny":["Read(./.env)"],"mode":"read-only","shell":"deny"}`},
	{"claude", ".claude/settings.json", `{"permissions": {"defaultMode": "plan"}}`, "permissionMode: bypassPermissions", `{"mode":"read-only"}`},
	{"claude", ".claude/settings.json", `{"permissions": {"defaultMode": "bypassPermissions", "allow": ["Bash"]}}`, "", `null`},
	{"claude", ".claude/settings.json", `{"permissions": {"disableBypassPermissionsMode": "disable"}}`, "permissionMode: bypassPermissions", `{"mode":"ask"}`},
	{"claude", ".claude/settings.local.json", `{"permissions": {"ask": ["Bash(git push *)"]}}`, "permissionMode: acceptEdits", `{"deny":["Bash(git push *)"],"mode":"edit"}`},
	{"claude", ".claude/settings.json", `{"permissions": {"deny": "Bash"}, }`, "tools: Read, Bash\npermissionMode: bypassPermissions", `{"mode":"read-only","network":"deny","shell":"deny"}`},
	{"claude", ".claude/settings.json", `{"permissions": {"deny": {}}}`, "", "refused: .claude/settings.json: its `permissions.deny: "},
	{"claude", ".claude/settings.json", `{"hooks": {"PreToolUse": [{"matcher": "Bash"}]}}`, "", "refused: .claude/settings.json: its `hooks.PreToolUse: "},
	{"claude", ".claude/settings.json", `{"hooks": {"PostToolUse": [{"matcher": "Bash"}]}}`, "", `null`},
	{"claude", ".claude/settings.json", `{"sandbox": {"enabled": true}}`, "", "refused: .claude/settings.json: its `sandbox.enabled: true`"},
	{"claude", ".claude/settings.json", `{"sandbox": {"enabled": false}}`, "", `null`},
	{"claude", ".claude/settings.json", `{`, "", "refused: .claude/settings.json: it may restrict all agents"},
	{"codex", ".codex/config.toml", "sandbox_mode = 'read-only'", "", `{"mode":"read-only"}`},
	{"codex", ".codex/config.toml", "sandbox_mode = 'read-only'", "sandbox_mode = 'workspace-write'", `{"mode":"read-only"}`},
	{"codex", ".codex/config.toml", "sandbox_mode = 'danger-full-access'", "", `null`},
	{"codex", ".codex/config.toml", "approval_policy = 'untrusted'", "", "refused: .codex/config.toml: its `approval_policy: untrusted`"},
	{"codex", ".codex/config.toml", "web_search = 'disabled'", "", `{"network":"deny"}`},
	{"codex", ".codex/hooks.json", `{"hooks": {"PreToolUse": [{}]}}`, "", "refused: .codex/hooks.json: its `hooks.PreToolUse: "},
	{"copilot", ".github/hooks/guard.json", `{"version": 1, "hooks": {"preToolUse": [{}]}}`, "", "refused: .github/hooks/guard.json: its `hooks.preToolUse: "},
	{"copilot", ".github/hooks/log.json", `{"version": 1, "hooks": {"postToolUse": [{}]}}`, "", `null`},
	{"copilot", ".github/copilot/settings.json", `{"deniedUrls": ["x.org"]}`, "", "refused: .github/copilot/settings.json: its `deniedUrls: "},
	{"cursor", ".cursor/cli.json", `{"permissions": {"deny": ["Shell(rm)", "Read(.env*)"]}}`, "", `{"read":"deny","shell":"deny"}`},
	{"cursor", ".cursor/cli.json", `{"permissions": {"deny": ["Mcp(x:y)"]}}`, "", "refused: its `deny: Mcp(x:y)`"},
	{"cursor", ".cursor/hooks.json", `{"version": 1, "hooks": {"beforeShellExecution": [{}]}}`, "", "refused: .cursor/hooks.json: its `hooks.beforeShellExecution: "},
	{"gemini", ".gemini/settings.json", `{"general": {"defaultApprovalMode": "plan"}}`, "", `{"mode":"read-only"}`},
	{"gemini", ".gemini/settings.json", `{"general": {"defaultApprovalMode": "auto_edit"}}`, "", `{"mode":"edit"}`},
	{"gemini", ".gemini/settings.json", `{"general": {"defaultApprovalMode": "default"}}`, "", `{"mode":"ask"}`},
	{"gemini", ".gemini/settings.json", `{"general": {"defaultApprovalMode": "yolo"}}`, "", `null`},
	{"gemini", ".gemini/settings.json", `{"tools": {"exclude": ["run_shell_command(rm)", "web_fetch"]}}`, "", `{"deny":["web_fetch"],"shell":"deny"}`},
	{"gemini", ".gemini/settings.json", `{"excludeTools": ["ShellTool"]}`, "", "refused: its `deny: ShellTool`"},
	{"gemini", ".gemini/settings.json", `{"tools": {"core": ["read_file", "write_file"]}}`, "tools: [read_file, run_shell_command]", `{"mode":"read-only","network":"deny","shell":"deny"}`},
	{"gemini", ".gemini/settings.json", `{"tools": {"core": ["read_file"]}}`, "", `{"mode":"read-only","network":"deny","shell":"deny"}`},
	{"gemini", ".gemini/settings.json", `{"tools": {"sandbox": "docker"}}`, "", "refused: .gemini/settings.json: its `tools.sandbox: docker`"},
	{"gemini", ".gemini/settings.json", `{"hooks": {"BeforeTool": [{}]}}`, "", "refused: .gemini/settings.json: its `hooks.BeforeTool: "},
	{"gemini", ".gemini/policies/p.toml", "[[rule]]\ntoolName = 'run_shell_command'\ndecision = 'deny'", "", "refused: .gemini/policies/p.toml: its `rule: "},
	{"qwen", ".qwen/settings.json", `{"tools": {"approvalMode": "plan"}}`, "approvalMode: yolo", `{"mode":"read-only"}`},
	{"qwen", ".qwen/settings.json", `{"general": {"defaultPermissionMode": "dont_ask"}}`, "", `{"mode":"read-only"}`},
	{"qwen", ".qwen/settings.json", `{"general": {"defaultPermissionMode": "accept_edits"}}`, "approvalMode: yolo", `{"mode":"edit"}`},
	{"qwen", ".qwen/settings.json", `{"general": {"defaultPermissionMode": "bypass_permissions"}}`, "", `null`},
	{"qwen", ".qwen/settings.json", `{"permissions": {"deny": ["run_shell_command", "Read(.env)"]}}`, "", `{"deny":["Read(.env)"],"shell":"deny"}`},
	{"qwen", ".qwen/settings.json", `{"tools": {"core": ["run_shell_command(git log)", "read_file"]}}`, "tools: [run_shell_command, read_file]", `{"allow":["run_shell_command(git log)"],"mode":"read-only","network":"deny"}`},
}

// permitted returns the permissions of an imported agent, or why there are none.
func permitted(f importer.Found) string {
	switch {
	case f.Refuse != "":
		return "refused: " + f.Refuse
	case len(f.Agent.Permissions) == 0:
		return "null"
	}
	return workflow.FormatJSON(any(f.Agent.Permissions))
}

func TestPermissionWords(t *testing.T) {
	tried := map[string]string{}
	try := func(from, keys, want string, more ...string) {
		tried[from] += keys + strings.Join(more, "")
		t.Run(from+"/"+keys+strings.Join(more, " "), func(t *testing.T) {
			got := permitted(imported(t, from, keys, more...))
			if got != want && !(strings.HasPrefix(want, "refused: ") && strings.HasPrefix(got, want)) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
	for _, row := range permissionRows {
		try(row.from, row.keys, row.want)
	}
	for _, row := range settingsRows {
		try(row.from, row.keys, row.want, row.file, row.settings)
	}
	for _, from := range importer.Formats() {
		for mode := range importer.Modes(from) {
			if !strings.Contains(tried[from], mode) {
				t.Errorf("no row tries %q of %s", mode, from)
			}
		}
	}
}

// Changing the settings of a program changes what its agents may do.
func TestSettingsAreImportedAgain(t *testing.T) {
	plan := imported(t, "claude", "", ".claude/settings.json", `{"permissions": {"defaultMode": "plan"}}`)
	none := imported(t, "claude", "", ".claude/settings.json", `{}`)
	if plan.Digest == none.Digest || none.Digest != imported(t, "claude", "").Digest {
		t.Errorf("with settings %s, with empty ones %s", plan.Digest, none.Digest)
	}
}

// Settings that cannot be read may deny anything.
func TestSettingsElsewhere(t *testing.T) {
	for from, settings := range map[string]string{"claude": ".claude/settings.json", "opencode": "opencode.json"} {
		dir, p := t.TempDir(), places[from]
		file := filepath.Join(dir, filepath.FromSlash(p.file))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(p.before+"description: x"+p.after), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(os.DevNull, filepath.Join(dir, filepath.FromSlash(settings))); err != nil {
			t.Skip("this system has no links")
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		found, err := importer.Find(from, importer.Place{FS: root.FS()}, importer.Target{})
		if err != nil || len(found) == 0 || !strings.Contains(found[0].Refuse, "it is outside the project") {
			t.Errorf("%s: %+v, %v", from, found, err)
		}
	}
}

// What opencode.json denies to all agents is denied to each. If it cannot be read, nothing is
// imported.
func TestCommonPermissions(t *testing.T) {
	for config, want := range map[string]string{
		`{"permission": {"edit": "deny"}}`:  `{"mode":"read-only","shell":"allow"}`,
		`{"permission": {"bash": "deny"}}`:  `{"shell":"allow"}`,
		`{"tools": {"webfetch": false}, }`:  `{"network":"deny","shell":"allow"}`,
		`{"permission": {"edit": "maybe"}}`: "opencode.json: its `permission.edit: maybe`",
	} {
		f := imported(t, "opencode", "permission: {bash: allow}", "opencode.json", config)
		if got := workflow.FormatJSON(any(f.Agent.Permissions)); f.Refuse == "" && got != want || !strings.HasPrefix(f.Refuse, map[bool]string{true: want}[f.Refuse != ""]) {
			t.Errorf("%s: %s %q, want %s", config, got, f.Refuse, want)
		}
	}
}

// A server is left out if the agent may use only some of its tools.
func TestServersInPart(t *testing.T) {
	for _, c := range []struct{ from, keys, want string }{
		{"claude", "mcpServers: [docs]", "docs"},
		{"claude", "mcpServers: [docs]\ntools: Read", ""},
		{"claude", "mcpServers: [docs]\ntools: Read, mcp__docs__search", ""},
		{"claude", "mcpServers: [docs]\ntools: Read, mcp__docs", "docs"},
		{"codex", "[mcp_servers.docs]\ncommand = 'x'", "docs"},
		{"codex", "[mcp_servers.docs]\ncommand = 'x'\nenabled_tools = ['search']", ""},
		{"codex", "[mcp_servers.docs]\ncommand = 'x'\ndisabled_tools = ['write']", ""},
		{"codex", "[mcp_servers.docs]\ncommand = 'x'\nenabled = false", ""},
		{"copilot", "mcp-servers: {docs: {command: x, tools: ['*']}}", "docs"},
		{"copilot", "mcp-servers: {docs: {command: x, tools: [search]}}", ""},
		{"copilot", "mcp-servers: {docs: {command: x}}\ntools: [read, docs/*]", "docs"},
		{"gemini", "mcp_servers: {docs: {command: x, include_tools: [search]}}", ""},
		{"gemini", "mcp_servers: {docs: {command: x, exclude_tools: [write]}}", ""},
		{"gemini", "mcp_servers: {docs: {command: x}}\ntools: [read_file, mcp_docs_*]", "docs"},
		{"qwen", "mcpServers: {docs: {command: x, includeTools: [search]}}", ""},
		{"qwen", "mcpServers: {docs: {command: x, excludeTools: [write]}}", ""},
	} {
		f := imported(t, c.from, c.keys)
		if got := strings.Join(f.Agent.Servers, " "); f.Refuse != "" || got != c.want {
			t.Errorf("%s: %s: gives %q, want %q; %s", c.from, c.keys, got, c.want, f.Refuse)
		}
	}
}
