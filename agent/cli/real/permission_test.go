package realtest

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/internal/fakemodel"
)

// shells are the tools that run commands. If they are denied, the model is not even
// offered them, and calls a tool that does not exist.
var shells = map[string]string{"claude": "Bash", "codex": "exec_command", "gemini": "run_shell_command", "opencode": "bash", "qwen": "run_shell_command", "copilot": "bash", "goose": "shell"}

// command returns a step in which the model runs a command with the CLI's tool.
func (f *fixture) command(text string) fakemodel.Step {
	args := map[string]any{"command": text, "description": "as the script says"}
	switch f.cli {
	case "codex":
		args = map[string]any{"cmd": text}
	case "goose":
		args = map[string]any{"command": text}
	case "qwen":
		args["is_background"] = false
	}
	return fakemodel.Step{Tool: shells[f.cli], Args: args}
}

// write returns a step in which the model writes a file with the CLI's tool.
func (f *fixture) write(name string) fakemodel.Step {
	file := f.file(name)
	switch f.cli {
	case "claude":
		return fakemodel.Step{Tool: "Write", Args: map[string]any{"file_path": file, "content": "x"}}
	case "codex":
		return fakemodel.Step{Tool: "apply_patch", Cmd: "*** Begin Patch\n*** Add File: " + name + "\n+x\n*** End Patch\n"}
	case "opencode":
		return fakemodel.Step{Tool: "write", Args: map[string]any{"filePath": file, "content": "x"}}
	case "copilot":
		return fakemodel.Step{Tool: "create", Args: map[string]any{"path": file, "file_text": "x"}}
	case "goose":
		return fakemodel.Step{Tool: "write", Args: map[string]any{"path": file, "content": "x"}}
	}
	return fakemodel.Step{Tool: "write_file", Args: map[string]any{"file_path": file, "content": "x"}}
}

// writers are models that a CLI knows can write files, for CLIs that check.
var writers = map[string]string{"codex": "gpt-5.5"}

// fetchers are the tools that use the network, as offered to the model: some only by
// their names. copilot has none without a login.
var fetchers = map[string]string{"claude": "WebFetch", "codex": `"web_search"`, "gemini": `"web_fetch"`, "opencode": `"webfetch"`, "qwen": "web_fetch"}

// attacks begin with a command that a pattern allows, and do more.
var attacks = []string{
	"touch allowed-%; touch bad", "touch allowed-% && touch bad", "touch allowed-% $(touch bad)", "touch allowed-% `touch bad`",
	"touch allowed-% | tee bad", "touch allowed-%\ntouch bad", "touch allowed-% & touch bad", "touch allowed-% <(touch bad)",
	"touch bad", "sh -c 'touch bad'", "{ touch allowed-%; } > bad", "A=1 touch bad", "touch allowed-% \"$(touch bad)\"",
}

// noPowers lists the CLIs that take no permissions when they run headless, and noPatterns
// those that do not enforce patterns then, with the observed behavior.
var (
	noPowers   = map[string]string{"goose": "it can be told nothing without a conversation"}
	noPatterns = map[string]string{
		"codex": "it has none", "gemini": "a redirection goes with the command", "opencode": "{ …; } > file goes with the command",
		"qwen": "$(…) goes with the command", "copilot": "it knows programs only, and a redirection goes with them", "goose": "it has none",
	}
)

func TestPowers(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				name string
				lack map[string]string
				run  func(t *testing.T, f *fixture)
			}{
				{"shell denied", noPowers, shellDenied}, {"shell allowed", noPowers, shellAllowed}, {"network denied", noPowers, networkDenied},
				{"read denied", noReading, readDenied}, {"pattern", nil, pattern}, {"own directories", ownDirectories, guarded},
			} {
				t.Run(c.name, func(t *testing.T) {
					if why := c.lack[name]; why != "" {
						t.Skip("not offered: " + why)
					}
					c.run(t, newFixture(t, name, "dummy"))
				})
			}
		})
	}
}

// shellDenied checks that no command runs in any mode, and that the agent continues its
// work.
func shellDenied(t *testing.T, f *fixture) {
	for _, mode := range []string{"edit", "full"} {
		file := mode + ".txt"
		result, err := f.run(t.Context(), t, attempt{
			mode: mode, permissions: map[string]any{"shell": "deny"}, model: writers[f.cli],
			steps: []fakemodel.Step{f.command("touch bad"), f.write(file), say("done it")},
		})
		if err != nil || result.Output != "done it" || f.has("bad") || !f.has(file) {
			t.Errorf("%s: %q, %v, ran %v, wrote %v", mode, result.Output, err, f.has("bad"), f.has(file))
		}
	}
}

// shellAllowed checks that commands run if the mode alone would not allow them.
func shellAllowed(t *testing.T, f *fixture) {
	result, err := f.run(t.Context(), t, attempt{
		mode: "edit", permissions: map[string]any{"shell": "allow"}, steps: []fakemodel.Step{f.command("touch good"), say("done it")},
	})
	if err != nil || result.Output != "done it" || !f.has("good") {
		t.Errorf("%q, %v, ran %v", result.Output, err, f.has("good"))
	}
}

var noReading = map[string]string{"codex": "it reads by commands", "goose": noPowers["goose"]}

// readDenied checks that the model does not see the content of a file.
func readDenied(t *testing.T, f *fixture) {
	if err := os.WriteFile(f.file("open.txt"), []byte("the open words"), 0o600); err != nil {
		t.Fatal(err)
	}
	step := map[string]fakemodel.Step{
		"claude": {Tool: "Read", Args: map[string]any{"file_path": f.file("open.txt")}}, "opencode": {Tool: "read", Args: map[string]any{"filePath": f.file("open.txt")}},
		"gemini": {Tool: "read_file", Args: map[string]any{"file_path": "open.txt"}}, "qwen": {Tool: "read_file", Args: map[string]any{"file_path": f.file("open.txt")}},
		"copilot": {Tool: "view", Args: map[string]any{"path": f.file("open.txt")}},
	}[f.cli]
	for _, read := range []string{"deny", "allow"} {
		_, err := f.run(t.Context(), t, attempt{mode: "read-only", permissions: map[string]any{"read": read, "shell": "deny"}, steps: []fakemodel.Step{step, say("so be it")}})
		if err != nil || f.told("the open words") != (read == "allow") {
			t.Errorf("%s: told %v, %v", read, f.told("the open words"), err)
		}
	}
}

// networkDenied checks that the model is not offered network tools. For copilot, it
// checks the network access of commands instead.
func networkDenied(t *testing.T, f *fixture) {
	if f.cli == "copilot" {
		for _, network := range []string{"allow", "deny"} {
			_, err := f.run(t.Context(), t, attempt{
				mode: "edit", permissions: map[string]any{"shell": "allow", "network": network},
				steps: []fakemodel.Step{f.command("curl -s " + f.server.URL + "/" + network), say("done it")},
			})
			reached := slices.ContainsFunc(f.server.All(), func(r *fakemodel.Request) bool { return r.Path == "/"+network })
			if err != nil || reached != (network == "allow") {
				t.Errorf("%s: reached %v, %v", network, reached, err)
			}
		}
		return
	}
	offers := func(permissions map[string]any) bool {
		before := len(f.server.Requests())
		if _, err := f.run(t.Context(), t, attempt{mode: "full", permissions: permissions, steps: []fakemodel.Step{say("x")}}); err != nil {
			t.Error(err)
		}
		return slices.ContainsFunc(f.server.Requests()[before:], func(r *fakemodel.Request) bool { return strings.Contains(string(r.Body), fetchers[f.cli]) })
	}
	if !offers(nil) || offers(map[string]any{"network": "deny"}) {
		t.Errorf("the model is offered %s wrongly", fetchers[f.cli])
	}
}

// pattern checks that a pattern allows one kind of command, and cannot be bypassed.
func pattern(t *testing.T, f *fixture) {
	permissions := map[string]any{"shell": map[string]any{"touch allowed-*": "allow"}}
	if noPatterns[f.cli] != "" {
		mode := "edit"
		if f.cli == "goose" {
			mode = "full"
		}
		permissions["mode"] = mode
		problems := cli.New(cli.Options{Builtin: f.cli}).Traits().Permissions(permissions)
		if len(problems) != 1 || !strings.Contains(problems[0].Summary, "patterns for `shell`") || problems[0].Detail == "" {
			t.Errorf("a pattern that it does not keep to: %v", problems)
		}
		t.Skip("not offered: " + noPatterns[f.cli])
	}
	steps := []fakemodel.Step{f.command("touch allowed-one")}
	for i, attack := range attacks {
		steps = append(steps, f.command(strings.ReplaceAll(attack, "%", string(rune('a'+i)))))
	}
	for _, mode := range []string{"edit", "read-only"} {
		result, err := f.run(t.Context(), t, attempt{mode: mode, permissions: permissions, steps: append(slices.Clone(steps), say("so be it"))})
		if err != nil || result.Output != "so be it" || !f.has("allowed-one") || f.has("bad") {
			t.Errorf("%s: %q, %v, allowed %v, more %v", mode, result.Output, err, f.has("allowed-one"), f.has("bad"))
		}
	}
}

// ownDirectories lists directories that a CLI cannot be kept from.
var ownDirectories = map[string]string{
	"codex": "its sandbox guards .git only", "copilot": "it knows whole paths only", "goose": "it has no mode for edits",
}

// guarded checks that an agent that may write cannot change its own permissions.
func guarded(t *testing.T, f *fixture) {
	if err := os.MkdirAll(f.file(".hocket/agents"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := f.run(t.Context(), t, attempt{mode: "edit", steps: []fakemodel.Step{f.write(".hocket/agents/me.yml"), f.write("other.txt"), say("so be it")}})
	if err != nil || f.has(".hocket/agents/me.yml") || !f.has("other.txt") {
		t.Errorf("%v, wrote its own permissions %v, others %v", err, f.has(".hocket/agents/me.yml"), f.has("other.txt"))
	}
}

// nobodyAsked returns an Ask that fails the test.
func nobodyAsked(t *testing.T) agent.Ask {
	return func(_ context.Context, q agent.Question) (string, error) {
		t.Errorf("asked %+v", q)
		return "", agent.ErrNobody
	}
}

// TestPowersInConversations checks that Hocket decides without asking a person.
func TestPowersInConversations(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			talkProgram(t, name)
			for _, c := range []struct {
				name string
				run  func(t *testing.T, f *fixture)
			}{{"shell denied", talkDenied}, {"pattern", talkPattern}, {"tool of a server", talkServerStill}} {
				t.Run(c.name, func(t *testing.T) {
					if name == "codex" {
						t.Skip("not offered: it asks for tools of servers only")
					}
					c.run(t, newFixture(t, name, "dummy"))
				})
			}
		})
	}
}

func talkDenied(t *testing.T, f *fixture) {
	result, err := f.run(t.Context(), t, attempt{
		mode: "ask", ask: nobodyAsked(t), permissions: map[string]any{"shell": "deny", "write": "allow"},
		steps: []fakemodel.Step{f.command("ls > bad"), f.write("good"), say("done it")},
	})
	if err != nil || result.Output != "done it" || f.has("bad") || !f.has("good") {
		t.Errorf("%q, %v, ran %v, wrote %v", result.Output, err, f.has("bad"), f.has("good"))
	}
}

// talkPattern allows some commands, and denies others even if they only read. A denial
// ends the turn of some agents.
func talkPattern(t *testing.T, f *fixture) {
	permissions := map[string]any{"write": "allow", "shell": map[string]any{"touch allowed-*": "allow", "*": "deny"}}
	result, err := f.run(t.Context(), t, attempt{
		mode: "ask", ask: nobodyAsked(t), permissions: permissions, steps: []fakemodel.Step{f.command("touch allowed-one"), f.write("good"), say("done it")},
	})
	if err != nil || result.Output != "done it" || !f.has("allowed-one") || !f.has("good") {
		t.Errorf("%q, %v, ran %v, wrote %v", result.Output, err, f.has("allowed-one"), f.has("good"))
	}
	for _, command := range []string{"touch allowed-two; touch bad", "touch allowed-two $(touch bad)", "ls"} {
		_, _ = f.run(t.Context(), t, attempt{mode: "ask", ask: nobodyAsked(t), permissions: permissions, steps: []fakemodel.Step{f.command(command), say("so be it")}})
		if f.has("bad") || !strings.Contains(f.logged(), "not allowed by the permissions (shell): "+command) {
			t.Errorf("%s: made %v", command, f.has("bad"))
		}
	}
}

// talkServerStill checks that a server's tool needs permission even if all commands and
// edits are allowed.
func talkServerStill(t *testing.T, f *fixture) {
	server := f.engine()
	if f.cli == "copilot" {
		server = f.address(t)
	}
	call := fakemodel.Step{Tool: "$add", Args: map[string]any{"a": 2, "b": 40}}
	if f.cli == "qwen" {
		call = fakemodel.Step{Tool: "tool_call", Args: map[string]any{"name": "mcp__engine__add", "arguments": call.Args}}
	}
	asked := 0
	ask := func(context.Context, agent.Question) (string, error) {
		asked++
		return "reject", nil
	}
	_, _ = f.run(t.Context(), t, attempt{
		mode: "ask", ask: ask, permissions: map[string]any{"shell": "allow", "write": "allow"}, servers: []agent.Server{server},
		steps: []fakemodel.Step{call, say("so be it")},
	})
	if asked != 1 || f.has("calls") {
		t.Errorf("asked %d times, called %v", asked, f.has("calls"))
	}
}
