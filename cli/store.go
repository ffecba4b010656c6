package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// openStore opens the project's journal to record in it.
func (a *app) openStore() (*journal.Store, error) {
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	return journal.Open(dir, journal.Options{})
}

// readStore opens the project's journal to look at it. A project in which
// nothing ever ran has none, and that is no error: the store is nil.
func (a *app) readStore() (*journal.Store, error) {
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	store, err := journal.OpenReadOnly(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return store, err
}

// withRun opens the journal to look at one run, named by the beginning of its
// id.
func (a *app) withRun(ctx context.Context, id string, do func(s *journal.Store, run journal.Run) error) error {
	store, err := a.readStore()
	if err != nil {
		return err
	}
	if store == nil {
		return a.noRun(nil, &journal.UnknownRunError{ID: id})
	}
	defer store.Close()
	run, err := store.Find(ctx, id)
	if err != nil {
		return a.noRun(store, err)
	}
	return do(store, run)
}

// noRun explains that a run was not found: exit code 2, with the nearest ids.
func (a *app) noRun(store *journal.Store, err error) error {
	var unknown *journal.UnknownRunError
	if !errors.As(err, &unknown) {
		return err
	}
	hint := "`hocket runs` lists the runs of this project"
	if len(unknown.Candidates) > 0 {
		return usagef("write more of the id", "%v", err)
	}
	if near := workflow.DidYouMean(unknown.ID, runIDs(store)); near != "" {
		hint = near
	}
	return usagef(hint, "%v", err)
}

// runIDs are the ids of the newest runs; none where they cannot be read.
func runIDs(store *journal.Store) []string {
	if store == nil {
		return nil
	}
	runs, err := store.Runs(context.Background(), 200)
	if err != nil {
		return nil
	}
	ids := make([]string, len(runs))
	for i, r := range runs {
		ids[i] = r.ID
	}
	return ids
}

// past is a run as its journal tells it.
type past struct {
	info   journal.Run
	pin    *journal.Pin
	run    *engine.Run
	later  []later // steps that wait for a time
	driven bool
	asks   []journal.Question // what its attempts ask now
}

// later is a step that is tried again at a time.
type later struct {
	address, why string
	until        time.Time
}

// replay steps an engine through the journal of a run. see, if not nil, is told
// every fact on the way. Where the journal or the engine fails half-way, what
// came before is given with the error.
func replay(ctx context.Context, store *journal.Store, info journal.Run, see func(engine.Fact)) (*past, error) {
	pin, err := store.Pin(ctx, info.ID)
	if err != nil {
		return nil, err
	}
	run, err := engine.New(pin.Bundle)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", info.ID, err)
	}
	p := &past{info: info, pin: pin, run: run}
	var unread error // hides nothing else
	p.asks, p.driven, unread = asked(ctx, store, info.ID)
	for ev, err := range store.Events(ctx, info.ID, 0) {
		if err == nil {
			_, err = run.Step(ev)
		}
		if err != nil {
			return p, fmt.Errorf("run %s: %w", info.ID, err)
		}
		for _, f := range run.Facts() {
			p.note(f)
			if see != nil {
				see(f)
			}
		}
	}
	return p, unread
}

// asked is what the attempts of a run ask now, and whether a process drives it: what
// one asked that has gone, nobody waits for.
func asked(ctx context.Context, store *journal.Store, run string) ([]journal.Question, bool, error) {
	if _, driven := store.Driver(run); !driven {
		return nil, false, nil
	}
	open, err := store.Questions(ctx, run)
	return open, true, err
}

// note remembers which steps are put off.
func (p *past) note(f engine.Fact) {
	switch f.Kind {
	case engine.Retrying:
		p.forget(f.Address)
		p.later = append(p.later, later{f.Address, f.Text, f.Until})
	case engine.AttemptStarted, engine.StepStarted, engine.StepEnded, engine.StepSkipped, engine.Paused:
		p.forget(f.Address)
	case engine.AttemptFailed, engine.Asked, engine.Answered, engine.Decided, engine.Iterated,
		engine.Raised, engine.Warned, engine.RunEnded:
	}
}

func (p *past) forget(address string) {
	p.later = slices.DeleteFunc(p.later, func(l later) bool { return l.address == address })
}

func (p *past) result(store *journal.Store) runResult {
	return newRunResult(store, p.run.Result(), p.info.Workflow, p.info.Digest)
}

// state is the status of a run as people want to know it: one that nobody drives
// any more does not run, and one with an attempt that asks waits for an answer.
func state(s engine.Status, driven bool, asks int) view.Cell {
	switch {
	case s == engine.Running && !driven:
		return view.Cell{Text: "interrupted", Paint: view.Status(s).Paint}
	case s == engine.Running && asks > 0:
		return view.Status(engine.Waiting)
	}
	return view.Status(s)
}

// elapsed is how long a run took, or has taken so far.
func elapsed(info journal.Run) time.Duration {
	if info.Status.Done() {
		return info.Changed.Sub(info.Created)
	}
	return time.Since(info.Created)
}

// spentBy adds up what the attempts of a run used.
func spentBy(ctx context.Context, store *journal.Store, run journal.Run) (engine.Usage, error) {
	var sum engine.Usage
	for ev, err := range store.Events(ctx, run.ID, 0) {
		if err != nil {
			return sum, err
		}
		if taken, ok := ev.Event.(*engine.Recovered); ok && taken.Unsettled {
			// What was lost then is known to the engine only.
			p, err := replay(ctx, store, run, nil)
			if err != nil {
				return sum, err
			}
			return p.run.Usage().Usage, nil
		}
		if ended, ok := ev.Event.(*engine.TaskEnded); ok {
			sum.CostUSD += ended.Usage.CostUSD
			sum.CostUnknown = sum.CostUnknown || ended.Usage.CostUnknown
			sum.TokensIn += ended.Usage.TokensIn
			sum.TokensOut += ended.Usage.TokensOut
		}
	}
	return sum, nil
}
