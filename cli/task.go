package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/agent"
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
	flags.StringVarP(&f.session, "session", "s", "", "go on with the conversation of this `ID`, or of the run with this id")
	complete(cmd, "session", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return a.sessionIDs() })
	flags.StringArrayVarP(&f.inputs, "input", "i", nil, "give an input, as `NAME=VALUE`; may be repeated")
	flags.StringVar(&f.replies, "replies", "", "take what the agent says from a YAML `FILE`, under task")
	f.driveFlags.add(flags)
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
	if f.session != "" {
		said, err := a.findSession(ctx, p.State, f.session)
		if err != nil {
			return err
		}
		f.session = said.ID
		if f.agent == "" {
			f.agent = said.Agent
		}
	}
	w, task, err := oneTask(prompt, f)
	if err != nil {
		return err
	}
	l, err := p.LoadModel(w)
	if err != nil {
		return err
	}
	given := append([]string{promptInput + "=" + prompt}, f.inputs...)
	err = a.start(ctx, p, l, &runFlags{driveFlags: f.driveFlags, limitFlags: f.limitFlags, inputs: given, replies: f.replies, only: task})
	if said := a.session.Load(); said != nil && !f.quiet {
		a.note("to go on with the conversation:\n  " + a.self("task", "PROMPT", "--session", said.ID) + "\n")
	}
	return err
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

// promptInput is the input that holds the prompt: what somebody types is no
// template.
const promptInput = "prompt"

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

// onlyTask is the name of the workflow and of its step.
const onlyTask = "task"

// oneTask is a workflow of one step, and that step.
func oneTask(prompt string, f *taskFlags) (*workflow.Workflow, *workflow.Task, error) {
	title, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	task := &workflow.Task{Agent: f.agent, Prompt: workflow.Template{Text: "${inputs." + promptInput + "}"}}
	if f.session != "" {
		task.Settings = map[string]any{agent.SessionSetting: f.session}
	}
	w := &workflow.Workflow{Name: onlyTask, Inputs: []workflow.Param{{Name: promptInput, Type: workflow.StringType, Required: true}}}
	for _, pair := range f.inputs {
		name, _, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, nil, usagef("write --input name=value", "%q gives no input a value", pair)
		}
		w.Inputs = append(w.Inputs, workflow.Param{Name: name, Required: true})
		task.Inputs = append(task.Inputs, workflow.Binding{Name: name, Value: "${inputs[" + strconv.Quote(name) + "]}"})
	}
	w.Body.Nodes = []workflow.Node{{ID: onlyTask, Title: title, Step: task}}
	return w, task, nil
}
