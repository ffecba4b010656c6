package cli

import (
	"context"
	"errors"
	"os"
	"os/user"
	"strconv"
	"sync"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// driveFlags are the flags of every verb that drives a run.
type driveFlags struct {
	quiet  bool
	plain  bool
	detach bool
	apart  bool // nobody is here, but somebody may answer from elsewhere
}

// drive is a run about to be driven.
type drive struct {
	id      string
	store   *journal.Store
	pin     *journal.Pin
	agents  *agent.Set
	place   *workplace
	replies *scripted.Replies // nil: none
	taken   bool              // up again: it has a past to show
	drawn   bool              // its tree stands on the screen
	told    bool              // what happened was told line by line
}

// drive drives a run and shows it. begin starts or resumes it.
func (a *app) drive(ctx context.Context, d *drive, flags driveFlags, begin func(ctx context.Context, runs driver.Driver, w driver.Work) (engine.Result, error)) error {
	defer d.place.close()
	d.place.journal = d.store
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var w watcher
	interrupt := sync.OnceFunc(func() {
		w.stopping()
		stop(errInterrupted)
	})
	w = a.watch(d.id, d.pin.Bundle, flags, interrupt)
	closed := sync.OnceFunc(w.close)
	forget := onSignal(interrupt, closed)
	err := d.retell(ctx, w)
	var res engine.Result
	if err == nil {
		var runs driver.Driver
		if runs, err = local.Open(d.store.Dir(), local.Options{}); err == nil {
			res, err = begin(ctx, runs, d.options(w, flags))
			err = errors.Join(err, runs.Close())
		}
	}
	forget()
	closed()
	d.drawn = w.drawn()
	d.told = !d.drawn && !flags.quiet
	return a.outcome(ctx, d, res, err)
}

// retell shows what happened before this process, to watchers that draw the
// whole run.
func (d *drive) retell(ctx context.Context, w watcher) error {
	if !d.taken || !w.wholeRun() {
		return nil
	}
	info, err := d.store.Find(ctx, d.id)
	if err == nil {
		_, err = replay(ctx, d.store, info, w.fact)
	}
	return err
}

func (d *drive) options(w watcher, flags driveFlags) driver.Work {
	o := driver.Work{Elsewhere: flags.apart, Agents: laneAgents{d.agents, d.pin, d.place}, Asker: asker{w}, Observer: observer{w}}
	if d.replies != nil {
		o.Script, o.ScriptAll = d.replies.Script(), d.replies.CoversAll(d.pin.Bundle)
	}
	return o
}

// observer and asker are a watcher as the driver wants it.
type observer struct{ w watcher }

func (o observer) Fact(f engine.Fact)                      { o.w.fact(f) }
func (o observer) Log(address string, _ int, piece []byte) { o.w.log(address, piece) }

type asker struct{ w watcher }

func (a asker) Ask(q *engine.AskHuman, answer func(value, by string) error, leave func()) bool {
	return a.w.ask(q, reply{give: func(value string) error { return answer(value, userName()) }, leave: leave})
}

func (a asker) Withdraw(address string) { a.w.withdraw(address) }

// userName is who answers, cancels or raises here.
func userName() string {
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}
