package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

func TestExecutorGetsTheWholeTask(t *testing.T) {
	var got *agent.Task
	set := agent.NewSet(map[string]agent.Executor{"shell": agent.Func(func(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		got = task
		return agent.Result{Output: "out", Usage: agent.Usage{CostUSD: 0.5, CostUnknown: true, TokensIn: 1, TokensOut: 2}}, nil
	})}, []*agent.Definition{{Name: "linter", Agent: "shell", Settings: map[string]any{"shell": "sh", "dir": "."}}}, "")
	def, exec, err := set.Resolve("linter")
	if err != nil {
		t.Fatal(err)
	}
	out := Execute(context.Background(), exec, def, "/project", "run-1", &engine.StartTask{
		Place:   &engine.Place{Workflow: "demo", Node: "a", Agent: "linter", Decide: []string{"yes"}, Output: &workflow.Output{Mode: workflow.JSON}, Written: map[string]any{"dir": "${x}"}},
		Address: "a#2", Attempt: 3, Prompt: "p", Feedback: "wrong",
		Inputs: []engine.Input{{Name: "x", Value: json.Number("1")}}, Settings: map[string]any{"dir": "sub"},
	}, Attempt{Artifacts: "/files"})
	want := &agent.Task{
		Run: "run-1", Address: "a#2", Attempt: 3, Key: "run-1/a#2@3", Workflow: "demo", Node: "a", Prompt: "p", Dir: "/project",
		Inputs: []agent.Input{{Name: "x", Value: json.Number("1")}}, Settings: map[string]any{"shell": "sh", "dir": "sub"}, Written: map[string]any{"shell": "sh", "dir": "${x}"},
		Decide: []string{"yes"}, Output: workflow.Output{Mode: workflow.JSON}, Feedback: "wrong", Agent: set.Definitions()[0], Artifacts: "/files",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
	wantOut := Outcome{Output: "out", Agent: "linter", Usage: engine.Usage{CostUSD: 0.5, CostUnknown: true, TokensIn: 1, TokensOut: 2}}
	if diff := cmp.Diff(wantOut, out); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

func TestTranscriptAndModelAreKept(t *testing.T) {
	exec := agent.Func(func(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		task.Record(agent.AssistantText{Text: "hello"})
		task.NoteModel("owl-1")
		return agent.Result{}, nil
	})
	var kept []string
	Execute(context.Background(), exec, &agent.Definition{}, "", "r", &engine.StartTask{Place: &engine.Place{}}, Attempt{
		Keep: func(s Stream, text []byte) { kept = append(kept, string(s)+": "+string(text)) },
		Note: func(session, model string) { kept = append(kept, session+"/"+model) },
	})
	kept[0], _, _ = strings.Cut(kept[0], `,"at":`) // the time
	if diff := cmp.Diff([]string{`transcript: {"type":"text","text":"hello"`, "/owl-1"}, kept); diff != "" {
		t.Error(diff)
	}
}

func TestFaults(t *testing.T) {
	until := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cases := []struct {
		err  error
		want engine.Fault
	}{
		{errors.New("plain"), engine.Fault{Kind: engine.FaultError, Message: "plain"}},
		{agent.Permanentf("never"), engine.Fault{Kind: engine.FaultError, Message: "never", Permanent: true}},
		{&agent.Error{Kind: agent.TimedOut, Message: "slow"}, engine.Fault{Kind: engine.FaultTimeout, Message: "slow"}},
		{&agent.Error{Kind: agent.BadOutput, Message: "bad"}, engine.Fault{Kind: engine.FaultBadOutput, Message: "bad"}},
		{&agent.Error{Kind: agent.Quota, Message: "later", Until: until}, engine.Fault{Kind: engine.FaultQuota, Message: "later", Until: until}},
		{&agent.Error{Kind: "new", Message: "?"}, engine.Fault{Kind: engine.FaultError, Message: "?"}},
		{fmt.Errorf("wrapped: %w", agent.Permanentf("never")), engine.Fault{Kind: engine.FaultError, Message: "never", Permanent: true}},
	}
	for _, c := range cases {
		exec := agent.Func(func(context.Context, *agent.Task, agent.Log) (agent.Result, error) { return agent.Result{}, c.err })
		if got := Execute(context.Background(), exec, &agent.Definition{}, "", "r", &engine.StartTask{Place: &engine.Place{}}, Attempt{}); !cmp.Equal(*got.Fault, c.want) {
			t.Errorf("%v became %+v, want %+v", c.err, *got.Fault, c.want)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("cancelled"))
	if got := FaultOf(ctx, agent.Permanentf("killed")); got.Kind != engine.FaultCancelled || got.Permanent {
		t.Errorf("after a cancel: %+v", got)
	}
}

func TestEnginePanicIsABrokenRun(t *testing.T) {
	_, err := Step(nil, "demo-1", engine.Envelope{Seq: 7, Event: &engine.Recovered{}}) // a run that does not exist
	var broken *BrokenError
	if !errors.As(err, &broken) || broken.Stack == nil || broken.Seq != 7 {
		t.Errorf("a panic of the engine gives %v", err)
	}
}
