package project_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/shell"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/workflow"
)

// A project reads its files and reports the errors in them. To run a workflow, use
// package hocket.
func Example() {
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	flow := "name: flow\nsteps:\n  - {id: a, agent: shel, config: {command: [echo, hi]}}\n"
	if err := os.WriteFile(filepath.Join(dir, "flow.yml"), []byte(flow), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	executors := func(string, project.Config) (map[string]agent.Executor, workflow.Diagnostics, error) {
		return map[string]agent.Executor{"shell": shell.New(shell.Options{})}, nil, nil
	}
	p, err := project.Open(dir, project.Options{Executors: executors})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := p.Load("flow.yml")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range l.Check(nil) {
		fmt.Println(d.Line, d.Code, d.Summary)
	}
	// Output: 3 agent-unknown unknown agent "shel"
}
