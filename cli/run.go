package cli

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/workflow"
)

// runFlags are the flags of run.
type runFlags struct {
	driveFlags
	limitFlags
	inputs  []string
	file    string
	replies string
	given   map[string]any // inputs that do not come from flags
	advise  func(workflow.Diagnostics)
	others  []string // keys of the replies that are for something else
}

func (a *app) runVerb() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FILE|NAME [FLAGS]",
		Short: "Run a workflow",
		Long: `Check a workflow, then run it until it ends, or until it has to wait for a person
or a budget. Every step is recorded: after a crash or Ctrl-C, continue with
"hocket resume". Questions to people are asked in the terminal, if there is one.

The output of the workflow goes to standard output, progress to standard error.
The exit code is 0 for success or partial success, 1 if the run failed, 2 if the
workflow is invalid, 3 if the run is waiting, and 130 if it was interrupted.`,
		Example: `  hocket run review.yml --input target=src/auth.py
  hocket run hello

  # Dry run without a model: agents and people answer from a file
  hocket run review.yml --replies replies.yml

  # Run in the background with a budget of $2.50
  hocket run review.yml --inputs inputs.yml --max-cost 2.50 --detach

  # Print only the output, in a script
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
	flags.StringArrayVarP(&f.inputs, "input", "i", nil, "set an input, as `NAME=VALUE`; can be repeated")
	flags.StringVar(&f.file, "inputs", "", "read inputs from a YAML or JSON `FILE`")
	flags.StringVar(&f.replies, "replies", "", "read the replies of agents and people from a YAML `FILE`")
	f.driveFlags.add(a, flags)
	f.limitFlags.add(flags)
	return cmd
}

func (a *app) run(ctx context.Context, name string, f *runFlags) error {
	w, err := a.load(name)
	if err != nil {
		return err
	}
	_, err = a.start(ctx, w, f)
	return err
}

// start checks a workflow, records a new run and drives it.
func (a *app) start(ctx context.Context, w *hocket.Workflow, f *runFlags) (*hocket.Run, error) {
	replies, err := a.readReplies(f.replies)
	if err != nil {
		return nil, err
	}
	w = w.WithLimits(f.limits)
	inputs, err := a.checked(w, replies, f)
	if err != nil {
		return nil, err
	}
	p, err := a.openProject()
	if err != nil {
		return nil, err
	}
	options := []hocket.StartOption{hocket.WithReplies(replies)}
	if !f.detach {
		options = append(options, hocket.WithClaim())
	}
	r, err := p.Record(ctx, w, inputs, options...)
	if unapproved := (*hocket.UnapprovedError)(nil); errors.As(err, &unapproved) {
		approved, wrong := a.offer(ctx, unapproved)
		if wrong != nil {
			return nil, wrong
		}
		if approved {
			r, err = p.Record(ctx, w, inputs, options...)
		}
	}
	if err != nil {
		return nil, a.nearSecret(err)
	}
	for _, note := range r.Notes {
		if !f.quiet {
			a.note(note + "\n")
		}
	}
	if f.detach {
		return r, a.detach(r.ID(), "")
	}
	return r, a.drive(ctx, &drive{run: r, bundle: w.Bundle(), replies: replies}, f.driveFlags)
}

// checked checks everything that goes into a run: the workflow, the replies and the
// inputs. It shows warnings, and fails on errors only.
func (a *app) checked(w *hocket.Workflow, replies *hocket.Replies, f *runFlags) (map[string]any, error) {
	found := w.Check(replies)
	if f.advise != nil {
		f.advise(found)
	}
	if w.Model() == nil || found.Errors() {
		return nil, &diagnosticsError{found}
	}
	given := inputFile{values: f.given}
	if f.file != "" {
		var err error
		if given, err = a.readInputFile(a.path(f.file)); err != nil {
			return nil, err
		}
	}
	if err := onceEach(f.inputs); err != nil {
		return nil, err
	}
	inputs, wrong := w.Inputs(given.values, f.inputs)
	if wrong.Errors() {
		return nil, &diagnosticsError{given.place(wrong, w)}
	}
	if replies != nil {
		unfit, err := checkReplies(replies, w.Bundle(), a.path(f.replies))
		if err != nil {
			return nil, err
		}
		unfit = slices.DeleteFunc(unfit, func(d workflow.Diagnostic) bool {
			return slices.ContainsFunc(f.others, func(key string) bool { return strings.Contains(d.Summary, strconv.Quote(key)) })
		})
		a.note(a.showDiagnostics(unfit, a.errStyle)) // even with --quiet
	}
	if !f.quiet {
		a.note(a.showDiagnostics(append(aboutRun(found), wrong...), a.errStyle))
	}
	return inputs, nil
}

// aboutRun returns the diagnostics without the notes about the file, which check shows: a run
// would repeat them every time. Which agent was chosen may differ from run to run.
func aboutRun(found workflow.Diagnostics) workflow.Diagnostics {
	return slices.DeleteFunc(slices.Clone(found), func(d workflow.Diagnostic) bool {
		return d.Severity == workflow.Note && d.Code != "agent-chosen"
	})
}

// readReplies reads a file of replies. It returns nil if file is "".
func (a *app) readReplies(file string) (*hocket.Replies, error) {
	if file == "" {
		return nil, nil
	}
	file = a.path(file)
	text, err := a.readNamed(file)
	if err != nil {
		return nil, usagef("--replies takes a YAML file with one reply per node, such as `review: fine`", "%v", err)
	}
	replies, found := hocket.ReadReplies(file, text)
	if found.Errors() {
		return nil, &diagnosticsError{found}
	}
	return replies, nil
}

// checkReplies checks replies against a workflow, and returns the warnings.
func checkReplies(replies *hocket.Replies, b *workflow.Bundle, file string) (workflow.Diagnostics, error) {
	found := hocket.CheckReplies(replies, b, file)
	if found.Errors() {
		return nil, &diagnosticsError{found}
	}
	return found, nil
}
