package agent

import (
	"fmt"
	"strings"
)

// Heeding is an executor that knows of which keys of a definition it takes notice.
// Of any other, what works from words takes notice of all of them, and what does
// exactly as its settings say of none that are about words.
type Heeding interface {
	Executor
	// Heeds says whether a key, by its name in the file, does something for the
	// tasks of a definition that has it.
	Heeds(d *Definition, key string) bool
}

// aboutWords are the keys of a definition that not every executor has a use for.
// The others are heeded by whoever runs tasks: the engine with its ledger, and the
// choice of an agent.
var aboutWords = []struct {
	key   string
	given func(d *Definition) bool
}{
	{"prompt", func(d *Definition) bool { return strings.TrimSpace(d.Prompt) != "" }},
	{"model", func(d *Definition) bool { return d.Model != "" }},
	{"tools", func(d *Definition) bool { return len(d.Tools) > 0 }},
	{"mcp", func(d *Definition) bool { return len(d.Servers) > 0 }},
	{"permissions", func(d *Definition) bool { return len(d.Permissions) > 0 }},
	{"max_turns", func(d *Definition) bool { return d.MaxTurns > 0 }},
}

// Unheeded are the keys of a definition of which what does its work takes no
// notice. Who wrote one relies on it, so each is a mistake; its path is the key.
func (s *Set) Unheeded(d *Definition) []Problem {
	exec, ok := s.executors[d.Agent]
	if !ok {
		return nil
	}
	var found []Problem
	for _, about := range aboutWords {
		if !about.given(d) || heeds(exec, d, about.key) {
			continue
		}
		p := Problem{
			Path:    []string{about.key},
			Summary: fmt.Sprintf("%q has no effect: %s does exactly what its settings say", about.key, d.Agent),
			Detail:  "remove it: it is for agents that work from words",
		}
		if thinks(exec, d) {
			p.Summary = fmt.Sprintf("%q has no effect: %s has no means to keep to it", about.key, d.Agent)
			p.Detail = "remove it, or name under `agent` who has"
		}
		found = append(found, p)
	}
	return found
}

func heeds(exec Executor, d *Definition, key string) bool {
	if h, ok := exec.(Heeding); ok {
		return h.Heeds(d, key)
	}
	return thinks(exec, d)
}

// thinks says whether tasks of a definition are done from words. What its settings
// say exactly, no task can leave open again.
func thinks(exec Executor, d *Definition) bool {
	thinker, ok := exec.(Conversant)
	return ok && thinker.Thinks(&Task{Agent: d, Settings: d.Settings})
}
