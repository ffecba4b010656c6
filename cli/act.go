package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/server"
	"github.com/hocket-dev/hocket/workflow"
)

// act is a command that records something in a run, and then may resume the run.
type act struct {
	driveFlags
	resume bool
	record func(ctx context.Context, r *hocket.Run) (hocket.Receipt, error)
	done   string // printed once it is recorded
	driver string // what another process that drives the run then does
}

func (a *app) actOn(cmd *cobra.Command, id string, v *act) error {
	ctx := cmd.Context()
	return a.withRun(ctx, id, func(r *hocket.Run) error {
		receipt, err := v.record(ctx, r)
		if err != nil {
			return refused(err)
		}
		if v.resume && (!receipt.Driven || r.OnWorkers()) { // then it only follows the run
			err := a.resume(ctx, r, "", v.driveFlags)
			if errors.As(err, new(*hocket.UnapprovedError)) {
				a.note(v.done + ": this is recorded, but the run cannot continue\n")
			}
			return err
		}
		info, err := r.Info(ctx)
		if err != nil {
			return err
		}
		_, served := info.Owner.Labels[server.ServedLabel]
		return a.acknowledge(info, *v, receipt, served)
	})
}

// refused turns an event that the run refuses into a usage error.
func refused(err error) error {
	var no *hocket.RefusedError
	if errors.As(err, &no) {
		return usagef("nothing was recorded", "%v", err)
	}
	return err
}

// acknowledgement is answer, cancel and raise with --json.
type acknowledgement struct {
	RunID  string `json:"run_id"`
	Driven bool   `json:"driven"`           // another process drives the run
	Status string `json:"status,omitempty"` // of a run that no process drives
	Note   string `json:"note,omitempty"`   // what may be left behind
}

func (a *app) acknowledge(info hocket.Info, v act, receipt hocket.Receipt, served bool) error {
	if a.json {
		return a.printJSON(acknowledgement{info.ID, receipt.Driven, string(receipt.Status), receipt.Note})
	}
	text := v.done + "\n"
	if receipt.Note != "" {
		text += receipt.Note + "\n"
	}
	switch {
	case receipt.Driven:
		text += "another process is driving the run and " + v.driver + "\n"
	case receipt.Status.Done():
	case served && !info.Workers:
		text += "`hocket serve` continues the run; without it: " + a.self("resume", info.ID) + "\n"
	default:
		text += a.continuing(info) + "\n"
	}
	a.note(text)
	return nil
}

func (v *act) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&v.resume, "resume", false, "resume the run")
	cmd.Flags().BoolVarP(&v.quiet, "quiet", "q", false, "with --resume: do not show progress")
	cmd.Flags().BoolVar(&v.plain, "plain", false, "with --resume: show progress as plain lines, even in a terminal")
}

func (a *app) answerVerb() *cobra.Command {
	var v act
	var answer hocket.Answer
	cmd := &cobra.Command{
		Use:   "answer RUN ADDRESS VALUE [FLAGS]",
		Short: "Answer a question of a run",
		Long: `Answer an open question of a run; "hocket show" lists them. If a process is driving
the run, it continues at once. Otherwise continue with "hocket resume", or pass
--resume. An answer that is not among the options is rejected with exit code 2.

A question that an agent asks while it works has its own id: review@2 is the second
question of the step review. If the step has only one open question, its address
is enough.

The question whether a change may land ends with a hash of that change. With --change,
the answer is valid only for it; without, "land" is refused if the question has come
again with another change.`,
		Example: `  hocket answer release-3k7q approve yes
  hocket answer release-3k7q approve yes --resume

  # A question that an agent asks while it works
  hocket answer release-3k7q review@2 allow

  # One of several instances of a question
  hocket answer release-3k7q 'review#2/approve[0]' reject

  # Land exactly the change that was shown
  hocket answer release-3k7q ship land --change 8e5c2f52`,
		Args:              argsBetween(3, 3),
		ValidArgsFunction: a.completeAnswer,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.onlyPerson("answer"); err != nil {
				return err
			}
			v.record = func(ctx context.Context, r *hocket.Run) (hocket.Receipt, error) {
				answer.Value = args[2]
				return r.Answer(ctx, args[1], answer)
			}
			v.done, v.driver = "answered", "continues with it"
			return a.actOn(cmd, args[0], &v)
		},
	}
	cmd.Flags().StringVar(&answer.Comment, "comment", "", "store `TEXT` with the answer")
	cmd.Flags().StringVar(&answer.Change, "change", "", "answer only if the change that would land has this `HASH`, or its beginning")
	v.flags(cmd)
	return cmd
}

// completeAnswer completes runs, then their open questions, then the options.
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
		Short: "Cancel a run",
		Long: `Cancel a run and stop all its running steps, with every process that they started.
This also works if another process is driving the run, or was and has crashed.`,
		Example: `  hocket cancel review-3k7q
  hocket cancel review-3k7q --reason "wrong branch"`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			v.done, v.driver = "cancelled", "stops it"
			v.record = func(ctx context.Context, r *hocket.Run) (hocket.Receipt, error) {
				receipt, err := r.Cancel(ctx, reason)
				if receipt.Status.Done() && receipt.Status != engine.Cancelled { // only its landing was left
					v.done = "the run had ended: " + string(receipt.Status)
				}
				return receipt, err
			}
			return a.actOn(cmd, args[0], &v)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "store `TEXT` with the run")
	v.flags(cmd)
	return cmd
}

func (a *app) raiseVerb() *cobra.Command {
	var v act
	var limits limitFlags
	cmd := &cobra.Command{
		Use:   "raise RUN [FLAGS]",
		Short: "Raise the limits of a run",
		Long: `Raise the limits of a run, so that a run that is waiting for a budget can continue.
A step that waits because its cost is unknown continues after any raise. For a run
that has ended at a limit, use "hocket retry", which takes the same flags.`,
		Example: `  hocket raise review-3k7q --max-cost 5
  hocket raise review-3k7q --max-steps 500 --max-runtime 2h --resume`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(a.onlyPerson("raise"), limits.check(cmd.Flags())); err != nil {
				return err
			}
			if limits.limits == (workflow.Limits{}) {
				return usagef("set at least one, such as --max-cost 5", "no limit given")
			}
			v.record = func(ctx context.Context, r *hocket.Run) (hocket.Receipt, error) {
				receipt, err := r.Raise(ctx, limits.limits)
				if over := a.overBeforeRaise(ctx, r, cmd.Flags()); err != nil && over != nil {
					return receipt, over
				}
				return receipt, err
			}
			v.done, v.driver = "raised", "continues with it"
			return a.actOn(cmd, args[0], &v)
		},
	}
	limits.add(cmd.Flags())
	v.flags(cmd)
	return cmd
}

// overBeforeRaise returns an error for a run that has ended, which says how to retry it
// with the given limits. It returns nil if the run has not ended.
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
	return usagef("continue in a new run: `"+a.self(retry...)+"`", "cannot raise the limits of run %s: it has ended", r.ID())
}
