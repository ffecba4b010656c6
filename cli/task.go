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
		Short: "have one agent do one task",
		Long: `Have one agent do one task: a run of a workflow with a single step. It is recorded
like any other, so show, logs, cancel and resume work on it. Without --agent the
project's default agent does it, else the only one that can, else the one whose
description fits.

The conversation is kept. With --session the next task goes on with it; the id of
the run will do as well.

--max-cost and --max-tokens are the budget of the task, where its agent can be held
to one. One that cannot says so, and waits before it begins.`,
		Example: `  hocket task "Find all REST endpoints" --agent explore
  hocket task "Now document each of them" --session task-a1b2c3d4

  # a CLI by its own name; a prompt from standard input; a file as an input
  hocket task "Explain the build" --agent codex
  hocket task - --agent claude < prompt.md
  hocket task "Review this" --input diff="$(git diff)"

  # at most fifty cents
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
	flags.StringVarP(&f.agent, "agent", "a", "", "the `NAME` of the agent, its role or what it can do")
	complete(cmd, "agent", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.completeAgent(cmd, nil, typed)
	})
	flags.StringVarP(&f.session, "session", "s", "", "go on with the conversation of this `ID`, or of the run with this id")
	complete(cmd, "session", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return a.sessionIDs() })
	flags.StringArrayVarP(&f.inputs, "input", "i", nil, "give an input, as `NAME=VALUE`; may be repeated")
	flags.StringVar(&f.replies, "replies", "", "take what the agent says from a YAML `FILE`, under task")
	f.driveFlags.add(a, flags)
	f.limitFlags.addToTask(flags)
	return cmd
}

func (a *app) task(ctx context.Context, prompt string, f *taskFlags) error {
	prompt, err := a.promptText(prompt)
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
			return usagef("write --input name=value", "%q gives no input a value", pair)
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

// noteSession says how to continue the conversation of a task.
func (a *app) noteSession(ctx context.Context, r *hocket.Run) {
	if said, err := r.Session(ctx); err == nil {
		a.note("to go on with the conversation:\n  " + a.self("task", "PROMPT", "--session", said.ID) + "\n")
	}
}

// promptText is the prompt on the command line, or on standard input.
func (a *app) promptText(prompt string) (string, error) {
	if prompt == stdin {
		text, err := a.readStdin()
		if err != nil {
			return "", err
		}
		prompt = string(text)
	}
	if strings.TrimSpace(prompt) == "" {
		return "", usagef("say what to do: hocket task \"Find all REST endpoints\"", "the task is empty")
	}
	return prompt, nil
}

// adviseTask says what to do on the command line: there is no file to edit.
func adviseTask(found workflow.Diagnostics) {
	for i := range found {
		switch d := &found[i]; {
		case d.File != "":
		case d.Code == "agent-missing":
			d.Summary = "no agent is named"
			if _, candidates, ok := strings.Cut(d.Detail, "; there are: "); ok {
				d.Detail = "name one with --agent NAME, or set a default agent in config.yml; there are: " + candidates
			}
		case d.Code == "agent-chosen":
			d.Detail = "name another with --agent NAME, or set a default agent in config.yml, if that is wrong"
		}
	}
}
