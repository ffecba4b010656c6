package importer_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/importer"
	"github.com/hocket-dev/hocket/workflow"
)

func files(pairs ...string) fs.FS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

// target has an executor for every program but cursor, one setting, and every server but
// one. In the mode ask, turns cannot be limited.
var target = importer.Target{
	Knows:  func(name string) bool { return name != "cursor" },
	Takes:  func(_, setting string, _ any) bool { return setting == "effort" },
	Serves: func(name string) bool { return name != "tickets" },
	Ignored: func(d *agent.Definition) []string {
		if d.Permissions["mode"] == "ask" && d.MaxTurns > 0 {
			return []string{"max_turns"}
		}
		return nil
	},
}

// show returns the agents found, as a person would write them.
func show(list []importer.Found) string {
	var b strings.Builder
	for _, f := range list {
		b.WriteString("# " + f.File + "\n")
		if f.Refuse != "" {
			b.WriteString("refused: " + f.Refuse + "\n")
			continue
		}
		b.Write(importer.Text(&f.Agent))
		for _, l := range f.Lost {
			b.WriteString("lost " + l.Key + ": " + l.Reason + "\n")
		}
	}
	return b.String()
}

// Anything but a regular file is refused without blocking. A link within the project
// counts as its target.
func TestWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	agents := filepath.Join(dir, ".claude", "agents")
	if err := os.MkdirAll(filepath.Join(agents, "folder.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(agents, "real.md"), []byte("---\nname: real\n---\nYou.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"gone.md": "nowhere", "null.md": os.DevNull, "link.md": "real.md", "loop.md": "loop.md"} {
		if err := os.Symlink(to, filepath.Join(agents, name)); err != nil {
			t.Skip("this system has no links")
		}
	}
	pipe := exec.Command("mkfifo", filepath.Join(agents, "pipe.md")).Run() // if the system has it
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	found, err := importer.Find("claude", importer.Place{FS: root.FS()}, target)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, f := range found {
		reasons[path.Base(f.File)] = f.Refuse
	}
	if reasons["link.md"] != "" || reasons["real.md"] != "" {
		t.Errorf("what is an agent is refused: %v", reasons)
	}
	for name, want := range map[string]string{"gone.md": "it cannot be read", "null.md": "it is outside the project", "loop.md": "it cannot be read", "pipe.md": "it is not a regular file"} {
		if got := reasons[name]; !strings.Contains(got, want) && (name != "pipe.md" || pipe == nil) {
			t.Errorf("%s is refused with %q, want %q", name, got, want)
		}
	}
}

// Restrictions that no executor here can enforce are left out and reported.
func TestWhatNobodyWouldKeepTo(t *testing.T) {
	found, err := importer.Find("claude", importer.Place{FS: files(".claude/agents/a.md", "---\nname: a\npermissionMode: default\nmaxTurns: 9\n---\nYou.\n")}, target)
	if err != nil || len(found) != 1 || found[0].Agent.MaxTurns != 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	if got := show(found); !strings.Contains(got, "lost max_turns: the executor does not support it") {
		t.Error(got)
	}
}

func TestFormats(t *testing.T) {
	for name, c := range map[string]struct {
		from string
		user bool
		fsys fs.FS
		want string
	}{
		"claude": {"claude", false, files(
			".claude/agents/deep/er/review.md", "---\nname: code-reviewer\ndescription: Use it when: code was written.\\nOften.\ntools: Read, Grep, mcp__docs, mcp__tickets, Bash(git log:*, git diff)\ndisallowedTools: [WebFetch]\nmodel: inherit\neffort: high\npermissionMode: plan\nmaxTurns: 7\nmcpServers:\n  - docs\n  - tickets: {command: x, env: {TOKEN: abc}}\ncolor: red\nhooks: {}\nisolation: worktree\nwhatever: 3\n---\n\nYou review.\n\n  - carefully\n",
			".claude/agents/README.md", "# Our agents\n",
			".claude/agents/anonymous.md", "---\ndescription: x\n---\nYou.\n",
		), `# .claude/agents/README.md
refused: it has no front matter between two lines of --- at its beginning
# .claude/agents/anonymous.md
refused: it has no name, so its own program does not treat it as an agent either
# .claude/agents/deep/er/review.md
name: code-reviewer
description: |-
  Use it when: code was written.
  Often.
agent: claude
mcp: [docs]
permissions:
  allow: ["Bash(git log:*, git diff)"]
  deny: [WebFetch]
  mode: read-only
  network: deny
settings:
  effort: high
max_turns: 7
prompt: |
  You review.

    - carefully
lost mcpServers: server configurations are not imported, because they may contain secrets
lost hooks: in Hocket, commands before and after an agent are steps of a workflow
lost isolation: in Hocket, a step decides that; write ` + "`workspace: own`" + ` for the steps of this agent
lost color: it affects only how the agent is displayed
lost tools: only tools for files, commands and the network are removed; others have no effect by themselves
lost server tickets: config.yml has no such server; add it there under mcp, then list it under mcp of the agent
lost whatever: unknown key
`},
		"gemini": {"gemini", false, files(
			".gemini/agents/sum.md", "---\nkind: local\nname: sum\ndescription: Sums up\ndisplay_name: Sum\ntools: ['*']\nmodel: gemini-2.5-flash\ntemperature: 0.2\nmax_turns: 5\ntimeout_mins: 2.5\nmcp_servers: {a: {command: b}}\n---\nSum up.",
			".gemini/agents/_draft.md", "---\nname: draft\n---\nx",
			".gemini/agents/sub/other.md", "---\nname: other\n---\nx",
			".gemini/agents/far.md", "---\nkind: remote\nname: far\nagent_card_url: https://a.b\n---\n",
			".gemini/agents/fars.md", "---\n- kind: remote\n  name: far\n---\n",
		), `# .gemini/agents/far.md
refused: it is a remote agent, which Hocket does not support
# .gemini/agents/fars.md
refused: it is a remote agent, which Hocket does not support
# .gemini/agents/sum.md
name: sum
description: Sums up
agent: gemini
model: gemini-2.5-flash
mcp: [a]
timeout: 2m30s
max_turns: 5
prompt: |
  Sum up.
lost mcp_servers: server configurations are not imported, because they may contain secrets
lost display_name: it affects only how the agent is displayed
lost temperature: the executor does not support this setting
`},
		"codex": {"codex", false, files(
			".codex/agents/scan.toml", "name = \"scan\"\ndescription = \"Scans\"\ndeveloper_instructions = \"\"\"\nYou scan.\nTwice.\n\"\"\"\nmodel = \"gpt-5.4\"\nmodel_reasoning_effort = \"high\"\nsandbox_mode = \"read-only\"\nnickname_candidates = [\"x\"]\nnew_key = 1979-05-27\n[mcp_servers.docs]\ncommand = \"x\"\n",
			".codex/agents/empty.toml", "name = \"empty\"\n",
			".codex/agents/bad.toml", "name = ",
			".codex/agents/twice.toml", "developer_instructions = \"You are one.\"\n",
			".codex/config.toml", "model = \"x\"\n[agents]\nmax_threads = 4\n[agents.helper]\ndescription = \"Helps\"\nconfig_file = \"roles/helper.toml\"\n[agents.one]\nconfig_file = \"./agents/twice.toml\"\n[agents.lost]\nconfig_file = \"/etc/passwd\"\n",
			".codex/roles/helper.toml", "developer_instructions = \"You help.\"\n",
		), `# .codex/agents/bad.toml
refused: it is not valid TOML
# .codex/agents/empty.toml
refused: it has no developer_instructions, so codex does not treat it as an agent either
# .codex/agents/scan.toml
name: scan
description: Scans
agent: codex
model: gpt-5.4
mcp: [docs]
permissions:
  mode: read-only
settings:
  effort: high
prompt: |
  You scan.
  Twice.
lost mcp_servers: server configurations are not imported, because they may contain secrets
lost nickname_candidates: it affects only how the agent is displayed
lost new_key: unknown key
# .codex/config.toml
name: helper
description: Helps
agent: codex
prompt: |
  You help.
# .codex/config.toml
refused: lost: its file /etc/passwd is elsewhere
# .codex/config.toml
name: one
agent: codex
prompt: |
  You are one.
`},
		"opencode": {"opencode", false, files(
			".opencode/agent/team/docs.md", "---\ndescription: Docs\nmode: subagent\nmodel: anthropic/claude-sonnet\ntemperature: 0.1\nsteps: 9\ntools: {bash: false, edit: true}\npermission:\n  edit: deny\n  webfetch: ask\n  bash: {\"*\": deny, \"ls*\": allow}\nreasoningEffort: low\nverbosity: low\n---\nYou write docs.\n",
			".opencode/modes/plan.md", "---\ndisable: true\n---\nx",
			"opencode.jsonc", "{ // ours\n \"agent\": {\"ask\": {\"prompt\": \"{file:./p/ask.txt}\", \"tools\": {\"*\": false, \"read\": true,},},\n \"odd\": {\"prompt\": \"{file:../x}\"}, \"none\": 3} /* end */ }",
			"p/ask.txt", "You ask.\n",
		), `# .opencode/agent/team/docs.md
name: team/docs
description: Docs
agent: opencode
model: anthropic/claude-sonnet
permissions:
  mode: ask
  network: ask
  shell: {"*":"deny","ls*":"allow"}
  write: deny
settings:
  effort: low
prompt: |
  You write docs.
lost mode: a workflow can name every agent
lost verbosity: opencode sends it to the model unchanged, which no executor of Hocket does
lost max_turns: the executor does not support it
lost temperature: the executor does not support this setting
# .opencode/modes/plan.md
refused: it is disabled
# opencode.jsonc
name: ask
agent: opencode
permissions:
  allow: [read]
  deny: ["*"]
  mode: read-only
  network: deny
  shell: deny
prompt: |
  You ask.
# opencode.jsonc
refused: odd: its prompt file ../x is outside the project
`},
		"copilot": {"copilot", false, files(
			".github/agents/plan.agent.md", "---\nname: The Planner\ndescription: Plans\ntools: ['read', 'docs/*']\nmodels: [a, b]\nreasoningEffort: low\ntarget: vscode\nmcp-servers: {docs: {type: local}}\nargument-hint: x\n---\nYou plan.",
			".github/agents/none.md", "---\ndescription: None\ntools: []\n---\nYou.",
		), `# .github/agents/none.md
name: none
description: None
agent: copilot
permissions:
  mode: read-only
  network: deny
  read: deny
  shell: deny
prompt: |
  You.
lost tools: only tools for files, commands and the network are removed; others have no effect by themselves
# .github/agents/plan.agent.md
name: plan
description: Plans
agent: copilot
model: a
mcp: [docs]
permissions:
  mode: read-only
  network: deny
  shell: deny
settings:
  effort: low
prompt: |
  You plan.
lost name: "The Planner" is only a title; the agent is named after its file, as for copilot --agent
lost models: an agent can have only one model
lost mcp-servers: server configurations are not imported, because they may contain secrets
lost target: a definition applies wherever hocket runs
lost argument-hint: it affects only how the agent is displayed
lost tools: only tools for files, commands and the network are removed; others have no effect by themselves
`},
		"copilot, of the user": {"copilot", true, files(".copilot/agents/me.md", "---\ndescription: Me\n---\nYou.", ".github/agents/not.md", "---\ndescription: x\n---\nx"), `# .copilot/agents/me.md
name: me
description: Me
agent: copilot
prompt: |
  You.
`},
		"cursor": {"cursor", false, files(".cursor/agents/look.md", "---\nname: look\ndescription: Looks\nmodel: fast\nreadonly: true\nis_background: true\n---\nYou look.\n", ".cursor/agents/empty.md", "---\nname: empty\n---\n"), `# .cursor/agents/empty.md
refused: it has no prompt, and there is no executor cursor
# .cursor/agents/look.md
name: look
description: Looks
permissions:
  mode: read-only
prompt: |
  You look.
lost model: fast is a model name only in cursor
lost is_background: in Hocket, the workflow decides what runs in parallel
lost agent: there is no executor cursor, so the definition does not name an executor
`},
		"qwen": {"qwen", false, files(".qwen/agents/q.md", "---\nname: q\ndescription: Q\ntools: [read_file]\napprovalMode: auto-edit\nmodelConfig: {model: qwen3, temp: 1}\nrunConfig: {max_turns: 4, max_time_minutes: 10, extra: 1}\nmcpServers: {s: {command: x}}\nexecutor: {kind: acp}\n---\nYou are Q."), `# .qwen/agents/q.md
name: q
description: Q
agent: qwen
model: qwen3
permissions:
  mode: read-only
  network: deny
  shell: deny
timeout: 10m0s
max_turns: 4
prompt: |
  You are Q.
lost runConfig.extra: unknown key
lost mcpServers: server configurations are not imported, because they may contain secrets
lost executor: set agent to an executor
lost modelConfig: the executor does not support this setting
lost tools: only tools for files, commands and the network are removed; others have no effect by themselves
lost server s: the agent may use only some of its tools, and a definition always includes all of them
`},
		"none": {"claude", false, files(), ""},
	} {
		found, err := importer.Find(c.from, importer.Place{FS: c.fsys, User: c.user}, target)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, show(found)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if _, err := importer.Find("vim", importer.Place{FS: files()}, target); err == nil {
		t.Error("agents of vim were read")
	}
}

// For any file, the written definition has the same meaning.
func FuzzFind(f *testing.F) {
	f.Add("claude", "---\nname: a: b\ndescription: \"x\\ny\"\ntools: a, b(c, d)\n---\n\n  indented\n\ttab\n \n")
	f.Add("codex", "name = \"x\"\ndeveloper_instructions = '''\n a\r\n'''\nx = inf\n")
	f.Add("opencode", `{"agent": {"../x": {"prompt": "\u0000 y", "permission": {"*": "allow"}, "tools": {"a": false}}}} // x`)
	f.Add("qwen", "---\nname: 1\nrunConfig: {max_turns: 1e3}\n---\nx")
	f.Add("gemini", "---\n- a\n---\n")
	f.Add("claude", "---\nname: \"\u2028\"\n---\n\ufeff")
	paths := map[string]string{"claude": ".claude/agents/a.md", "codex": ".codex/agents/a.toml", "opencode": "opencode.json", "qwen": ".qwen/agents/a.md", "gemini": ".gemini/agents/a.md", "copilot": ".github/agents/a.md", "cursor": ".cursor/agents/a.md"}
	f.Fuzz(func(t *testing.T, from, text string) {
		file, ok := paths[from]
		if !ok {
			return
		}
		found, err := importer.Find(from, importer.Place{FS: files(file, text, ".codex/config.toml", text)}, target)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range found {
			if one.Refuse != "" {
				continue
			}
			written := importer.Text(&one.Agent)
			back, problems := agent.ReadDefinition("a.yml", written)
			if problems.Errors() {
				t.Fatalf("wrote\n%s\n%v", written, problems)
			}
			want := one.Agent
			if want.Name == "" {
				want.Name = "a"
			}
			if diff := cmp.Diff(&want, back, cmpopts.IgnoreFields(agent.Definition{}, "ID", "Pos", "Keys"), cmpopts.EquateEmpty(), cmp.Comparer(func(a, b json.Number) bool { return workflow.FormatJSON(a) == workflow.FormatJSON(b) })); diff != "" {
				t.Fatalf("wrote\n%s\n%s", written, diff)
			}
		}
	})
}
