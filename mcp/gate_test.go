package mcp_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/mcp"
)

// versions are those of the protocol that clients speak.
var versions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// user is the user of a client, who answers forms.
type user struct {
	mu     sync.Mutex
	forms  []*sdk.ElicitParams
	answer func(ctx context.Context, form *sdk.ElicitParams) *sdk.ElicitResult
}

func (u *user) options() *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		u.mu.Lock()
		u.forms = append(u.forms, r.Params)
		u.mu.Unlock()
		return u.answer(ctx, r.Params), nil
	}}
}

func (u *user) asked() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.forms)
}

// says returns a user who submits every form with an answer.
func says(value string) *user {
	return &user{answer: func(context.Context, *sdk.ElicitParams) *sdk.ElicitResult {
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": value}}
	}}
}

// does returns a user who does something else with forms.
func does(action string) *user {
	return &user{answer: func(context.Context, *sdk.ElicitParams) *sdk.ElicitResult { return &sdk.ElicitResult{Action: action} }}
}

// A form hides nothing of a question: clients show texts as they are.
func TestFormsHideNothing(t *testing.T) {
	u := says("approve")
	f := newFixture(t, mcp.Options{}, u.options())
	f.write(".hocket/workflows/hiding.yml", "name: hiding\nsteps:\n  - {id: ship, human: \"Ship \\u202e it?\\u3164\", route: {approve: end, reject: end}}\n")
	f.approve("hiding")
	f.must("hocket_workflow", map[string]any{"name": "hiding"})
	if want := `Ship \u202e it?\u3164`; u.asked() != 1 || !strings.HasPrefix(u.forms[0].Message, want) {
		t.Errorf("%+v", u.forms)
	}
}

func TestUserOfTheClientAnswersAGate(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			u := says("approve")
			f := newFixtureIn(t, version, mcp.Options{}, u.options())
			text := f.must("hocket_workflow", map[string]any{"name": "gated"})
			if o := parse(t, text); o.Status != "success" || !strings.Contains(text, "shipped") {
				t.Fatal(text)
			}
			schema, _ := u.forms[0].RequestedSchema.(map[string]any)
			properties, _ := schema["properties"].(map[string]any)
			field, _ := properties["answer"].(map[string]any)
			if required, _ := schema["required"].([]any); !slices.Contains(required, any("answer")) || field["default"] != nil || !strings.Contains(u.forms[0].Message, "Ship it?") {
				t.Errorf("%+v", u.forms[0])
			}
			by := f.answered(parse(t, text).Run)
			if by == nil || by.By != "MCP client tester" || by.Via != "mcp" {
				t.Errorf("recorded as %+v", by)
			}
		})
	}
}

// answered returns the first answer in a run, nil if there is none.
func (f *fixture) answered(id string) *engine.Answered {
	f.t.Helper()
	run, err := f.p.Run(f.t.Context(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	for e, err := range run.Recorded(f.t.Context()) {
		if err != nil {
			f.t.Fatal(err)
		}
		if a, ok := e.Event.(*engine.Answered); ok {
			return a
		}
	}
	return nil
}

// What a user does not answer stays open, and is not asked again.
func TestDecliningLeavesTheGateOpen(t *testing.T) {
	for _, version := range versions {
		for _, action := range []string{"decline", "cancel"} {
			t.Run(version+" "+action, func(t *testing.T) {
				u := does(action)
				f := newFixtureIn(t, version, mcp.Options{}, u.options())
				o := parse(t, f.must("hocket_workflow", map[string]any{"name": "gated"}))
				if o.Status != "waiting" || len(o.Questions) != 1 || strings.Join(o.Questions[0].Answer, ", ") != "hocket answer "+o.Run+" ship approve --resume, hocket answer "+o.Run+" ship reject --resume" {
					t.Fatalf("%+v", o)
				}
				if o := parse(t, f.must("hocket_run", map[string]any{"run": o.Run, "action": "wait"})); o.Status != "waiting" {
					t.Errorf("%+v", o)
				}
				if u.asked() != 1 {
					t.Errorf("asked %d times", u.asked())
				}
			})
		}
	}
}

func TestClientWithoutFormsGetsTheCommand(t *testing.T) {
	for _, version := range versions {
		f := newFixtureIn(t, version, mcp.Options{}, nil)
		o := parse(t, f.must("hocket_workflow", map[string]any{"name": "gated"}))
		if o.Status != "waiting" || len(o.Questions) != 1 || o.Questions[0].ID != "ship" {
			t.Fatalf("%+v", o)
		}
		f.person(o.Run, "ship", "approve")
		if text := f.must("hocket_run", map[string]any{"run": o.Run, "action": "wait"}); !strings.Contains(text, "shipped") {
			t.Error(text)
		}
	}
}

// person answers a question in a terminal, and resumes the run.
func (f *fixture) person(run, question, value string) {
	f.t.Helper()
	r, err := f.p.As("ada", "cli").Run(f.t.Context(), run)
	if err != nil {
		f.t.Fatal(err)
	}
	receipt, err := r.Answer(f.t.Context(), question, hocket.Answer{Value: value})
	if err != nil {
		f.t.Fatal(err)
	}
	if !receipt.Driven {
		if _, err := r.Drive(f.t.Context(), hocket.Front{}); err != nil {
			f.t.Fatal(err)
		}
	}
}

// A client that accepts everything, as some do by themselves, cannot pass what requires a person.
func TestRequiredGatesAreNotAsked(t *testing.T) {
	for _, version := range versions {
		u := says("approve")
		f := newFixtureIn(t, version, mcp.Options{}, u.options())
		o := parse(t, f.must("hocket_workflow", map[string]any{"name": "strict"}))
		if o.Status != "waiting" || u.asked() != 0 || f.answered(o.Run) != nil {
			t.Errorf("%+v, asked %d times", o, u.asked())
		}
		f.write(".hocket/config.yml", "agent: echo\nmcp_server: {answers: all}\n") // of the project: it cannot
		f.must("hocket_run", map[string]any{"run": o.Run, "action": "wait"})
		f.disconnect()
		f.connect(u.options())
		f.must("hocket_run", map[string]any{"run": o.Run, "action": "wait"})
		if u.asked() != 0 {
			t.Error("the project's configuration allowed it")
		}
		f.write(".hocket/config.yml", "agent: echo\n")
		f.write("user/hocket/config.yml", "mcp_server: {answers: all}\n") // of the user
		if o := parse(t, f.must("hocket_run", map[string]any{"run": o.Run, "action": "wait"})); o.Status != "success" || u.asked() != 1 {
			t.Errorf("%+v, asked %d times", o, u.asked())
		}
	}
}

func TestUserCanSwitchFormsOff(t *testing.T) {
	u := says("approve")
	f := newFixture(t, mcp.Options{}, u.options())
	f.write("user/hocket/config.yml", "mcp_server: {answers: none}\n")
	if o := parse(t, f.must("hocket_workflow", map[string]any{"name": "gated"})); o.Status != "waiting" || u.asked() != 0 {
		t.Errorf("%+v, asked %d times", o, u.asked())
	}
}

// An empty form, or an answer that is not offered, answers nothing. The user learns why, and can answer
// again, but not forever.
func TestInvalidForms(t *testing.T) {
	for _, version := range versions[:2] {
		for _, content := range []map[string]any{nil, {}, {"answer": ""}, {"answer": "maybe"}, {"answer": 1}} {
			u := &user{answer: func(context.Context, *sdk.ElicitParams) *sdk.ElicitResult {
				return &sdk.ElicitResult{Action: "accept", Content: content}
			}}
			f := newFixtureIn(t, version, mcp.Options{}, u.options())
			o := parse(t, f.must("hocket_workflow", map[string]any{"name": "gated"}))
			if f.answered(o.Run) != nil || o.Status != "waiting" || len(o.Questions) != 1 || !strings.Contains(o.Questions[0].Refused, "expected one of: approve, reject") {
				t.Errorf("%s, %v: %+v", version, content, o)
			}
			if u.asked() != 3 || strings.Contains(u.forms[0].Message, "again") || !strings.HasPrefix(u.forms[2].Message, "Please answer again: the form has no valid answer; expected one of: approve, reject\n\nShip it?") {
				t.Errorf("%s, %v: asked %d times: %+v", version, content, u.asked(), u.forms)
			}
		}
	}
}

func TestSecondAnswerCounts(t *testing.T) {
	for _, version := range versions[:2] {
		u := &user{}
		u.answer = func(context.Context, *sdk.ElicitParams) *sdk.ElicitResult {
			value := map[bool]string{true: "maybe", false: "approve"}[u.asked() == 1]
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": value}}
		}
		f := newFixtureIn(t, version, mcp.Options{}, u.options())
		if text := f.must("hocket_workflow", map[string]any{"name": "gated"}); !strings.Contains(text, "shipped") || u.asked() != 2 {
			t.Errorf("asked %d times: %s", u.asked(), text)
		}
	}
}

// In the newer protocol, the call returns the form again.
func TestInvalidResponses(t *testing.T) {
	f := newFixture(t, mcp.Options{}, &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) { return nil, nil },
		MultiRoundTrip:     &sdk.MultiRoundTripOptions{Disabled: true},
	})
	params := &sdk.CallToolParams{Name: "hocket_workflow", Arguments: map[string]any{"name": "gated"}}
	for i, want := range []string{"Ship it?", `"maybe"`, "expected one of: approve, reject"} {
		res, err := f.client.CallTool(t.Context(), params)
		if err != nil || len(res.InputRequests) != 1 || !strings.Contains(res.InputRequests["ship"].(*sdk.ElicitParams).Message, want) {
			t.Fatalf("%d: %+v, %v; want %s", i, res, err, want)
		}
		params.RequestState = res.RequestState
		params.InputResponses = sdk.InputResponseMap{"ship": &sdk.ElicitResult{Action: "accept", Content: []map[string]any{{"answer": "maybe"}, nil, {"answer": "perhaps"}}[i]}}
	}
	res, err := f.client.CallTool(t.Context(), params)
	if err != nil || len(res.InputRequests) != 0 || f.answered(f.newest()) != nil || parse(t, res.Content[0].(*sdk.TextContent).Text).Status != "waiting" {
		t.Errorf("%+v, %v", res, err)
	}
}

// A form disappears when somebody else answers the question.
func TestFormsAreWithdrawn(t *testing.T) {
	shown, gone := make(chan struct{}), make(chan struct{})
	u := &user{answer: func(ctx context.Context, _ *sdk.ElicitParams) *sdk.ElicitResult {
		close(shown)
		<-ctx.Done()
		close(gone)
		return &sdk.ElicitResult{Action: "cancel"}
	}}
	f := newFixtureIn(t, "2025-06-18", mcp.Options{}, u.options())
	done := f.start(context.Background(), "hocket_workflow", map[string]any{"name": "gated"})
	<-shown
	f.person(f.newest(), "ship", "approve")
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatal("the form stays")
	}
	if res := <-done; !strings.Contains(res.text, "shipped") {
		t.Error(res.text)
	}
}

// The state of a request counts only as the server has signed it.
func TestForgedStatesAreRefused(t *testing.T) {
	f := newFixture(t, mcp.Options{}, &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) { return nil, nil },
		MultiRoundTrip:     &sdk.MultiRoundTripOptions{Disabled: true},
	})
	asked, err := f.client.CallTool(t.Context(), &sdk.CallToolParams{Name: "hocket_workflow", Arguments: map[string]any{"name": "gated"}})
	if err != nil || asked.RequestState == "" || len(asked.InputRequests) != 1 {
		t.Fatalf("%+v, %v", asked, err)
	}
	run := f.newest()
	yes := sdk.InputResponseMap{"ship": &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "approve"}}}
	for _, state := range []string{"x", "A" + asked.RequestState[1:], asked.RequestState + "A", asked.RequestState[:40]} {
		res, err := f.client.CallTool(t.Context(), &sdk.CallToolParams{Name: "hocket_workflow", Arguments: map[string]any{"name": "gated"}, RequestState: state, InputResponses: yes})
		if err == nil && !res.IsError || f.answered(run) != nil {
			t.Errorf("%q was accepted: %+v", state, res)
		}
	}
	res, err := f.client.CallTool(t.Context(), &sdk.CallToolParams{Name: "hocket_workflow", Arguments: map[string]any{"name": "gated"}, RequestState: asked.RequestState, InputResponses: yes})
	if err != nil || res.IsError || f.answered(run) == nil {
		t.Errorf("%+v, %v", res, err)
	}
}

// taskResult is a task of the extension.
type taskResult struct {
	sdk.ResultBase
	Status        string              `json:"status"`
	Result        *sdk.CallToolResult `json:"result"`
	InputRequests sdk.InputRequestMap `json:"inputRequests"`
}

type taskParams struct {
	sdk.ParamsBase
	TaskID         string               `json:"taskId"`
	InputResponses sdk.InputResponseMap `json:"inputResponses,omitempty"`
}

// A client that supports tasks gets one for its run, and answers its gate through it.
func TestTasks(t *testing.T) {
	capable := &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}}
	capable.AddExtension("io.modelcontextprotocol/tasks", nil)
	f := newFixture(t, mcp.Options{}, &sdk.ClientOptions{Capabilities: capable})
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		if err := sdk.AddSendingCustomMethod[*taskParams, *taskResult](f.sdk, method); err != nil {
			t.Fatal(err)
		}
	}
	start := func(args map[string]any) string {
		t.Helper()
		before := f.runs()
		if res, err := f.client.CallTool(t.Context(), &sdk.CallToolParams{Name: "hocket_workflow", Arguments: args}); err != nil || len(res.Content) > 0 {
			t.Fatalf("%+v, %v", res, err) // the SDK cannot read a task
		}
		after := f.runs()
		if len(after) != len(before)+1 {
			t.Fatalf("%q after %q", after, before)
		}
		return after[0]
	}
	ask := func(method string, p *taskParams) *taskResult {
		t.Helper()
		res, err := sdk.CallCustomMethod[*taskParams, *taskResult](t.Context(), f.client, method, p)
		if err != nil {
			t.Fatal(method, err)
		}
		return res
	}
	until := func(id, status string) *taskResult {
		t.Helper()
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if got := ask("tasks/get", &taskParams{TaskID: id}); got.Status == status {
				return got
			}
		}
		t.Fatalf("%s does not become %s", id, status)
		return nil
	}
	gated := start(map[string]any{"name": "gated"})
	asks := until(gated, "input_required")
	for id := range asks.InputRequests {
		ask("tasks/update", &taskParams{TaskID: gated, InputResponses: sdk.InputResponseMap{id: &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "maybe"}}}})
	}
	again := until(gated, "input_required")
	for id, asked := range again.InputRequests {
		if message := asked.(*sdk.ElicitParams).Message; asks.InputRequests[id] != nil || !strings.Contains(message, `"maybe"`) {
			t.Errorf("%s: %s", id, message)
		}
		ask("tasks/update", &taskParams{TaskID: gated, InputResponses: sdk.InputResponseMap{id: &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "approve"}}}})
	}
	if done := until(gated, "completed"); done.Result == nil || done.Result.IsError {
		t.Errorf("%+v", done)
	}
	slow := start(map[string]any{"name": "slow"})
	until(slow, "working")
	ask("tasks/cancel", &taskParams{TaskID: slow})
	until(slow, "cancelled")
	// A run that a person started is no task, whatever a client wants with it.
	w, err := f.p.Load("slow")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := f.p.As("ada", "cli").Record(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]string{"tasks/get": "only runs that a client started are tasks", "tasks/update": "only runs that a client started are tasks", "tasks/cancel": "only a person can cancel it: hocket cancel " + theirs.ID()} {
		if _, err := sdk.CallCustomMethod[*taskParams, *taskResult](t.Context(), f.client, method, &taskParams{TaskID: theirs.ID()}); err == nil || !strings.HasSuffix(err.Error(), "was started by ada via cli; "+want) {
			t.Errorf("%s: %v", method, err)
		}
	}
	// What only a person elsewhere can continue ends the task, so that the model learns about it.
	strict := start(map[string]any{"name": "strict"})
	f.status(strict, "waiting")
	declined := start(map[string]any{"name": "gated"})
	for id := range until(declined, "input_required").InputRequests {
		ask("tasks/update", &taskParams{TaskID: declined, InputResponses: sdk.InputResponseMap{id: &sdk.ElicitResult{Action: "decline"}}})
	}
	for _, id := range []string{strict, declined} {
		got := until(id, "completed")
		if len(got.InputRequests) != 0 || got.Result == nil || !strings.Contains(got.Result.Content[0].(*sdk.TextContent).Text, "hocket answer "+id+" ship approve") || f.answered(id) != nil {
			t.Errorf("%+v", got)
		}
	}
}

// runs returns the ids of all runs, newest first.
func (f *fixture) runs() []string {
	f.t.Helper()
	all, err := f.p.Runs(f.t.Context(), hocket.Filter{})
	if err != nil {
		f.t.Fatal(err)
	}
	var ids []string
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	return ids
}
