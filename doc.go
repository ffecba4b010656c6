// Package hocket is the host: it opens a project, loads and checks workflows, and runs
// them with models, CLI agents, tools and people. It is the Go API for programs that embed
// Hocket, and every front end, including the command line, goes through it.
//
//	p, err := hocket.Open(".", hocket.Options{})
//	w, err := p.Load("review.yml")
//	run, err := p.Start(ctx, w, map[string]any{"target": "auth.go"})
//	for entry, err := range run.Events(ctx, hocket.EventID{}) { … }
//	result, err := run.Wait(ctx)
//
// A run is durable: each step is recorded, so that after a crash [Run.Resume] continues the
// run where it stopped, in any process.
//
// # Your own executors
//
// An [agent.Executor] in [Options.Agents] works like a built-in one. Steps and agent
// definitions use it by name, its settings are checked, and its permissions and budgets
// are enforced. No file of a project can override its name.
//
// # Questions
//
// A run may wait for a person: a human step, a permission that an agent asks for,
// a budget, or a step that must not run twice. [Run.Questions] lists them, and
// [Run.Answer] answers one. The first valid answer wins.
package hocket
