package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/mcp"
)

func TestTask(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	text := f.must("hocket_task", map[string]any{"prompt": "say it", "description": "A word"})
	if !strings.Contains(text, "say it") {
		t.Error(text)
	}
	o := parse(t, text)
	if o.Status != "success" || o.Session == "" {
		t.Errorf("%+v", o)
	}
	if again := f.must("hocket_task", map[string]any{"prompt": "and again", "session": o.Session}); !strings.Contains(again, "say it") {
		t.Errorf("the conversation was not continued: %s", again)
	}
	if runs := f.must("hocket_runs", nil); !strings.Contains(runs, `"title":"A word"`) || !strings.Contains(runs, `"via":"mcp"`) {
		t.Error(runs)
	}
	f.refused("hocket_task", map[string]any{"prompt": " "}, "empty")
	f.refused("hocket_task", map[string]any{"prompt": "x", "agent": "nobody"}, "nobody")
	if !f.says("started") {
		t.Error("no progress")
	}
}

func TestWorkflow(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	text := f.must("hocket_workflow", map[string]any{"name": "hello", "inputs": map[string]any{"name": "Ada"}})
	if !strings.Contains(text, "Hello Ada") || parse(t, text).Status != "success" {
		t.Error(text)
	}
	f.refused("hocket_workflow", map[string]any{"name": "helo"}, "hello")
	f.refused("hocket_workflow", map[string]any{"name": "hello"}, "name")
	f.refused("hocket_workflow", map[string]any{"name": "hello", "inputs": map[string]any{"name": "x", "times": "many"}}, "times")
	f.refused("hocket_workflow", map[string]any{"title": "hello"}, "title")
}

// A client finds the workflows and their inputs without reading files, and learns which of them can run.
func TestWorkflowsAreListed(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	f.must("hocket_workflow_create", map[string]any{"name": "duet", "definition": duet})
	f.write(".hocket/workflows/broken.yml", "name: broken\nsteps:\n  - agent: nobody\n    prompt: x\n")
	f.write(".hocket/workflows/gated.yml", files[".hocket/workflows/gated.yml"]+"output: changed\n")
	type line struct {
		Name, Description, Problem string
		Approved                   bool
		Inputs                     struct {
			Properties map[string]struct {
				Type, Description string
				Default           any
			}
			Required []string
		}
	}
	var page struct{ Workflows []line }
	decode(t, f.must("hocket_workflows_list", nil), &page)
	found := map[string]line{}
	for _, l := range page.Workflows {
		found[l.Name] = l
	}
	hello := found["hello"]
	if in := hello.Inputs; !hello.Approved || hello.Problem != "" || hello.Description != "Says hello." || in.Properties["name"].Description != "whom to greet" || in.Properties["times"].Type != "integer" ||
		in.Properties["times"].Default != 1.0 || !slices.Equal(in.Required, []string{"name"}) || len(in.Properties) != 2 {
		t.Errorf("%+v", hello)
	}
	for name, want := range map[string]string{"duet": "nobody has approved it; the user can review it with hocket approve duet", "gated": "it has changed since it was approved", "broken": "nobody"} {
		if l := found[name]; l.Approved || !strings.Contains(l.Problem, want) {
			t.Errorf("%s: %+v", name, l)
		}
	}
	resources := map[string]*sdk.Resource{}
	for r, err := range f.client.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		resources[r.URI] = r
	}
	if r := resources["hocket://workflows/hello"]; r == nil || r.Title != "Says hello." || r.Description != "Workflow, approved. Inputs: name (required), times" {
		t.Errorf("%+v", r)
	}
	if r := resources["hocket://workflows/duet"]; r == nil || !strings.Contains(r.Description, "nobody has approved it") {
		t.Errorf("%+v", r)
	}
}

// A long list of workflows comes in pages.
func TestWorkflowsArePaged(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	for i := range 3 {
		f.write(fmt.Sprintf(".hocket/workflows/long%d.yml", i), "name: x\ndescription: "+strings.Repeat("la ", 10_000)+"\nsteps:\n  - agent: echo\n    prompt: x\n")
	}
	var seen []string
	for args, pages := map[string]any{}, 1; ; pages++ {
		var page struct {
			Workflows []struct{ Name string }
			Next      string `json:"next_cursor"`
		}
		text := f.must("hocket_workflows_list", args)
		decode(t, text, &page)
		for _, w := range page.Workflows {
			seen = append(seen, w.Name)
		}
		if args["cursor"] = page.Next; page.Next == "" || len(text) > 60_000 || pages > 5 {
			if pages != 3 {
				t.Errorf("%d pages, the last of %d bytes", pages, len(text))
			}
			break
		}
	}
	if want := "gated hello long0 long1 long2 slow strict"; strings.Join(seen, " ") != want {
		t.Errorf("%q", seen)
	}
}

// Only what is missing is not found. Of a workflow with mistakes, the text can be read, and what is wrong.
func TestResourcesWithMistakes(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	f.write(".hocket/workflows/broken.yml", "name: broken\nsteps: [\n")
	res, err := f.client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "hocket://workflows/broken"})
	if err != nil || !strings.Contains(res.Contents[0].Text, "steps: [") {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := f.client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "hocket://workflows/broken/tree"}); err == nil || !strings.Contains(err.Error(), "broken.yml:2:") || strings.Contains(err.Error(), "not found") {
		t.Error(err)
	}
	o := parse(t, f.must("hocket_task", map[string]any{"prompt": "x"}))
	for _, uri := range []string{"hocket://workflows/none", "hocket://workflows/hello/jpg", "hocket://workflows/hello/tree/x", "hocket://runs/none", "hocket://runs/" + o.Run + "/logs/none"} {
		if _, err := f.client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// A model cannot pass a flag of the command line, so no text advises that.
func TestAdviceForModels(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	f.write(".hocket/agents/lost.yml", "agent: absent\n")
	f.write(".hocket/workflows/lost.yml", "name: lost\nsteps:\n  - agent: lost\n    prompt: x\n")
	for tool, args := range map[string]map[string]any{"hocket_check": {"name": "lost"}, "hocket_workflow": {"name": "lost"}, "hocket_workflows_list": nil, "hocket_task": {"prompt": "x", "agent": "lost"}} {
		if text, _ := f.call(tool, args); !strings.Contains(text, "absent") || strings.Contains(text, "--replies") {
			t.Errorf("%s: %s", tool, text)
		}
	}
}

// A workflow that the project lists is a tool with the workflow's inputs.
func TestWorkflowsAreTools(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	tools := f.tools()
	schema, _ := tools["workflow_hello"].InputSchema.(map[string]any)
	if properties, _ := schema["properties"].(map[string]any); properties["name"] == nil || properties["times"] == nil || properties["background"] == nil {
		t.Fatalf("%v", schema)
	}
	if tools["workflow_missing"] != nil || tools["workflow_gated"] != nil {
		t.Error("tools of workflows that are missing or not listed")
	}
	if text := f.must("workflow_hello", map[string]any{"name": "Bob"}); !strings.Contains(text, "Hello Bob") {
		t.Error(text)
	}
	f.refused("workflow_hello", map[string]any{"name": "Bob", "nmae": "x"}, "nmae")
	f.write(".hocket/config.yml", "agent: echo\nmcp_server: {workflows: [gated]}\n") // while the server runs
	if tools := f.tools(); tools["workflow_hello"] != nil || tools["workflow_gated"] == nil {
		t.Error("the change was not noticed")
	}
}

func (f *fixture) tools() map[string]*sdk.Tool {
	f.t.Helper()
	all := map[string]*sdk.Tool{}
	for tool, err := range f.client.Tools(f.t.Context(), nil) {
		if err != nil {
			f.t.Fatal(err)
		}
		all[tool.Name] = tool
	}
	return all
}

func TestAgentsMemoryCheckConvert(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	if text := f.must("hocket_agents_list", nil); !strings.Contains(text, `"echo"`) {
		t.Error(text)
	}
	f.must("hocket_memory_add", map[string]any{"text": "The tests need a database.", "tags": []string{"tests"}})
	if text := f.must("hocket_memory_search", map[string]any{"query": "database"}); !strings.Contains(text, "The tests need a database.") || !strings.Contains(text, "tester") {
		t.Error(text)
	}
	if text := f.must("hocket_check", map[string]any{"text": "name: x\nsteps:\n  - agent: nobody\n    prompt: y\n"}); !strings.Contains(text, `"valid":false`) || !strings.Contains(text, "nobody") {
		t.Error(text)
	}
	if text := f.must("hocket_check", map[string]any{"name": "hello"}); !strings.Contains(text, `"valid":true`) {
		t.Error(text)
	}
	f.refused("hocket_check", nil, "either")
	if text := f.must("hocket_convert", map[string]any{"name": "hello", "to": "mermaid"}); !strings.Contains(text, "flowchart") {
		t.Error(text)
	}
	f.refused("hocket_convert", map[string]any{"name": "hello", "to": "cobol"}, "plantuml")
}

// A client is told plainly what is wrong with its arguments.
func TestWrongArguments(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"hocket_task", map[string]any{"promt": "x"}, `unknown argument "promt"; expected one of: prompt, description, agent, session, background`},
		{"hocket_task", nil, `missing argument "prompt": expected a string, the complete task`},
		{"hocket_task", map[string]any{"prompt": 3}, `argument "prompt": expected a string, found a number`},
		{"hocket_task", map[string]any{"prompt": "x", "background": "yes"}, `argument "background": expected true or false, found a string`},
		{"hocket_memory_search", map[string]any{"query": "x", "limit": 2.5}, `argument "limit": expected an integer, found a number 2.5`},
		{"hocket_memory_search", map[string]any{"query": "x", "tags": []any{1}}, `argument "tags": expected a list of strings, found a number`},
		{"hocket_workflow", map[string]any{"name": "hello", "inputs": "x"}, `argument "inputs": expected an object, found a string`},
		{"hocket_workflow_create", map[string]any{"name": "x", "text": true}, `argument "text": expected a string, found a bool`},
		{"hocket_tool_create", map[string]any{"name": "x", "text": "y", "files": map[string]any{"a": 1}}, `argument "files"`},
		{"glee_task", map[string]any{"prompt": "x", "agent_name": 3}, `argument "agent": expected a string, found a number`},
	} {
		if text, failed := f.call(c.tool, c.args); !failed || !strings.Contains(text, c.want) || strings.Contains(text, "validating") {
			t.Errorf("%s %v: %s", c.tool, c.args, text)
		}
	}
	f.must("hocket_memory_search", map[string]any{"query": "x", "tags": nil})
}

// The names of an earlier design are accepted with their parameters, and listed only if asked for.
func TestAliases(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	text := f.must("glee_task", map[string]any{"description": "Find API endpoints", "prompt": "find them", "agent_name": "echo", "agent_cli": "codex", "background": false, "session_id": nil})
	if !strings.Contains(text, "find them") {
		t.Error(text)
	}
	if text := f.must("glee_task", map[string]any{"prompt": "more", "session_id": parse(t, text).Session}); !strings.Contains(text, "find them") {
		t.Error(text)
	}
	f.must("glee_workflow", map[string]any{"name": "hello", "inputs": map[string]any{"name": "Ada"}})
	f.must("glee_agents_list", nil)
	if f.tools()["glee_task"] != nil {
		t.Error("the old names are listed")
	}
	f.disconnect()
	f.options.Aliases = true
	f.connect(nil)
	old := f.tools()["glee_task"]
	if old == nil {
		t.Fatal("the old names are not listed")
	}
	schema, _ := old.InputSchema.(map[string]any)
	if properties, _ := schema["properties"].(map[string]any); properties["agent_name"] == nil || properties["agent_cli"] == nil || properties["session_id"] == nil || properties["agent"] != nil {
		t.Errorf("%v", schema)
	}
}

func TestBackground(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	o := parse(t, f.must("hocket_workflow", map[string]any{"name": "slow", "background": true}))
	if o.Run == "" || o.Status != "running" && o.Status != "pending" {
		t.Fatalf("%+v", o)
	}
	f.disconnect() // it goes on without the client
	f.connect(nil)
	close(f.release)
	text := f.must("hocket_run", map[string]any{"run": o.Run, "action": "wait"})
	if !strings.Contains(text, "at last") || parse(t, text).Status != "success" {
		t.Error(text)
	}
}

// A call returns the id of its run before the client gives up; the run goes on.
func TestLongCallReturnsTheRun(t *testing.T) {
	f := newFixture(t, mcp.Options{Wait: 300 * time.Millisecond}, nil)
	o := parse(t, f.must("hocket_workflow", map[string]any{"name": "slow"}))
	if o.Status != "running" || !strings.Contains(o.Next, "hocket_run") {
		t.Fatalf("%+v", o)
	}
	if o := parse(t, f.must("hocket_run", map[string]any{"run": o.Run, "action": "wait"})); o.Status != "running" {
		t.Errorf("%+v", o)
	}
	close(f.release)
	f.status(o.Run, "success")
	if text := f.must("hocket_run", map[string]any{"run": o.Run}); !strings.Contains(text, "at last") {
		t.Error(text)
	}
}

func TestCancelledCallCancelsItsRun(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := f.start(ctx, "hocket_workflow", map[string]any{"name": "slow"})
	run := f.newest()
	cancel()
	if !(<-done).failed {
		t.Error("the call succeeded")
	}
	f.status(run, "cancelled")
}

// What a client has not waited for to the end does not continue without it.
func TestDisconnecting(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	f.start(context.Background(), "hocket_workflow", map[string]any{"name": "slow"})
	run := f.newest()
	f.disconnect()
	f.status(run, "cancelled")

	f.options.Wait = 100 * time.Millisecond
	f.connect(nil)
	kept := parse(t, f.must("hocket_workflow", map[string]any{"name": "slow"})).Run
	f.disconnect()
	f.status(kept, "running") // interrupted: a person can resume it
	r, err := f.p.Run(t.Context(), kept)
	if err != nil {
		t.Fatal(err)
	}
	close(f.release)
	if res, err := r.Drive(t.Context(), hocket.Front{}); err != nil || res.Status != "success" {
		t.Errorf("%v, %v", res.Status, err)
	}
}

func TestRunActions(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	o := parse(t, f.must("hocket_task", map[string]any{"prompt": "x", "agent": "slow", "background": true}))
	if text, _ := f.call("hocket_run", map[string]any{"run": o.Run, "action": "cancel"}); parse(t, text).Status != "cancelled" {
		t.Error(text)
	}
	f.refused("hocket_run", map[string]any{"run": o.Run, "action": "answer"}, "status, wait, cancel")
	f.refused("hocket_run", map[string]any{"run": "nothing"}, "nothing")
	theirs := f.p.As("ada", "cli")
	w, err := theirs.Load("slow")
	if err != nil {
		t.Fatal(err)
	}
	r, err := theirs.Record(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.refused("hocket_run", map[string]any{"run": r.ID(), "action": "cancel"}, "only a person")
	if text := f.must("hocket_run", map[string]any{"run": r.ID()}); !strings.Contains(text, "slow") {
		t.Error(text)
	}
}

func TestRunsArePaged(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	for range 5 {
		f.must("hocket_task", map[string]any{"prompt": "x"})
	}
	var seen []string
	cursor := ""
	for {
		args := map[string]any{"limit": 2}
		if cursor != "" {
			args["cursor"] = cursor
		}
		var page struct {
			Runs []struct{ Run string }
			Next string `json:"next_cursor"`
		}
		decode(t, f.must("hocket_runs", args), &page)
		for _, r := range page.Runs {
			if slices.Contains(seen, r.Run) {
				t.Errorf("%s is on two pages", r.Run)
			}
			seen = append(seen, r.Run)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(seen) != 5 {
		t.Errorf("%q", seen)
	}
	f.refused("hocket_runs", map[string]any{"limit": -1}, "invalid limit -1")
	f.refused("hocket_runs", map[string]any{"status": "bogus"}, `"bogus"`)
}

// A run that no process drives is not running.
func TestInterruptedRun(t *testing.T) {
	f := newFixture(t, mcp.Options{Detach: func(string) error { return nil }}, nil)
	o := parse(t, f.must("hocket_workflow", map[string]any{"name": "slow", "background": true}))
	run, err := f.p.Run(t.Context(), o.Run)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond) // as if it were killed
	defer stop()
	_, _ = run.Drive(ctx, hocket.Front{})
	if o := parse(t, f.must("hocket_run", map[string]any{"run": o.Run})); o.Status != "interrupted" {
		t.Errorf("%+v", o)
	}
}

func TestResourcesAndPrompts(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	o := parse(t, f.must("hocket_workflow", map[string]any{"name": "hello", "inputs": map[string]any{"name": "Ada"}}))
	var uris []string
	for r, err := range f.client.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, r.URI)
	}
	if !slices.Contains(uris, "hocket://workflows/hello") || !slices.Contains(uris, "hocket://runs/"+o.Run) {
		t.Errorf("%q", uris)
	}
	for uri, want := range map[string]string{
		"hocket://workflows/hello":               "whom to greet",
		"hocket://workflows/hello/tree":          "greet",
		"hocket://workflows/hello/svg":           "<svg",
		"hocket://runs/" + o.Run:                 "Hello Ada",
		"hocket://runs/" + o.Run + "/tree":       "greet",
		"hocket://runs/" + o.Run + "/logs/greet": "echoes",
	} {
		res, err := f.client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil || !strings.Contains(res.Contents[0].Text, want) {
			t.Errorf("%s: %v, %v", uri, res, err)
		}
	}
	got, err := f.client.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "review", Arguments: map[string]string{"file": "a.go"}})
	if err != nil || got.Messages[0].Content.(*sdk.TextContent).Text != "Review a.go and be kind." {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := f.client.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "review"}); err == nil || !strings.Contains(err.Error(), "file") {
		t.Error(err)
	}
}

// A client that goes away while a call has only recorded its run cancels it, also if it has forms.
func TestClientGoesWhileARunStarts(t *testing.T) {
	starting := make(chan struct{})
	_, to := io.Pipe()
	f := newFixture(t, mcp.Options{Guard: func() (io.WriteCloser, error) {
		close(starting)
		time.Sleep(300 * time.Millisecond)
		return to, nil
	}}, says("approve").options())
	f.start(context.Background(), "hocket_workflow", map[string]any{"name": "slow"})
	<-starting
	f.hangUp()
	f.served <- <-f.served
	f.status(f.newest(), "cancelled")
}

// A guard that does not read stops nobody.
func TestGuardThatHangs(t *testing.T) {
	_, to := io.Pipe()
	f := newFixture(t, mcp.Options{Guard: func() (io.WriteCloser, error) { return to, nil }}, nil)
	if text := f.must("hocket_workflow", map[string]any{"name": "hello", "inputs": map[string]any{"name": "Ada"}}); !strings.Contains(text, "Hello Ada") {
		t.Error(text)
	}
}

// The runs of a server that is killed are cancelled by the process that guards it.
func TestGuard(t *testing.T) {
	told, to := io.Pipe()
	var f *fixture
	f = newFixture(t, mcp.Options{Guard: func() (io.WriteCloser, error) {
		if n := len(f.runs()); n > 0 {
			t.Errorf("there are %d runs before there is a guard", n)
		}
		return to, nil
	}}, nil)
	lines := bufio.NewScanner(told)
	f.start(context.Background(), "hocket_workflow", map[string]any{"name": "slow"})
	if !lines.Scan() || lines.Text() != "+"+f.newest() {
		t.Errorf("%q", lines.Text())
	}
	left := f.newest()
	close(f.release)
	if !lines.Scan() || lines.Text() != "-"+left {
		t.Errorf("%q", lines.Text())
	}
	w, err := f.p.Load("slow")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for range 2 {
		r, err := f.p.Record(t.Context(), w, nil, hocket.WithClaim())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID())
	}
	if err := mcp.Guard(t.Context(), f.p, strings.NewReader("+"+ids[0]+"\n+"+ids[1]+"\n\n-"+ids[1]+"\n")); err != nil {
		t.Fatal(err)
	}
	f.status(ids[0], "cancelled")
	r, err := f.p.Run(t.Context(), ids[1])
	if err != nil {
		t.Fatal(err)
	}
	if info, err := r.Info(t.Context()); err != nil || info.Status != "running" {
		t.Errorf("%s, %v", info.Status, err)
	}
	go func() { _, _ = io.Copy(io.Discard, told) }()
}
