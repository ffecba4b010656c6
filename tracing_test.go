package hocket_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	spans "github.com/hocket-dev/hocket/trace"
	"github.com/hocket-dev/hocket/trace/tracetest"
)

// traceTo makes this process export to a collector.
func traceTo(t *testing.T, url string) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_SDK_DISABLED", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_SERVICE_NAME"} {
		t.Setenv(name, "")
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
}

// thinker calls a tool twice, and costs something. It fails in its first attempt at a step with the prompt "fail".
func thinker() agent.Executor {
	return promptedFunc(func(task *agent.Task) (agent.Result, error) {
		if task.NoteModel != nil {
			task.NoteModel("claude-test-1")
		}
		for _, id := range []string{"1", "2"} {
			task.Record(agent.AssistantText{Text: "my secret thought"})
			task.Record(agent.ToolCall{ID: id, Tool: "look", Arguments: map[string]any{"at": "private thing"}})
			time.Sleep(3 * time.Millisecond)
			task.Record(agent.ToolResult{ID: id, Tool: "look", Text: "confidential", Failed: id == "2"})
		}
		task.Record(agent.AssistantText{Text: "done"})
		used := agent.Usage{CostUSD: 0.25, TokensIn: 100, TokensOut: 7}
		if strings.Contains(task.Prompt, "fail") && task.Attempt == 1 {
			return agent.Result{Usage: used}, agent.Errorf("a private failure")
		}
		return agent.Result{Output: "private output", Usage: used}, nil
	})
}

// promptedFunc is an executor that works from prompts.
type promptedFunc func(task *agent.Task) (agent.Result, error)

func (promptedFunc) Traits() agent.Traits { return agent.Traits{Prompted: true} }

func (f promptedFunc) Run(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
	return f(task)
}

const tracedFlow = `name: w
steps:
  - {id: draft, agent: thinker, prompt: "please fail", retry: {attempts: 2}}
  - {id: sub, workflow: inner.yml}
  - {id: show, agent: shell, config: {command: "echo $TRACEPARENT $TRACESTATE"}}
  - {id: ask, human: {question: "Good?", options: ["yes", "no"]}}
  - {id: last, agent: shell, config: {command: [echo, end]}}
`

func tracedProject(t *testing.T) *hocket.Project {
	return open(t, map[string]string{"w.yml": tracedFlow, "inner.yml": "name: inner\nsteps:\n  - {id: deep, agent: thinker, prompt: think}\n"}, hocket.Options{Agents: agents{"thinker": thinker()}})
}

// outline describes spans and what they are in, in the order of their starts.
func spanOutline(all []tracetest.Span) string {
	names := map[string]string{}
	for _, s := range all {
		names[s.ID] = s.Name
	}
	slices.SortStableFunc(all, func(a, b tracetest.Span) int { return a.Start.Compare(b.Start) })
	var lines []string
	for _, s := range all {
		line := s.Name
		if s.Parent != "" {
			line += " in " + names[s.Parent]
		}
		if s.Failed {
			line += " failed"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// The spans of a run are exported when they end, while it is driven; a run that waits has exported what has ended, and goes on
// in the same trace.
func TestLiveSpans(t *testing.T) {
	c := tracetest.New(t)
	traceTo(t, c.URL)
	t.Setenv("TRACEPARENT", "00-11111111111111111111111111111111-2222222222222222-01")
	t.Setenv("TRACESTATE", "other=1")
	p := tracedProject(t)
	ctx := context.Background()
	run := start(t, p, "w.yml", nil)
	if res := wait(t, run); res.Status != engine.Waiting {
		t.Fatalf("%+v", res)
	}
	if got, want := spanOutline(c.Spans()), strings.TrimSpace(`
chat claude-test-1 in invoke_agent thinker
chat claude-test-1 in invoke_agent thinker
chat claude-test-1 in invoke_agent thinker
chat claude-test-1 in invoke_agent thinker
chat claude-test-1 in invoke_agent thinker
chat claude-test-1 in invoke_agent thinker
chat claude-test-1 in invoke_agent thinker
chat claude-test-1 in invoke_agent thinker
chat claude-test-1 in invoke_agent thinker
execute_tool look in invoke_agent thinker
execute_tool look in invoke_agent thinker
execute_tool look in invoke_agent thinker
execute_tool look in invoke_agent thinker failed
execute_tool look in invoke_agent thinker failed
execute_tool look in invoke_agent thinker failed
invoke_agent shell in `+`
invoke_agent thinker in `+`
invoke_agent thinker in  failed
invoke_agent thinker in invoke_workflow inner
invoke_workflow inner in`); strings.TrimSpace(strings.ReplaceAll(got, "in \n", "in\n")) != strings.ReplaceAll(want, "in \n", "in\n") {
		t.Errorf("while it waits:\n%s\nwant\n%s", got, want)
	}
	if _, err := run.Answer(ctx, "ask", hocket.Answer{Value: "yes"}); err != nil {
		t.Fatal(err)
	}
	if err := run.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	res := wait(t, run)
	all := c.Spans()
	tracetest.Unique(t, all)
	root := all[slices.IndexFunc(all, func(s tracetest.Span) bool { return s.Parent == "" })]
	if root.Name != "invoke_workflow w" || root.Attributes["hocket.status"] != "success" || root.Attributes["hocket.cost_usd"] != 0.75 || root.Attributes["gen_ai.usage.input_tokens"] != int64(300) || root.Attributes["hocket.steps"] != int64(4) {
		t.Errorf("root: %+v", root)
	}
	for _, s := range all {
		if s.Trace != spans.Of(run.ID()).String() || s.End.Before(s.Start) || s.Schema != spans.SchemaURL || s.Service != "hocket" {
			t.Errorf("%+v", s)
		}
		for key, value := range s.Attributes {
			if text, ok := value.(string); ok && (strings.Contains(text, "private") || strings.Contains(text, "secret") || strings.Contains(text, "confidential")) {
				t.Errorf("%s: %s=%s", s.Name, key, text)
			}
		}
		if s.Message != "" {
			t.Errorf("%s: %s", s.Name, s.Message)
		}
	}
	if !strings.Contains(spanOutline(all), "ask ask in invoke_workflow w\n") {
		t.Errorf("no span for the question:\n%s", spanOutline(all))
	}
	for _, step := range res.Steps {
		if v, _ := step.Value(); step.Address == "show" && v != spans.Parent(run.ID(), "show", 1, true) {
			t.Errorf("TRACEPARENT %q, want %q", v, spans.Parent(run.ID(), "show", 1, true))
		}
	}
	sums := map[string]float64{}
	for _, f := range c.Figures() { // cumulative: the last one counts
		sums[f.Metric] = max(sums[f.Metric], f.Value)
	}
	if sums["hocket.cost"] != 0.75 || sums["hocket.runs"] != 1 || sums["hocket.tokens"] != 300 {
		t.Errorf("figures %v", sums)
	}
	// What is exported again has the same ids.
	other := tracetest.New(t)
	done, err := run.Export(ctx, other.URL)
	if err != nil || done.Spans != len(all) || done.Left > 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if got, want := spanOutline(other.Spans()), spanOutline(all); got != want {
		t.Errorf("again:\n%s\nwant\n%s", got, want)
	}
	ids := func(list []tracetest.Span) (all []string) {
		for _, s := range list {
			all = append(all, s.ID+" "+s.Parent+" "+s.Start.String()+" "+s.End.String())
		}
		slices.Sort(all)
		return all
	}
	if !slices.Equal(ids(other.Spans()), ids(all)) {
		t.Error("the ids or times differ")
	}
	// A fork has a trace of its own, which links to this one, and does not repeat its spans.
	fork, err := run.Fork(ctx, "last", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := fork.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	wait(t, fork)
	own := slices.DeleteFunc(c.Spans(), func(s tracetest.Span) bool { return s.Trace != spans.Of(fork.ID()).String() })
	if got, want := spanOutline(own), "invoke_agent shell in invoke_workflow w\ninvoke_workflow w"; got != want {
		t.Errorf("fork:\n%s\nwant\n%s", got, want)
	}
	for _, s := range own {
		if s.Parent == "" && !slices.Equal(s.Links, []string{root.Trace + "/" + root.ID}) {
			t.Errorf("links %v", s.Links)
		}
	}
}

// Without a collector, an inherited span is not passed on, and nothing is exported.
func TestNoTelemetry(t *testing.T) {
	traceTo(t, "")
	t.Setenv("TRACEPARENT", "00-11111111111111111111111111111111-2222222222222222-01")
	p := open(t, map[string]string{"w.yml": "name: w\nsteps:\n  - {id: a, agent: shell, config: {command: 'echo \"[$TRACEPARENT]\"'}}\n"}, hocket.Options{})
	run := start(t, p, "w.yml", nil)
	if res := wait(t, run); res.Output != "[]" {
		t.Errorf("%+v", res)
	}
	if _, err := run.Export(context.Background(), ""); err == nil || !strings.Contains(err.Error(), "no collector") {
		t.Errorf("%v", err)
	}
	all, err := run.Trace(context.Background())
	if err != nil || len(all) != 2 || all[1].Parent != all[0].ID || all[1].Error != "" {
		t.Errorf("%+v, %v", all, err)
	}
}

// Texts are exported if the user wants them.
func TestTexts(t *testing.T) {
	c := tracetest.New(t)
	traceTo(t, c.URL)
	t.Setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
	p := open(t, map[string]string{"w.yml": "name: w\nsteps:\n  - {id: a, agent: thinker, prompt: please fail}\n"}, hocket.Options{Agents: agents{"thinker": thinker()}})
	wait(t, start(t, p, "w.yml", nil))
	text := ""
	for _, s := range c.Spans() {
		text += s.Message + "\n"
		for _, key := range []string{"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"} {
			value, _ := s.Attributes[key].(string)
			text += value + "\n"
		}
	}
	for _, want := range []string{"please fail", "my secret thought", "private thing", "confidential", "a private failure"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// A collector that is gone, or that does not answer, does not change a run, and the user learns about it.
func TestDeadCollector(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // it accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, url := range []string{"http://" + l.Addr().String(), "http://127.0.0.1:1", "http://example.invalid:4318"} {
		traceTo(t, url)
		p := open(t, map[string]string{"w.yml": "name: w\nsteps:\n  - {id: a, agent: shell, config: {command: [echo, hi]}}\n"}, hocket.Options{})
		w, err := p.Load("w.yml")
		if err != nil {
			t.Fatal(err)
		}
		run, err := p.Record(context.Background(), w, nil)
		if err != nil {
			t.Fatal(err)
		}
		var warned []string
		began := time.Now()
		res, err := run.Drive(context.Background(), hocket.Front{Warn: func(text string) { warned = append(warned, text) }})
		if took := time.Since(began); err != nil || res.Status != engine.Success || took > 5*time.Second {
			t.Errorf("%s: %+v, %v after %s", url, res, err, took)
		}
		if len(warned) != 1 || !strings.Contains(warned[0], "2 spans were not exported") || !strings.Contains(warned[0], "hocket trace "+run.ID()+" --export") {
			t.Errorf("%s: %q", url, warned)
		}
		if told, err := p.Telemetry(); err != nil || told.Problem == "" {
			t.Errorf("%s: %+v, %v", url, told, err)
		}
	}
}

// A project cannot send spans anywhere before the user has approved that, and the keys of the user are never sent there.
func TestTelemetryNeedsTrust(t *testing.T) {
	c := tracetest.New(t)
	traceTo(t, "")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20users-own-key")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("COLLECTOR_KEY", "the-project-key")
	p := open(t, map[string]string{
		".hocket/config.yml": "secrets:\n  collector: {env: COLLECTOR_KEY}\ntelemetry:\n  endpoint: " + c.URL + "\n  headers: {X-Key: {secret: collector}}\n",
		"w.yml":              "name: w\nsteps:\n  - {id: a, agent: shell, config: {command: 'echo \"[$TRACEPARENT]\" $COLLECTOR_KEY'}}\n",
	}, hocket.Options{})
	drive := func() (engine.Result, []string) {
		w, err := p.Load("w.yml")
		if err != nil {
			t.Fatal(err)
		}
		run, err := p.Record(context.Background(), w, nil)
		if err != nil {
			t.Fatal(err)
		}
		var warned []string
		res, err := run.Drive(context.Background(), hocket.Front{Warn: func(text string) { warned = append(warned, text) }})
		if err != nil {
			t.Fatal(err)
		}
		return res, warned
	}
	if res, warned := drive(); len(c.Requests()) > 0 || !strings.HasPrefix(res.Output.(string), "[]") || len(warned) != 1 {
		t.Errorf("before: %d requests, output %q, warned %q", len(c.Requests()), res.Output, warned)
	}
	powers, err := p.Powers()
	if err == nil {
		err = p.Trust(powers)
	}
	if err != nil || !strings.Contains(powers.String(), "sends which steps of runs were done, when and at what cost to "+c.URL+", with X-Key from the secret collector") {
		t.Fatalf("%s, %v", powers, err)
	}
	if res, warned := drive(); len(c.Spans()) != 2 || !strings.HasPrefix(res.Output.(string), "[00-") || len(warned) != 0 {
		t.Errorf("after: %d spans, output %q, warned %q", len(c.Spans()), res.Output, warned)
	}
	for _, r := range c.Requests() {
		if r.Header.Get("Authorization") != "" || r.Header.Get("X-Key") != "the-project-key" {
			t.Errorf("headers %v", r.Header)
		}
	}
}

// The commands of a project see where the user sends spans, and with which key, only when the user trusts the project.
func TestTelemetryOfTheUserIsHidden(t *testing.T) {
	if _, err := exec.LookPath("env"); err != nil {
		t.Skip("there is no env")
	}
	c := tracetest.New(t)
	traceTo(t, c.URL)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("COLLECTOR_KEY", "the-project-key")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20users-own-key")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "Authorization=Bearer%20users-own-key")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "team=a")
	p := open(t, map[string]string{
		".hocket/config.yml": "secrets:\n  collector: {env: COLLECTOR_KEY}\n",
		"w.yml":              "name: w\nsteps:\n  - {id: a, agent: shell, config: {command: env}}\n",
	}, hocket.Options{})
	saw := func() string { return output(wait(t, start(t, p, "w.yml", nil)), "a") }
	if got := saw(); strings.Contains(got, "OTEL") || !strings.Contains(got, "TRACEPARENT=00-") {
		t.Errorf("without trust, a step sees %s", got)
	}
	powers, err := p.Powers()
	if err == nil {
		err = p.Trust(powers)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := saw(); !strings.Contains(got, "OTEL_EXPORTER_OTLP_HEADERS=") || !strings.Contains(got, "OTEL_RESOURCE_ATTRIBUTES=team=a\n") || strings.Contains(got, "users-own-key") {
		t.Errorf("with trust, a step sees %s", got)
	}
	for _, r := range c.Requests() {
		if r.Header.Get("Authorization") != "Bearer users-own-key" {
			t.Errorf("headers %v", r.Header)
		}
	}
}

// An attempt that asks, and is made again with the answer, is one span, which begins when it was first made.
func TestSpanOfLanding(t *testing.T) {
	for answer, want := range map[string]string{"land": "success", "no": "error", "": ""} {
		c := tracetest.New(t)
		traceTo(t, c.URL)
		p, _ := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "echo two >> a.txt"}
  - {id: ship, land: patch}
`}, hocket.Options{Agents: agents{"editor": editor()}})
		r := start(t, p, "w.yml", nil)
		wait(t, r)
		if len(c.Spans()) != 1 {
			t.Errorf("while it waits, the spans are %s", spanOutline(c.Spans()))
		}
		if answer == "" {
			if _, err := r.Cancel(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			if err := r.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			wait(t, r)
		} else {
			reply(t, r, answer)
		}
		all := c.Await("end of the run", func(s []tracetest.Span) bool { return len(s) >= 3 })
		tracetest.Unique(t, all)
		for _, s := range all {
			if s.Attributes["hocket.address"] != "ship" {
				continue
			}
			status, _ := s.Attributes["hocket.step.status"].(string)
			if want == "" {
				want = "cancelled"
			}
			if status != want || !slices.Contains(s.Events, "hocket.asked") || slices.Contains(s.Events, "hocket.again") != (answer != "") {
				t.Errorf("%q: status %q, events %v", answer, status, s.Events)
			}
		}
	}
}

// After its process was killed, a run goes on in the same trace, and no span is sent twice.
func TestKilledTrace(t *testing.T) {
	if os.Getenv("HOCKET_TEST_DRIVE") != "" {
		driveForTest(t)
		return
	}
	c := tracetest.New(t)
	traceTo(t, c.URL)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "w.yml"), `name: w
steps:
  - {id: a, agent: shell, config: {command: [echo, one]}}
  - {id: b, agent: shell, config: {command: "test -e again || { touch again; sleep 60; }"}}
  - {id: c, agent: shell, config: {command: [echo, three]}}
`)
	p := openDir(t, dir, hocket.Options{})
	w, err := p.Load("w.yml")
	if err != nil {
		t.Fatal(err)
	}
	run, err := p.Record(context.Background(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledTrace$")
	cmd.Env = append(os.Environ(), "HOCKET_TEST_DRIVE="+dir, "HOCKET_TEST_RUN="+run.ID())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.Await("span of the first step", func(s []tracetest.Span) bool { return len(s) == 1 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if res, err := run.Drive(context.Background(), hocket.Front{}); err != nil || res.Status != engine.Success {
		t.Fatalf("%+v, %v", res, err)
	}
	all := c.Await("end of the run", func(s []tracetest.Span) bool { return len(s) >= 4 }) // its end waits only for a moment
	tracetest.Unique(t, all)
	if got, want := spanOutline(all), strings.Repeat("invoke_agent shell in invoke_workflow w\n", 3)+"invoke_workflow w"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, s := range all {
		if s.Attributes["hocket.address"] == "b" && !slices.Contains(s.Events, "hocket.again") {
			t.Errorf("the attempt that was lost has the events %v", s.Events)
		}
	}
}

// What a person is asked between two attempts is a part of the attempt: every span has an id of its own.
func TestLandingIsOneSpan(t *testing.T) {
	p, _ := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "echo two >> a.txt"}
  - {id: ship, land: patch}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	reply(t, r, "land")
	all, err := r.Trace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range all {
		if seen[s.ID.String()] {
			t.Errorf("two spans have the id of %s", s.Name)
		}
		seen[s.ID.String()] = true
		if s.Get("hocket.address") != "ship" {
			continue
		}
		var events []string
		for _, e := range s.Events {
			events = append(events, e.Name)
		}
		if got := strings.Join(events, " "); got != "hocket.asked hocket.answered hocket.again" || s.Error != "" {
			t.Errorf("%s: %q, %q", s.Name, got, s.Error)
		}
	}
	if len(all) != 3 {
		t.Errorf("%d spans", len(all))
	}
}

// The only response of an attempt has used what the attempt has, and its provider is the one that the project names.
func TestResponsesHaveProviders(t *testing.T) {
	traits := agent.Traits{Prompted: true, Supports: func(_ *agent.Definition, key string) bool { return key == "model" }}
	exec := agent.New(traits, func(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		task.NoteModel("gpt-tiny")
		task.Record(agent.AssistantText{Text: "hi"})
		return agent.Result{Output: "hi", Usage: agent.Usage{CostUSD: 0.5, TokensIn: 100, TokensOut: 7}}, nil
	})
	for model, want := range map[string]string{"local/gpt-tiny": "local", "google/gpt-tiny": "gcp.gemini", "gpt-tiny": "openai"} {
		p := open(t, map[string]string{
			"w.yml":                     "name: w\nsteps:\n  - {id: a, agent: writer, prompt: hi}\n",
			".hocket/agents/writer.yml": "agent: thinker\nmodel: " + model + "\n",
			".hocket/config.yml":        "providers: {local: {api: openai-compatible, base_url: 'http://127.0.0.1:1/v1'}}\n",
		}, hocket.Options{Agents: agents{"thinker": exec}})
		r := start(t, p, "w.yml", nil)
		wait(t, r)
		all, err := r.Trace(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		chats := 0
		for _, s := range all {
			if s.Operation == spans.Chat {
				chats++
				if u := s.Usage(); u.TokensIn != 100 || u.TokensOut != 7 || u.CostUSD != 0.5 {
					t.Errorf("%s: %+v", s.Name, u)
				}
			}
			if got := s.Get("gen_ai.provider.name"); s.Operation != spans.InvokeWorkflow && got != want {
				t.Errorf("%s: the provider of %s is %v, not %s", model, s.Name, got, want)
			}
		}
		if chats != 1 {
			t.Errorf("%d responses", chats)
		}
	}
}

// A reply that stands in for an agent is no work of a model, and has no provider.
func TestSpansOfReplies(t *testing.T) {
	p := open(t, map[string]string{"w.yml": "name: w\nsteps:\n  - {id: a, agent: claude, prompt: x}\n  - {id: b, agent: claude, prompt: x}\n"}, hocket.Options{Agents: agents{"claude": thinker()}})
	replies, found := hocket.ReadReplies("replies.yml", []byte("a: done\n"))
	if found.Errors() {
		t.Fatal(found)
	}
	r := start(t, p, "w.yml", nil, hocket.WithReplies(replies))
	wait(t, r)
	all, err := r.Trace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[any]string{}
	for _, s := range all {
		node, _ := s.Get("hocket.node").(string)
		executor, _ := s.Get("hocket.executor").(string)
		provider, _ := s.Get("gen_ai.provider.name").(string)
		if executor != "" {
			got[node] = executor + " " + provider
		}
	}
	if got["a"] != "reply " || got["b"] != "claude anthropic" {
		t.Errorf("got %q", got)
	}
}

// Each of several responses has used what the transcript says.
func TestResponsesHaveTokens(t *testing.T) {
	exec := agent.New(agent.Traits{Prompted: true}, func(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		task.Record(agent.AssistantText{Text: "I look", TokensIn: 60, TokensOut: 2})
		task.Record(agent.ToolCall{ID: "1", Tool: "look"})
		task.Record(agent.ToolResult{ID: "1", Tool: "look", Text: "a"})
		task.Record(agent.ToolCall{ID: "2", Tool: "look", TokensIn: 70, TokensOut: 3})
		task.Record(agent.ToolResult{ID: "2", Tool: "look", Text: "b"})
		task.Record(agent.AssistantText{Text: "hi"})
		return agent.Result{Output: "hi", Usage: agent.Usage{CostUSD: 0.5, TokensIn: 200, TokensOut: 9}}, nil
	})
	p := open(t, map[string]string{"w.yml": "name: w\nsteps:\n  - {id: a, agent: thinker, prompt: hi}\n"}, hocket.Options{Agents: agents{"thinker": exec}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	all, err := r.Trace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range all {
		if u := s.Usage(); s.Operation == spans.Chat {
			got = append(got, fmt.Sprintf("%d/%d $%g", u.TokensIn, u.TokensOut, u.CostUSD))
		}
	}
	slices.Sort(got)
	if want := []string{"0/0 $0", "60/2 $0", "70/3 $0"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// What could not be exported is known with its run, until it was sent.
func TestExportedLaterIsForgotten(t *testing.T) {
	traceTo(t, "http://127.0.0.1:1")
	p := open(t, map[string]string{"w.yml": "name: w\nsteps:\n  - {id: a, agent: shell, config: {command: [echo, hi]}}\n"}, hocket.Options{})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	told, err := p.Telemetry()
	if err != nil || told.Problem == "" || told.Run != r.ID() {
		t.Fatalf("%+v, %v", told, err)
	}
	c := tracetest.New(t)
	if done, err := r.Export(t.Context(), c.URL+"/v1/traces"); err != nil || done.Left > 0 || len(c.Spans()) == 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if told, err = p.Telemetry(); err != nil || told.Problem != "" {
		t.Errorf("%+v, %v", told, err)
	}
}
