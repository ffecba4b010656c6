//go:build unix

package acp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/agent/cli/acp"
	"github.com/hocket-dev/hocket/workflow"
)

// attempt is a task for the fake agent, and its outcome.
type attempt struct {
	odd     string // how the agent misbehaves
	quirks  string // what its manifest says about that
	program string // "": the fake itself
	task    agent.Task
	result  agent.Result
	err     error
	mu      sync.Mutex
	log     strings.Builder
	heard   chan struct{} // receives a value for each piece of the log, if not nil
	asked   []agent.Question
	answers func(agent.Question) (string, error)
}

func (a *attempt) run(ctx context.Context, t *testing.T) {
	t.Helper()
	before, program := runtime.NumGoroutine(), a.program
	if program == "" {
		program = os.Args[0]
	}
	manifest, found := cli.ReadManifest("fake.yml", fmt.Appendf(nil, "program: %q\nlogin: log in\nerrors: [{matches: quota, means: quota}]\nacp: {env: {%s: %s}, %s}\n",
		program, fakeVariable, a.odd, a.quirks))
	if len(found) > 0 {
		t.Fatal(found)
	}
	x := cli.New(cli.Options{Manifest: manifest, Dir: t.TempDir(), Grace: 200 * time.Millisecond, Converse: acp.Converse})
	if a.task.Agent == nil {
		a.task.Agent = &agent.Definition{Name: "fake"}
	}
	a.task.Key = "acp-test-" + strings.ReplaceAll(t.Name(), "/", "-")
	if a.task.Dir == "" {
		a.task.Dir = t.TempDir()
	}
	a.task.Ask = func(_ context.Context, q agent.Question) (string, error) {
		a.asked = append(a.asked, q)
		if a.answers == nil {
			return "", agent.ErrNobody
		}
		return a.answers(q)
	}
	a.result, a.err = x.Run(ctx, &a.task, func(piece []byte) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.log.Write(piece)
		if a.heard != nil {
			select {
			case a.heard <- struct{}{}:
			default:
			}
		}
	})
	settle(t, before)
}

// settle waits until there are no more goroutines than before.
func settle(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Errorf("goroutines are left:\n%s", stacks[:runtime.Stack(stacks, true)])
			return
		}
		runtime.Gosched()
	}
}

func TestConversation(t *testing.T) {
	a := attempt{odd: "none", task: agent.Task{Prompt: "say Hel\nsay lo\nrun touch x\nsay bye\nspend 0.02"}}
	a.run(t.Context(), t)
	if a.err != nil || a.result.Output != "bye" {
		t.Errorf("%+v, %v", a.result, a.err)
	}
	if want := "Hello\n> touch x\nbye\n"; a.log.String() != want {
		t.Errorf("log %q, want %q", a.log.String(), want)
	}
	if want := (agent.Usage{CostUSD: 0.02, TokensIn: 1000, TokensOut: 50}); a.result.Usage != want {
		t.Errorf("usage %+v", a.result.Usage)
	}
	if c := a.result.Conversation; c == nil || c.Native != "s1" || c.Spent.CostUSD != 0.02 {
		t.Errorf("conversation %+v", c)
	}
}

func TestTranscript(t *testing.T) {
	var got []agent.Entry
	model := ""
	a := attempt{odd: "none", quirks: "sets_model: true", task: agent.Task{
		Prompt: "say Hel\nsay lo\nedit /files/\nsay bye", Agent: &agent.Definition{Name: "fake", Model: "owl-1"},
		KeepEntry: func(e agent.Entry) { got = append(got, e) }, NoteModel: func(name string) { model = name },
	}}
	a.run(t.Context(), t)
	want := []agent.Entry{
		agent.AssistantText{Text: "Hello"},
		agent.ToolCall{ID: "e1", Tool: "Write", Arguments: map[string]any{"file": "a"}}, agent.ToolResult{ID: "e1", Tool: "Write", Text: "fine"},
		agent.FileChange{Path: "/files/a", Change: agent.Created, New: "x"}, agent.FileChange{Path: "/files/b", Change: agent.Modified, Old: "old", New: "x"}, agent.FileChange{Path: "/files/c", Change: agent.Written, New: "x"},
		agent.ToolCall{ID: "e2", Tool: "Remove"}, agent.ToolResult{ID: "e2", Tool: "Remove", Text: `{"removed":1}`},
		agent.FileChange{Path: "/files/d", Change: agent.Deleted},
		agent.ToolCall{ID: "e3", Tool: "Write e"}, agent.ToolResult{ID: "e3", Tool: "Write e", Text: "disk full", Failed: true},
		agent.ToolCall{ID: "e4", Tool: "ls"}, agent.ToolResult{ID: "e4", Tool: "ls", Text: "one\ntwo\n"},
		agent.AssistantText{Text: "bye"},
	}
	if diff := cmp.Diff(want, got); a.err != nil || diff != "" || model != "owl-1" {
		t.Errorf("%v, model %q, entries (-want +got):\n%s", a.err, model, diff)
	}
}

func TestServersAndSystemPrompt(t *testing.T) {
	a := attempt{odd: "none", task: agent.Task{
		Prompt: "echo", Agent: &agent.Definition{Name: "fake", Prompt: "say be brief"},
		Servers: []agent.Server{{Name: "tools", Command: []string{"/bin/server", "-x"}, Env: map[string]string{"K": "v"}}},
	}}
	a.run(t.Context(), t)
	for _, want := range []string{`"args":["-x"]`, `"command":"/bin/server"`, `"env":[{"name":"K","value":"v"}]`, `"name":"tools"`} {
		if !strings.Contains(a.result.Output, want) {
			t.Errorf("%s is not in %s, %v", want, a.result.Output, a.err)
		}
	}
	if !strings.HasPrefix(a.log.String(), "be brief") {
		t.Errorf("the system prompt was not said: %s", a.log.String())
	}
	a = attempt{odd: "none", task: agent.Task{Prompt: "say x", Servers: []agent.Server{{Name: "far", URL: "http://localhost/"}}}}
	a.run(t.Context(), t)
	fails(t, a.err, agent.Failed, true, `does not support MCP servers with a URL, such as "far"`)
}

func TestModeAndModel(t *testing.T) {
	a := attempt{odd: "none", quirks: "mode: careful, sets_model: true", task: agent.Task{Prompt: "echo", Agent: &agent.Definition{Name: "fake", Model: "large"}}}
	a.run(t.Context(), t)
	if !strings.Contains(a.result.Output, `"modeId":"careful"`) || !strings.Contains(a.result.Output, `"modelId":"large"`) {
		t.Errorf("%s, %v", a.result.Output, a.err)
	}
	a.odd = "picky"
	a.task.Agent.Name, a.quirks = "fake", "sets_model: true"
	a.run(t.Context(), t)
	fails(t, a.err, agent.Failed, true, `does not support the model "large" (Invalid params)`)
}

// Some agents report the usage of a turn only when it ends.
func TestBudgetOfATurn(t *testing.T) {
	for _, c := range []struct {
		budget workflow.Budget
		prompt string
		want   string
	}{
		{workflow.Budget{Tokens: workflow.AtMost(2000)}, "say a", ""},
		{workflow.Budget{Tokens: workflow.AtMost(1000)}, "say a", "exceeded the budget of the agent: 1000 tokens"},
		{workflow.Budget{CostUSD: workflow.AtMost(1)}, "say a\nspend 0.5", ""},
		{workflow.Budget{CostUSD: workflow.AtMost(0.25)}, "say a\nspend 0.5", "exceeded the budget of the agent: $0.25"},
	} {
		a := attempt{odd: "none", task: agent.Task{Prompt: c.prompt, Agent: &agent.Definition{Name: "fake", Budget: c.budget}}}
		a.run(t.Context(), t)
		if c.want != "" {
			fails(t, a.err, agent.Failed, true, c.want)
		} else if a.err != nil {
			t.Errorf("%+v: %v", c.budget, a.err)
		}
		if a.result.Usage.TokensIn != 1000 {
			t.Errorf("%+v: what was used is lost: %+v", c.budget, a.result.Usage)
		}
	}
}

func TestPermission(t *testing.T) {
	for _, c := range []struct {
		name, answer, want string
		err                error
	}{
		{"once", "allow once", "selected yes", nil},
		{"always", "allow always", "selected always-x", nil},
		{"reject", "reject", "selected no", nil},
		{"nobody", "", "selected no", agent.ErrNobody},
		{"nonsense", "perhaps", "selected no", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := attempt{odd: "none", task: agent.Task{Prompt: "ask rm -rf x"}, answers: func(agent.Question) (string, error) { return c.answer, c.err }}
			a.run(t.Context(), t)
			if a.err != nil || a.result.Output != c.want {
				t.Errorf("%q, %v", a.result.Output, a.err)
			}
			want := agent.Question{Text: "May fake run this command?", Detail: "rm -rf x", Options: []string{"allow once", "allow always", "reject"}}
			if len(a.asked) != 1 || a.asked[0].Text != want.Text || a.asked[0].Detail != want.Detail || !slices.Equal(a.asked[0].Options, want.Options) {
				t.Errorf("asked %+v", a.asked)
			}
		})
	}
}

// Some agents end their turn when a permission is denied.
func TestRejectedAndSilent(t *testing.T) {
	a := attempt{odd: "sulks", task: agent.Task{Prompt: "ask rm x"}}
	a.run(t.Context(), t)
	fails(t, a.err, agent.Failed, true, "not allowed to do this: rm x")
	if !strings.Contains(a.log.String(), "not allowed, because nobody is available to ask: rm x") {
		t.Errorf("log: %s", a.log.String())
	}
}

func TestCancel(t *testing.T) {
	for _, odd := range []string{"none", "deaf"} {
		t.Run(odd, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			a := attempt{odd: odd, task: agent.Task{Prompt: "child\nhang"}, heard: make(chan struct{}, 1)}
			if odd == "deaf" {
				a.quirks = "ignores_cancel: true"
			}
			stopped := errors.New("enough")
			go func() {
				<-a.heard
				cancel(stopped)
			}()
			a.run(ctx, t)
			if !errors.Is(a.err, stopped) {
				t.Errorf("%v", a.err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(a.log.String()))
			if err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(10 * time.Second); runtime.GOOS == "linux" && runs(pid); runtime.Gosched() {
				if time.Now().After(deadline) { // the system may take a moment to carry out a kill
					t.Fatalf("process %d is left", pid)
				}
			}
		})
	}
}

// runs reports whether a process exists and has not exited.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestCancelWhileAsking(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	a := attempt{odd: "none", task: agent.Task{Prompt: "ask x"}, answers: func(agent.Question) (string, error) {
		cancel(nil)
		return "", context.Canceled
	}}
	a.run(ctx, t)
	if !errors.Is(a.err, context.Canceled) {
		t.Errorf("%v", a.err)
	}
}

func TestTimeout(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	a := attempt{odd: "none", task: agent.Task{Prompt: "hang"}}
	a.run(ctx, t)
	fails(t, a.err, agent.TimedOut, false, "timed out")
}

func TestResume(t *testing.T) {
	for _, c := range []struct{ odd, quirks string }{{"none", ""}, {"late", "late_replay: true"}, {"resumes", ""}} {
		t.Run(c.odd, func(t *testing.T) {
			a := attempt{odd: c.odd, quirks: c.quirks, task: agent.Task{Prompt: "say new\nspend 0.03", Conversation: &agent.Conversation{
				Native: "s1", Spent: agent.Usage{CostUSD: 0.02, TokensIn: 100, TokensOut: 10}}}}
			a.run(t.Context(), t)
			if a.err != nil || a.result.Output != "new" || a.log.String() != "new\n" {
				t.Errorf("%+v, %v, log %q", a.result, a.err, a.log.String())
			}
			if used := a.result.Usage; used.CostUSD < 0.0099 || used.CostUSD > 0.0101 || a.result.Conversation.Spent.TokensIn != 1100 {
				t.Errorf("%+v, %+v", used, a.result.Conversation)
			}
		})
	}
	home := t.TempDir()
	file := filepath.Join(home, "c-"+time.Now().UTC().Format("2006-01-02T15-04")+"-s1")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOCKET_TEST_HOME", home)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // it would wait until the next minute
	defer cancel()
	waits := attempt{odd: "none", quirks: "minute_files: ['$NOT_THERE/*', '$HOCKET_TEST_HOME/c-{minute}-{id}']", task: agent.Task{Prompt: "say x", Conversation: &agent.Conversation{Native: "s1"}}}
	waits.run(ctx, t)
	if waits.err == nil && time.Now().UTC().Format("15-04") == file[len(file)-8:len(file)-3] {
		t.Error("did not wait")
	}
	a := attempt{odd: "none", task: agent.Task{Prompt: "say x", Conversation: &agent.Conversation{Native: "s2"}}}
	a.run(t.Context(), t)
	fails(t, a.err, agent.Failed, true, "no longer has the conversation: Session not found")
	a = attempt{odd: "forgets", task: agent.Task{Prompt: "say x", Conversation: &agent.Conversation{Native: "s1"}}}
	a.run(t.Context(), t)
	fails(t, a.err, agent.Failed, true, "cannot continue a conversation")
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name, odd, quirks, prompt string
		kind                      agent.Kind
		permanent                 bool
		want                      string
	}{
		{"error", "none", "", "say so far\nfail API Error: 500 oops", agent.Failed, false, "API Error: 500 oops"},
		{"quota", "none", "", "fail your quota is over", agent.Quota, false, "your quota is over"},
		{"bad key", "none", "", "fail API Error: 401 no", agent.Failed, true, "log in"},
		{"not logged in", "login", "", "say x", agent.Failed, true, "log in: Authentication required"},
		{"quota as text", "mute", "failed_text: ^Error, usage: turn", "say Error: quota", agent.Quota, false, "Error: quota"},
		{"words of a quota by a model", "none", "failed_text: ^Error, usage: turn", "say Error: quota", agent.Failed, false, "fake failed: Error: quota"},
		{"words of a quota by who tells nothing", "mute", "failed_text: ^Error", "say Error: quota", agent.Failed, false, "fake failed: Error: quota"},
		{"error as text", "none", "failed_text: ^Error", "say Error: 400", agent.Failed, false, "Error: 400"},
		{"dies", "none", "", "say a\ndie out of memory", agent.Failed, false, "exit status 7: out of memory"},
		{"does not speak", "dumb", "", "say a", agent.Failed, false, "exit status 2: Usage: fake [options]"},
		{"newer", "newer", "", "say a", agent.Failed, true, "uses version 2"},
		{"silent", "none", "", "", agent.BadOutput, false, "without an answer"},
		{"cut off", "none", "", "say a\nstop max_tokens", agent.BadOutput, false, "cut off"},
		{"refusal", "none", "", "stop refusal", agent.Failed, true, "refused"},
		{"odd end", "none", "", "stop because", agent.Failed, false, `"because"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := attempt{odd: c.odd, quirks: c.quirks, task: agent.Task{Prompt: c.prompt}}
			a.run(t.Context(), t)
			fails(t, a.err, c.kind, c.permanent, c.want)
		})
	}
}

func fails(t *testing.T, err error, kind agent.Kind, permanent bool, want string) {
	t.Helper()
	var failure *agent.Error
	if !errors.As(err, &failure) || failure.Kind != kind || failure.Permanent != permanent || !strings.Contains(failure.Message, want) {
		t.Errorf("%#v, want %s, permanent %v, with %q", err, kind, permanent, want)
	}
}

func TestGarbage(t *testing.T) {
	a := attempt{odd: "garbage", task: agent.Task{Prompt: "say fine"}}
	a.run(t.Context(), t)
	if a.err != nil || a.result.Output != "fine" {
		t.Errorf("%+v, %v", a.result, a.err)
	}
}

func TestDoesNotExit(t *testing.T) {
	a := attempt{odd: "stays", quirks: "ignores_end: true", task: agent.Task{Prompt: "say fine"}}
	a.run(t.Context(), t)
	if a.err != nil || a.result.Output != "fine" {
		t.Errorf("%+v, %v", a.result, a.err)
	}
}

// The library alone could not handle this many messages at once.
func TestFlood(t *testing.T) {
	a := attempt{odd: "none", task: agent.Task{Prompt: "repeat 0123456789"}}
	a.run(t.Context(), t)
	if a.err != nil || len(a.result.Output) != 30000 {
		t.Errorf("%d, %v", len(a.result.Output), a.err)
	}
	a = attempt{odd: "none", task: agent.Task{Prompt: "repeat 0123456789\nhang", Agent: &agent.Definition{Name: "fake", MaxOutputKB: 1}}}
	a.run(t.Context(), t)
	fails(t, a.err, agent.Failed, true, "exceeds 1 KiB")
	a = attempt{odd: "none", task: agent.Task{Prompt: "spend 3\nhang", Agent: &agent.Definition{Name: "fake", Budget: workflow.Budget{CostUSD: workflow.AtMost(1)}}}}
	a.run(t.Context(), t)
	fails(t, a.err, agent.Failed, true, "exceeded the budget")
}
