package shell

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/workflow"
)

// exact reports whether the settings of a task say which command to run. Otherwise a model
// with the tools works from its prompt.
func exact(task *agent.Task) bool {
	_, command := task.Settings["command"]
	_, script := task.Settings["script"]
	return command || script
}

const (
	toolTime    = 2 * time.Minute // default for a command
	maxToolTime = time.Hour
	toolOutput  = 64 << 10 // bytes of a command's output that a model sees
)

// tools returns what a model needs to work with a shell: a tool that runs a command. The
// agent's permissions say which commands; the default is `ask`. A command sees no variable
// of the environment whose name indicates a secret.
func (s *Shell) tools(task *agent.Task) ([]agent.Tool, func(), error) {
	permitted, err := task.Permitted()
	if err != nil {
		return nil, nil, err
	}
	none := func() {}
	if permitted.Never(agent.MayRun) {
		return nil, none, nil
	}
	typist := &typist{shell: newShell(secret.Unsecret(s.env, s.secret...), s.secret, s.grace), permitted: permitted}
	text := func(about string) map[string]any { return map[string]any{"type": "string", "description": about} }
	return []agent.Tool{{
		Name:        "shell",
		Description: "Runs a command in the project and returns its output and exit status. It is not interactive; background processes end with it.",
		Input: map[string]any{
			"type": "object", "additionalProperties": false, "required": []any{"command"},
			"properties": map[string]any{
				"command": map[string]any{
					"description": "A script for sh -c, or a list: a program with its arguments, run without a shell.",
					"type":        []any{"string", "array"}, "items": map[string]any{"type": "string"}, "minItems": 1, "minLength": 1,
				},
				"dir":             text("Directory to run in, relative to the project. Default: the project."),
				"stdin":           text("Text for standard input."),
				"timeout_seconds": map[string]any{"type": "integer", "minimum": 1, "maximum": int(maxToolTime.Seconds()), "description": "Timeout in seconds. Default: 120."},
			},
		},
		Call: typist.run,
	}}, none, nil
}

// typist runs the commands of a model.
type typist struct {
	shell     *Shell
	permitted agent.Permissions
	calls     atomic.Int64
}

type typed struct {
	Command command     `json:"command"`
	Dir     string      `json:"dir"`
	Stdin   *agent.Text `json:"stdin"`
	Seconds int64       `json:"timeout_seconds"`
}

// around describes a command with everything that decides what it does: "sh" does what it
// reads.
func (in *typed) around(line string) string {
	if in.Dir != "" {
		line += "\n\nin " + in.Dir
	}
	if in.Stdin != nil && *in.Stdin != "" {
		line += "\n\nwith the input:\n" + string(*in.Stdin)
	}
	return line
}

func (t *typist) run(ctx context.Context, args map[string]any, task *agent.Task, log agent.Log) (string, error) {
	var in typed
	if err := agent.DecodeArguments(args, &in); err != nil {
		return "", err
	}
	permission, line := t.permitted.ForCommand(in.Command.text), in.Command.text
	if in.Command.argv != nil {
		line = strings.Join(texts(in.Command.argv), " ")
		permission = t.permitted.For(agent.MayRun, line)
		line = fmt.Sprintf("%q", texts(in.Command.argv)) // so that a person sees where an argument ends
	}
	if strings.TrimSpace(strings.Join(texts(in.Command.argv), "")+in.Command.text) == "" {
		return "", errors.New("the command is empty")
	}
	if err := task.Permit(ctx, permission, agent.MayRun, in.around(line)); err != nil {
		return "", err
	}
	cmd, err := t.shell.command(task, &settings{Command: in.Command, Dir: in.Dir})
	if err != nil {
		return "", err
	}
	limit, err := task.Limit()
	if err != nil {
		return "", err
	}
	patience := toolTime
	if in.Seconds > 0 {
		patience = min(time.Duration(in.Seconds)*time.Second, maxToolTime)
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// Leftover processes of a command are found by its key, so commands that run at the
	// same time have different ones.
	key := fmt.Sprintf("%s#shell%d", task.Key, t.calls.Add(1))
	out := &middle{log: log}
	stdin := ""
	if in.Stdin != nil {
		stdin = string(*in.Stdin)
	}
	err = (&process.Command{Cmd: cmd, Key: key, Grace: t.shell.grace, Limit: limit}).Run(within, stdin, out.add, out.add)
	return t.told(ctx, within, cmd, out, patience, err)
}

// told returns what the model sees. A failed command is a result like any other.
func (t *typist) told(ctx, within context.Context, cmd *exec.Cmd, out *middle, patience time.Duration, err error) (string, error) {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", agent.Interrupted(ctx)
	case within.Err() != nil:
		return out.with(fmt.Sprintf("timed out after %s", workflow.FormatDuration(patience))), nil //nolint:nilerr // how it ended is what the model is told
	case errors.As(err, &exit):
		return out.with(exit.String()), nil
	case err != nil:
		return "", failure(ctx, cmd, &capture{}, err)
	}
	return out.with("exit status 0"), nil
}

// middle keeps the beginning and the end of a command's output: the middle of a long output
// matters least. It is safe for concurrent use.
type middle struct {
	log agent.Log

	mu          sync.Mutex
	first, last []byte
	lost        int
}

func (m *middle) add(piece []byte) error {
	m.log(piece)
	m.mu.Lock()
	defer m.mu.Unlock()
	n := min(len(piece), toolOutput/4-len(m.first))
	m.first = append(m.first, piece[:n]...)
	m.last = append(m.last, piece[n:]...)
	if over := len(m.last) - toolOutput; over > 0 { // rarely, so that it costs little
		over += toolOutput / 4
		m.lost += over
		m.last = append(m.last[:0], m.last[over:]...)
	}
	return nil
}

// with returns what was printed, and how it ended.
func (m *middle) with(end string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := string(m.first)
	if m.lost > 0 {
		text += fmt.Sprintf("\n(%d bytes omitted)\n", m.lost)
	}
	text = strings.TrimRight(strings.ToValidUTF8(text+string(m.last), "\uFFFD"), "\r\n")
	if text == "" {
		return end
	}
	return text + "\n" + end
}
