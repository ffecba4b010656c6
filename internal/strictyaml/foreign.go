package strictyaml

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// foreign maps words from other tools, or from another notation, to the keys that mean the
// same.
var foreign = map[string]string{
	"title": "name", "allowCustomInput": "custom", "onTimeout": "on_timeout", "onError": "on_error", "input": "inputs",
	"depends": "needs", "depends_on": "needs", "dependsOn": "needs", "if": "when", "condition": "when",
	"max_iterations": "max", "maxIterations": "max", "max_concurrency": "max_parallel", "maxConcurrency": "max_parallel",
	"prompt": "question", "message": "question", "choices": "options",
	"executor": "agent", "instructions": "prompt", "system": "prompt", "system_prompt": "prompt", "systemPrompt": "prompt", "task": "prompt",
}

// advised are words from other tools, or from a map in a step, that need more than another key, with
// the key next to which they are meant.
var advised = map[string]struct{ beside, detail string }{
	"command":   {"config", command},
	"cmd":       {"config", command},
	"run":       {"config", command},
	"bash":      {"config", command},
	"exec":      {"config", command},
	"args":      {"config", "write them after the program: `config: {command: [PROGRAM, ARGUMENT]}`"},
	"script":    {"config", command},
	"shell":     {"config", command},
	"model":     {"config", "write `config: {model: …}`, or name an agent that has the model"},
	"with":      {"config", "write `config: {…}` for the agent's settings"},
	"env":       {"config", "write `config: {env: {…}}`"},
	"uses":      {"agent", "write `agent: NAME` for the agent"},
	"name":      {"title", "write `title: …` for what people read, or `id: …` for what other steps refer to"},
	"outputs":   {"parallel_group", "write `output: NAME` for the result, or `output: {var: NAME, mode: json, schema: {…}}` for one with fields"},
	"options":   {"human", "write `human: {question: …, options: […]}`"},
	"isolation": {"workspace", "write `workspace: own` for a copy of the project"},
	"worktree":  {"workspace", "write `workspace: own` for a copy of the project"},
	"parallel":  {"parallel_group", "give the steps that run in parallel the same `parallel_group: NAME`; `execution: parallel` at the top applies to all steps"},

	"on_conflict": {"workspace", "write `merge: {on_conflict: …}`"},
	"pick":        {"workspace", "write `merge: {pick: …}`"},
}

// settings are those of the executors that people write next to `agent`.
var settings = []string{
	"action", "path", "content", "glob", "url", "method", "query", "headers", "body", "server", "tool", "arguments",
	"temperature", "max_tokens", "max_turns", "session",
}

const command = "write `config: {command: …}`, next to `agent: shell`"

// translated returns a suggestion for an unknown key that has an equivalent.
func (m *Map) translated(d workflow.Diagnostic, written string) workflow.Diagnostic {
	if ours := foreign[written]; slices.Contains(m.known, ours) {
		d = d.Instead(written, ours)
		d.Detail = `use "` + ours + `" instead`
		return d
	}
	more := advised[written]
	if slices.Contains(settings, written) {
		more.beside, more.detail = "config", "write `config: {"+written+": …}`"
	}
	if more.beside == "config" && slices.Contains(m.known, "settings") { // the name in agent files
		more.beside, more.detail = "settings", strings.Replace(more.detail, "config:", "settings:", 1)
	}
	if slices.Contains(m.known, more.beside) {
		d.Detail, d.Change = more.detail, workflow.Change{}
	}
	return d
}
