package trust

import (
	"path/filepath"
	"slices"
	"strings"
)

// Answers, approvals and trust are given by people. A step that answers the question of
// its own run, and an agent that approves what it wrote, are found by what is around
// them: the variables that Hocket and CLI agents set for what they start, and the
// programs above this one.

// markers are variables that are set for whatever a model starts, with who sets them.
var markers = []struct{ name, by string }{
	{"HOCKET_KEY", attempt},
	{"HOCKET_RUN", attempt},
	{"CLAUDECODE", "claude"},
	{"GEMINI_CLI", "gemini"},
	{"QWEN_CODE", "qwen"},
	{"OPENCODE", "opencode"},
	{"CODEX_SANDBOX", "codex"},
	{"CODEX_THREAD_ID", "codex"},
	{"COPILOT_CLI", "copilot"},
	{"COPILOT_AGENT_SESSION_ID", "copilot"},
	{"GOOSE_TERMINAL", "goose"},
	{"AGENT_SESSION_ID", "goose"},
	{"CURSOR_AGENT", "cursor"},
}

// agents are the programs of CLI agents.
var agents = []string{"claude", "codex", "gemini", "qwen", "opencode", "copilot", "goose", "cursor-agent", "amp", "auggie", "crush", "aider", "claude-agent-acp", "codex-acp"}

// attempt is what supervises a step.
const attempt = "an attempt of a run"

// Supervisor names what above this process acts for a model; "" nothing does. Env is the
// environment of this process. Programs above it are looked at where the system shows
// them, which is Linux; elsewhere the environment alone tells. People start nothing
// below a Hocket: whatever is there is a step, a tool or a server.
func Supervisor(env []string) string {
	if by := ByVariables(env); by != "" {
		return by
	}
	for _, p := range ancestors() {
		if by := ByVariables(p.env); by != "" {
			return by
		}
		if by := agentNamed(p.args); by != "" {
			return by
		}
		if p.hocket() && !slices.Contains(p.args, "--detach") { // such a one leaves its run to another
			return attempt
		}
	}
	return ""
}

// ancestor is a process above this one. It has at least one argument.
type ancestor struct {
	args, env []string
	exe       string
}

func (a ancestor) hocket() bool {
	return filepath.Base(a.args[0]) == "hocket" || filepath.Base(strings.TrimSuffix(a.exe, " (deleted)")) == "hocket"
}

// ByVariables is what of Supervisor the environment alone tells.
func ByVariables(env []string) string {
	for _, m := range markers {
		for _, pair := range env {
			if value, ok := strings.CutPrefix(pair, m.name+"="); ok && value != "" {
				return m.by
			}
		}
	}
	return ""
}

// agentNamed is the CLI agent that a command line starts, if need be through what runs
// its script: node /usr/bin/gemini.
func agentNamed(args []string) string {
	for i, arg := range args {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(arg), ".exe"), ".js")
		if slices.Contains(agents, name) {
			return name
		}
		if i == 0 && !slices.Contains([]string{"node", "bun", "deno", "python3", "python", "sh", "bash"}, name) {
			return ""
		}
		if i > 0 && !strings.HasPrefix(arg, "-") {
			return ""
		}
	}
	return ""
}

// SupervisedError says that a person has to do what a model's process tried.
type SupervisedError struct{ Verb, By string }

func (e *SupervisedError) Error() string {
	return "`hocket " + e.Verb + "` was started by " + e.By + "; " + e.Hint()
}

// Hint says what to do.
func (e *SupervisedError) Hint() string {
	return "only a person may do that: run it yourself, in a terminal of your own"
}
