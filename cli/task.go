package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/workflow"
)

// taskFlags are the flags of task.
type taskFlags struct {
	driveFlags
	limitFlags
	agent   string
	session string
	inputs  []string
	replies string
}

func (a *app) taskVerb() *cobra.Command {
	var f taskFlags
	cmd := &cobra.Command{
		Use:   "task PROMPT [FLAGS]",
		Short: "Have one agent do one task",
		Long: `Have one agent do one task, as a run with a single step: "hocket show", "logs",
"cancel" and "resume" work on it as on any other run. Without --agent, Hocket picks
the project's default agent, else the only usable one, else the one whose
description matches the task best.

The conversation is kept. To continue it, pass its id, or that of the run, with
--session.

--max-cost and --max-tokens set the budget of the task. If the agent does not
support budgets, the task waits for your approval before it starts.`,
		Example: `  hocket task "Find all REST endpoints" --agent explore
  hocket task "Now document each of them" --session task-a1b2c3d4

  # Name a CLI directly, read the prompt from standard input, pass an input
  hocket task "Explain the build" --agent codex
  hocket task - --agent claude < prompt.md
  hocket task "Review this" --input diff="$(git diff)"

  # Spend at most fifty cents
  hocket task "Find all REST endpoints" --agent explore --max-cost 0.50`,
		Args: argsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd.Flags()); err != nil {
				return err
			}
			return a.task(cmd.Context(), args[0], &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.agent, "agent", "a", "", "the `NAME`, role or capability of the agent")
	complete(cmd, "agent", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.completeAgent(cmd, nil, typed)
	})
	flags.StringVarP(&f.session, "session", "s", "", "continue the conversation with this `ID`, or that of the run with this id")
	complete(cmd, "session", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return a.sessionIDs() })
	flags.StringArrayVarP(&f.inputs, "input", "i", nil, "set an input, as `NAME=VALUE`; can be repeated")
	flags.StringVar(&f.replies, "replies", "", "read the agent's reply from a YAML `FILE`, under the key task")
	f.driveFlags.add(a, flags)
	f.limitFlags.addToTask(flags)
	return cmd
}

func (a *app) task(ctx context.Context, prompt string, f *taskFlags) error {
	prompt, err := a.promptText("prompt", prompt, `hocket task "Find all REST endpoints"`)
	if err != nil {
		return err
	}
	p, err := a.openProject()
	if err != nil {
		return err
	}
	t := hocket.Task{Prompt: prompt, Agent: f.agent}
	if f.session != "" {
		said, err := a.findSession(ctx, f.session)
		if err != nil {
			return err
		}
		t.Session = said.ID
		if t.Agent == "" {
			t.Agent = said.Agent
		}
	}
	for _, pair := range f.inputs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return usagef("use --input NAME=VALUE", "invalid --input %q: no value", pair)
		}
		t.Inputs = append(t.Inputs, workflow.Binding{Name: name, Value: value})
	}
	w, inputs, err := p.LoadTask(t)
	if err != nil {
		return err
	}
	r, err := a.start(ctx, w, &runFlags{driveFlags: f.driveFlags, limitFlags: f.limitFlags, given: inputs, replies: f.replies, advise: adviseTask})
	if r != nil && !f.quiet && !f.detach {
		a.noteSession(context.WithoutCancel(ctx), r)
	}
	return err
}

// noteSession prints how to continue the conversation of a task.
func (a *app) noteSession(ctx context.Context, r *hocket.Run) {
	if said, err := r.Session(ctx); err == nil {
		a.note("to continue the conversation:\n  " + a.self("task", "PROMPT", "--session", said.ID) + "\n")
	}
}

// promptText returns the prompt, or what else it is called, from the command line or from standard input.
func (a *app) promptText(what, prompt, example string) (string, error) {
	if prompt == stdin {
		text, err := a.readStdin()
		if err != nil {
			return "", err
		}
		prompt = string(text)
	}
	if strings.TrimSpace(prompt) == "" {
		return "", usagef("say what to do, such as `"+example+"`", "the %s is empty", what)
	}
	return prompt, nil
}

// adviseTask replaces advice about editing a workflow file, which a task does not have,
// with advice about flags.
func adviseTask(found workflow.Diagnostics) {
	for i := range found {
		switch d := &found[i]; {
		case d.File != "":
		case d.Code == "agent-missing":
			d.Summary = "no agent given"
			if _, candidates, ok := strings.Cut(d.Detail, "; available agents: "); ok {
				d.Detail = "choose one with --agent NAME, or set a default agent in config.yml; available: " + candidates
			}
		case d.Code == "agent-chosen":
			d.Detail = "to use another agent, pass --agent NAME or set a default agent in config.yml"
		}
	}
}
