package agent_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/agent"
)

// A function is an executor. Steps and agent definitions use it by its name in the set.
func Example() {
	upper := agent.Func(func(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		return agent.Result{Output: strings.ToUpper(task.Prompt)}, nil
	})
	set := agent.NewSet(map[string]agent.Executor{"upper": upper}, nil, "")

	def, exec, err := set.Resolve("upper")
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := exec.Run(context.Background(), &agent.Task{Agent: def, Prompt: "hello"}, func([]byte) {})
	fmt.Println(result.Output, err)
	// Output: HELLO <nil>
}

// Traits describe what an executor can do, so that errors are found before anything runs.
func ExampleNew() {
	schema := agent.NewSchema(map[string]any{
		"type": "object", "additionalProperties": false,
		"properties": map[string]any{"times": map[string]any{"type": "integer", "minimum": 1}},
	})
	repeat := agent.New(agent.Traits{About: "Repeats the prompt", Settings: schema},
		func(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
			set := struct{ Times int }{Times: 1}
			if err := schema.Decode(task.Settings, &set); err != nil {
				return agent.Result{}, err
			}
			return agent.Result{Output: strings.Repeat(task.Prompt, set.Times)}, nil
		})
	thrice, found := agent.ReadDefinition("thrice.yml", []byte("agent: repeat\nmodel: large\nsettings: {tims: 3}\n"))
	if found.Errors() {
		fmt.Println(found)
		return
	}
	set := agent.NewSet(map[string]agent.Executor{"repeat": repeat}, []*agent.Definition{thrice}, "")
	for _, problem := range append(set.Ignored(thrice), set.ValidateSettings(thrice, thrice.Settings)...) {
		fmt.Println(problem)
	}
	// Output:
	// repeat does not support "model"; remove it: the settings say exactly what to do
	// unknown setting "tims"; did you mean "times"?
}
