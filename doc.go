// Package hocket is the host: it opens a project, loads and checks workflows,
// and runs them with models, CLI agents, tools and people. Everything that a run
// means is implemented here and below, once. It is the Go API for programs that
// embed Hocket, and the only way in which a front end (the command line first)
// makes something happen.
//
//	p, err := hocket.Open(".", hocket.Options{})
//	w, err := p.Load("review.yml")
//	run, err := p.Start(ctx, w, map[string]any{"target": "auth.go"})
//	for entry, err := range run.Events(ctx, hocket.EventID{}) { … }
//	result, err := run.Wait(ctx)
//
// A run is durable: each step is recorded before it counts, so a run that was
// killed continues where it was with [Run.Resume], in any process.
//
// # Agents of your own
//
// An [agent.Executor] in [Options.Agents] is used like a built-in one. Steps and
// agent definitions name it, its settings are checked, and its permissions and
// budgets count. No file of a project can take its name.
//
// # Questions
//
// A run may wait for a person: a human step, a permission that an agent asks for,
// a budget, or a step that must not run twice. [Run.Questions] lists them, and
// [Run.Answer] answers one. The first valid answer counts.
package hocket
