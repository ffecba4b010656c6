package realtest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/fakemodel"
	"github.com/hocket-dev/hocket/workflow"
)

// say returns a step in which the model says something.
func say(text string) fakemodel.Step { return fakemodel.Step{Text: text} }

func shell(command string) fakemodel.Step { return fakemodel.Step{Tool: "$shell", Cmd: command} }

// schemaOf converts a schema to the form that workflows use.
func schemaOf(schema any) any {
	if schema == nil {
		return nil
	}
	data, err := json.Marshal(schema)
	if err != nil {
		panic(err) // a bug in the test
	}
	value, err := workflow.ParseJSON(data)
	if err != nil {
		panic(err)
	}
	return value
}

// The cases that every CLI passes. Each has its own home and model.
var cases = []struct {
	name string
	key  string // "" for an accepted key
	run  func(t *testing.T, f *fixture)
}{
	{name: "answer", run: answer},
	{name: "structured answer", run: structured},
	{name: "system prompt", run: system},
	{name: "tool call", run: toolCall},
	{name: "tool call refused", run: toolRefused},
	{name: "transcript", run: transcript},
	{name: "resume", run: resume},
	{name: "resume unknown", run: resumeUnknown},
	{name: "cancel", run: cancel},
	{name: "timeout", run: timeout},
	{name: "quota", run: quota},
	{name: "bad key", key: fakemodel.BadKey, run: badKey},
	{name: "bad request", run: badRequest},
	{name: "big output", run: bigOutput},
	{name: "MCP tool", run: mcpTool},
	{name: "permission asked", run: permission},
	{name: "cost", run: cost},
}

// notOffered lists the cases that a CLI does not support, and why.
var notOffered = map[string]map[string]string{
	"codex": {"permission asked": "it asks for no command, its sandbox decides; it asks for tools of servers, see TestACP"},
	"goose": {"tool call refused": "it has no mode that reads only, and an agent with that mode does not start"},
}

// names lists the CLIs.
var names = []string{"claude", "codex", "gemini", "opencode", "qwen", "copilot", "goose"}

func TestCLIs(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					if why := notOffered[name][c.name]; why != "" {
						t.Skip("not offered: " + why)
					}
					key := c.key
					if key == "" {
						key = "dummy"
					}
					c.run(t, newFixture(t, name, key))
				})
			}
		})
	}
}

func answer(t *testing.T, f *fixture) {
	const text = "Hello <world> & \"you\",\n\n```go\nfunc main() {}\n```"
	result, err := f.run(t.Context(), t, attempt{steps: []fakemodel.Step{say(text)}})
	if err != nil || result.Output != text {
		t.Errorf("%q, %v", result.Output, err)
	}
	if result.Conversation == nil || result.Conversation.Native == "" {
		t.Error("no conversation that could be taken up")
	}
	if !strings.Contains(f.logged(), "Hello <world>") {
		t.Error("the answer is not in the log")
	}
}

func structured(t *testing.T, f *fixture) {
	schema := map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []any{"n"}, "additionalProperties": false}
	result, err := f.run(t.Context(), t, attempt{schema: schema, steps: []fakemodel.Step{{JSON: map[string]any{"n": 42}}}})
	var got struct{ N int }
	if err != nil || json.Unmarshal([]byte(result.Output), &got) != nil || got.N != 42 {
		t.Errorf("%q, %v", result.Output, err)
	}
	// CLIs that support schemas pass the schema to the model, as a tool or a format.
	if own := map[string]string{"claude": `"StructuredOutput"`, "codex": `"json_schema"`, "qwen": `"structured_output"`}[f.cli]; own != "" && !f.told(own) {
		t.Errorf("the model was not given the schema")
	}
}

func system(t *testing.T, f *fixture) {
	result, err := f.run(t.Context(), t, attempt{system: "You are the cat of the house.", steps: []fakemodel.Step{say("meow")}})
	if err != nil || result.Output != "meow" {
		t.Errorf("%q, %v", result.Output, err)
	}
	if !f.told("the cat of the house") {
		t.Error("the model was not told")
	}
}

func toolCall(t *testing.T, f *fixture) {
	result, err := f.run(t.Context(), t, attempt{mode: "full", steps: []fakemodel.Step{shell("touch made.txt"), say("done it")}})
	if err != nil || result.Output != "done it" || !f.has("made.txt") {
		t.Errorf("%q, %v, made %v", result.Output, err, f.has("made.txt"))
	}
	if !strings.Contains(f.logged(), "touch made.txt") {
		t.Error("the call is not in the log")
	}
}

// transcript checks the record of what the agent says and does, with the files that it
// changes.
func transcript(t *testing.T, f *fixture) { recorded(t, f, attempt{mode: "full"}) }

func recorded(t *testing.T, f *fixture, a attempt) {
	t.Helper()
	a.model, a.steps = writers[f.cli], []fakemodel.Step{f.write("made.txt"), f.command("echo h-oo-t"), say("done it")}
	_, err := f.run(t.Context(), t, a)
	if err != nil || !f.has("made.txt") {
		t.Fatal(err)
	}
	found := map[string]bool{}
	calls := map[string]bool{}
	for _, e := range f.entries {
		switch e := e.(type) {
		case agent.AssistantText:
			found["text"] = found["text"] || e.Text == "done it"
		case agent.ToolCall:
			calls[e.ID] = true
		case agent.ToolResult:
			if e.Failed || !calls[e.ID] || e.Tool == "" {
				t.Errorf("the result %+v has no call", e)
			}
			found["result"] = found["result"] || strings.Contains(e.Text, "h-oo-t")
			delete(calls, e.ID)
		case agent.FileChange:
			found["change"] = found["change"] || e.Path == "made.txt" && e.Change != agent.Modified && e.Change != agent.Deleted
		case agent.Truncated:
			t.Error("it is truncated")
		}
	}
	if f.cli == "gemini" && a.mode == "ask" { // which does not report what commands print
		found["result"] = true
	}
	if !found["text"] || !found["result"] || !found["change"] || len(calls) > 0 || f.model == "" {
		t.Errorf("found %v, calls without a result %v, model %q", found, calls, f.model)
	}
}

// toolRefused lets the agent only read. Some CLIs then do not offer their shell to the
// model, so that the model calls a tool that does not exist.
func toolRefused(t *testing.T, f *fixture) {
	if _, err := f.run(t.Context(), t, attempt{mode: "read-only", steps: []fakemodel.Step{f.command("touch made.txt"), say("could not")}}); err != nil {
		t.Error(err)
	}
	if f.has("made.txt") {
		t.Error("it made a file")
	}
}

func resume(t *testing.T, f *fixture) {
	f.prices = func(string) (agent.Price, bool) { return agent.Price{Input: 3, Output: 15}, true }
	first, err := f.run(t.Context(), t, attempt{steps: []fakemodel.Step{say("the first answer")}})
	if err != nil {
		t.Fatal(err)
	}
	second, err := f.run(t.Context(), t, attempt{steps: []fakemodel.Step{say("the second answer")}, conversation: first.Conversation})
	if err != nil || second.Output != "the second answer" {
		t.Errorf("%q, %v", second.Output, err)
	}
	if !f.told("the first answer") {
		t.Error("the model was not told what was said before")
	}
	if second.Usage.TokensIn != 1000 || second.Usage.TokensOut != 50 {
		t.Errorf("the second turn used %+v", second.Usage)
	}
	if second.Usage.CostUnknown || second.Usage.CostUSD > 1.5*first.Usage.CostUSD {
		t.Errorf("the first turn cost %v, the second %v", first.Usage, second.Usage)
	}
}

func resumeUnknown(t *testing.T, f *fixture) {
	id := "11111111-2222-4333-8444-555555555555"
	if f.cli == "opencode" {
		id = "ses_0123456789abcdefghijABCDEF"
	}
	_, err := f.run(t.Context(), t, attempt{steps: []fakemodel.Step{say("x")}, conversation: &agent.Conversation{Native: id}})
	fails(t, err, agent.Failed, true, "no longer has the conversation")
}

// cancel checks that the CLI ends, and with it the command that it runs.
func cancel(t *testing.T, f *fixture) {
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	go when(ctx, func() bool { return f.has("pid") }, func() { stop(context.Canceled) })
	_, err := f.run(ctx, t, attempt{mode: "full", steps: []fakemodel.Step{shell("echo $$ > pid; exec sleep 600"), say("x")}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	pid, err := os.ReadFile(f.file("pid"))
	if err != nil {
		t.Fatal(err)
	}
	if id, err := strconv.Atoi(strings.TrimSpace(string(pid))); err == nil && f.cli != "codex" && runs(id) { // codex has its own process ids
		t.Errorf("the command %d still runs", id)
	}
}

func runs(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func timeout(t *testing.T, f *fixture) {
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	go when(ctx, func() bool { return len(f.server.Requests()) > 0 }, func() { stop(context.DeadlineExceeded) })
	_, err := f.run(ctx, t, attempt{steps: []fakemodel.Step{{Hang: true}}})
	fails(t, err, agent.TimedOut, false, "timed out")
}

func quota(t *testing.T, f *fixture) {
	step := fakemodel.Step{Status: 429, Message: "You exceeded your current quota, please try again later."}
	if f.cli == "gemini" { // which retries for minutes unless the quota is reported as a daily one
		step.RetryAfter, step.Message = 3600, step.Message+" Please retry in 1h0m0s."
	}
	_, err := f.run(t.Context(), t, attempt{steps: []fakemodel.Step{step}})
	fails(t, err, agent.Quota, false, "the quota of "+f.cli+" is used up")
}

func badKey(t *testing.T, f *fixture) {
	_, err := f.run(t.Context(), t, attempt{steps: []fakemodel.Step{say("x")}})
	fails(t, err, agent.Failed, true, f.cli+" is not logged in, or its key was rejected")
}

func badRequest(t *testing.T, f *fixture) {
	_, err := f.run(t.Context(), t, attempt{steps: []fakemodel.Step{{Status: 400, Message: "that is too odd"}}})
	fails(t, err, agent.Failed, false, "that is too odd")
}

func bigOutput(t *testing.T, f *fixture) {
	big := fakemodel.Step{Text: "This is line {i} of the answer.\n", Repeat: 10000, Pieces: 200}
	var text strings.Builder
	for i := range big.Repeat {
		text.WriteString(strings.ReplaceAll(big.Text, "{i}", strconv.Itoa(i)))
	}
	result, err := f.run(t.Context(), t, attempt{steps: []fakemodel.Step{big}})
	if want := text.String(); err != nil || strings.TrimSpace(result.Output) != strings.TrimSpace(want) {
		t.Errorf("%d bytes of %d, %v", len(result.Output), len(want), err)
	}
	_, err = f.run(t.Context(), t, attempt{steps: []fakemodel.Step{big}, maxOutputKB: 10})
	fails(t, err, agent.Failed, true, "over 10 KiB")
}

func mcpTool(t *testing.T, f *fixture) {
	steps := []fakemodel.Step{{Tool: "$add", Args: map[string]any{"a": 2, "b": 40}}, say("added")}
	result, err := f.run(t.Context(), t, attempt{steps: steps, servers: []agent.Server{f.engine()}})
	calls, _ := os.ReadFile(f.file("calls"))
	if err != nil || result.Output != "added" || string(calls) != "2+40\n" {
		t.Errorf("%q, %v, calls %q", result.Output, err, calls)
	}
	if !slices.ContainsFunc(f.server.Requests(), func(r *fakemodel.Request) bool { return r.Turns > 0 && strings.Contains(string(r.Body), "42") }) {
		t.Error("the model was not told the sum")
	}
}

func permission(t *testing.T, f *fixture) {
	for _, c := range []struct {
		answer string
		made   bool
	}{{"allow once", true}, {"reject", false}} {
		var asked []agent.Question
		ask := func(_ context.Context, q agent.Question) (string, error) {
			asked = append(asked, q)
			return c.answer, nil
		}
		_, err := f.run(t.Context(), t, attempt{mode: "ask", ask: ask, steps: []fakemodel.Step{shell("touch " + strings.ReplaceAll(c.answer, " ", "-")), say("so be it")}})
		if made := f.has(strings.ReplaceAll(c.answer, " ", "-")); made != c.made || c.made && err != nil {
			t.Errorf("%s: made %v, %v", c.answer, made, err)
		}
		if len(asked) != 1 || !strings.Contains(asked[0].Detail, "touch "+strings.ReplaceAll(c.answer, " ", "-")) || asked[0].Options[0] != "allow once" {
			t.Errorf("%s: asked %+v", c.answer, asked)
		}
	}
}

// cost is reported by the CLI itself, or computed from the usage that it reports.
func cost(t *testing.T, f *fixture) {
	steps := []fakemodel.Step{{Text: "x", Usage: &fakemodel.Usage{In: 2000, Out: 100}}}
	tells := f.cli == "claude" || f.cli == "opencode" || f.cli == "goose"
	result, err := f.run(t.Context(), t, attempt{steps: steps})
	if u := result.Usage; err != nil || u.TokensIn != 2000 || u.TokensOut != 100 || u.CostUnknown == tells || tells && u.CostUSD <= 0 {
		t.Errorf("without prices: %+v, %v", u, err)
	}
	f.prices = func(string) (agent.Price, bool) { return agent.Price{Input: 1, Output: 10}, true }
	result, err = f.run(t.Context(), t, attempt{steps: steps})
	if u := result.Usage; err != nil || u.CostUnknown || u.CostUSD <= 0 || !tells && (u.CostUSD < 0.00299 || u.CostUSD > 0.00301) {
		t.Errorf("with prices: %+v, %v", u, err)
	}
}

func fails(t *testing.T, err error, kind agent.Kind, permanent bool, want string) {
	t.Helper()
	var failure *agent.Error
	if !errors.As(err, &failure) || failure.Kind != kind || failure.Permanent != permanent || !strings.Contains(failure.Message, want) {
		t.Errorf("%#v, want %s, permanent %v, with %q", err, kind, permanent, want)
	}
}
