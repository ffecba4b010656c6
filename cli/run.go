package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/workflow"
)

// runFlags are the flags of run.
type runFlags struct {
	driveFlags
	limitFlags
	inputs  []string
	file    string
	replies string
	only    *workflow.Task // the run is this task alone; nil: it is a workflow
}

func (a *app) runVerb() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FILE|NAME [FLAGS]",
		Short: "check a workflow, then run it to its end or to where it waits",
		Long: `Check a workflow, then run it to its end, or to where it waits for a person or a
budget. Every step is recorded before it counts: after a crash or Ctrl-C,
hocket resume goes on. In a terminal, questions to people are asked there.

The output of the workflow goes to standard output, progress to standard error.
The exit code is 0 for success and partial, 1 for a failed run, 2 for an invalid
workflow, 3 for a run that waits, 130 after an interruption.`,
		Example: `  hocket run review.yml --input target=src/auth.py
  hocket run hello

  # try it without any model: agents and people answer from a file
  hocket run review.yml --replies replies.yml

  # in the background, with a bound on what it may cost
  hocket run review.yml --inputs inputs.yml --max-cost 2.50 --detach

  # for a script
  hocket run review.yml --json | jq -r .output`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeWorkflow,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd.Flags()); err != nil {
				return err
			}
			return a.run(cmd.Context(), args[0], &f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.inputs, "input", "i", nil, "give an input, as `NAME=VALUE`; may be repeated")
	flags.StringVar(&f.file, "inputs", "", "take inputs from a YAML or JSON `FILE`")
	flags.StringVar(&f.replies, "replies", "", "take what agents and people say from a YAML `FILE`")
	f.driveFlags.add(flags)
	f.limitFlags.add(flags)
	return cmd
}

func (a *app) run(ctx context.Context, name string, f *runFlags) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	l, err := a.loadFrom(p, name)
	if err != nil {
		return err
	}
	return a.start(ctx, p, l, f)
}

// start checks a workflow and drives a new run of it.
func (a *app) start(ctx context.Context, p *project.Project, l *project.Loaded, f *runFlags) error {
	replies, err := a.readReplies(f.replies)
	if err != nil {
		return err
	}
	inputs, err := a.checked(l, replies, f)
	if err != nil {
		return err
	}
	if err := a.refuseExposed(p); err != nil {
		return err
	}
	if a.state == "" {
		if err := needState(p); err != nil {
			return err
		}
	}
	store, err := journal.Open(p.State, journal.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	spec := newSpec(p, l, replies, inputs, check.Override(l.Limits, f.limits))
	if f.only != nil && (replies == nil || !replies.CoversTask(onlyTask)) {
		a.holdToLimits(&spec, f.only, p.Agents)
	}
	if f.detach {
		return a.detachNew(store, spec)
	}
	d := &drive{id: spec.Run, store: store, pin: spec.Pin, agents: p.Agents, place: a.newWorkplace(p), replies: replies}
	return a.drive(ctx, d, f.driveFlags, func(ctx context.Context, runs driver.Driver, w driver.Work) (engine.Result, error) {
		spec.Owner = driver.Owner{By: userName(), Via: "cli", Claim: spec.Run} // this process drives it
		if _, err := runs.Start(ctx, spec); err != nil {
			return engine.Result{}, err
		}
		return runs.Drive(ctx, spec.Run, w)
	})
}

// checked checks everything that a run is made of: the workflow, the replies and
// the inputs. Warnings are shown and do not stop it.
func (a *app) checked(l *project.Loaded, replies *scripted.Replies, f *runFlags) (map[string]any, error) {
	found := l.Check(repliedBy(replies))
	if f.only != nil {
		adviseTask(found)
	}
	if l.Bundle.Root == nil || found.Errors() {
		return nil, &diagnosticsError{found}
	}
	var given inputFile
	if f.file != "" {
		var err error
		if given, err = readInputFile(a.path(f.file)); err != nil {
			return nil, err
		}
	}
	if err := onceEach(f.inputs); err != nil {
		return nil, err
	}
	inputs, wrong := l.Inputs(given.values, f.inputs)
	if wrong.Errors() {
		return nil, &diagnosticsError{given.place(wrong, l)}
	}
	if err := a.refuseSecrets(inputs); err != nil {
		return nil, err
	}
	if replies != nil {
		unfit, err := checkReplies(replies, &l.Bundle, a.path(f.replies))
		if err != nil {
			return nil, err
		}
		a.note(a.showDiagnostics(unfit, a.errStyle)) // also where progress is not wanted
	}
	if !f.quiet {
		a.note(a.showDiagnostics(append(found, wrong...), a.errStyle))
	}
	return inputs, nil
}

// readReplies reads a file of replies; nil without one.
func (a *app) readReplies(file string) (*scripted.Replies, error) {
	if file == "" {
		return nil, nil
	}
	file = a.path(file)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("--replies names a YAML file with what nodes answer, such as `review: fine`", "%v", err)
	}
	replies, found := scripted.Parse(file, text)
	if found.Errors() {
		return nil, &diagnosticsError{found}
	}
	return replies, nil
}

// repliedBy says which nodes need no agent.
func repliedBy(replies *scripted.Replies) func(w *workflow.Workflow, node string) bool {
	if replies == nil {
		return nil
	}
	return func(_ *workflow.Workflow, node string) bool { return replies.CoversTask(node) }
}

// checkReplies finds what is wrong with replies for a workflow: answers that no
// question takes are errors, keys that fit nothing are warnings.
func checkReplies(replies *scripted.Replies, b *workflow.Bundle, file string) (workflow.Diagnostics, error) {
	found := append(replies.Problems(b), strangers(replies, b, file)...)
	if found.Errors() {
		return nil, &diagnosticsError{found}
	}
	return found, nil
}

// strangers warns of replies that no node will ever give.
func strangers(replies *scripted.Replies, b *workflow.Bundle, file string) workflow.Diagnostics {
	var names []string
	for _, w := range check.Workflows(*b) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { names = append(names, n.ID) })
	}
	var found workflow.Diagnostics
	for _, key := range replies.Strangers(b) {
		found = append(found, workflow.Warningf(workflow.Pos{File: file}, "reply-unused", workflow.DidYouMean(key, names), "no task and no question is called %q", key))
	}
	return found
}

// newSpec pins everything that the run depends on.
func newSpec(p *project.Project, l *project.Loaded, replies *scripted.Replies, inputs map[string]any, limits workflow.Limits) driver.Spec {
	pin := &journal.Pin{Bundle: &l.Bundle, Sources: map[string]string{}, Agents: p.Agents.Encode(), Dir: p.Root}
	for file, text := range p.Sources {
		pin.Sources[file] = string(text)
	}
	if replies != nil {
		pin.Replies = replies.Encode()
	}
	return driver.Spec{
		Run: local.NewID(l.Bundle.Root.Name), Pin: pin, Inputs: inputs, Limits: limits,
		Tasks: taskFacts(l.Bundle, p.Agents, replies, limits),
	}
}
