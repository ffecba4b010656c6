package realtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/fakemodel"
)

// Here the real CLIs are clients: they use Hocket as an MCP server, set up with `hocket mcp install`,
// and started as people start them.

// builtHocket builds the program once.
var builtHocket = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hocket-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "hocket")
	out, err := exec.Command("go", "build", "-o", file, "github.com/hocket-dev/hocket/cmd/hocket").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return file, err
})

// clients are the command lines with which people start a CLI with one prompt, and its variables.
var clients = map[string]struct{ args, env []string }{
	"claude":   {args: []string{"-p", "--output-format", "json", "--model", "sonnet", "--allowedTools", "mcp__hocket", "--", "{prompt}"}},
	"codex":    {args: []string{"exec", "--json", "--skip-git-repo-check", "--disable", "plugins", "-c", `mcp_servers.hocket.default_tools_approval_mode="approve"`, "-c", "mcp_servers.hocket.required=true", "{prompt}"}},
	"gemini":   {args: []string{"-m", "gemini-2.5-flash", "--approval-mode", "yolo", "--output-format", "json", "-p", "{prompt}"}, env: []string{"GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_CLI_NO_RELAUNCH=true"}},
	"opencode": {args: []string{"run", "--format", "json", "-m", "fake/fake-model"}, env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"}},
}

// withHocket returns a fixture whose CLI has Hocket as a server, in a project with workflows.
func withHocket(t *testing.T, name string) (*fixture, *hocket.Project) {
	t.Helper()
	f := newFixture(t, name, "dummy-key")
	self, err := builtHocket()
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(f.home, ".local", "state")
	t.Setenv("XDG_STATE_HOME", state)
	f.env = append(f.env, clients[name].env...)
	f.server.Reply(func(*fakemodel.Request) fakemodel.Step { return say("the inner answer") })
	for file, text := range map[string]string{
		".hocket/config.yml":            "agent: scribe\nmodel: fake/fake-model\nproviders: {fake: {api: openai-compatible, base_url: \"" + f.server.URL + "/v1\"}}\n",
		".hocket/agents/scribe.yml":     "name: scribe\ndescription: Writes\nagent: llm\n",
		".hocket/workflows/gated.yml":   "name: gated\nsteps:\n  - id: ship\n    human: Ship it?\n  - id: after\n    agent: shell\n    config: {command: echo it was sh\"\"ipped}\n",
		".hocket/workflows/strict.yml":  "name: strict\nsteps:\n  - id: ship\n    human: {question: \"Ship it?\", required: true}\n",
		".hocket/workflows/later.yml":   "name: later\ndescription: Takes a second.\nsteps:\n  - id: wait\n    agent: shell\n    config: {command: sleep 1; echo it was la\"\"ter}\n",
		".hocket/workflows/endless.yml": "name: endless\nsteps:\n  - id: wait\n    agent: shell\n    config: {command: sleep 1000}\n",
	} {
		f.put(t, file, text)
	}
	p, err := hocket.Open(f.project, hocket.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	powers, err := p.Powers()
	if err == nil {
		err = p.Trust(powers)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"gated", "strict", "later", "endless"} {
		approve(t, p, id)
	}
	if _, err := p.AddMemory(t.Context(), "The build needs the green key.", nil, "test"); err != nil {
		t.Fatal(err)
	}
	// As a person does, in a terminal: not below this test, which may run under an agent.
	install := exec.Command(self, "mcp", "install", "--for", name, "--yes")
	install.Env, install.Dir = f.env, f.project
	out, err := install.CombinedOutput()
	if strings.Contains(string(out), "reserved for people") {
		t.Skip("an agent runs this test")
	}
	if err != nil || !strings.Contains(string(out), "hocket") {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
	return f, p
}

// approve approves a definition, as a person does.
func approve(t *testing.T, p *hocket.Project, id string) {
	t.Helper()
	review, err := p.Review(id)
	if err == nil {
		err = p.Approve(t.Context(), id, review.Digest)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ask starts the CLI with a prompt, and waits for it.
func (f *fixture) ask(ctx context.Context, t *testing.T, steps ...fakemodel.Step) (string, error) {
	t.Helper()
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	cmd := f.command2(ctx, fakemodel.Prompt(steps...))
	out, err := cmd.CombinedOutput()
	f.mu.Lock()
	f.log.Write(out)
	f.mu.Unlock()
	return string(out), err
}

func (f *fixture) command2(ctx context.Context, script string) *exec.Cmd {
	prompt := "Do as the script says.\n\n" + script
	var args []string
	inArgs := false
	for _, a := range clients[f.cli].args {
		inArgs = inArgs || a == "{prompt}"
		args = append(args, strings.ReplaceAll(a, "{prompt}", prompt))
	}
	cmd := exec.CommandContext(ctx, f.program(), args...)
	cmd.Env, cmd.Dir = append(slices.Clone(f.env), "PWD="+f.project), f.project
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	if !inArgs {
		cmd.Stdin = strings.NewReader(prompt)
	}
	return cmd
}

func tool(name string, args map[string]any) fakemodel.Step {
	return fakemodel.Step{Tool: "$" + name, Args: args}
}

// clientNames are the CLIs that are tried as clients.
var clientNames = []string{"claude", "codex", "gemini", "opencode"}

func TestClients(t *testing.T) {
	for _, name := range clientNames {
		t.Run(name, func(t *testing.T) {
			f, p := withHocket(t, name)
			made := map[string]any{"description": "Made by a model", "steps": []any{map[string]any{"id": "a", "agent": "shell", "config": map[string]any{"command": "echo it was ma\"\"de"}}}}
			out, err := f.ask(t.Context(), t,
				tool("hocket_agents_list", map[string]any{}),
				tool("hocket_workflows_list", map[string]any{}),
				tool("hocket_task", map[string]any{"prompt": "Answer.", "agent": "scribe", "description": "An answer"}),
				tool("hocket_workflow", map[string]any{"name": "gated"}),
				tool("hocket_workflow_create", map[string]any{"name": "made", "definition": made}),
				tool("hocket_workflow", map[string]any{"name": "made"}),
				tool("hocket_memory_search", map[string]any{"query": "green key"}),
				tool("hocket_workflow", map[string]any{"name": "later", "background": true}),
				tool("hocket_run", map[string]any{"run": "later", "action": "wait"}),
				say("done it"))
			if err != nil || !strings.Contains(out, "done it") {
				t.Fatalf("%v", err)
			}
			for what, words := range map[string]string{
				"the agents": "Writes", "the workflows": "Takes a second.", "the task": "the inner answer", "the gate": "Ship it?", "how to answer": "hocket answer gated-", "how to approve": "hocket approve made",
				"the refusal": "nobody has approved it", "the memory": "the green key", "the background run": "it was later",
			} {
				if !f.told(words) {
					t.Errorf("the model was not told %s: %q", what, words)
				}
			}
			if f.told("it was shipped") || f.told("it was made") {
				t.Error("a gate or a missing approval was passed")
			}
			approve(t, p, "made")
			if out, err := f.ask(t.Context(), t, tool("hocket_workflow", map[string]any{"name": "made"}), say("ran it")); err != nil || !strings.Contains(out, "ran it") || !f.told("it was made") {
				t.Errorf("after the approval: %v, %s", err, out)
			}
			f.noneLeft(t)
		})
	}
}

// A client that gives up on a call cancels its run, and one that is ended leaves nothing.
func TestClientsCancel(t *testing.T) {
	for _, name := range clientNames {
		t.Run(name, func(t *testing.T) {
			f, p := withHocket(t, name)
			endless := tool("hocket_workflow", map[string]any{"name": "endless"})
			t.Run("quit", func(t *testing.T) {
				ctx, quit := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = f.ask(ctx, t, endless, say("waited"))
				}()
				run := started(t, p)
				quit()
				<-done
				ended(t, p, run, engine.Cancelled, engine.Failed) // failed: the CLI has killed the step, too
				f.noneLeft(t)
			})
			t.Run("timeout", func(t *testing.T) {
				f.impatient(t)
				before, _ := p.Runs(t.Context(), hocket.Filter{})
				// A CLI that ends kills the step, too. So it stays until the run is cancelled.
				out, err := f.ask(t.Context(), t, endless, fakemodel.Step{Text: "gave up", Delay: 3000})
				after, _ := p.Runs(t.Context(), hocket.Filter{})
				if len(after) != len(before)+1 {
					t.Fatalf("%v, %s", err, out)
				}
				ended(t, p, after[0].ID, engine.Cancelled)
				f.noneLeft(t)
			})
		})
	}
}

// impatient makes the CLI give up on calls after seconds.
func (f *fixture) impatient(t *testing.T) {
	t.Helper()
	for _, file := range []string{".claude.json", ".codex/config.toml", ".gemini/settings.json", ".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"} {
		file = filepath.Join(f.home, file)
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		now := bytes.ReplaceAll(text, []byte("3600000"), []byte("4000"))
		now = bytes.ReplaceAll(now, []byte("tool_timeout_sec = 3600"), []byte("tool_timeout_sec = 4"))
		if err := os.WriteFile(file, now, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// started waits for a run of the workflow endless that works.
func started(t *testing.T, p *hocket.Project) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for c, err := range p.Watch(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Info.Workflow == "endless" && c.Info.Driven {
			return c.Run
		}
	}
	t.Fatal("no run")
	return ""
}

// ended waits until a run has one of the statuses, and no process drives it.
func ended(t *testing.T, p *hocket.Project, id string, want ...engine.Status) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for c, err := range p.Watch(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Run == id && !c.Info.Driven && slices.Contains(want, c.Info.Status) {
			return
		}
	}
	run, err := p.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	info, _ := run.Info(t.Context())
	t.Errorf("the run has not become %v: %+v", want, info)
	for e := range run.Recorded(t.Context()) {
		t.Logf("%v %T %+v", e.Time, e.Event, e.Event)
	}
}

// noneLeft reports processes of the fixture that still work: servers, and what they started.
func (f *fixture) noneLeft(t *testing.T) {
	t.Helper()
	left := func() (found []string) {
		all, _ := filepath.Glob("/proc/[0-9]*/cwd")
		for _, cwd := range all {
			if dir, err := os.Readlink(cwd); err == nil && strings.HasPrefix(dir, f.project) {
				name, _ := os.ReadFile(filepath.Join(filepath.Dir(cwd), "cmdline"))
				found = append(found, strings.ReplaceAll(string(name), "\x00", " "))
			}
		}
		return found
	}
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	when(ctx, func() bool { return len(left()) == 0 }, func() {})
	if found := left(); len(found) > 0 {
		t.Errorf("processes are left: %q", found)
	}
}
