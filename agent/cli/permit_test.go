package cli

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

func written(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := workflow.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

// Checks which permissions the built-in CLIs are given, and which they do not support.
func TestPermit(t *testing.T) {
	const someTests = `"shell": {"go test *": "allow", "go test -exec*": "deny"}`
	for _, c := range []struct{ cli, written, want string }{
		{"claude", `{}`, `edit {"deny":["Edit(.hocket/**)","Edit(.glee/**)"],"permission":"acceptEdits"}`},
		{"claude", `{"mode": "read-only", "shell": "deny"}`, `read-only {"deny":["Edit","Write","NotebookEdit","Bash"],"permission":"dontAsk"}`},
		{"claude", `{"mode": "read-only", "shell": "allow", "network": "deny", "deny": ["Task"]}`, `read-only {"allow":["Bash"],"deny":["Edit","Write","NotebookEdit","WebFetch","WebSearch","Task"],"permission":"dontAsk"}`},
		{"claude", `{"mode": "edit", "write": "deny"}`, `read-only {"deny":["Edit","Write","NotebookEdit"],"permission":"dontAsk"}`},
		{"claude", `{"mode": "read-only", "write": "allow"}`, `edit {"deny":["Edit(.hocket/**)","Edit(.glee/**)"],"permission":"acceptEdits"}`},
		{"claude", `{"mode": "full", "write": "deny", "shell": "allow"}`, `full {"deny":["Edit","Write","NotebookEdit"],"in_sandbox":"1","permission":"bypassPermissions"}`},
		{"claude", `{"mode": "edit", ` + someTests + `}`, `edit {"allow":["Edit(./**)","Bash(go test *)"],"deny":["Edit(.hocket/**)","Edit(.glee/**)","Bash(go test -exec*)"],"permission":"dontAsk"}`},
		{"claude", `{"mode": "full", "shell": {"*": "allow", "rm *": "deny"}}`, `full {"deny":["Bash(rm *)"],"in_sandbox":"1","permission":"bypassPermissions"}`},
		{"claude", `{"mode": "full", ` + someTests + `}`, "the mode full allows what no pattern of `shell` matches"},
		{"claude", `{"shell": {"git *": "deny", "git log *": "allow"}}`, `"git *" denies it, and denials take precedence there`},
		{"claude", `{"shell": {"* x": "allow"}}`, "a * is allowed only at the end"},
		{"claude", `{"shell": {"npm run x:*": "allow"}}`, "have another meaning there"},
		{"claude", `{"shell": {"a (b": "deny"}}`, "have another meaning there"},
		{"claude", `{"shell": {"go test *": "allow", "*": "ask"}}`, "`shell` uses ask, which claude does not support in the mode edit; it supports `shell: allow` and `shell: deny` there; or write `mode: ask` with `write: allow`: Hocket then decides by these permissions, and a person is asked for the rest"},
		{"claude", `{"write": {"docs/*": "allow"}}`, "claude does not support patterns for `write` in the mode edit"},
		{"claude", `{"mode": "ask", "write": "allow", "shell": {"go test *": "allow"}, "read": {"secrets/*": "deny", "*": "allow"}}`, `ask {"ask":["Read","Glob","Grep","Bash"]}`},
		{"claude", `{"mode": "ask", "shell": "deny", "deny": ["Task"]}`, `ask {"deny":["Bash","Task"]}`},

		{"codex", `{"mode": "edit", "shell": "deny", "network": "deny"}`, `edit {"network_access":false,"sandbox":"workspace-write","web_search":"disabled","without":"shell_tool"}`},
		{"codex", `{"mode": "edit", "shell": "allow"}`, `edit {"sandbox":"workspace-write"}`},
		{"codex", `{"mode": "full", "write": "deny"}`, "codex does not support `write: deny` in the mode full"},
		{"codex", `{"read": "deny"}`, "codex does not support `read: deny` in the mode edit"},
		{"codex", `{` + someTests + `}`, "codex does not support patterns for `shell` in the mode edit; it supports `shell: allow` and `shell: deny` there"},
		{"codex", `{"mode": "ask", "shell": "deny"}`, "codex does not ask before it uses `shell`, so Hocket cannot enforce it; it supports `shell: allow` there; in its other modes it supports `shell: allow` and `shell: deny`"},

		{"gemini", `{"mode": "edit", "shell": "allow", "network": "deny"}`, `edit {"allow":["run_shell_command"],"approval":"auto_edit","deny":["web_fetch","google_web_search"],"guard":true}`},
		{"gemini", `{` + someTests + `}`, "gemini does not support patterns for `shell` in the mode edit"},
		{"gemini", `{"mode": "ask", ` + someTests + `, "write": "allow"}`, `ask {"ask":["run_shell_command"]}`},
		{"gemini", `{"mode": "ask", "allow": ["x"]}`, "gemini does not support a list for `allow` in the mode ask"},

		{"opencode", `{"mode": "read-only", "shell": "allow"}`, `read-only {"permission":{"*":"allow","bash":"allow","edit":"deny","external_directory":"deny","question":"deny"}}`},
		{"opencode", `{"mode": "full", "network": "deny"}`, `full {"permission":{"*":"allow","codesearch":"deny","question":"deny","webfetch":"deny","websearch":"deny"}}`},
		{"opencode", `{` + someTests + `}`, "opencode does not support patterns for `shell`"},
		{"opencode", `{"mode": "full", "allow": ["read"], "deny": ["*", "docs_*"]}`, `full {"permission":{"*":"deny","read":"allow","docs_*":"deny","question":"deny"}}`},
		{"opencode", `{"mode": "full", "allow": ["docs_*"], "deny": ["*_write"]}`, `full {"permission":{"*":"allow","docs_*":"allow","*_write":"deny","question":"deny"}}`},
		{"opencode", `{"mode": "full", "allow": ["docs_*", "docs_write"], "deny": ["docs_write"]}`, `full {"permission":{"*":"allow","docs_*":"allow","docs_write":"deny","question":"deny"}}`},
		{"opencode", `{"mode": "full", "write": "deny", "allow": ["edit"]}`, `full {"permission":{"*":"allow","edit":"deny","question":"deny"}}`},
		{"opencode", `{"mode": "read-only", "allow": ["edit", "bash"]}`, `read-only {"permission":{"*":"allow","bash":"allow","edit":"deny","external_directory":"deny","question":"deny"}}`},
		{"opencode", `{"mode": "edit", "allow": ["edit*"]}`, `edit {"permission":{"*":"allow","edit*":"allow","edit":{"*":"allow","*.git/*":"deny","*.glee/*":"deny","*.hocket/*":"deny"},"bash":"deny","external_directory":"deny","question":"deny"}}`},
		{"opencode", `{"mode": "edit", "allow": ["edit"]}`, `edit {"permission":{"*":"allow","edit":{"*":"allow","*.git/*":"deny","*.glee/*":"deny","*.hocket/*":"deny"},"bash":"deny","external_directory":"deny","question":"deny"}}`},

		{"qwen", `{"mode": "full", "shell": "deny"}`, `full {"approval":"yolo","deny":["run_shell_command"]}`},
		{"qwen", `{` + someTests + `}`, "qwen does not support patterns for `shell`"},
		{"copilot", `{"mode": "edit", "shell": "allow", "network": "deny"}`, `edit {"allow":["write"],"commands":"--allow-tool=shell","deny":["url"]}`},
		{"copilot", `{"mode": "ask", "shell": "deny"}`, `ask {"deny":["shell"]}`},
		{"copilot", `{"mode": "ask", "read": {"*.key": "deny"}}`, "copilot does not ask before it uses `read`"},
		{"goose", `{"mode": "full", "shell": "deny"}`, "goose does not support `shell: deny` in the mode full; it supports `shell: allow` there; or write `mode: ask`"},
		{"goose", `{"mode": "ask", ` + someTests + `, "write": "deny"}`, `ask {}`},
		{"goose", `{"mode": "ask", "network": "deny"}`, "goose does not ask before it uses `network`"},
		{"goose", `{"shell": "deny"}`, "goose does not support `shell: deny` without a mode; write `mode: ask`: Hocket then decides"},
		{"goose", `{"mode": "edit"}`, `goose does not support the mode "edit"; its modes are full, ask`},
	} {
		allowed, problems := BuiltinManifest(c.cli).permit(written(t, c.written))
		got := string(allowed.mode) + " " + workflow.FormatJSON(allowed.values)
		if len(problems) > 0 {
			got = problems[0].String()
		}
		if len(problems) > 1 || len(problems) == 0 && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%s %s\ngot  %s %v\nwant %s", c.cli, c.written, got, problems, c.want)
		}
	}
}

// Options that are members of a map reach the CLI in every form, with denials last.
func TestPermitByMembers(t *testing.T) {
	m := mustRead(t, `program: tool
permissions:
  edit: {rules: {}}
  full: {rules: {"*": allow, edit: {"$HOME/*": deny, "*": ask}}}
  allow: {rules: {"{word}": allow}}
  deny: {rules: {"{word}": deny}}
args:
  - {each: rules, args: "--rule={key}={item}"}
  - {if: rules, args: "--rules={rules:toml}"}
  - "{prompt}"
reply: {format: text}
`)
	for _, c := range []struct{ written, want string }{
		{`{"mode": "edit"}`, `p`},
		{`{"mode": "full", "allow": ["edit", "z"], "deny": ["a"]}`, `--rule=*=allow|--rule=z=allow|--rule=edit={"*":"allow","$HOME/*":"deny"}|--rule=a=deny|` +
			`--rules={"*" = "allow", "z" = "allow", "edit" = {"*" = "allow", "$HOME/*" = "deny"}, "a" = "deny"}|p`},
		{`{"mode": "full", "deny": ["edit"]}`, `--rule=*=allow|--rule=edit=deny|--rules={"*" = "allow", "edit" = "deny"}|p`},
	} {
		allowed, problems := m.permit(written(t, c.written))
		allowed.values.add(values{"prompt": "p"})
		if got := strings.Join(arguments(m.args, allowed.values), "|"); len(problems) > 0 || got != c.want {
			t.Errorf("%s\ngot  %s %v\nwant %s", c.written, got, problems, c.want)
		}
	}
}

// For every built-in CLI, each permission in a definition is passed on or reported.
func TestPermitSaysEverything(t *testing.T) {
	for _, name := range Builtin() {
		m := BuiltinManifest(name)
		for _, mode := range []Mode{ReadOnly, Edit, Full, AskFirst} {
			for _, power := range agent.Powers {
				for _, permission := range []agent.Permission{agent.Allow, agent.AskFirst, agent.Deny} {
					if _, problems := m.permit(map[string]any{"mode": string(mode), string(power): string(permission)}); len(problems) > 0 || permission == agent.Allow {
						continue
					}
					said := len(m.powers[power].told[permission]) > 0
					decided := m.talks(mode) && m.acp.asks[power]
					held := permission == agent.Deny && power == agent.MayWrite && (mode == ReadOnly || mode == Edit)
					if !said && !decided && !held {
						t.Errorf("%s in the mode %s: %s: %s changes nothing", name, mode, power, permission)
					}
				}
			}
		}
	}
}
