package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/workflow"
)

// forkFlags are the flags of retry and fork.
type forkFlags struct {
	driveFlags
	limitFlags
	from    string
	comment string
	noRun   bool
}

func (f *forkFlags) add(a *app, cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.from, "from", "", "start again at the step with this `ADDRESS`")
	cmd.Flags().StringVar(&f.comment, "comment", "", "tell the agent of the step this `TEXT`, and what its output was")
	cmd.Flags().BoolVar(&f.noRun, "no-run", false, "create the new run without running it")
	f.driveFlags.add(a, cmd.Flags())
	f.limitFlags.add(cmd.Flags())
	complete(cmd, "from", func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.completeRunThenAddress(cmd, args[:1], typed)
	})
}

func (a *app) retryVerb() *cobra.Command {
	var f forkFlags
	cmd := &cobra.Command{
		Use:   "retry RUN [FLAGS]",
		Short: "Retry the failed steps of a run, in a new run",
		Long: `Start a new run that copies the results of another one, except for the steps that
failed and those that depend on them: these run again. With --from, that step and
what depends on it run again instead. The old run does not change. The new run has
the same limits unless you set others, and the same workflow and agents: if you have
changed those, use "hocket replan RUN --with FILE".`,
		Example: `  hocket retry review-3k7q
  hocket retry review-3k7q --max-steps 500
  hocket retry review-3k7q --from report --comment 'Shorter, and without jargon'
  hocket retry review-3k7q --from 'scan[3]' --detach`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.again(cmd, args[0], &f, func(ctx context.Context, old *hocket.Run, options []hocket.StartOption) (*hocket.Run, error) {
				return old.Retry(ctx, f.from, options...)
			})
		},
	}
	f.add(a, cmd)
	return cmd
}

func (a *app) forkVerb() *cobra.Command {
	var f forkFlags
	var output, prompt string
	cmd := &cobra.Command{
		Use:   "fork RUN --from ADDRESS [FLAGS]",
		Short: "Start a new run from a step of another run",
		Long: `Start a new run that copies another one up to a step, like retry. With --output,
that step does not run: VALUE becomes its output, or the answer of the person, and
the run continues from there. With --prompt, the step runs with another prompt.`,
		Example: `  # What if the judge had decided otherwise?
  hocket fork review-3k7q --from judge --output '{"pass": true}'

  # Have the report written for someone else
  hocket fork review-3k7q --from report --prompt 'Summarize the review for the customer.'

  # Create the run, but do not run it yet
  hocket fork review-3k7q --from report --no-run`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.from == "" {
				return usagef("run `hocket show "+args[0]+"` to list the addresses of its steps", "missing --from ADDRESS")
			}
			var instead *string
			if cmd.Flags().Changed("output") {
				if err := a.onlyPerson("fork --output"); err != nil { // it may answer a question
					return err
				}
				instead = &output
			}
			if cmd.Flags().Changed("prompt") {
				if err := a.onlyPerson("fork --prompt"); err != nil {
					return err
				}
			}
			return a.again(cmd, args[0], &f, func(ctx context.Context, old *hocket.Run, options []hocket.StartOption) (*hocket.Run, error) {
				if cmd.Flags().Changed("prompt") {
					options = append(options, hocket.WithPrompt(prompt))
				}
				return old.Fork(ctx, f.from, instead, options...)
			})
		},
	}
	f.add(a, cmd)
	cmd.Flags().StringVar(&prompt, "prompt", "", "give the step the prompt `TEXT` instead of its own")
	cmd.Flags().StringVar(&output, "output", "", "use `VALUE` as the step's output or answer")
	return cmd
}

// again creates a new run and drives it. Only if it is not driven here does the id go to
// standard output; otherwise the progress shows it.
func (a *app) again(cmd *cobra.Command, id string, f *forkFlags, copied func(ctx context.Context, old *hocket.Run, options []hocket.StartOption) (*hocket.Run, error)) error {
	ctx := cmd.Context()
	if err := f.check(cmd.Flags()); err != nil {
		return err
	}
	if f.limits != (workflow.Limits{}) {
		if err := a.onlyPerson(cmd.Name() + " with other limits"); err != nil {
			return err
		}
	}
	if f.comment != "" {
		if f.from == "" {
			return usagef("run `hocket show "+id+"` to list the addresses of its steps", "--comment needs --from ADDRESS")
		}
		if err := a.onlyPerson(cmd.Name() + " --comment"); err != nil { // the agent takes it as a person's
			return err
		}
	}
	return a.withRun(ctx, id, func(old *hocket.Run) error {
		if !f.noRun {
			if err := old.CheckDrive(ctx, nil); err != nil {
				return err
			}
		}
		sessions, err := a.handoffs()
		if err != nil {
			return err
		}
		info, err := old.Info(ctx)
		if err != nil {
			return err
		}
		options := []hocket.StartOption{hocket.WithLimits(f.limits), sessions.Again(info)}
		if !f.noRun && !f.detach {
			options = append(options, hocket.WithClaim())
		}
		if f.comment != "" {
			options = append(options, hocket.WithComment(f.comment))
		}
		reserved := a.onlyPerson(cmd.Name() + " of a run with a required question")
		if reserved == nil {
			options = append(options, hocket.ByPerson())
		}
		r, err := copied(ctx, old, options)
		if errors.As(err, new(*hocket.RequiresPersonError)) {
			return reserved
		}
		if err != nil {
			return a.notForked(ctx, cmd.Name(), f.from, old, err)
		}
		if f.noRun && handoff.IsSession(info) {
			sessions.Hold(r.ID())
		}
		for _, note := range r.Notes {
			a.note(note + "\n")
		}
		switch {
		case f.noRun:
			err := a.printID(r.ID())
			a.note("to run it: " + a.self("resume", r.ID()) + "\n")
			return err
		case f.detach:
			return a.detach(r.ID(), "")
		}
		return a.resume(ctx, r, "", f.driveFlags)
	})
}

// notForked turns a refusal of the run into a usage error. If the step to start at is the
// problem, it lists the valid ones.
func (a *app) notForked(ctx context.Context, verb, from string, old *hocket.Run, err error) error {
	s, unread := old.State(ctx)
	if unread != nil || !errors.As(err, new(*hocket.RefusedError)) {
		return err
	}
	var steps []string
	for _, step := range s.Result.Steps {
		if step.Status != engine.Skipped {
			steps = append(steps, view.Line(step.Address))
		}
	}
	if len(steps) == 0 || slices.Contains(steps, from) {
		return refused(err)
	}
	if most := 10; len(steps) > most {
		steps = append(steps[:most], "…")
	}
	return usagef("use `"+a.self(verb, old.ID(), "--from", "STEP")+"` with one of these steps: "+strings.Join(steps, ", "), "%v", err)
}

// printID prints the id of a new run.
func (a *app) printID(run string) error {
	if a.json {
		return a.printJSON(map[string]string{"run_id": run})
	}
	return a.print(run + "\n")
}
