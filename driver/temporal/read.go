package temporal

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"runtime/debug"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// following says how a run is followed.
type following struct {
	hurry <-chan struct{} // somebody waits for what happens now; may be nil

	// execution is one that has just begun: nothing is expected at once. "" is the newest.
	execution string
	// archived is called when a run is over before something of it was read. It reports whether all of it was now read in
	// the archive.
	archived func() bool
}

// pages yields the history of a run from its newest execution on, as many events at a time as the server returns: all
// events of one transaction come together. If f is not nil it waits for more until the run is over, also if the server
// cannot be reached for a while. It takes a breath between two pages, because a request for each step would cost as
// much as a short step, unless the execution ends or somebody is in a hurry.
func (d *Driver) pages(ctx context.Context, run string, f *following) iter.Seq2[[]*historypb.HistoryEvent, error] {
	return func(yield func([]*historypb.HistoryEvent, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		req := &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: d.namespace(), WaitNewEvent: f != nil,
			Execution: &commonpb.WorkflowExecution{WorkflowId: d.flowID(run)},
		}
		var end *end
		rest := func() (completed bool) {
			if end == nil {
				end = d.end(ctx, run, req.Execution.RunId)
			}
			select {
			case <-time.After(breath):
			case <-end.known:
				return end.completed
			case <-f.hurry:
			case <-ctx.Done():
			}
			return false
		}
		if f != nil && f.execution != "" {
			req.Execution.RunId = f.execution
			if rest() && f.archived() {
				return
			}
		}
		next := ""
		for since := time.Now(); ; {
			res, err := d.client.WorkflowService().GetWorkflowExecutionHistory(ctx, req)
			if err == nil {
				since = time.Now()
			}
			if err != nil && ctx.Err() == nil && away(err) && (f != nil || time.Since(since) < awayFor) {
				time.Sleep(50 * time.Millisecond)
				continue
			}
			if err != nil {
				yield(nil, known(run, err))
				return
			}
			events := res.GetHistory().GetEvents()
			if len(events) > 0 && !yield(events, nil) {
				return
			}
			for _, e := range events {
				next = e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
			}
			req.NextPageToken = res.GetNextPageToken()
			switch more := len(req.NextPageToken) > 0; {
			case !more && next == "":
				return
			case !more:
				req.Execution.RunId, next, end = next, "", nil
			case f != nil:
				rest()
			}
		}
	}
}

// awayFor is how long somebody who only looks waits for a server that does not answer.
const awayFor = 10 * time.Second

// away reports whether an error says that the server does not answer now. Waiting for news ends this way too.
func away(err error) bool {
	return errors.As(err, new(*serviceerror.Unavailable)) || errors.As(err, new(*serviceerror.DeadlineExceeded)) ||
		errors.As(err, new(*serviceerror.ResourceExhausted)) || errors.As(err, new(*serviceerror.Internal))
}

// Away reports whether an error only says that the server does not answer now.
func (d *Driver) Away(err error) bool { return away(err) || errors.As(err, new(*UnreachableError)) }

// Place names the store, which belongs to one queue in one namespace.
func (d *Driver) Place() string { return d.o.Queue }

const breath = 100 * time.Millisecond

// end is that of an execution.
type end struct {
	known     chan struct{} // closed when the rest is set, or when nobody knows
	completed bool          // otherwise it ended in another way
}

// end finds out when an execution ends, or the newest one of a run.
func (d *Driver) end(ctx context.Context, run, execution string) *end {
	e := &end{known: make(chan struct{})}
	go func() {
		defer close(e.known)
		e.completed = d.client.GetWorkflow(ctx, d.flowID(run), execution).GetWithOptions(ctx, nil, client.WorkflowRunGetOptions{DisableFollowingRuns: true}) == nil
	}()
	return e
}

// known returns the error of a run that does not exist, if that is what the server says.
func known(run string, err error) error {
	if errors.As(err, new(*serviceerror.NotFound)) {
		return &driver.UnknownRunError{ID: run}
	}
	return err
}

func (d *Driver) namespace() string { return namespace(d.o.Client) }

// mirror reads a run as far as it goes now. If a long value cannot be read, the error is an *[engine.LoadError], and the
// run is as it was before. see, if not nil, sees all events, also the archived ones.
func (d *Driver) mirror(ctx context.Context, run string, see func(*engine.Run, engine.Envelope, []engine.Command)) (*mirror, error) {
	m := d.newMirror(ctx, run, see)
	m.whole = see != nil
	for events, err := range d.pages(ctx, run, nil) {
		if err == nil {
			err = guard(run, func() error { return m.page(events) })
		}
		if m.machine == nil && errors.As(err, new(*driver.UnknownRunError)) {
			err = guard(run, func() error { // Temporal has deleted it
				past, err := m.recall(0)
				if err == nil {
					err = m.restore(past)
				}
				return err
			})
		}
		if err != nil {
			return m, err
		}
	}
	return m, nil
}

// guard reads a part of a run. Others can write to the namespace and to the store, so what is there may make the
// engine panic.
func guard(run string, read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &driver.BrokenError{Run: run, Cause: p, Stack: debug.Stack()}
		}
	}()
	return read()
}

func (d *Driver) newMirror(ctx context.Context, run string, see func(*engine.Run, engine.Envelope, []engine.Command)) *mirror {
	return &mirror{values: d.values, see: see, recall: func(last int) (begin, error) { return past(ctx, d.o.Store, run, last) }}
}

// page takes a page of the history. It ends with the end of a transaction.
func (m *mirror) page(events []*historypb.HistoryEvent) error {
	for _, e := range events {
		if err := m.read(e); err != nil {
			return err
		}
	}
	return m.settle()
}

// Events yields the events of a run after a sequence number.
func (d *Driver) Events(ctx context.Context, run string, after int, follow bool) iter.Seq2[engine.Envelope, error] {
	return func(yield func(engine.Envelope, error) bool) {
		var found []engine.Envelope
		var how *following
		if follow {
			how = &following{}
		}
		m := d.newMirror(ctx, run, func(_ *engine.Run, e engine.Envelope, _ []engine.Command) { found = append(found, e) })
		for events, err := range d.pages(ctx, run, how) {
			begins := m.machine == nil
			if err == nil {
				err = guard(run, func() error { return m.page(events) })
			}
			gone := false
			if begins && errors.As(err, new(*driver.UnknownRunError)) {
				ended, wrong := d.hasEnded(ctx, run)
				gone, err = ended, cmp.Or(wrong, err)
			}
			if gone || begins && err == nil && m.in.Seq > after {
				for e, err := range d.archived(ctx, run, after, m.in.Seq) {
					if !yield(e, err) || err != nil {
						return
					}
				}
			}
			if gone || follow && ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(engine.Envelope{}, err)
				return
			}
			for _, e := range found {
				if e.Seq > after && !yield(e, nil) {
					return
				}
			}
			found = found[:0]
		}
	}
}

// archived yields archived events as Events does.
func (d *Driver) archived(ctx context.Context, run string, after, last int) iter.Seq2[engine.Envelope, error] {
	return func(yield func(engine.Envelope, error) bool) {
		for e, err := range archivedEvents(ctx, d.o.Store, run, after, last) {
			if ev, ok := e.Event.(*engine.Replanned); ok && err == nil {
				var plan *driver.Pin
				plan, err = planOf(ctx, d.o.Store, run, ev)
				ev.Bundle = plan.Bundle
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
