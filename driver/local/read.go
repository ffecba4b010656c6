package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"

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
		for {
			over, err := ended(ctx, s, run) // before the events: what ends a run comes first
			if err != nil {
				yield(engine.Envelope{}, err)
				return
			}
			seq := 0
			for ev, err := range s.Events(ctx, run) {
				seq++
				if (err != nil || seq > after) && !yield(ev, err) || err != nil {
					return
				}
			}
			after = max(after, seq)
			if over || !follow || ctx.Err() != nil {
				return
			}
			d.pause(ctx)
		}
	}
}

func ended(ctx context.Context, s *journal.Store, run string) (bool, error) {
	r, err := s.Find(ctx, run)
	return r.Status.Done(), err
}

// Read yields what an attempt left in a stream.
func (d *Driver) Read(ctx context.Context, a driver.AttemptID, stream driver.Stream, offset int64, follow bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s, err := d.known(a.Run)
		if err != nil {
			yield(nil, err)
			return
		}
		for {
			over := !follow || ctx.Err() != nil
			if !over {
				if over, err = attemptEnded(ctx, s, a); err != nil {
					yield(nil, err)
					return
				}
			}
			n, goOn, err := readFrom(s.Path(a, stream), offset, yield)
			if err != nil {
				yield(nil, err)
				return
			}
			offset += n
			if over || !goOn {
				return
			}
			d.pause(ctx)
		}
	}
}

// attemptEnded says whether an attempt prints nothing more.
func attemptEnded(ctx context.Context, s *journal.Store, a driver.AttemptID) (bool, error) {
	if over, err := ended(ctx, s, a.Run); over || err != nil {
		return over, err
	}
	if _, driven := s.Driver(a.Run); !driven {
		return true, nil
	}
	for ev, err := range s.Events(ctx, a.Run) {
		if e, ok := ev.Event.(*engine.TaskEnded); err != nil || ok && e.Address == a.Address && e.Attempt >= a.Attempt {
			return err == nil, err
		}
	}
	return false, nil
}

// readFrom yields what a file holds from an offset on, and says how much.
func readFrom(path string, offset int64, yield func([]byte, error) bool) (n int64, goOn bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, true, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	for {
		piece := make([]byte, 32<<10)
		m, err := f.ReadAt(piece, offset+n)
		n += int64(m)
		if m > 0 && !yield(piece[:m], nil) {
			return n, false, nil
		}
		if errors.Is(err, io.EOF) {
			return n, true, nil
		}
		if err != nil {
			return n, false, err
		}
	}
}

// Kept is what is kept about an attempt.
func (d *Driver) Kept(ctx context.Context, a driver.AttemptID) (driver.Kept, error) {
	s, err := d.known(a.Run)
	if err != nil {
		return driver.Kept{}, err
	}
	k := driver.Kept{Sizes: map[driver.Stream]int64{}}
	for _, stream := range []driver.Stream{driver.Output, driver.Prompt, driver.Transcript} {
		if f, err := os.Stat(s.Path(a, stream)); err == nil {
			k.Sizes[stream] = f.Size()
		}
	}
	if k.Session, k.Model, k.Usage, err = s.Attempt(ctx, a); err != nil {
		return driver.Kept{}, err
	}
	dir := s.ArtifactsPath(a.Run, a.Address, a.Attempt)
	if f, err := os.Stat(dir); err == nil && f.IsDir() {
		k.Dir, k.Files = dir, os.DirFS(dir)
	}
	return k, nil
}

// Questions lists what is open.
func (d *Driver) Questions(ctx context.Context, run string) ([]driver.Question, error) {
	s, err := d.reading()
	if err != nil || s == nil {
		return nil, err
	}
	runs := []string{run}
	if run == "" {
		runs = nil
		all, err := s.Runs(ctx, 0)
		if err != nil {
			return nil, err
		}
		for _, r := range all {
			if !r.Status.Done() {
				runs = append(runs, r.ID)
			}
		}
	}
	var open []driver.Question
	for _, run := range runs {
		r, _, err := Load(ctx, s, run)
		if err != nil {
			return nil, err
		}
		for _, q := range r.Waiting() {
			open = append(open, driver.Question{Run: run, ID: q.Address, AskHuman: *q})
		}
		asked, err := s.Questions(ctx, run)
		if err != nil {
			return nil, err
		}
		if _, driven := s.Driver(run); driven {
			for _, q := range asked {
				open = append(open, driver.Question{Run: run, ID: q.Name(), AskHuman: *(&query{Question: q}).human()})
			}
		}
	}
	return open, nil
}
