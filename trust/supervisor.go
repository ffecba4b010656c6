package trust

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/process"
)

// Only people may answer, approve and trust. A step that answers a question of its own run,
// or an agent that approves what it wrote, is detected by the variables that Hocket and CLI
// agents set for child processes, and by the ancestors of this process.

// markers are variables that CLI agents set for their child processes.
var markers = []struct{ name, by string }{
	{"HOCKET_KEY", attempt},
	{"HOCKET_RUN", attempt},
	{process.DepthVariable, attempt},
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

// attempt is the name of the supervisor of a step.
const attempt = "an attempt of a run"

// lowered is what has started a process whose mark tells nothing any more: a step, as far as is known.
const lowered = "a process whose limit of file locks is so low that a step may have set it to hide (`ulimit -Hx`)"

// Supervisor returns the name of the agent or run that started this process, directly or
// indirectly, "" if there is none. env is the environment of this process. Ancestors and the
// mark that processes of an attempt inherit, see [process.Mark], are checked only on Linux;
// elsewhere the environment alone decides. A descendant of a hocket process is always a step, a
// tool or a server.
func Supervisor(env []string) string {
	return supervisor(env, process.Depth(), ancestors(os.Getppid()))
}

// SupervisorOf is Supervisor for another process of this user, on Linux. Elsewhere it knows nothing. A
// process that cannot be read, for instance because it has ended, counts as supervised.
func SupervisorOf(pid int) string {
	if runtime.GOOS != "linux" {
		return ""
	}
	line := ancestors(pid)
	depth, known := process.DepthOf(pid)
	if len(line) == 0 || line[0].exe == "" || !known {
		return "an unknown process"
	}
	return supervisor(line[0].env, depth, line[1:])
}

func supervisor(env []string, depth int, above []Process) string {
	if by := ByVariables(env); by != "" {
		return by
	}
	if depth == process.Lowered {
		return lowered
	}
	if depth > 0 {
		return attempt
	}
	for _, p := range above {
		if by := ByVariables(p.env); by != "" {
			return by
		}
		if by := agentNamed(p.args); by != "" {
			return by
		}
		if p.drives() { // otherwise its run is driven by another process
			return attempt
		}
	}
	return ""
}

// Process is this process or an ancestor of it.
type Process struct {
	PID       int
	args, env []string // it has at least one argument
	exe       string
}

// Lineage returns this process, followed by its ancestors, nearest first. They are known only on
// Linux.
func Lineage() []Process {
	return append([]Process{{PID: os.Getpid(), args: os.Args, env: os.Environ()}}, ancestors(os.Getppid())...)
}

// Variable returns an environment variable that the process was started with. A process can start
// itself again with other variables.
func (p Process) Variable(name string) (value string) {
	for _, pair := range p.env {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			value = v // the last one counts
		}
	}
	return value
}

func (p Process) hocket() bool {
	return slices.Contains(programs, filepath.Base(p.args[0])) || slices.Contains(programs, filepath.Base(strings.TrimSuffix(p.exe, " (deleted)")))
}

// programs are the programs of this project, which drive runs.
var programs = []string{"hocket", "hocket-temporal"}

// Depth returns how many hocket processes with an attempt are above this process. It is at least
// as high as what the mark of an attempt, the environment and the ancestors say.
func Depth() int {
	above := 0
	for _, p := range ancestors(os.Getppid()) {
		if p.drives() {
			above++
		}
	}
	return max(above, process.Depth())
}

// drives reports whether a process is a hocket with attempts.
func (p Process) drives() bool { return p.hocket() && !slices.Contains(p.args, "--detach") }

// ByVariables is Supervisor based on the environment alone.
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

// agentNamed returns the CLI agent that a command line starts, possibly with an
// interpreter: node /usr/bin/gemini.
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

// SupervisedError reports that an agent ran a command that is reserved for people.
type SupervisedError struct{ Verb, By string }

func (e *SupervisedError) Error() string {
	return "`hocket " + e.Verb + "` is reserved for people, but was started by " + e.By + "; " + e.Hint()
}

// Hint returns what to do about it.
func (e *SupervisedError) Hint() string {
	return "run it yourself, in your own terminal"
}
