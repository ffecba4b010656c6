package temporal

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	workflowpb "go.temporal.io/api/workflow/v1"
)

// Output returns the output of the task whose end is an event of a run.
func (d *Driver) Output(ctx context.Context, run string, seq int) (string, error) {
	for e, err := range d.Events(ctx, run, seq-1, false) {
		if err != nil {
			return "", err
		}
		if ended, ok := e.Event.(*engine.TaskEnded); ok && e.Seq == seq {
			return ended.Output, nil
		}
		break
	}
	return "", &driver.UnknownRunError{ID: run + "/" + strconv.Itoa(seq)}
}

// Read yields what an attempt wrote to a stream.
func (d *Driver) Read(ctx context.Context, a driver.AttemptID, s driver.Stream, offset int64, follow bool) iter.Seq2[driver.Piece, error] {
	return func(yield func(driver.Piece, error) bool) {
		for pieces := d.rest; ; pieces = d.next {
			more := false
			var err error
			if follow {
				more, err = d.writes(ctx, a)
			}
			if !more {
				pieces = d.rest // a chunk that was stored a second time may have become longer
			}
			if err != nil && ctx.Err() == nil {
				yield(driver.Piece{}, err)
			}
			if err != nil {
				return
			}
			for p, err := range pieces(ctx, a, s, offset) {
				if follow && ctx.Err() != nil || !yield(p, err) || err != nil {
					return
				}
				offset = p.At + int64(len(p.Text))
			}
			if !more {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(flushes(d.o.Store)):
			}
		}
	}
}

// rest yields what is stored of a stream from an offset on.
func (d *Driver) rest(ctx context.Context, a driver.AttemptID, s driver.Stream, offset int64) iter.Seq2[driver.Piece, error] {
	return func(yield func(driver.Piece, error) bool) {
		chunks, err := d.chunks(ctx, a, s)
		for i, at := range chunks {
			if i+1 < len(chunks) && chunks[i+1] <= offset {
				continue
			}
			var text []byte
			if err == nil {
				text, err = d.o.Store.Get(ctx, attemptKeyIn(a, string(s), chunkName(at)))
			}
			if err != nil {
				break
			}
			if at+int64(len(text)) <= offset {
				continue
			}
			if at < offset {
				text, at = text[offset-at:], offset
			}
			if !yield(driver.Piece{At: at, Text: text}, nil) {
				return
			}
		}
		if err != nil {
			yield(driver.Piece{}, err)
		}
	}
}

// next yields what is stored of a stream from the end of a chunk on. The name of a chunk is its offset, so this needs no
// list of all of them.
func (d *Driver) next(ctx context.Context, a driver.AttemptID, s driver.Stream, offset int64) iter.Seq2[driver.Piece, error] {
	return func(yield func(driver.Piece, error) bool) {
		for {
			text, err := d.o.Store.Get(ctx, attemptKeyIn(a, string(s), chunkName(offset)))
			if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 { // no log stores an empty chunk, and none follows it
				return
			}
			if !yield(driver.Piece{At: offset, Text: text}, err) || err != nil {
				return
			}
			offset += int64(len(text))
		}
	}
}

// chunks returns the offsets of the chunks of a stream.
func (d *Driver) chunks(ctx context.Context, a driver.AttemptID, s driver.Stream) (offsets []int64, err error) {
	keys, err := d.o.Store.List(ctx, attemptKeyIn(a, string(s)))
	for _, key := range keys {
		at, wrong := strconv.ParseInt(path.Base(key), 10, 64)
		offsets, err = append(offsets, at), errors.Join(err, wrong)
	}
	return offsets, err
}

// writes reports whether an attempt may write more: it is in progress or may begin. This is asked again and again, so it
// costs one request.
func (d *Driver) writes(ctx context.Context, a driver.AttemptID) (bool, error) {
	res, err := d.client.DescribeWorkflowExecution(ctx, d.flowID(a.Run), "")
	if err != nil {
		_, _, err = d.facts(ctx, a.Run)
		return false, err
	}
	id := activityID(attemptKey{a.Address, a.Attempt})
	runs := slices.ContainsFunc(res.GetPendingActivities(), func(p *workflowpb.PendingActivityInfo) bool {
		return p.GetActivityId() == id || p.GetActivityType().GetName() == claimName // for which it may wait
	})
	return isOpen(res.GetWorkflowExecutionInfo()) && (runs || res.GetPendingWorkflowTask() != nil), nil
}

// Kept returns what is stored about an attempt.
func (d *Driver) Kept(ctx context.Context, a driver.AttemptID) (driver.Kept, error) {
	n, err := d.noted(ctx, a)
	k := driver.Kept{Session: n.Session, Model: n.Model, Sizes: map[driver.Stream]int64{}}
	if err != nil {
		return k, err
	}
	for _, s := range []driver.Stream{driver.Output, driver.Prompt, driver.Transcript} {
		chunks, err := d.chunks(ctx, a, s)
		if err != nil {
			return k, err
		}
		if len(chunks) == 0 {
			continue
		}
		last := chunks[len(chunks)-1]
		text, err := d.o.Store.Get(ctx, attemptKeyIn(a, string(s), chunkName(last)))
		if err != nil {
			return k, err
		}
		k.Sizes[s] = last + int64(len(text))
	}
	k.Files, k.Dir, err = filesOf(ctx, d.o.Store, a)
	return k, err
}

// Spent adds up what attempts have cost.
func (d *Driver) Spent(ctx context.Context, since time.Time) ([]driver.Spent, error) {
	runs, err := d.Runs(ctx, driver.Filter{})
	if err != nil {
		return nil, err
	}
	sums := map[driver.Spent]*driver.Spent{}
	for _, run := range runs {
		if run.Status.Done() && (run.Changed.Before(since) || run.Usage.Usage == (engine.Usage{})) {
			continue
		}
		ends, err := d.ends(ctx, run.ID, since)
		if err != nil {
			return nil, err
		}
		for _, e := range ends {
			ev := e.Event.(*engine.TaskEnded)
			note, err := d.noted(ctx, driver.AttemptID{Run: run.ID, Address: ev.Address, Attempt: ev.Attempt})
			if err != nil {
				return nil, err
			}
			one := driver.Spent{Day: e.Time.In(since.Location()).Format(time.DateOnly), Run: run.ID, Workflow: run.Workflow, Agent: ev.Agent, Model: note.Model}
			sum := sums[one]
			if sum == nil {
				sum = new(driver.Spent)
				*sum = one
				sums[one] = sum
			}
			sum.Attempts++
			sum.Usage = sum.Usage.Plus(ev.Usage)
		}
	}
	var list []driver.Spent
	for _, s := range sums {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b driver.Spent) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model))
	})
	return list, nil
}

// ends returns the ends of the attempts of a run that have cost something. What came before it was forked is of another run. That this has
// happened before the run was created does not show it: a client has said when that was, by its own clock.
func (d *Driver) ends(ctx context.Context, run string, since time.Time) (ends []engine.Envelope, err error) {
	for e, err := range d.Events(ctx, run, 0, false) {
		if err != nil {
			return nil, err
		}
		if _, forked := e.Event.(*engine.Forked); forked {
			ends = nil
		}
		if ev, ok := e.Event.(*engine.TaskEnded); ok && ev.Usage != (engine.Usage{}) && !e.Time.Before(since) {
			ends = append(ends, e)
		}
	}
	return ends, nil
}

// noted returns what an attempt said about itself.
func (d *Driver) noted(ctx context.Context, a driver.AttemptID) (n noted, err error) {
	err = getJSON(ctx, d.o.Store, attemptKeyIn(a, "note"), &n)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return n, err
}
