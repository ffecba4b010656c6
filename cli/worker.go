package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/trust"
)

func (a *app) workerVerb() *cobra.Command {
	var w hocket.Worker
	cmd := &cobra.Command{
		Use:   "worker [FLAGS]",
		Short: "Do the steps of runs that are started on any machine",
		Long: `Do the steps of runs of this project, whoever started them, until it is interrupted.
Only projects on Temporal have workers: see docs/howto/temporal.md. Start as many as you
like, on machines with the same project, the same store, and the logins of its agents.

A worker does only what its user has approved: runs of the workflows and agents in this
directory, with the powers of "hocket trust". It refuses others, and says why; another
worker may do them.

The first Ctrl-C, or SIGTERM, lets it finish the steps in progress and begin no more. The
second one interrupts them, so that they are done again elsewhere.`,
		Example: `  # Work for agents without a queue
  hocket worker

  # Also work for agents with "queue: gpu", two steps at a time
  hocket worker --queue gpu --attempts 2

  # Show figures to Prometheus
  hocket worker --metrics 127.0.0.1:9464`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if w.Most < 0 {
				return usagef("use a number from 1, or leave it out for no limit", "invalid --attempts %d", w.Most)
			}
			return a.work(cmd.Context(), w)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&w.Queues, "queue", nil, "also work for agents with the queue `LABEL`; can be repeated")
	flags.StringVar(&w.Name, "name", "", "identify this machine and directory by `NAME` (default: made of both)")
	flags.IntVar(&w.Most, "attempts", 0, "work on at most `N` steps at once; those that wait for an answer do not count (default: no limit)")
	flags.StringArrayVar(&w.Accept, "accept", nil, "also work for runs with the `DIGEST` that a refusal names; can be repeated")
	flags.BoolVar(&w.AcceptAny, "accept-any", false, "work for every run: whoever can write to the namespace can run commands here")
	cmd.AddCommand(a.workerGuardVerb())
	flags.StringVar(&a.metrics, "metrics", "", "serve figures for Prometheus at `ADDRESS`, such as 127.0.0.1:9464")
	return cmd
}

// workerGuardVerb guards a worker, which starts it.
func (a *app) workerGuardVerb() *cobra.Command {
	return &cobra.Command{
		Use: "guard PID", Short: "End the programs of a worker that was killed", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			pid, err := strconv.Atoi(args[0])
			if err != nil {
				return usagef("a worker starts it", "invalid process id %q", args[0])
			}
			signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // it ends with the worker
			_, _ = io.Copy(io.Discard, a.std.In)
			return hocket.EndPrograms(pid)
		},
	}
}

// work works for runs until it is interrupted.
func (a *app) work(ctx context.Context, w hocket.Worker) error {
	if trust.Depth() > 0 { // it would work outside of the limits of that run
		what, hint := explain(&trust.SupervisedError{Verb: "worker", By: "an attempt of a run"})
		return usagef(hint, "%s", what)
	}
	if w.AcceptAny || len(w.Accept) > 0 {
		if err := a.onlyPerson("worker --accept"); err != nil {
			return err
		}
	}
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if err := a.needsDriver(); err != nil {
		return err
	}
	if w.Name == "" {
		w.Name = p.WorkerName()
	}
	ctx, interrupt := context.WithCancel(ctx)
	defer interrupt()
	leave := make(chan struct{})
	w.Leave = leave
	defer a.onSignals(
		func() { a.note("finishing the steps in progress; interrupt again to stop them\n"); close(leave) },
		func() { a.note("interrupting the steps in progress\n"); interrupt() },
		func() { hocket.KillPrograms(); os.Exit(exitInterrupted) },
	)()
	var mu sync.Mutex
	began := map[hocket.AttemptID]time.Time{}
	w.Happened = func(id hocket.AttemptID, out *hocket.Outcome, refused error) {
		mu.Lock()
		defer mu.Unlock()
		a.tellAttempt(id, out, refused, began)
	}
	queues := ""
	if len(w.Queues) > 0 {
		queues = ", also with the queue " + strings.Join(w.Queues, ", ")
	}
	guard, err := guard([]string{"worker", "guard", strconv.Itoa(os.Getpid())})
	if err != nil {
		return err
	}
	defer guard.Close()
	a.note(fmt.Sprintf("starting worker %s for %s%s\n", w.Name, p.Root(), queues))
	warned := map[string]bool{} // several workers that were killed lead to the same warning
	w.Warn = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if warned[text] {
			return
		}
		warned[text] = true
		a.note(a.errStyle.Paint(view.Yellow, "warning") + ": " + view.Line(text) + "\n")
	}
	w.Stalled = func(why string) { a.note(stamp(a.errStyle) + cmp.Or(why, "the worker can go on") + "\n") }
	w.Ready = func(queues []string) {
		a.note(fmt.Sprintf("worker %s is ready, on %s\n", w.Name, strings.Join(queues, ", ")))
	}
	return p.Work(ctx, w)
}

// onSignals calls one function after the other, for each signal that asks this process to end.
func (a *app) onSignals(do ...func()) (forget func()) {
	signals := make(chan os.Signal, len(do))
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for _, one := range do {
			select {
			case <-signals:
				one()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// stamp is the time in front of a line of a worker.
func stamp(style view.Style) string {
	return style.Paint(view.Dim, time.Now().Format("15:04:05.000")) + " "
}

// tellAttempt prints what happens to an attempt.
func (a *app) tellAttempt(id hocket.AttemptID, out *hocket.Outcome, refused error, began map[hocket.AttemptID]time.Time) {
	what, paint := "started", view.Paint("")
	switch {
	case refused != nil:
		what, paint = "refused: "+refused.Error(), view.Yellow
	case out == nil:
		began[id] = time.Now()
	case out.Fault != nil && out.Fault.Kind == engine.FaultLost:
		what, paint = "lost: "+out.Fault.Message, view.BoldRed
	case out.Fault != nil:
		what, paint = "failed: "+out.Fault.Message, view.BoldRed
	default:
		what, paint = "done", view.Green
	}
	if at, known := began[id]; known && out != nil {
		what += " in " + view.Took(time.Since(at))
		delete(began, id)
	}
	try := ""
	if id.Attempt > 1 {
		try = fmt.Sprintf(" (attempt %d)", id.Attempt)
	}
	step := ""
	if id.Address != "" {
		step = " " + view.Line(id.Address)
	}
	a.note(stamp(a.errStyle) + view.Line(id.Run) + step + try + " " + a.errStyle.Paint(paint, view.Line(what)) + "\n")
}
