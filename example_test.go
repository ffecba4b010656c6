package hocket_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// folder creates a project with one file.
func folder(name, text string) string {
	dir, err := os.MkdirTemp("", "hocket-example")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}
	return dir
}

// Run a workflow from a file, with an agent written in Go.
func Example() {
	dir := folder("greet.yml", "name: greet\nsteps:\n  - {id: hello, agent: shout, prompt: 'hello ${who}'}\n")
	defer os.RemoveAll(dir)
	ctx := context.Background()

	shout := agent.Func(func(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		return agent.Result{Output: strings.ToUpper(task.Prompt)}, nil
	})
	p, err := hocket.Open(dir, hocket.Options{State: dir, Agents: map[string]agent.Executor{"shout": shout}})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	w, err := p.Load("greet.yml")
	if err != nil {
		log.Fatal(err)
	}
	run, err := p.Start(ctx, w, map[string]any{"who": "world"})
	if err != nil {
		log.Fatal(err)
	}
	for e, err := range run.Events(ctx, hocket.EventID{}) {
		if err != nil {
			log.Fatal(err)
		}
		if e.Fact != nil {
			fmt.Println(e.ID, e.Fact.Kind, e.Fact.Address, e.Fact.Status)
		}
	}
	res, err := run.Wait(ctx)
	fmt.Println(res.Status, res.Output, err)
	// Output:
	// 1.1 step_started hello running
	// 1.2 attempt_started hello running
	// 2.1 step_ended hello success
	// 2.2 run_ended  success
	// success HELLO WORLD <nil>
}

// Answer a question from outside the run, found through the project.
func ExampleRun_Answer() {
	dir := folder("gate.yml", "name: gate\nsteps:\n  - {id: ship, human: {question: 'Ship it?', options: ['yes', 'no']}}\n")
	defer os.RemoveAll(dir)
	ctx := context.Background()

	p, err := hocket.Open(dir, hocket.Options{State: dir, By: "ada"})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	w, err := p.Load("gate.yml")
	if err != nil {
		log.Fatal(err)
	}
	run, err := p.Start(ctx, w, nil)
	if err != nil {
		log.Fatal(err)
	}
	res, err := run.Wait(ctx) // not answered here, so the run waits
	fmt.Println(res.Status, err)

	open, err := run.Questions(ctx)
	fmt.Println(len(open), open[0].ID, err)
	if _, err := run.Answer(ctx, open[0].ID, hocket.Answer{Value: "yes"}); err != nil {
		log.Fatal(err)
	}
	if err := run.Resume(ctx); err != nil {
		log.Fatal(err)
	}
	res, err = run.Wait(ctx)
	fmt.Println(res.Status, res.Output, err)
	// Output:
	// waiting <nil>
	// 1 ship <nil>
	// success yes <nil>
}

// A workflow built by a program runs like one from a file.
func ExampleProject_LoadModel() {
	dir := folder("unused", "")
	defer os.RemoveAll(dir)
	ctx := context.Background()

	echo := agent.Func(func(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		return agent.Result{Output: "done: " + task.Prompt}, nil
	})
	p, err := hocket.Open(dir, hocket.Options{State: dir, Agents: map[string]agent.Executor{"echo": echo}})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	w, err := p.LoadModel(workflow.Sequence("build", workflow.Agent("echo", "first"), workflow.Agent("echo", "second")))
	if err != nil {
		log.Fatal(err)
	}
	run, err := p.Start(ctx, w, nil)
	if err != nil {
		log.Fatal(err)
	}
	res, err := run.Wait(ctx)
	fmt.Println(res.Status, res.Output, len(res.Steps), err)
	// Output: success done: second 2 <nil>
}
