package engine_test

import (
	"fmt"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Events go in, commands come out. A driver stores each event before it steps the
// engine, and carries out the commands.
func Example() {
	w := workflow.Sequence("greet", workflow.Agent("writer", "Greet ${inputs.who}.").ID("write"))
	run, err := engine.New(&workflow.Bundle{Root: w})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	step := func(seq int, ev engine.Event) {
		commands, err := run.Step(engine.Envelope{Seq: seq, Time: at, Event: ev})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, c := range commands {
			switch c := c.(type) {
			case *engine.StartTask:
				fmt.Printf("start %s by %s: %s\n", c.Address, c.Agent, c.Prompt)
			case *engine.Finish:
				fmt.Printf("finish %s: %v\n", c.Status, c.Output)
			}
		}
	}
	step(1, &engine.Started{Run: "greet-1", Version: engine.Version, Inputs: map[string]any{"who": "Ada"}})
	step(2, &engine.TaskEnded{Address: "write", Attempt: 1, Output: "Hello, Ada!"})
	// Output:
	// start write by writer: Greet Ada.
	// finish success: Hello, Ada!
}
