package trigger

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hocket-dev/hocket"
)

// follow fires the triggers that wait for ends of runs. An end that cannot fire now, because a trigger is too fast or the
// journal cannot be written, does so later; if the server stops before, the next one sees the end again.
func (s *Service) follow(ctx context.Context) {
	ends := make(chan hocket.Info)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { s.watchEnds(ctx, ends) })
	var waiting []hocket.Info // in the order in which they ended
	for ctx.Err() == nil {
		var again <-chan time.Time
		if len(waiting) > 0 {
			again = time.After(reread)
		}
		select {
		case run := <-ends:
			if !slices.ContainsFunc(waiting, func(r hocket.Info) bool { return r.ID == run.ID }) {
				waiting = append(waiting, run)
			}
		case <-again:
		case <-ctx.Done():
			return
		}
		waiting = s.ended(ctx, waiting)
	}
}

// watchEnds passes on the runs that are over and may matter.
func (s *Service) watchEnds(ctx context.Context, ends chan<- hocket.Info) {
	for ctx.Err() == nil {
		for change, err := range s.p.Watch(ctx) {
			if err != nil {
				break
			}
			run := change.Info
			if !run.Status.Done() || run.Owner.Labels[hocket.HelperLabel] != "" || !s.matters(run.Changed) {
				continue
			}
			select {
			case ends <- run:
			case <-ctx.Done():
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): // the journal may be readable again
		}
	}
}

// ended fires the triggers that wait for the ends of runs, and returns the runs that have to come again. Each trigger
// handles ends in their order: if one has to wait, so do the later ones.
func (s *Service) ended(ctx context.Context, runs []hocket.Info) (later []hocket.Info) {
	busy := map[string]bool{}
	for _, run := range runs {
		again := false
		for _, t := range s.p.Triggers() {
			after, ok := t.On.(*hocket.After)
			if !ok || t.Disabled || t.Wrong.Errors() || !slices.Contains(after.Status, string(run.Status)) {
				continue
			}
			if busy[t.Name] {
				again = true
				continue
			}
			fired, err := s.fireAfter(ctx, t, after, run)
			if ctx.Err() == nil {
				s.report(t.Name, "ends", err)
			}
			again = again || !fired || err != nil
			busy[t.Name] = (!fired || err != nil) && !errors.As(err, new(*unreadableError))
		}
		if again {
			later = append(later, run)
		}
	}
	return later
}

// unreadableError means that a run cannot be read. Others may be readable.
type unreadableError struct{ error }

// fireAfter fires a trigger for the end of a run, if it waits for that. It returns false if that has to wait.
func (s *Service) fireAfter(ctx context.Context, t *hocket.Trigger, after *hocket.After, run hocket.Info) (fired bool, err error) {
	f := firing{key: "run " + run.ID, ended: run.Changed}
	r, err := s.p.Run(ctx, run.ID)
	if errors.As(err, new(*hocket.UnknownRunError)) { // it was deleted
		return true, nil
	}
	if err != nil {
		return false, &unreadableError{err}
	}
	fired = true
	err = s.states.change(t.Name, func(st *state) error {
		if st.Cause != causeOf(t) || !run.Changed.After(st.Since) { // it is served since later
			return nil
		}
		if was, err := st.find(f.key, ""); was != nil || err != nil {
			return err
		}
		its, err := r.IsOf(ctx, after.Workflow)
		if err != nil {
			return &unreadableError{err}
		}
		if !its {
			return nil
		}
		if s.tooFast(st) {
			fired = false
			return s.pause(t, st, ErrTooFast)
		}
		before, _ := strconv.Atoi(run.Owner.Labels[hocket.DepthLabel]) // a run that a person started has none
		f.depth = before + 1
		result, err := r.State(ctx)
		if result == nil {
			return &unreadableError{err}
		}
		f.values = map[string]any{"run": run.ID, "status": string(run.Status), "output": result.Result.Output}
		_, err = s.fire(ctx, t, st, f)
		return err
	})
	return fired, err
}
