package realtest

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/fakemodel"
)

// TestACP has conversations with the CLIs that speak the protocol.
func TestACP(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			talkProgram(t, name)
			for _, c := range []struct {
				name string
				key  string
				run  func(t *testing.T, f *fixture)
			}{
				{"answer", "dummy", talkAnswer}, {"tool of a server", "dummy", talkServer}, {"load", "dummy", talkLoad},
				{"cancel", "dummy", talkCancel}, {"error", "dummy", talkError}, {"bad key", fakemodel.BadKey, talkBadKey},
				{"model", "dummy", talkModel}, {"transcript", "dummy", talkTranscript},
			} {
				t.Run(c.name, func(t *testing.T) { c.run(t, newFixture(t, name, c.key)) })
			}
		})
	}
}

// talkProgram skips the test if the program that carries the conversation is missing.
func talkProgram(t *testing.T, name string) {
	t.Helper()
	if programs := map[string]string{"claude": "claude-agent-acp", "codex": "codex-acp"}; programs[name] != "" {
		if _, err := os.Stat(clis(t) + "/" + programs[name]); err != nil {
			t.Skipf("%s is not installed; agent/cli/real/setup does that", programs[name])
		}
	}
}

func talkAnswer(t *testing.T, f *fixture) {
	f.prices = func(string) (agent.Price, bool) { return agent.Price{Input: 3, Output: 15}, true }
	result, err := f.run(t.Context(), t, attempt{mode: "ask", system: "You are the cat of the house.", steps: []fakemodel.Step{say("Hello <you>")}})
	if err != nil || result.Output != "Hello <you>" || result.Conversation == nil || result.Conversation.Native == "" {
		t.Errorf("%+v, %v", result, err)
	}
	if u := result.Usage; f.cli == "qwen" { // which does not report usage
		if u != (agent.Usage{CostUnknown: true}) {
			t.Errorf("usage %+v", u)
		}
	} else if u.TokensIn != 1000 || u.TokensOut != 50 || u.CostUnknown || u.CostUSD <= 0 {
		t.Errorf("usage %+v", u)
	}
	if !f.told("the cat of the house") {
		t.Error("the model was not told the system prompt")
	}
}

// talkModel uses a model other than the one that the environment names.
func talkModel(t *testing.T, f *fixture) {
	others := map[string]string{"claude": "haiku", "codex": "gpt-5.5", "gemini": "gemini-2.5-pro", "copilot": "other-model", "goose": "gpt-4o-mini", "qwen": "other-model"}
	if others[f.cli] == "" {
		t.Skip("its configuration has one model only")
	}
	result, err := f.run(t.Context(), t, attempt{mode: "ask", model: others[f.cli], steps: []fakemodel.Step{say("hello")}})
	if err != nil || result.Output != "hello" {
		t.Errorf("%+v, %v", result, err)
	}
	if !slices.ContainsFunc(f.server.Requests(), func(r *fakemodel.Request) bool { return strings.Contains(r.Model, others[f.cli]) }) {
		t.Errorf("%s was not asked", others[f.cli])
	}
}

// talkTranscript checks that the transcript records the agent's actions in a
// conversation.
func talkTranscript(t *testing.T, f *fixture) {
	recorded(t, f, attempt{mode: "ask", ask: func(context.Context, agent.Question) (string, error) { return "allow once", nil }})
}

// talkServer calls a tool of a server, which every agent asks permission for.
func talkServer(t *testing.T, f *fixture) {
	server := f.engine()
	if f.cli == "copilot" { // which does not accept servers by command
		server = f.address(t)
	}
	call := fakemodel.Step{Tool: "$add", Args: map[string]any{"a": 2, "b": 40}}
	if f.cli == "qwen" { // whose model has to find such a tool, and to call it through another
		call = fakemodel.Step{Tool: "tool_call", Args: map[string]any{"name": "mcp__engine__add", "arguments": call.Args}}
	}
	for _, c := range []struct{ answer, calls string }{{"allow once", "2+40\n"}, {"reject", ""}} {
		if err := os.RemoveAll(f.file("calls")); err != nil {
			t.Fatal(err)
		}
		var asked []agent.Question
		ask := func(_ context.Context, q agent.Question) (string, error) {
			asked = append(asked, q)
			return c.answer, nil
		}
		steps := []fakemodel.Step{call, say("so be it")}
		_, err := f.run(t.Context(), t, attempt{mode: "ask", ask: ask, steps: steps, servers: []agent.Server{server}})
		if calls, _ := os.ReadFile(f.file("calls")); string(calls) != c.calls || c.calls != "" && err != nil {
			t.Errorf("%s: calls %q, %v", c.answer, calls, err)
		}
		if len(asked) != 1 || !strings.Contains(asked[0].Detail, "add") {
			t.Errorf("%s: asked %+v", c.answer, asked)
		}
	}
}

func talkLoad(t *testing.T, f *fixture) {
	first, err := f.run(t.Context(), t, attempt{mode: "ask", steps: []fakemodel.Step{say("the first answer")}})
	if err != nil {
		t.Fatal(err)
	}
	f.log.Reset()
	second, err := f.run(t.Context(), t, attempt{mode: "ask", steps: []fakemodel.Step{say("the second answer")}, conversation: first.Conversation})
	if err != nil || second.Output != "the second answer" || strings.Contains(f.logged(), "first") {
		t.Errorf("%q, %v, log %q", second.Output, err, f.logged())
	}
	if !f.told("the first answer") {
		t.Error("the model was not told what was said before")
	}
	_, err = f.run(t.Context(), t, attempt{mode: "ask", steps: []fakemodel.Step{say("x")}, conversation: &agent.Conversation{Native: "11111111-2222-4333-8444-555555555555"}})
	fails(t, err, agent.Failed, true, "no longer has the conversation")
}

func talkCancel(t *testing.T, f *fixture) {
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	go when(ctx, func() bool { return len(f.server.Requests()) > 0 }, func() { stop(context.Canceled) })
	_, err := f.run(ctx, t, attempt{mode: "ask", steps: []fakemodel.Step{{Hang: true}}})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func talkError(t *testing.T, f *fixture) {
	_, err := f.run(t.Context(), t, attempt{mode: "ask", steps: []fakemodel.Step{{Status: 400, Message: "that is too odd"}}})
	fails(t, err, agent.Failed, false, "that is too odd")
}

func talkBadKey(t *testing.T, f *fixture) {
	_, err := f.run(t.Context(), t, attempt{mode: "ask", steps: []fakemodel.Step{say("x")}})
	fails(t, err, agent.Failed, true, f.cli+" is not logged in, or its key was rejected")
}
