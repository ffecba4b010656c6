package llm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/fakemodel"
)

// exactly is an executor that returns its only setting, and counts the attempts whose
// tools were closed.
type exactly struct{ done *int }

func (x exactly) Run(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
	var set struct{ Command string }
	if err := x.Traits().Settings.Decode(task.Settings, &set); err != nil {
		return agent.Result{}, err
	}
	return agent.Result{Output: "ran " + set.Command}, nil
}

func (x exactly) Traits() agent.Traits {
	return agent.Traits{
		Settings: agent.NewSchema(map[string]any{"type": "object", "additionalProperties": false, "required": []any{"command"}, "properties": map[string]any{
			"command": map[string]any{"type": "string"}, "max_output_kb": map[string]any{"type": "integer"},
		}}),
		Exact: func(task *agent.Task) bool { return task.Settings["command"] != nil },
		Tools: func(*agent.Task) ([]agent.Tool, func(), error) {
			return []agent.Tool{adder()}, func() { *x.done++ }, nil
		},
	}
}

func TestToolset(t *testing.T) {
	fake := fakemodel.Start(t)
	model := executor(t, Anthropic, fake.URL, "k")
	done := 0
	set := Toolset(exactly{&done}, model)
	traits := set.Traits()

	exact := task("")
	exact.Settings = map[string]any{"command": "ls", "max_turns": json.Number("3")}
	got, err := set.Run(t.Context(), exact, func([]byte) {})
	if err != nil || got.Output != "ran ls" || traits.FromPrompt(exact) {
		t.Errorf("%+v, %v", got, err)
	}
	words := task(fakemodel.Prompt(fakemodel.Step{Tool: "add", Args: map[string]any{"a": 1, "b": 1}}, fakemodel.Step{Text: "two"}))
	words.Settings = map[string]any{"max_output_kb": json.Number("9")}
	got, err = set.Run(t.Context(), words, func([]byte) {})
	if err != nil || got.Output != "two" || !traits.FromPrompt(words) || !strings.HasPrefix(traits.Account(words), "fake#") || traits.Resumes != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if done != 1 {
		t.Errorf("the tools of an attempt were put away %d times", done)
	}
	if d := (&agent.Definition{Settings: map[string]any{"command": "ls"}}); traits.Supports(d, "model") || !traits.Supports(&agent.Definition{}, "model") {
		t.Error("a model counts where none is asked, or not where one is")
	}
	for _, good := range []map[string]any{{}, {"command": "ls"}, {"model": "m"}} {
		if found := traits.Settings.CheckTemplates(good); len(found) > 0 {
			t.Errorf("%v: %v", good, found)
		}
	}
	if len(traits.Settings.CheckTemplates(map[string]any{"comand": "ls"})) == 0 {
		t.Error("an unknown setting is taken")
	}
}

// A tool may encounter a secret, which must not be sent to the provider of the model.
func TestResultsHoldNoSecret(t *testing.T) {
	fake := fakemodel.Start(t)
	tk := task(fakemodel.Prompt(fakemodel.Step{Calls: []fakemodel.Step{{Tool: "look"}, {Tool: "fail"}}}, fakemodel.Step{Text: "ok"}))
	look := func(_ context.Context, _ map[string]any, _ *agent.Task, _ agent.Log) (string, error) {
		return "the key is hush", nil
	}
	fail := func(_ context.Context, _ map[string]any, _ *agent.Task, _ agent.Log) (string, error) {
		return "", errors.New("no such host: hush")
	}
	tk.Tools = []agent.Tool{{Name: "look", Input: map[string]any{}, Call: look}, {Name: "fail", Input: map[string]any{}, Call: fail}}
	tk.Hide = func(text string) string { return strings.ReplaceAll(text, "hush", "***") }
	if _, err := executor(t, OpenAI, fake.URL, "k").Run(t.Context(), tk, func([]byte) {}); err != nil {
		t.Fatal(err)
	}
	if body := string(fake.Requests()[1].Body); strings.Contains(body, "hush") || strings.Count(body, "***") != 2 {
		t.Error(body)
	}
}

func TestToolsetWithoutAModel(t *testing.T) {
	done := 0
	set := Toolset(exactly{&done}, New(Options{}))
	words := &agent.Task{Agent: &agent.Definition{Name: "shell"}, Prompt: "tidy up"}
	_, err := set.Run(t.Context(), words, func([]byte) {})
	wantError(t, err, agent.Failed, true, "do not say what to do", "none is named")
	if done != 0 {
		t.Error("tools were taken out for nothing")
	}
	if !set.Traits().Specialist {
		t.Error("it would be chosen for tasks that do not name an agent")
	}
}
