package cli

import (
	"cmp"
	"context"
	"sync"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/workflow"
)

// driveFlags are the flags of commands that drive a run.
type driveFlags struct {
	quiet  bool
	plain  bool
	detach bool
	apart  bool // questions are answered in another process
}

// drive is a run about to be driven.
type drive struct {
	run     *hocket.Run
	kind    string // what it is for the user; "": a run
	bundle  *workflow.Bundle
	replies *hocket.Replies // nil: those of the run
	resumed bool            // resumed: there is history to show
	drawn   bool            // its tree is on the screen
}

// drive drives a run and shows it.
func (a *app) drive(ctx context.Context, d *drive, flags driveFlags) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var w watcher
	interrupt := sync.OnceFunc(func() {
		w.stopping()
		stop(errInterrupted)
	})
	w = a.watch(cmp.Or(d.kind, "run"), d.run.ID(), d.bundle, flags, interrupt)
	closed := sync.OnceFunc(w.close)
	forget := onSignal(interrupt, closed)
	var err error
	if d.resumed && !flags.quiet {
		err = d.retell(ctx, w)
	}
	var res engine.Result
	var warnings []string // after what is drawn
	if err == nil {
		person := sync.OnceValue(func() bool { return a.onlyPerson("answer") == nil })
		warn := func(text string) { warnings = append(warnings, text) }
		front := hocket.Front{Warn: warn, Asker: asker{w, person}, Elsewhere: flags.apart, Replies: d.replies, Stalled: w.stalled}
		var sessions *handoff.Sessions
		if sessions, err = a.handoffs(); err == nil {
			var end func()
			front.Observer, end = sessions.Follow(ctx, d.run, observer{w})
			res, err = d.run.Drive(ctx, front)
			end()
			a.afterSession(context.WithoutCancel(ctx), sessions, d.run, err)
		}
	}
	forget()
	closed()
	d.drawn = w.drawn()
	for _, text := range warnings {
		a.note(a.errStyle.Paint(view.Yellow, "warning") + ": " + view.Line(text) + "\n")
	}
	if err == nil && a.offerPlan(ctx, d, res) {
		return a.resume(ctx, d.run, "", flags)
	}
	return a.outcome(ctx, d, res, err)
}

// retell sends a watcher the facts from before this process.
func (d *drive) retell(ctx context.Context, w watcher) error {
	for e, err := range d.run.History(ctx, hocket.EventID{}) {
		if err != nil {
			return err
		}
		if e.Fact != nil {
			w.past(*e.Fact)
		} else if _, forked := e.Event.(*engine.Forked); forked {
			w.began(e.Time)
		}
	}
	return nil
}

// observer and asker adapt a watcher to the interfaces of the host.
type observer struct{ w watcher }

func (o observer) Fact(f engine.Fact)                      { o.w.fact(f) }
func (o observer) Log(address string, _ int, piece []byte) { o.w.log(address, piece) }

type asker struct {
	w watcher
	// person reports whether a person is at the terminal, and not an agent. Finding
	// out takes a while, and most runs ask nothing.
	person func() bool
}

func (a asker) Ask(q *engine.Question, answer func(engine.Answered) error, leave func()) bool {
	if q.Kind == engine.ReplanQuestion {
		return false // a model plans first
	}
	return a.person() && a.w.ask(q, reply{give: func(value string) error {
		return answer(engine.Answered{Value: value, By: hocket.UserName(), Via: "terminal"})
	}, leave: leave})
}

func (a asker) Withdraw(id string) { a.w.withdraw(id) }
