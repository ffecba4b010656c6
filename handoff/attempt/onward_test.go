package attempt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/workflow"
)

// lead is an attempt that hands work off.
type lead struct {
	dir    string
	before []agent.Handed
	handed []agent.Handoff
	got    *agent.Task
	log    bytes.Buffer
	may    workflow.Handoffs
	fork   string                       // of the run
	result func(id string) agent.Handed // the result of earlier work; nil: an answer
	o      attempt.Options
}

// run runs the attempt; work uses the tool.
func (l *lead) run(t *testing.T, answer string, work func(use func(args map[string]any) (string, error))) agent.Result {
	t.Helper()
	exec := agent.New(agent.Traits{Prompted: true}, func(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
		l.got = task
		if work != nil {
			work(func(args map[string]any) (string, error) { return task.Tools[0].Call(ctx, args, task, log) })
		}
		return agent.Result{Output: answer}, nil
	})
	task := &agent.Task{
		Run: "r1" + l.fork, Address: "a", Attempt: 1, Agent: &agent.Definition{Name: "ann"}, Dir: l.dir, Handed: l.before,
		Handoffs: &workflow.Handoffs{To: []string{"bob", "cleo"}, Detach: l.may.Detach},
		HandOff: func(_ context.Context, h agent.Handoff) (agent.Handed, error) {
			if h.ID != "" && l.result != nil {
				return l.result(h.ID), nil
			}
			if h.To == "" && h.ID == "" {
				return agent.Handed{}, errors.New("nobody")
			}
			if h.Prompt == "Take long" {
				return agent.Handed{}, context.DeadlineExceeded
			}
			l.handed = append(l.handed, h)
			got := agent.Handed{Handoff: h, Running: !h.Blocking, Output: "the answer"}
			got.ID = "a/handoff-1"
			if h.To == "cleo" {
				got.Output, got.Error = "", "too hard"
			}
			return got, nil
		},
	}
	l.o.Handoff = attempt.Handoff{Dir: "sessions", SessionOnly: true, Test: "make test"}
	res, err := attempt.Wrap(exec, &l.o).Run(t.Context(), task, func(p []byte) { l.log.Write(p) })
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func handoffOf(t *testing.T, h agent.Handoff) *attempt.Handoff {
	t.Helper()
	got, err := attempt.Of(h.Settings)
	if err != nil || got == nil {
		t.Fatalf("%+v has no handoff: %v", h, err)
	}
	return got
}

func TestToolHandsOn(t *testing.T) {
	l := &lead{dir: t.TempDir()}
	args := map[string]any{
		"to": "bob", "summary": "Look at a < b & c", "details": "All of ${it}.", "constraints": []any{"Maximum duration: 10 minutes"},
		"deliverables": []any{map[string]any{"kind": "file", "path": "out/x.md", "text": "What you saw"}, map[string]any{"kind": "decision", "text": "Yes or no?"}},
	}
	l.run(t, "done", func(use func(map[string]any) (string, error)) {
		if text, err := use(args); err != nil || text != "bob has done the work a/handoff-1. Its answer:\n\nthe answer" {
			t.Errorf("%q, %v", text, err)
		}
		write(t, filepath.Join(l.dir, "out/x.md"), "changed")
		if _, err := use(args); err != nil {
			t.Error(err)
		}
		args["details"] = "All of it."
		args["blocking"] = false
		if text, err := use(args); err != nil || text != "Handed off to bob with the id a/handoff-1. It is in progress." {
			t.Errorf("%q, %v", text, err)
		}
		if text, err := use(map[string]any{"id": "a/handoff-1"}); err != nil || !strings.HasSuffix(text, "the answer") {
			t.Errorf("the result of what was spawned: %q, %v", text, err)
		}
	})
	if len(l.handed) != 4 {
		t.Fatalf("handed off: %+v", l.handed)
	}
	first := handoffOf(t, l.handed[0])
	want := &protocol.Request{
		Version: "1.0", ParentAgent: "ann", TargetAgent: "bob", Mode: protocol.Blocking, Priority: protocol.Medium, Workflow: protocol.Standard,
		Intent: "Look at a < b & c", Summary: "Look at a < b & c", Details: "All of ${it}.", Constraints: []string{"Maximum duration: 10 minutes"},
		Deliverables: []protocol.Deliverable{{Kind: protocol.File, Path: "out/x.md", Required: true, Text: "What you saw"}, {Kind: protocol.Decision, Required: true, Text: "Yes or no?"}},
	}
	if diff := cmp.Diff(workflow.FormatJSON(want), workflow.FormatJSON(first.Request)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if first.Dir != "sessions/"+first.Session || !strings.HasPrefix(first.Session, "r1-") || !first.SessionOnly || first.Test != "make test" {
		t.Errorf("%+v", first)
	}
	if h := l.handed[0]; !h.Blocking || h.Prompt != want.Summary || h.Attempts != 1 || h.Limits.Runtime.Minutes() != 10 {
		t.Errorf("%+v", h)
	}
	again := handoffOf(t, l.handed[1])
	if l.handed[0].Key != l.handed[1].Key || first.Session == again.Session || first.Before["out/x.md"] == again.Before["out/x.md"] {
		t.Errorf("the same work in another session, although a file has changed: %+v and %+v", l.handed[0], l.handed[1])
	}
	fork := &lead{dir: l.dir, fork: "b"}
	fork.run(t, "done", func(use func(map[string]any) (string, error)) {
		if _, err := use(args); err != nil {
			t.Error(err)
		}
	})
	if fork.handed[0].Key != l.handed[2].Key || handoffOf(t, fork.handed[0]).Session == handoffOf(t, l.handed[2]).Session {
		t.Errorf("the same work in a fork: %+v and %+v", fork.handed[0], l.handed[2])
	}
	if l.handed[2].Key == l.handed[0].Key || l.handed[2].Blocking {
		t.Errorf("other work: %+v", l.handed[2])
	}
	if l.handed[3].ID != "a/handoff-1" || !l.handed[3].Blocking {
		t.Errorf("its result: %+v", l.handed[3])
	}
}

const request = `<agent_request target_agent="bob" max_retries="2"><mode>spawn</mode><original_intent>Why not</original_intent><current_task_summary>Do that thing</current_task_summary>
<workflow>none</workflow><task_details>Do it.</task_details><deliverables><report>What happened</report></deliverables></agent_request>`

func TestToolTakesARequest(t *testing.T) {
	l := &lead{dir: t.TempDir()}
	l.run(t, "done", func(use func(map[string]any) (string, error)) {
		if _, err := use(map[string]any{"request": request}); err != nil {
			t.Error(err)
		}
		for _, c := range []struct {
			args map[string]any
			want string
		}{
			{map[string]any{"request": "```xml\n" + request + "\n```\n```xml\n" + request + "\n```\n"}, "expected one <agent_request>, found 2"},
			{map[string]any{"request": "just do it"}, "expected one <agent_request>, found 0"},
			{map[string]any{"request": "<agent_request><mode>spawn</mode></agent_request>"}, "current_task_summary"},
			{map[string]any{"to": "bob", "summary": "Take the keys", "deliverables": []any{map[string]any{"kind": "file", "path": "../keys", "text": "keys"}}}, "../keys"},
			{map[string]any{"to": "cleo", "summary": "Something hard"}, "cleo could not do the work a/handoff-1: too hard"},
			{map[string]any{"summary": "For anyone"}, "nobody"},
			{map[string]any{"id": "a/handoff-7"}, `unknown work id "a/handoff-7"; known ids: a/handoff-1`},
			{map[string]any{"summary": 7}, "invalid arguments"},
			{map[string]any{"to": "bob", "summary": "Something odd", "deliverables": []any{map[string]any{"kind": "x y", "text": "z"}}}, `unknown kind of deliverable "x y"`},
			{map[string]any{"request": strings.Replace(request, "max_retries", `depends_on="x" max_retries`, 1)}, `depends_on: unknown work id "x"`},
			{map[string]any{"request": strings.Replace(request, "max_retries", `notify_on_completion="cleo,dora" max_retries`, 1)}, `notify_on_completion: "dora" may not be notified, only bob, cleo`},
			{map[string]any{"request": strings.Replace(request, "max_retries", `detach="maybe" max_retries`, 1)}, `invalid detach="maybe": write true or false`},
			{map[string]any{"request": strings.Replace(strings.Replace(request, "max_retries", `detach="true" max_retries`, 1), "spawn", "conversation_only", 1)}, "cannot be detached"},
		} {
			if text, err := use(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: %q, %v, want %s", c.args, text, err, c.want)
			}
		}
	})
	l.run(t, "done", func(use func(map[string]any) (string, error)) {
		if text, err := use(map[string]any{"to": "bob", "summary": "Take long"}); err != nil || !strings.HasPrefix(text, "The work is still in progress.") {
			t.Errorf("%q, %v", text, err)
		}
	})
	if h := l.handed[0]; h.To != "bob" || h.Attempts != 3 || h.Blocking {
		t.Errorf("%+v", h)
	}
}

// Requests in the answer are handed off when the attempt has ended.
func TestAnswerHandsOff(t *testing.T) {
	for _, c := range []struct {
		answer, said string
		to           []string
	}{
		{"I did it.", "", nil},
		{"I did it. Now this:\n\n```xml\n" + strings.Replace(request, "spawn", "Blocking", 1) + "\n```\n", "", []string{"bob"}},
		{"<agent_response version=\"1.0\" status=\"COMPLETED\"><summary>Done</summary><next>" + request + request + "</next></agent_response>", "", []string{"bob", "bob"}},
		{"<agent_response><summary>a < b</summary><summary>Done<next>" + request + "</next></agent_response>", "the requests in <next> were ignored", nil},
		{workflow.FormatJSON(map[string]any{"summary": "Done", "next": []any{request}}), "", []string{"bob"}},
		{strings.Replace(request, ` target_agent="bob"`, "", 1), "not handed off: \"Do that thing\": nobody\n", nil},
		{"```xml\n<agent_request><mode>spawn</mode></agent_request>\n```", "not handed off: ", nil},
	} {
		l := &lead{dir: t.TempDir()}
		if res := l.run(t, c.answer, nil); res.Output != c.answer || !strings.HasPrefix(res.Warning, strings.TrimSpace(c.said)) || c.said == "" && res.Warning != "" {
			t.Errorf("the answer became %q, with the warning %q", res.Output, res.Warning)
		}
		var to []string
		for _, h := range l.handed {
			if to = append(to, h.To); h.Blocking {
				t.Error("an attempt that has ended waits")
			}
		}
		if diff := cmp.Diff(c.to, to); diff != "" || !strings.HasPrefix(l.log.String(), c.said) || c.said == "" && l.log.Len() > 0 {
			t.Errorf("%q: log %q, handed off (-want +got):\n%s", c.answer, l.log.String(), diff)
		}
	}
}

// An attempt is told about work that the previous attempt handed off, and can get the results.
func TestNextAttemptIsToldWhatWasHandedOff(t *testing.T) {
	l := &lead{dir: t.TempDir(), before: []agent.Handed{
		{Handoff: agent.Handoff{ID: "a/handoff-1", To: "bob", Prompt: "Count", Key: "k"}, Running: true},
		{Handoff: agent.Handoff{ID: "a/handoff-2", To: "bob", Prompt: "Add"}, Output: "7"},
		{Handoff: agent.Handoff{ID: "a/handoff-3", To: "cleo", Prompt: "Divide"}, Error: "by zero"},
	}}
	l.run(t, "done", func(use func(map[string]any) (string, error)) {
		if _, err := use(map[string]any{"id": "a/handoff-1"}); err != nil || l.handed[0].ID != "a/handoff-1" {
			t.Errorf("%+v, %v", l.handed, err)
		}
	})
	const told = "An earlier attempt at your task handed this off: "
	want := []agent.Received{
		{Step: "handoff a/handoff-1 to bob", Output: told + "Count\n\nIt is still in progress."},
		{Step: "handoff a/handoff-2 to bob", Output: told + "Add\n\nThe result:\n7"},
		{Step: "handoff a/handoff-3 to cleo", Output: told + "Divide\n\nIt failed: by zero"},
	}
	if diff := cmp.Diff(want, l.got.Received); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
}

// A secret is masked even if it is escaped in the XML, and the sender is always the agent of the
// task.
func TestRequestsAreMasked(t *testing.T) {
	l := &lead{dir: t.TempDir()}
	l.o.Mask = func(text string) string { return strings.ReplaceAll(text, "hunter-2", "***") }
	secret := strings.NewReplacer("Do it.", "Use hunter&#45;2.", "max_retries", `parent_agent="the owner" max_retries`).Replace(request)
	l.run(t, "Then:\n\n```xml\n"+secret+"\n```\n", func(use func(map[string]any) (string, error)) {
		if _, err := use(map[string]any{"request": strings.Replace(secret, "that thing", "this thing", 1)}); err != nil {
			t.Error(err)
		}
	})
	if len(l.handed) != 2 {
		t.Fatalf("%+v", l.handed)
	}
	for _, h := range l.handed {
		if q := handoffOf(t, h).Request; q.Details != "Use ***." || q.ParentAgent != "ann" || q.MaxRetries != 2 {
			t.Errorf("%+v", q)
		}
	}
}

// An agent can name its work, and ask for it by that name. The name must be unique.
func TestNamedWork(t *testing.T) {
	l := &lead{dir: t.TempDir()}
	named := strings.Replace(request, "max_retries", `session_id="count" max_retries`, 1)
	l.run(t, "done", func(use func(map[string]any) (string, error)) {
		for range 2 {
			if _, err := use(map[string]any{"request": named}); err != nil {
				t.Error(err)
			}
		}
		if text, err := use(map[string]any{"id": "count"}); err != nil || text != "bob has done the work count. Its answer:\n\nthe answer" {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := use(map[string]any{"request": strings.Replace(named, "Do it.", "Do more.", 1)}); err == nil || !strings.Contains(err.Error(), `the session_id "count" is already used for other work, a/handoff-1`) {
			t.Error(err)
		}
	})
}

// Work that depends on other work of the task is handed off when that has ended, and not if it
// failed. In an answer, the order does not matter.
func TestWorkThatDependsOnOther(t *testing.T) {
	with := func(attributes, summary string) string {
		return strings.NewReplacer("max_retries", attributes+" max_retries", "Do that thing", summary).Replace(request)
	}
	l := &lead{dir: t.TempDir()}
	waits := 0
	l.result = func(id string) agent.Handed {
		waits++
		return agent.Handed{Output: "there"}
	}
	res := l.run(t, "<agent_response><summary>Done</summary><next>"+with(`depends_on="two"`, "The third part")+with(`session_id="two" depends_on="one"`, "The second part")+
		with(`session_id="one"`, "The first part")+with(`session_id="x" depends_on="y"`, "A circle")+with(`session_id="y" depends_on="x"`, "Another circle")+"</next></agent_response>", nil)
	var order []string
	for _, h := range l.handed {
		order = append(order, h.Prompt)
	}
	if diff := cmp.Diff([]string{"The first part", "The second part", "The third part"}, order); diff != "" || waits != 2 {
		t.Errorf("%d waits, handed off (-want +got):\n%s", waits, diff)
	}
	if !strings.Contains(res.Warning, `"A circle": depends_on: unknown work id "y"`) {
		t.Error(res.Warning)
	}
	l = &lead{dir: t.TempDir(), result: func(string) agent.Handed { return agent.Handed{Error: "boom"} }}
	res = l.run(t, "<agent_response><summary>Done</summary><next>"+with(`session_id="one"`, "The first part")+with(`depends_on="one"`, "The second part")+"</next></agent_response>", nil)
	if len(l.handed) != 1 || !strings.Contains(res.Warning, "skipped: it depends on one, which failed: boom") {
		t.Errorf("%d, %q", len(l.handed), res.Warning)
	}
}

// Detached work is handed off with a reserved amount, and the agent can check on its session.
func TestToolDetaches(t *testing.T) {
	l := &lead{dir: t.TempDir(), may: workflow.Handoffs{Detach: true}}
	l.o.Detached = func(_ context.Context, id string) (agent.Handed, error) {
		return agent.Handed{Running: true}, nil
	}
	session := ""
	l.result = func(string) agent.Handed { return agent.Handed{Output: session} }
	args := map[string]any{"to": "bob", "summary": "Audit everything", "detach": true, "constraints": []any{"Maximum cost: $2"}}
	l.run(t, "done", func(use func(map[string]any) (string, error)) {
		if _, err := use(args); err != nil {
			t.Fatal(err)
		}
		session = handoffOf(t, l.handed[0]).Session
		if text, err := use(map[string]any{"id": session}); err != nil || text != "Handed off to bob with the id "+session+". It is in progress." {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := use(map[string]any{"request": strings.Replace(request, "max_retries", `session_id="own" detach="true" depends_on="`+session+`,other" max_retries`, 1)}); err != nil {
			t.Error(err)
		}
	})
	first := l.handed[0]
	if !first.Detach || !first.Blocking || first.Attempts != 1 || first.Limits != (workflow.Limits{}) || *first.May != (workflow.Limits{CostUSD: 2}).Budget() {
		t.Errorf("%+v", first)
	}
	if _, offered := l.got.Tools[0].Input["properties"].(map[string]any)["detach"]; !offered || !strings.Contains(l.got.Tools[0].Description, "detach") {
		t.Error("the tool does not offer to detach work")
	}
	own := handoffOf(t, l.handed[len(l.handed)-1])
	l.run(t, "done", func(use func(map[string]any) (string, error)) {
		before := len(l.handed)
		if _, err := use(map[string]any{"request": strings.Replace(request, "max_retries", `session_id="own" detach="false" max_retries`, 1), "detach": true}); err != nil || !l.handed[before].Detach {
			t.Errorf("the argument is ignored: %v", err)
		}
	})
	l = &lead{dir: t.TempDir(), before: []agent.Handed{{Handoff: agent.Handoff{ID: "a/handoff-1", To: "bob", Prompt: "Audit", Settings: first.Settings}, Output: "fork-1"}}, o: l.o, result: func(string) agent.Handed { return agent.Handed{Output: "fork-1"} }}
	l.run(t, "done", func(use func(map[string]any) (string, error)) {
		if text, err := use(map[string]any{"id": "fork-1"}); err != nil || !strings.HasSuffix(text, "with the id fork-1. It is in progress.") {
			t.Errorf("the session in a fork: %q, %v", text, err)
		}
	})
	if told := l.got.Received[0].Output; !strings.HasSuffix(fmt.Sprint(told), "It runs as the separate session fork-1.") {
		t.Error(told)
	}
	if diff := cmp.Diff([]string{session, "other"}, own.Request.DependsOn); diff != "" || own.Session != "own" || len(own.Request.Attributes) > 0 {
		t.Errorf("%+v: %s", own, diff)
	}
	l = &lead{dir: t.TempDir()}
	l.run(t, "done", nil)
	if _, offered := l.got.Tools[0].Input["properties"].(map[string]any)["detach"]; offered {
		t.Error("the tool offers to detach work, which is not allowed")
	}
}

// The task for detached work or a message does not need its agent.
func TestSentOutside(t *testing.T) {
	exec := agent.New(agent.Traits{Prompted: true}, func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		t.Error("the agent works")
		return agent.Result{}, nil
	})
	task := func(h *attempt.Handoff) *agent.Task {
		h.Session = "r1-s1"
		setting, err := h.Setting()
		if err != nil {
			t.Fatal(err)
		}
		return &agent.Task{Run: "r1", Address: "a/handoff-1", Agent: &agent.Definition{Name: "bob"}, Settings: map[string]any{agent.HandoffSetting: setting}}
	}
	q := &protocol.Request{Mode: protocol.Conversation, ParentAgent: "ann", Summary: "Know this", Constraints: []string{"Maximum cost: $2", "Maximum tokens: 3k"}, Deliverables: []protocol.Deliverable{{Kind: protocol.Report, Text: "What you think"}}}
	var left []string
	o := attempt.Options{
		LeaveMessage: func(agent, id string, m attempt.Message) error {
			left = append(left, agent, id, m.From, m.Asks.Request.Summary)
			return nil
		},
		Detach: func(context.Context, *agent.Task, *attempt.Handoff) error { return nil },
	}
	res, err := attempt.Wrap(exec, &o).Run(t.Context(), task(&attempt.Handoff{Request: q, MessageOnly: true}), func([]byte) {})
	if diff := cmp.Diff([]string{"bob", "r1 a/handoff-1", "ann", "Know this"}, left); diff != "" || err != nil || res.Output != "message left for bob" || res.Usage != (agent.Usage{}) {
		t.Errorf("%+v, %v: %s", res, err, diff)
	}
	res, err = attempt.Wrap(exec, &o).Run(t.Context(), task(&attempt.Handoff{Request: q, Detach: true}), func([]byte) {})
	if err != nil || res.Output != "r1-s1" || res.Usage != (agent.Usage{CostUSD: 2, TokensOut: 3000}) {
		t.Errorf("%+v, %v", res, err)
	}
	forked := task(&attempt.Handoff{Request: q, Detach: true, Dir: "sessions/r1-s1"})
	forked.Run = "r2"
	if res, err = attempt.Wrap(exec, &o).Run(t.Context(), forked, func([]byte) {}); err != nil || res.Output != "r2-r1-s1" {
		t.Errorf("in a fork: %+v, %v", res, err)
	}
	if _, err = attempt.Wrap(exec, &attempt.Options{}).Run(t.Context(), task(&attempt.Handoff{Request: q, Detach: true}), func([]byte) {}); err == nil || !strings.Contains(err.Error(), "this program does not run sessions") {
		t.Error(err)
	}
}

// The error for a call without arguments lists the arguments, not XML elements.
func TestToolWithoutArguments(t *testing.T) {
	l := &lead{dir: t.TempDir()}
	l.run(t, "done", func(use func(map[string]any) (string, error)) {
		if _, err := use(map[string]any{}); err == nil || !strings.Contains(err.Error(), "missing argument summary: call this tool with to, summary and details") {
			t.Error(err)
		}
	})
}
