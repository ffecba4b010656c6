//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// described is the manifest of a CLI that prints what it was given.
const described = `program: tool
install: ask its author
login: log in with tool login
version: {oldest: "1.2"}
permissions:
  read-only: {level: low}
  edit: {level: middle}
args:
  - [--level, "{level}"]
  - [--model, "{model}"]
  - [--resume, "{resume}"]
  - [--id, "{session}"]
  - [--turns, "{max_turns}"]
  - [--cost, "{max_cost_usd}"]
  - [--system, "{system_file}"]
  - [--mcp, "{mcp}"]
  - [--allow, "{allow}"]
  - "{extra}"
stdin: "{prompt}"
env: {LEVEL: "{level}", GONE: null, NOT_SET: "{resume}"}
files:
  system_file: {name: system.md, text: "{system}"}
  mcp: {name: conf/mcp.json, json: {servers: "{servers}"}}
servers:
  command: {command: "{argv}", env: "{env}"}
  url: {url: "{url}", headers: "{headers}"}
reply:
  rules:
    - {when: {type: say}, take: {text: .text, session: .session}}
    - {when: {type: used}, total: {tokens_in: .in, tokens_out: .out, cost_usd: .cost}}
    - {when: {type: done}, take: {result: .result}, means: success}
    - {when: {type: failed}, take: {error: .why, status: .status}, means: failure}
errors:
  - {matches: "slow down", means: quota}
stderr:
  - {matches: "^I wait (?P<words>.*)", means: quota}
`

// place is a directory with a program in it, and an executor that finds it.
type place struct {
	*Executor
	dir string
}

// install writes the program, a script, and returns its executor.
func install(t *testing.T, manifest, script string) *place {
	t.Helper()
	dir := t.TempDir()
	if script != "" {
		text := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo asked >> " + dir + "/asked; echo tool v1.10.3; exit; fi\n" + script
		if err := os.WriteFile(filepath.Join(dir, "tool"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=" + dir + ":/usr/bin:/bin", "GONE=here", "HOME=" + dir}
	return &place{New(Options{Manifest: mustRead(t, manifest), Env: env, Dir: filepath.Join(dir, "private")}), dir}
}

func (p *place) task() *agent.Task {
	// The key is unique to this test, because every process with that key on the machine
	// is killed.
	return &agent.Task{Key: p.dir + "@1", Dir: p.dir, Prompt: "Do it.\nNow.", Agent: &agent.Definition{Name: "tool"}, Settings: map[string]any{}}
}

func quiet([]byte) {}

// echo prints what it is given: arguments, files, variables and input.
const echo = `
say() { printf '{"type":"say","session":"s-7","text":"%s"}\n' "$1"; }
say "args: $(echo "$*" | sed 's/[0-9a-f]\{8\}-[0-9a-f-]*/UUID/; s#/[^ ]*private/run-[0-9a-f]*#TMP#g')"
for a in "$@"; do case $a in */private/*) say "file $(stat -c %a "$a" 2>/dev/null || stat -f %Lp "$a"): $(sed 's/"/\\"/g' "$a")";; esac; done
say "env: $LEVEL,${GONE-gone},${NOT_SET-unset},$HOCKET_KEY,$EXTRA"
say "input: $(tr '\n' ' ')"
echo '{"type":"used","in":100,"out":10,"cost":0.5}'
echo '{"type":"done","result":"fine"}'
`

func TestWhatTheCLIIsGiven(t *testing.T) {
	p := install(t, described, echo)
	task := p.task()
	task.Agent.Prompt, task.Agent.Model, task.Agent.MaxTurns = "You are kind.", "m-1", 4
	task.Agent.Budget.CostUSD = workflow.AtMost(1.5)
	task.Agent.Permissions = map[string]any{"mode": "read-only", "allow": []any{"a b"}}
	task.Settings = map[string]any{"args": []any{"-v"}, "env": map[string]any{"EXTRA": "more"}}
	task.Servers = []agent.Server{{Name: "one", Command: []string{"srv", "-x"}, Env: map[string]string{"K": "V"}}, {Name: "two", URL: "http://h/mcp"}}
	var log strings.Builder
	res, err := p.Run(t.Context(), task, func(piece []byte) { log.Write(piece) })
	if err != nil || res.Output != "fine" {
		t.Errorf("got %q, %v", res.Output, err)
	}
	want := `args: --level low --model m-1 --id UUID --turns 4 --cost 1.5 --system TMP/system.md --mcp TMP/conf/mcp.json --allow a b -v
file 600: You are kind.
file 600: {"servers":{"one":{"command":["srv","-x"],"env":{"K":"V"}},"two":{"url":"http://h/mcp"}}}
env: low,gone,unset,DIR@1,more
input: Do it. Now.
`
	if got := strings.ReplaceAll(log.String(), p.dir, "DIR"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, "private", "run-*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if c := res.Conversation; c == nil || c.Native != "s-7" || c.Spent != res.Usage {
		t.Errorf("conversation %+v", c)
	}
}

func TestTakingUpAConversation(t *testing.T) {
	p := install(t, described, echo)
	task := p.task()
	task.Conversation = &agent.Conversation{Native: "old", Spent: agent.Usage{CostUSD: 0.3, TokensIn: 60, TokensOut: 4}}
	if p.resumes(&agent.Task{Conversation: &agent.Conversation{Native: "--full-auto"}}) {
		t.Error("an option is a conversation")
	}
	if !p.resumes(task) {
		t.Error("it is not taken up")
	}
	var log strings.Builder
	res, err := p.Run(t.Context(), task, func(piece []byte) { log.Write(piece) })
	if err != nil || !strings.Contains(log.String(), "--resume old\n") || strings.Contains(log.String(), "--id") {
		t.Errorf("log %s, %v", log.String(), err)
	}
	if want := (agent.Usage{CostUSD: 0.2, TokensIn: 40, TokensOut: 6}); res.Usage != want {
		t.Errorf("used %+v, want %+v", res.Usage, want)
	}
	if want := (agent.Usage{CostUSD: 0.5, TokensIn: 100, TokensOut: 10}); res.Conversation.Spent != want {
		t.Errorf("spent %+v, want %+v", res.Conversation.Spent, want)
	}
}

// A CLI may find its conversations only where they took place. Elsewhere it begins a new one, unless its manifest says
// that it finds them anywhere.
func TestConversationInAnotherDirectory(t *testing.T) {
	for manifest, elsewhere := range map[string]bool{described: false, described + "resumes_anywhere: true\n": true} {
		p := install(t, manifest, echo)
		if err := os.Mkdir(filepath.Join(p.dir, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		for dir, taken := range map[string]bool{"": true, p.dir: elsewhere, filepath.Join(p.dir, "sub"): true} {
			task := p.task()
			task.Settings["dir"] = "sub"
			task.Conversation = &agent.Conversation{Native: "old", Dir: dir, Spent: agent.Usage{TokensIn: 60}}
			if p.resumes(task) != taken {
				t.Errorf("anywhere %v, %q: taken up %v", elsewhere, dir, !taken)
			}
			var log strings.Builder
			res, err := p.Run(t.Context(), task, func(piece []byte) { log.Write(piece) })
			used := int64(100)
			if taken {
				used = 40
			}
			if err != nil || strings.Contains(log.String(), "--resume old") != taken || res.Usage.TokensIn != used || res.Conversation.Dir != filepath.Join(p.dir, "sub") {
				t.Errorf("anywhere %v, %q: %+v, %v, %s", elsewhere, dir, res, err, log.String())
			}
			if task.Conversation == nil {
				t.Error("the task of the driver was modified")
			}
		}
	}
}

func TestVersions(t *testing.T) {
	p := install(t, described, echo)
	for range 3 {
		if version, err := p.versionOf(t.Context(), lookPath("", p.m().Programs, p.env)); version != "1.10.3" || err != nil {
			t.Errorf("got %q, %v", version, err)
		}
	}
	again := New(p.o) // another process
	if _, err := again.Run(t.Context(), p.task(), quiet); err != nil {
		t.Error(err)
	}
	if asked, _ := os.ReadFile(filepath.Join(p.dir, "asked")); string(asked) != "asked\n" {
		t.Errorf("asked %q", asked)
	}
	old := install(t, strings.Replace(described, `"1.2"`, `"1.11"`, 1), echo)
	const warning = "tool is version 1.10.3, and the oldest tested version is 1.11; to update it, ask its author"
	for _, any := range []bool{false, true} {
		task := old.task()
		task.Settings["any_version"] = any
		var logged strings.Builder
		_, err := old.Run(t.Context(), task, func(piece []byte) { logged.Write(piece) })
		if err != nil || strings.Contains(logged.String(), "warning: "+warning+"\n") == any {
			t.Errorf("any version %v: %v, logged %q", any, err, logged.String())
		}
	}
}

// The standard error of the program is in the log, and an error says what to do.
func TestStandardErrorIsLogged(t *testing.T) {
	long := strings.Repeat("why ", 400) + "so"
	p := install(t, described, `printf 'a warning\nand more' >&2; echo '{"type":"failed","why":"`+long+`","status":401}'; exit 1`)
	var logged strings.Builder
	_, err := p.Run(t.Context(), p.task(), func(piece []byte) { logged.Write(piece) })
	expect(t, err, agent.Failed, true, "tool is not logged in, or its key was rejected; log in with tool login: "+long)
	if !strings.Contains(logged.String(), "a warning\nand more\n") {
		t.Errorf("logged %q", logged.String())
	}
}

func expect(t *testing.T, err error, kind agent.Kind, permanent bool, says string) {
	t.Helper()
	var failed *agent.Error
	if !errors.As(err, &failed) || failed.Kind != kind || failed.Permanent != permanent || !strings.Contains(failed.Message, says) {
		t.Errorf("got %#v\nwant %s, permanent %v: %s", err, kind, permanent, says)
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name, script string
		kind         agent.Kind
		permanent    bool
		says         string
		set          func(*agent.Task)
	}{
		{"missing", "", agent.Failed, true, "tool is not installed, or not on the PATH; ask its author", nil},
		{"exit status", "echo oh no >&2; exit 3", agent.Failed, false, "tool failed: exit status 3: oh no", nil},
		{"its own words", `echo '{"type":"failed","why":"bad thing"}'; exit 1`, agent.Failed, false, "tool failed: bad thing", nil},
		{"a failure that is a success", `echo '{"type":"failed","why":"bad thing"}'; echo '{"type":"done"}'`, agent.Failed, false, "tool failed: bad thing", nil},
		{"key", `echo '{"type":"failed","why":"no","status":401}'; exit 1`, agent.Failed, true, "tool is not logged in, or its key was rejected; log in with tool login: no", nil},
		{"model", `echo '{"type":"failed","why":"no","status":404}'; exit 1`, agent.Failed, true, "tool does not know this model: no", nil},
		{"quota by status", `echo '{"type":"failed","why":"no","status":429}'`, agent.Quota, false, "the quota of tool is used up: no", nil},
		{"quota by words", `echo please slow down >&2; exit 1`, agent.Quota, false, "please slow down", nil},
		{"quota that it would wait for", `echo I try >&2; printf 'I wai' >&2; sleep 0.1; echo t for hours >&2; sleep 60`, agent.Quota, false, "used up: for hours", nil},
		{"nothing said", "exit 0", agent.Failed, false, "tool exited before it reported its result", nil},
		{"garbage", "echo 'usage: tool [options]'", agent.Failed, false, "tool exited before it reported its result: usage: tool [options]", nil},
		{"cut off", `echo '{"type":"say","text":"half"}'; echo '{"type":"do'`, agent.Failed, false, "exited before it reported", nil},
		{"killed", "kill -9 $$", agent.Failed, false, "tool was terminated by another process (signal: killed)", nil},
		{"too long an answer", `printf '{"type":"done","result":"'; head -c 3000 /dev/zero | tr '\0' x; echo '"}'`, agent.Failed, true, "exceeds 2 KiB; raise max_output_kb",
			func(task *agent.Task) { task.Settings["max_output_kb"] = 2 }},
		{"too long a line", "yes | tr -d '\\n'", agent.Failed, true, "a line longer than 16 MiB", nil},
		{"budget", `echo '{"type":"used","in":100,"out":1}'; sleep 60`, agent.Failed, true, "exceeded the budget of the agent: 50 tokens",
			func(task *agent.Task) { task.Agent.Budget.Tokens = workflow.AtMost(50) }},
		{"program", "true", agent.Failed, true, `program "./none" does not exist`, func(task *agent.Task) { task.Settings["program"] = "./none" }},
		{"settings", "true", agent.Failed, true, `unknown setting "modl"; did you mean "model"?`, func(task *agent.Task) { task.Settings["modl"] = "x" }},
		{"dir", "true", agent.Failed, true, "is outside the project", func(task *agent.Task) { task.Settings["dir"] = "../" }},
		{"no such mode", "true", agent.Failed, true, `mode cannot be "some"; write one of read-only, edit, full, ask`, func(task *agent.Task) { task.Agent.Permissions = map[string]any{"mode": "some"} }},
		{"mode of others", "true", agent.Failed, true, `does not support the mode "full"; its modes are read-only, edit`,
			func(task *agent.Task) { task.Agent.Permissions = map[string]any{"mode": "full"} }},
		{"ask", "true", agent.Failed, true, `does not support the mode "ask"`, func(task *agent.Task) { task.Agent.Permissions = map[string]any{"mode": "ask"} }},
		{"key of permissions", "true", agent.Failed, true, `unknown permission "modes"; did you mean "mode"?`, func(task *agent.Task) { task.Agent.Permissions = map[string]any{"modes": "x"} }},
		{"list of permissions", "true", agent.Failed, true, `allow cannot be "x"; write a list of strings, in the syntax of tool`, func(task *agent.Task) { task.Agent.Permissions = map[string]any{"allow": "x"} }},
		{"list it has not", "true", agent.Failed, true, "does not support a list for `deny` in the mode edit", func(task *agent.Task) { task.Agent.Permissions = map[string]any{"deny": []any{"x"}} }},
		{"name of a server", "true", agent.Failed, true, "invalid MCP server name \"a.b\": use letters", func(task *agent.Task) { task.Servers = []agent.Server{{Name: "a.b", URL: "x"}} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := install(t, described, c.script)
			task := p.task()
			if c.set != nil {
				c.set(task)
			}
			_, err := p.Run(t.Context(), task, quiet)
			expect(t, err, c.kind, c.permanent, c.says)
		})
	}
}

func TestMissing(t *testing.T) {
	if got := install(t, described, echo).missing(); got != "" {
		t.Errorf("got %q", got)
	}
	if got := install(t, described, "").missing(); got != "tool is not installed, or not on the PATH; ask its author" {
		t.Errorf("got %q", got)
	}
}

// A server runs in the directory of its CLI. It does not start if its arguments and
// variables would name different files there than the approved ones in the project's
// directory.
func TestServerInAFolder(t *testing.T) {
	for name, server := range map[string]agent.Server{
		"argument": {Name: "s", Command: []string{"node", "./hook.js"}},
		"variable": {Name: "s", Command: []string{"node"}, Env: map[string]string{"NODE_OPTIONS": "--require ./hook.js"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := install(t, described, echo)
			if err := os.WriteFile(filepath.Join(p.dir, "hook.js"), []byte("approved"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(p.dir, "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			task := p.task()
			task.Settings["dir"], task.Servers = "sub", []agent.Server{server}
			for content, says := range map[string]string{"approved": "", "evil": `"s" would use different files in sub`} {
				if err := os.WriteFile(filepath.Join(p.dir, "sub", "hook.js"), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				_, err := p.Run(t.Context(), task, quiet)
				if says == "" {
					if err != nil {
						t.Error(err)
					}
					continue
				}
				expect(t, err, agent.Failed, true, says)
			}
		})
	}
}

// Usage is unknown if the CLI did not report it, and zero if no work began.
func TestUsage(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   agent.Usage
	}{
		"told":          {`echo '{"type":"used","in":5,"out":6,"cost":0.25}'; exit 1`, agent.Usage{TokensIn: 5, TokensOut: 6, CostUSD: 0.25}},
		"tokens only":   {`echo '{"type":"used","in":5,"out":6}'; exit 1`, agent.Usage{TokensIn: 5, TokensOut: 6, CostUnknown: true}},
		"not told":      {`echo '{"type":"done"}'`, agent.Usage{CostUnknown: true}},
		"key refused":   {`echo '{"type":"failed","status":401}'`, agent.Usage{}},
		"key after all": {`echo '{"type":"say","text":"x"}'; echo '{"type":"failed","status":401}'`, agent.Usage{CostUnknown: true}},
		"missing":       {"", agent.Usage{}},
	} {
		p := install(t, described, c.script)
		task := p.task()
		task.Agent.Budget.CostUSD = workflow.AtMost(5)
		var log strings.Builder
		if res, _ := p.Run(t.Context(), task, func(piece []byte) { log.Write(piece) }); res.Usage != c.want {
			t.Errorf("%s: got %+v, want %+v", name, res.Usage, c.want)
		}
		if said := strings.Contains(log.String(), "the cost is unknown, so the budget of $5.00 was not enforced\n"); said != c.want.CostUnknown {
			t.Errorf("%s: log %q", name, log.String())
		}
	}
}

// A CLI without an option for a system prompt gets it before the prompt. A CLI that
// prints plain text needs no rules.
func TestPlainText(t *testing.T) {
	p := install(t, "program: tool\nargs: [\"{prompt}\"]\nreply: {format: text}", `echo "[$1]"`)
	task := p.task()
	task.Agent.Prompt = "You are kind.\n"
	res, err := p.Run(t.Context(), task, quiet)
	if err != nil || res.Output != "[You are kind.\n\nDo it.\nNow.]" || res.Conversation != nil || !res.Usage.CostUnknown {
		t.Errorf("got %+v, %v", res, err)
	}
	task.Prompt = strings.Repeat("x", 3<<20)
	_, err = p.Run(t.Context(), task, quiet)
	expect(t, err, agent.Failed, true, "the prompt is too long")
}

func TestOneDocument(t *testing.T) {
	p := install(t, strings.Replace(described, "reply:", "reply:\n  format: json", 1), `printf '[\n{"type":"say","text":"x"},\n{"type":"done","result":"y"}\n]\n'`)
	if res, err := p.Run(t.Context(), p.task(), quiet); err != nil || res.Output != "y" {
		t.Errorf("got %+v, %v", res, err)
	}
}

// Converse receives a CLI that is ready to start.
func TestAsking(t *testing.T) {
	p := install(t, described+"acp: {args: [talk, \"{model}\"], env: {TALK: yes}}\n", echo)
	var got *Start
	p.o.Converse = func(_ context.Context, start *Start, _ *agent.Task, _ agent.Log) (agent.Result, error) {
		got = start
		return agent.Result{Output: "talked"}, start.Failure("please slow down", 0)
	}
	task := p.task()
	task.Agent.Model, task.Agent.Permissions = "m", map[string]any{"mode": "ask"}
	res, err := p.Run(t.Context(), task, quiet)
	expect(t, err, agent.Quota, false, "please slow down")
	if res.Output != "talked" || strings.Join(got.Command.Cmd.Args[1:], " ") != "talk m" || got.Mode != AskFirst || lookupEnv(got.Command.Cmd.Env, "TALK") != "yes" {
		t.Errorf("got %+v, %+v", res, got)
	}
}

// The tools of a task reach the CLI through a server that only it can use.
func TestToolsOfTheTask(t *testing.T) {
	p := install(t, described, echo)
	task := p.task()
	task.Ask = func(_ context.Context, q agent.Question) (string, error) {
		if !strings.Contains(q.Detail, `ask {"n":1}`) {
			t.Errorf("asked %+v", q)
		}
		return "deny", nil
	}
	add := func(_ context.Context, args map[string]any, _ *agent.Task, _ agent.Log) (string, error) {
		return workflow.FormatJSON(args), nil
	}
	task.Tools = []agent.Tool{
		{Name: "add", Input: map[string]any{"type": "object"}, Call: add}, {Name: "ask", Approval: true, Call: add},
		{Name: "fail", Call: func(context.Context, map[string]any, *agent.Task, agent.Log) (string, error) {
			return "", errors.New("no luck")
		}},
	}
	server, stop, err := serve(t.Context(), task, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	if _, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL, MaxRetries: -1}, nil); err == nil {
		t.Error("anybody may call the tools")
	}
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: withHeaders(server.Headers)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for name, want := range map[string]string{"add": `{"n":1}`, "ask": "a person was asked and did not allow this; continue without it", "fail": "no luck"} {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"n": 1}})
		if err != nil {
			t.Fatal(err)
		}
		if text := res.Content[0].(*mcp.TextContent).Text; text != want || res.IsError != (name != "add") {
			t.Errorf("%s: got %q, error %v", name, text, res.IsError)
		}
	}
}

func TestApprovalWhereNobodyCanBeAsked(t *testing.T) {
	tool := &agent.Tool{Name: "risky", Approval: true, Call: func(context.Context, map[string]any, *agent.Task, agent.Log) (string, error) {
		t.Error("it was called")
		return "", nil
	}}
	nobody := func(context.Context, agent.Question) (string, error) { return "", agent.ErrNobody }
	for _, task := range []*agent.Task{{}, {Ask: nobody}} {
		if _, err := call(t.Context(), tool, nil, task, quiet); err == nil || !strings.Contains(err.Error(), "nobody is available") {
			t.Error(err)
		}
	}
}

// A tool call ends before the attempt does, even if the CLI did not wait for it.
func TestCallsEndWithTheAttempt(t *testing.T) {
	begun, ended := make(chan struct{}), atomic.Bool{}
	task := &agent.Task{Agent: &agent.Definition{}, Tools: []agent.Tool{{Name: "slow", Call: func(ctx context.Context, _ map[string]any, _ *agent.Task, _ agent.Log) (string, error) {
		close(begun)
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond) // it cleans up
		ended.Store(true)
		return "", ctx.Err()
	}}}}
	server, stop, err := serve(t.Context(), task, quiet)
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: withHeaders(server.Headers), MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
	}()
	<-begun
	stop()
	if !ended.Load() {
		t.Error("the call goes on")
	}
	_ = session.Close()
	<-gone
}

// If the user has no private directory, no file gets a name that another user may have
// taken.
func TestNoPrivateDirectory(t *testing.T) {
	shared := t.TempDir()
	for name, value := range map[string]string{"HOME": "", "XDG_CACHE_HOME": "", "TMPDIR": shared} {
		t.Setenv(name, value)
	}
	if _, err := os.UserCacheDir(); err == nil {
		t.Skip("this system has one without HOME")
	}
	p := install(t, described, `ls -d "$TMPDIR"/* >&2; ls -ld "$TMPDIR"/* | grep -q '^drwx------' && echo '{"type":"done","result":"fine"}'`)
	p.Executor = New(Options{Manifest: p.m(), Env: append(p.env, "TMPDIR="+shared)})
	task := p.task()
	task.Agent.Prompt = "You are kind."
	res, err := p.Run(t.Context(), task, quiet)
	if err != nil || res.Output != "fine" {
		t.Errorf("%+v, %v", res, err)
	}
	if left, _ := filepath.Glob(filepath.Join(shared, "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A program named by a project's manifest is not started to find its version.
func TestVersionOfAProjectsProgram(t *testing.T) {
	p := install(t, described, echo)
	if version, err := p.Version(t.Context()); version != "" || err != nil {
		t.Errorf("got %q, %v", version, err)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "asked")); err == nil {
		t.Error("it was started")
	}
}
