package local_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// shouter is an agent that adds an exclamation mark.
type shouter struct{}

func (shouter) Run(_ context.Context, _ string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
	at.Log([]byte("shouting\n"))
	return driver.Outcome{Output: task.Prompt + "!"}
}

// A run is recorded, driven, and read again, by this process or by another one.
func Example() {
	state, err := os.MkdirTemp("", "hocket-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(state)
	runs, err := local.Open(state, local.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer runs.Close()

	greet := workflow.Node{ID: "greet", Step: &workflow.Task{Agent: "shouter", Prompt: workflow.Template{Text: "hello ${inputs.name}"}}}
	w := &workflow.Workflow{Name: "hello", Body: workflow.Graph{Nodes: []workflow.Node{greet}}}

	ctx := context.Background()
	made, err := runs.Start(ctx, driver.Spec{
		Pin:    &driver.Pin{Bundle: &workflow.Bundle{Root: w}},
		Inputs: map[string]any{"name": "world"},
		Limits: workflow.Limits{Steps: 10, Parallel: 1},
		Key:    "request 7", // a second request with this key starts no second run
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := runs.Drive(ctx, made.Run, driver.Work{Agents: shouter{}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, result.Output)
	for e, err := range runs.Events(ctx, made.Run, 0, false) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %T\n", e.Seq, e.Event)
	}
	greeting := driver.AttemptID{Run: made.Run, Address: "greet", Attempt: 1}
	for piece, err := range runs.Read(ctx, greeting, driver.Output, 0, false) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(string(piece.Text))
	}
	// Output:
	// success hello world!
	// 1 *engine.Started
	// 2 *engine.Recovered
	// 3 *engine.TaskEnded
	// shouting
}
