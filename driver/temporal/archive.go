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
)

// The archive of a run is what remains when Temporal has deleted its executions. It is in the store:
//
//	runs/RUN/events/SEQ   events, one per line, from a sequence number on, some MB of them; what overlaps is the same
//	runs/RUN/plans/first  the pin that the run was started with
//	runs/RUN/plans/HASH   that of a Replanned
//	ended/RUN             what lists show of a run that is over

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
	First  *driver.Pin // what the run was started with
	Events []eventJSON
	Plans  []*driver.Pin // of the Replanned of the execution
	End    *facts        // if the run is over
}

// archive is the activity that stores a segment.
func (c *crew) archive(ctx context.Context, s segment) error {
	if !activity.GetInfo(ctx).IsLocalActivity { // somebody else asks for it
		return lost(errors.New("only a run stores its events"))
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
	if s.Events[0].Seq == 1 {
		put(runKey(s.Run, "plans", "first"), s.First)
	}
	puts = append(puts, func() error {
		return c.d.o.Store.Put(ctx, runKey(s.Run, "events", fmt.Sprintf("%012d", s.Events[0].Seq)), lines)
	})
	if s.End != nil { // until all is stored, the run is read from the server
		put(endedKey(s.Run), s.End)
	}
	return together(puts)
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
		keys, err := s.List(ctx, runKey(run, "events"))
		starts := make([]int, len(keys))
		for i, key := range keys {
			starts[i], _ = strconv.Atoi(path.Base(key)) // nothing else is there
		}
		seq := after
		for i, key := range keys {
			if i+1 < len(keys) && starts[i+1] <= seq+1 || last > 0 && seq >= last {
				continue
			}
			var lines []byte
			if err == nil {
				lines, err = s.Get(ctx, key)
			}
			at := starts[i]
			for line := range bytes.Lines(lines) {
				if at == seq+1 && (last == 0 || at <= last) {
					e, err := engine.Decode(line)
					e.Seq = at
					if !yield(e, err) || err != nil {
						return
					}
					seq = at
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
	in := begin{Run: run}
	err := getJSON(ctx, s, runKey(run, "plans", "first"), &in.Pin)
	if errors.Is(err, fs.ErrNotExist) {
		err = &driver.UnknownRunError{ID: run}
	}
	if err != nil {
		return in, err
	}
	for e, err := range archivedEvents(ctx, s, run, 0, last) {
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
	if last > 0 {
		return in, nil
	}
	if err := getJSON(ctx, s, endedKey(run), &in.About); !errors.Is(err, fs.ErrNotExist) {
		return in, err
	}
	return in, nil
}

func planOf(ctx context.Context, s Store, run string, ev *engine.Replanned) (*driver.Pin, error) {
	plan := &driver.Pin{}
	return plan, getJSON(ctx, s, runKey(run, "plans", ev.Plan), plan)
}
