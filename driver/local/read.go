package local

import (
	"context"
	"iter"
	"os"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// Events yields the events of a run after a sequence number.
func (d *Driver) Events(ctx context.Context, run string, after int, follow bool) iter.Seq2[engine.Envelope, error] {
	return func(yield func(engine.Envelope, error) bool) {
		s, err := d.known(run)
		if err != nil {
			yield(engine.Envelope{}, err)
			return
		}
		var changes *listener
		if follow {
			changes = d.pulse.listen(change, "")
			defer changes.close()
		}
		for !follow || changes.wait(ctx) {
			over := !follow
			if follow {
				if over, err = ended(ctx, s, run); err != nil { // checked before the events, which come first
					yield(engine.Envelope{}, err)
					return
				}
			}
			for e, err := range s.Brief(ctx, run, after) {
				if !yield(e, err) || err != nil {
					return
				}
				after = e.Seq
			}
			if over {
				return
			}
		}
	}
}

// Output returns the output of the task whose end is an event of a run.
func (d *Driver) Output(ctx context.Context, run string, seq int) (string, error) {
	s, err := d.known(run)
	if err != nil {
		return "", err
	}
	return s.Output(ctx, run, seq)
}

// ended reports whether a run is over.
func ended(ctx context.Context, s *journal.Store, run string) (bool, error) {
	r, err := s.Run(ctx, run)
	return err == nil && info(ctx, s, r).Status.Done(), err
}

// Read yields what an attempt wrote to a stream.
func (d *Driver) Read(ctx context.Context, a driver.AttemptID, stream driver.Stream, offset int64, follow bool) iter.Seq2[driver.Piece, error] {
	return func(yield func(driver.Piece, error) bool) {
		s, err := d.known(a.Run)
		if err == nil {
			_, err = s.Run(ctx, a.Run)
		}
		if err != nil {
			yield(driver.Piece{}, err)
			return
		}
		var ticks *listener
		if follow { // output is in files, which the journal does not track
			ticks = d.pulse.listen(tick, "")
			defer ticks.close()
		}
		seen := 0
		for !follow || ticks.wait(ctx) {
			over := !follow
			if follow {
				if over, seen, err = attemptEnded(ctx, s, a, seen); err != nil {
					yield(driver.Piece{}, err)
					return
				}
			}
			for p, err := range s.Stream(ctx, a, stream, offset) {
				if !yield(p, err) || err != nil {
					return
				}
				offset = p.At + int64(len(p.Text))
			}
			if over {
				return
			}
		}
	}
}

// attemptEnded reports whether an attempt prints nothing more: its end is recorded, or its run is
// neither driven nor about to be. Events up to seen need not be read again.
func attemptEnded(ctx context.Context, s *journal.Store, a driver.AttemptID, seen int) (bool, int, error) {
	r, err := s.Run(ctx, a.Run)
	if err != nil {
		return true, seen, err
	}
	if _, driven := s.HolderOf(r); !driven {
		i := info(ctx, s, r)
		return !i.Driven && !i.Pending, seen, nil
	}
	return s.Ended(ctx, a, seen)
}

// Kept returns what is stored about an attempt.
func (d *Driver) Kept(ctx context.Context, a driver.AttemptID) (driver.Kept, error) {
	s, err := d.known(a.Run)
	if err != nil {
		return driver.Kept{}, err
	}
	if _, err := s.Run(ctx, a.Run); err != nil {
		return driver.Kept{}, err
	}
	k := driver.Kept{}
	if k.Sizes, err = s.Sizes(a); err != nil {
		return driver.Kept{}, err
	}
	if k.Session, k.Model, err = s.Attempt(ctx, a); err != nil {
		return driver.Kept{}, err
	}
	dir := s.Artifacts(a)
	if f, err := os.Stat(dir); err == nil && f.IsDir() {
		k.Dir, k.Files = dir, os.DirFS(dir)
	}
	return k, nil
}

// Count counts runs and questions, without reading them.
func (d *Driver) Count(ctx context.Context, since time.Time) (driver.Counts, error) {
	s, err := d.reading()
	if err != nil || s == nil {
		return driver.Counts{}, err
	}
	return s.Count(ctx, since)
}

// Spent adds up what attempts have cost.
func (d *Driver) Spent(ctx context.Context, since time.Time) ([]driver.Spent, error) {
	s, err := d.reading()
	if err != nil || s == nil {
		return nil, err
	}
	return s.Spent(ctx, since)
}

// Questions lists open questions.
func (d *Driver) Questions(ctx context.Context, f driver.QuestionFilter) ([]driver.Question, error) {
	s, err := d.reading()
	if err != nil || s == nil {
		return nil, err
	}
	runs := make([]journal.Run, 1)
	if f.Run == "" {
		runs, err = s.Stale(ctx)
	} else {
		runs[0], err = s.Run(ctx, f.Run)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		info(ctx, s, r) // updates the questions that a killed driver left
	}
	return s.Open(ctx, f)
}

// ClaimExport lets one caller export events of a run.
func (d *Driver) ClaimExport(_ context.Context, run string, after, through int) (int, bool, error) {
	s, err := d.known(run)
	if err != nil {
		return 0, false, err
	}
	return s.ClaimExport(run, after, through)
}
