package temporal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// The archive of a run is what remains when Temporal has deleted its executions. It is in the store:
//
//	runs/RUN/events/SEQ   events, one per line, from a sequence number on, some MB of them; what overlaps is the same
//	runs/RUN/plans/first  the pin that the run was started with
//	runs/RUN/plans/HASH   that of a Replanned
//	runs/RUN/inside/N     what runs inside of it may use, see [driver.Workers.Reserve]
//	ended/RUN             what lists show of a run that is over; of a short one also the rest

// facts is what lists show of a run. The memo of its workflow has them.
type facts struct {
	ID       string          `json:"id"`
	Workflow string          `json:"workflow"`
	Digest   string          `json:"digest"`
	Created  time.Time       `json:"created"`
	Origin   string          `json:"origin,omitempty"`
	Owner    driver.Owner    `json:"owner"`
	Scripted bool            `json:"scripted,omitempty"` // it was started with replies
	Store    string          `json:"store,omitempty"`    // the id of its store
	Key      string          `json:"key,omitempty"`      // the digest of the key that it was started with
	Status   engine.Status   `json:"status"`
	Changed  time.Time       `json:"changed"`
	Seq      int             `json:"seq"`
	Open     int             `json:"open,omitempty"`
	Due      time.Time       `json:"due,omitzero"`
	Usage    engine.RunUsage `json:"usage"`
	Size     int64           `json:"size,omitempty"` // of the histories, in bytes, when the run ended
	// Homes are the queues of the workers where tasks of the run stay, by label. What is made of the run later stays there
	// too, because its steps may have changed the files.
	Homes map[string]string `json:"homes,omitempty"`
}

// state takes what changes from the state of the run.
func (f *facts) state(r *engine.Run) {
	f.Status, f.Changed, f.Seq, f.Open, f.Due, f.Usage = r.Status(), r.Time(), r.Seq(), len(r.Questions()), time.Time{}, r.Usage()
	if f.Status == engine.Waiting {
		f.Due = r.Due()
	}
}

// replanned takes what a new plan changes.
func (f *facts) replanned(ev *engine.Replanned) {
	root := ev.Bundle.Root
	f.Workflow, f.Digest = root.Name, workflow.Digest(root)
	labels := map[string]string{}
	maps.Copy(labels, f.Owner.Labels)
	maps.Copy(labels, ev.Labels)
	maps.DeleteFunc(labels, func(_, value string) bool { return value == "" })
	f.Owner.Labels = labels
}

func (f *facts) info() driver.Info {
	return driver.Info{
		ID: f.ID, Workflow: f.Workflow, Digest: f.Digest, Created: f.Created, Changed: f.Changed, Status: f.Status, Origin: f.Origin, Owner: f.Owner,
		Workers: true, Seq: f.Seq, Due: f.Due, Usage: f.Usage, Open: f.Open,
	}
}

// segment is a part of the events of a run, to archive.
type segment struct {
	Run    string
	First  *driver.Pin // what the run was started with, if its first event is here
	Events []eventJSON
	Plans  []*driver.Pin // of the Replanned of the execution
	End    *facts        // if the run is over
}

// ended is what the archive says about a run that is over. If the run was short, that is all of it: one value is stored
// sooner than several in folders of their own.
type ended struct {
	facts
	First  *driver.Pin `json:"first,omitempty"`
	Events []eventJSON `json:"events,omitempty"`
}

// archivedEnd returns what the archive says about the end of a run, which need not have come.
func archivedEnd(ctx context.Context, s Store, run string) (end ended, err error) {
	if err = getJSON(ctx, s, endedKey(run), &end); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return end, err
}

// archive is the activity that stores a segment.
func (c *crew) archive(ctx context.Context, s segment) error {
	if !activity.GetInfo(ctx).IsLocalActivity { // somebody else asks for it
		return temporal.NewNonRetryableApplicationError("only a run stores its events", lostType, nil)
	}
	var lines []byte
	var puts []func() error
	put := func(key string, value any) {
		puts = append(puts, func() error { return putJSON(ctx, c.d.o.Store, key, value) })
	}
	plans := s.Plans[max(0, len(s.Plans)-replans(s.Events)):]
	for _, e := range s.Events {
		line, err := engine.Encode(e.Envelope)
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
		if ev, ok := e.Event.(*engine.Replanned); ok {
			put(runKey(s.Run, "plans", ev.Plan), plans[0])
			plans = plans[1:]
		}
	}
	first := s.Events[0].Seq
	if first == 1 && s.End != nil && len(puts) == 0 && len(lines) < longPayload {
		return putJSON(ctx, c.d.o.Store, endedKey(s.Run), ended{*s.End, s.First, s.Events})
	}
	if first == 1 {
		put(runKey(s.Run, "plans", "first"), s.First)
	}
	puts = append(puts, func() error {
		return c.d.o.Store.Put(ctx, runKey(s.Run, "events", fmt.Sprintf("%012d", first)), lines)
	})
	if s.End != nil { // in any order with the rest: until this activity ends, the server says that the run goes on
		if err := c.unfold(ctx, s.Run, first); err != nil {
			return err
		}
		put(endedKey(s.Run), s.End)
	}
	return together(puts)
}

// unfold stores the parts of a run that was short, and went on after its end, each for itself.
func (c *crew) unfold(ctx context.Context, run string, next int) error {
	end, err := archivedEnd(ctx, c.d.o.Store, run)
	if err != nil || len(end.Events) == 0 || next == 1 {
		return err
	}
	for i := range end.Events {
		end.Events[i].Seq = i + 1
	}
	return c.archive(ctx, segment{Run: run, First: end.First, Events: end.Events})
}

// together does several things at once.
func together(do []func() error) error {
	errs := make([]error, len(do))
	var wait sync.WaitGroup
	for i, one := range do {
		wait.Go(func() { errs[i] = one() })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// weight returns roughly how many bytes an event takes in the archive.
func weight(e engine.Envelope) int {
	const usual = 300
	if ended, ok := e.Event.(*engine.TaskEnded); ok {
		return usual + len(ended.Output)
	}
	return usual
}

func replans(events []eventJSON) (n int) {
	for _, e := range events {
		if _, ok := e.Event.(*engine.Replanned); ok {
			n++
		}
	}
	return n
}

func endedKey(run string) string { return "ended/" + part(run) }

// idOf returns the run of such a key, which does not have all of a long name: then named may be it. It is false if
// the key belongs to no run.
func idOf(key, named string) (string, bool) {
	if id, err := url.QueryUnescape(path.Base(key)); err == nil && endedKey(id) == key {
		named = id
	}
	return named, endedKey(named) == key && validRun(named)
}

// validRun reports whether something can be the id of a run. Others can write to the namespace and to the store,
// and lists print what they find there.
func validRun(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool { return r == '/' || r == utf8.RuneError || !unicode.IsPrint(r) })
}

func putJSON(ctx context.Context, s Store, key string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.Put(ctx, key, data)
}

func getJSON(ctx context.Context, s Store, key string, value any) error {
	data, err := s.Get(ctx, key)
	if err == nil {
		err = json.Unmarshal(data, value)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("temporal: read %s in the store: %w", key, err)
	}
	return err
}

// archivedEvents yields the archived events of a run after a sequence number, and up to another one; 0 means all. A
// Replanned has no bundle.
func archivedEvents(ctx context.Context, s Store, run string, after, last int) iter.Seq2[engine.Envelope, error] {
	return func(yield func(engine.Envelope, error) bool) {
		end, err := archivedEnd(ctx, s, run)
		if err != nil {
			yield(engine.Envelope{}, err)
			return
		}
		end.after(ctx, s, run, after, last)(yield)
	}
}

// after yields events as [archivedEvents] does.
func (end ended) after(ctx context.Context, s Store, run string, after, last int) iter.Seq2[engine.Envelope, error] {
	return func(yield func(engine.Envelope, error) bool) {
		seq := after
		next := func(at int, e engine.Envelope, err error) (more bool) {
			if at != seq+1 || last > 0 && at > last {
				return true
			}
			e.Seq, seq = at, at
			return yield(e, err) && err == nil
		}
		for i, e := range end.Events {
			if !next(i+1, e.Envelope, nil) {
				return
			}
		}
		keys, err := s.List(ctx, runKey(run, "events"))
		starts := make([]int, len(keys))
		for i, key := range keys {
			starts[i], _ = strconv.Atoi(path.Base(key)) // nothing else is there
		}
		for i, key := range keys {
			if i+1 < len(keys) && starts[i+1] <= seq+1 || last > 0 && seq >= last || starts[i] <= len(end.Events) {
				continue
			}
			var lines []byte
			if err == nil {
				lines, err = s.Get(ctx, key)
			}
			at := starts[i]
			for line := range bytes.Lines(lines) {
				e, err := engine.Decode(line)
				if !next(at, e, err) {
					return
				}
				at++
			}
		}
		if err == nil && (seq < last || len(keys) > 0 && seq+1 < starts[len(keys)-1]) {
			err = fmt.Errorf("temporal: run %s: events after %d are missing in the store", run, seq)
		}
		if err != nil {
			yield(engine.Envelope{}, err)
		}
	}
}

// past returns the input of an execution that would repeat the archived events of a run: all of them, or those up
// to a sequence number.
func past(ctx context.Context, s Store, run string, last int) (begin, error) {
	end, err := archivedEnd(ctx, s, run)
	in := begin{Run: run, Pin: end.First}
	if last == 0 {
		in.About = end.facts
	}
	if err == nil && in.Pin == nil {
		err = getJSON(ctx, s, runKey(run, "plans", "first"), &in.Pin)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = &driver.UnknownRunError{ID: run}
	}
	if err != nil {
		return in, err
	}
	for e, err := range end.after(ctx, s, run, 0, last) {
		if err != nil {
			return in, err
		}
		if ev, ok := e.Event.(*engine.Replanned); ok {
			plan, err := planOf(ctx, s, run, ev)
			if err != nil {
				return in, err
			}
			in.Plans = append(in.Plans, plan)
		}
		in.Events = append(in.Events, eventJSON{e})
	}
	return in, nil
}

func planOf(ctx context.Context, s Store, run string, ev *engine.Replanned) (*driver.Pin, error) {
	plan := &driver.Pin{}
	return plan, getJSON(ctx, s, runKey(run, "plans", ev.Plan), plan)
}
