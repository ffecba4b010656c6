package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/workflow"
)

// act is a verb that records something in a run and returns, or drives on.
type act struct {
	driveFlags
	resume bool
	record func(ctx context.Context, r *hocket.Run) (hocket.Receipt, error)
	done   string // what is said when it was recorded
	driver string // what another process does then that drives the run
}

func (a *app) actOn(cmd *cobra.Command, id string, v act) error {
	ctx := cmd.Context()
	return a.withRun(ctx, id, func(r *hocket.Run) error {
		receipt, err := v.record(ctx, r)
		if err != nil {
			return refused(err)
		}
		if v.resume && !receipt.Driven {
			return a.resume(ctx, r, "", v.driveFlags)
		}
		return a.acknowledge(r.ID(), v, receipt)
	})
}

// refused makes an event that the run does not take a mistake of the caller.
func refused(err error) error {
	var no *hocket.RefusedError
	if errors.As(err, &no) {
		return usagef("it was not recorded", "%v", err)
	}
	return err
}

// acknowledgement is answer, cancel and raise with --json.
type acknowledgement struct {
	RunID  string `json:"run_id"`
	Driven bool   `json:"driven"`           // another process goes on with the run
	Status string `json:"status,omitempty"` // of a run that nobody drives
	Note   string `json:"note,omitempty"`   // what may be left of it
}

func (a *app) acknowledge(run string, v act, receipt hocket.Receipt) error {
	if a.json {
		return a.printJSON(acknowledgement{run, receipt.Driven, string(receipt.Status), receipt.Note})
	}
	text := v.done + "\n"
	if receipt.Note != "" {
		text += receipt.Note + "\n"
	}
	switch {
	case receipt.Driven:
		text += "another process drives the run and " + v.driver + "\n"
	case !receipt.Status.Done():
		text += "to go on: " + a.self("resume", run) + "\n"
	}
	a.note(text)
	return nil
}

func (v *act) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&v.resume, "resume", false, "go on with the run")
	cmd.Flags().BoolVarP(&v.quiet, "quiet", "q", false, "with --resume: show no progress")
	cmd.Flags().BoolVar(&v.plain, "plain", false, "with --resume: show progress as lines, also in a terminal")
}

func (a *app) answerVerb() *cobra.Command {
	var v act
	var comment string
	cmd := &cobra.Command{
		Use:   "answer RUN ADDRESS VALUE [FLAGS]",
		Short: "answer a question that a run asks",
		Long: `Answer a question that a run asks; hocket show lists them. A process that drives
the run goes on by itself; else hocket resume does, or this command with --resume.
An answer that is not offered changes nothing; the exit code is then 2.

What an agent asks while it works has a name of its own: review@2 is the second
question of the step review. The address of the step will do while it asks only one.`,
		Example: `  hocket answer release-3k7q approve yes
  hocket answer release-3k7q approve yes --resume

  # what an agent asks while it works
  hocket answer release-3k7q review@2 allow

  # one of several instances of a question
  hocket answer release-3k7q 'review#2/approve[0]' reject`,
		Args:              argsBetween(3, 3),
		ValidArgsFunction: a.completeAnswer,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.onlyPerson("answer"); err != nil {
				return err
			}
			v.record = func(ctx context.Context, r *hocket.Run) (hocket.Receipt, error) {
				return r.Answer(ctx, args[1], hocket.Answer{Value: args[2], Comment: comment})
			}
			v.done, v.driver = "answered", "goes on with it"
			return a.actOn(cmd, args[0], v)
		},
	}
	cmd.Flags().StringVar(&comment, "comment", "", "record `TEXT` with the answer")
	v.flags(cmd)
	return cmd
}

// completeAnswer offers runs, then their open questions, then the options.
func (a *app) completeAnswer(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeRunThat(cmd, args, func(r hocket.Info) bool { return r.Open > 0 && !r.Status.Done() })
	}
	return a.addresses(cmd.Context(), args[0], func(s *hocket.State) []string {
		var list []string
		for _, q := range s.Questions {
			switch {
			case len(args) == 1:
				list = append(list, q.ID+"\t"+view.Style{}.Cut(view.Line(shownText(&q.Question)), 80))
			case len(args) == 2 && args[1] == q.ID:
				for _, o := range q.Options {
					list = append(list, o.Value)
				}
			}
		}
		return list
	})
}

func (a *app) cancelVerb() *cobra.Command {
	var v act
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel RUN [FLAGS]",
		Short: "end a run and everything that it has under way",
		Long: `End a run. Everything that is under way is ended too, with every process that it
started, also where another process drives the run, or did and has died.`,
		Example: `  hocket cancel review-3k7q
  hocket cancel review-3k7q --reason "wrong branch"`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			v.record = func(ctx context.Context, r *hocket.Run) (hocket.Receipt, error) { return r.Cancel(ctx, reason) }
			v.done, v.driver = "cancelled", "ends it"
			return a.actOn(cmd, args[0], v)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "keep `TEXT` with the run")
	v.flags(cmd)
	return cmd
}

func (a *app) raiseVerb() *cobra.Command {
	var v act
	var limits limitFlags
	cmd := &cobra.Command{
		Use:   "raise RUN [FLAGS]",
		Short: "raise the limits of a run",
		Long: `Set limits of a run anew, so that a run that waits for a budget can go on. A step
that waits because nobody knows what it may cost goes on with any raise. A run
that has ended at a limit goes on with hocket retry, which takes the same flags.`,
		Example: `  hocket raise review-3k7q --max-cost 5
  hocket raise review-3k7q --max-steps 500 --max-runtime 2h --resume`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(a.onlyPerson("raise"), limits.check(cmd.Flags())); err != nil {
				return err
			}
			if limits.limits == (workflow.Limits{}) {
				return usagef("such as --max-cost 5", "raise needs at least one limit")
			}
			v.record = func(ctx context.Context, r *hocket.Run) (hocket.Receipt, error) {
				receipt, err := r.Raise(ctx, limits.limits)
				if over := a.overBeforeRaise(ctx, r, cmd.Flags()); err != nil && over != nil {
					return receipt, over
				}
				return receipt, err
			}
			v.done, v.driver = "raised", "goes on with it"
			return a.actOn(cmd, args[0], v)
		},
	}
	limits.add(cmd.Flags())
	v.flags(cmd)
	return cmd
}

// overBeforeRaise says how to go on with a run that is over, with the limits that were
// to be raised; nil: it is not over.
func (a *app) overBeforeRaise(ctx context.Context, r *hocket.Run, flags *pflag.FlagSet) error {
	s, err := r.State(ctx)
	if err != nil || !s.Result.Status.Done() {
		return nil
	}
	retry := []string{"retry", r.ID()}
	if len(hocket.FailedSteps(&s.Result)) == 0 {
		retry = append(retry, "--from", "STEP")
	}
	flags.Visit(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Name, "max-") {
			retry = append(retry, "--"+f.Name, f.Value.String())
		}
	})
	return usagef("go on in a new run: `"+a.self(retry...)+"`", "run %s is over, so its limits cannot be raised", r.ID())
}
