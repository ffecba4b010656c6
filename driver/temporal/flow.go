package temporal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	hocketflow "github.com/hocket-dev/hocket/workflow"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// The names under which everything is registered. They are in histories, so they never change.
const (
	flowName    = "hocket.run"
	attemptName = "hocket.attempt"
	claimName   = "hocket.claim"
	tellName    = "hocket.tell"
	archiveName = "hocket.archive"
	noteSignal  = "hocket.note"
	actUpdate   = "hocket.act"
	pingQuery   = "hocket.ping"
)

// begin is the input of the workflow.
type begin struct {
	Version int         `json:"version,omitempty"` // of what the machine does with the same history
	Run     string      `json:"run"`
	Pin     *driver.Pin `json:"pin"`
	// Events are those that the run was recorded with, if it begins here, and Plans those of its Replanned.
	Events []eventJSON   `json:"events,omitempty"`
	Plans  []*driver.Pin `json:"plans,omitempty"`
	// Otherwise Snapshot is its state after Seq events, which were archived, and Began is when its clock was zero.
	Snapshot []byte    `json:"snapshot,omitempty"`
	Seq      int       `json:"seq,omitempty"`
	Began    time.Time `json:"began,omitzero"`
	// First is what the run was started with, if it has got a new plan since.
	First *driver.Pin `json:"first,omitempty"`
	// Heartbeat is how long a worker may be silent before its attempts count as lost.
	Heartbeat time.Duration `json:"heartbeat"`
	Limits    continuing    `json:"limits"`
	About     facts         `json:"about"`

	started time.Time // the server's time when it started the execution
}

// check refuses what no driver sends.
func (in begin) check() error {
	pins := append([]*driver.Pin{in.Pin}, in.Plans...)
	if in.First != nil {
		pins = append(pins, in.First)
	}
	for _, pin := range pins {
		if pin == nil || pin.Bundle == nil || pin.Bundle.Root == nil {
			return errors.New("temporal: the input of the workflow has no workflow of Hocket")
		}
	}
	if replans(in.Events) != len(in.Plans) {
		return errors.New("temporal: the input of the workflow does not have a plan for each event that needs one")
	}
	return nil
}

// flowVersion is the version of runs that begin now. A release continues runs of all earlier versions as they began. What has
// changed:
//
//  2. attempts without room at the beginning of an execution are recorded as begun, if they have waited in the one before
//  3. no timeout passes while the run cannot ask for an attempt, and replies are sent until they have arrived
//  4. only the server's clock counts, and claims of an old plan are withdrawn
const flowVersion = 4

// continuing says when a run continues in a new execution.
type continuing struct {
	Quiet   int `json:"quiet"`   // with this many events of history, as soon as no attempt is open
	Drain   int `json:"drain"`   // with this many, no new attempt begins before that
	Updates int `json:"updates"` // with this many updates, likewise
	// The same in bytes: the server ends a workflow whose history has 50 MB. Zero means no limit.
	QuietBytes int `json:"quiet_bytes,omitempty"`
	DrainBytes int `json:"drain_bytes,omitempty"`
	// ArchiveBytes is how much is archived at a time, which is also when the run begins to do so: long outputs are not in
	// the history, so that may be short. Zero means all, and at the end.
	ArchiveBytes int `json:"archive_bytes,omitempty"`
}

// size is how long a history is.
type size struct{ events, bytes int }

func (c continuing) quiets(s size) bool {
	return s.events >= c.Quiet || c.QuietBytes > 0 && s.bytes >= c.QuietBytes
}

func (c continuing) drains(s size, updates int) bool {
	return s.events >= c.Drain || updates >= c.Updates || c.DrainBytes > 0 && s.bytes >= c.DrainBytes
}

// job is the input of an attempt.
type job struct {
	Run  string `json:"run"`
	Seq  int    `json:"seq"`            // of the event that started it
	Plan string `json:"plan,omitempty"` // that the run works with
	// Waited means that no worker took it for a while: the run wants to know when it begins.
	Waited bool              `json:"waited,omitempty"`
	Task   *engine.StartTask `json:"task"`
}

// short returns a command without what takes room in the history and says nothing to an attempt.
func short(c *engine.StartTask) *engine.StartTask {
	task, place, out := *c, *c.Place, *c.Output
	out.Pos, out.At = hocketflow.Pos{}, nil
	place.Output, task.Place = &out, &place
	if out == (hocketflow.Output{}) {
		place.Output = nil
	}
	return &task
}

// workshop is the worker in which a workflow runs, as far as the workflow sees it. What it is told changes nothing of
// what the workflow does.
type workshop interface {
	flowID(run string) string
	begins(in *begin)
	leaves(run string)
	// tidy is called when memory can be freed. How much that is depends on the size of a snapshot of the run.
	tidy(snapshot int)
	issue(run string, c command)
	ended(run string, key attemptKey)
	// heed is told what a run with a script works with, and the number of its newest event, while a question is open.
	heed(run string, pin *driver.Pin, seq int)
	// allows says why a run cannot go on with a plan here.
	allows(run string, plan *driver.Pin) error
	// past returns what is archived of a run, which does not change.
	past(run string, last int) (begin, error)
}

// flow is the Temporal workflow of one run: it carries out what the machine asks for.
type flow struct {
	w      workshop
	ctx    workflow.Context
	in     *begin
	m      *machine
	asked  workflow.Context        // done when somebody uses Temporal's own way of cancelling
	notes  workflow.ReceiveChannel // signals
	open   []expected
	inbox  []arrival
	stops  map[attemptKey]workflow.CancelFunc
	claims map[string]func()          // each withdraws the claim of a label
	drops  int                        // claims that were withdrawn
	tells  map[attemptKey]cancellable // of replies to attempts
	plan   string                     // digest of pinned
	pinned *driver.Pin

	log       []eventJSON // what was recorded and is not archived yet
	logged    int         // its bytes, roughly
	archiving bool
	about     facts     // what lists show
	shown     time.Time // when that was updated
	renamed   bool      // by a new plan since then
}

// cancellable is a context with the function that cancels it.
type cancellable struct {
	ctx    workflow.Context
	cancel workflow.CancelFunc
}

// runFlow is the workflow. Its result is the end of the run.
func (c *crew) runFlow(ctx workflow.Context, in *begin) (ending, error) { return runAt(c, ctx, in) }

func runAt(w workshop, ctx workflow.Context, in *begin) (ending, error) {
	in = cmp.Or(in, &begin{})
	f := &flow{w: w, in: in, stops: map[attemptKey]workflow.CancelFunc{}, claims: map[string]func(){}, tells: map[attemptKey]cancellable{}, about: in.About}
	if id := workflow.GetInfo(ctx).WorkflowExecution.ID; id != w.flowID(in.Run) { // it would pass as another run
		return ending{}, refusal(errors.New("the workflow has the id of another run"))
	}
	if err := in.known(); err != nil { // before anything is refused: a newer release may write it in another form
		return ending{}, broken(err) // and waits for a worker that has it
	}
	if err := in.check(); err != nil || !validRun(in.Run) {
		return ending{}, refusal(cmp.Or(err, errors.New("temporal: invalid id of a run")))
	}
	w.begins(in)
	defer w.leaves(in.Run)
	f.ctx, _ = workflow.NewDisconnectedContext(ctx)
	in.started = workflow.GetInfo(ctx).WorkflowStartTime
	var err error
	if f.m, err = newMachine(*in, f, func(last int) (begin, error) { return w.past(in.Run, last) }); err != nil {
		return ending{}, broken(err)
	}
	if err := f.m.begin(workflow.Now(f.ctx), *in); err != nil {
		return ending{}, broken(err)
	}
	size := len(in.Snapshot)
	in.Snapshot, in.Events = nil, nil
	w.tidy(size)
	if err := f.receive(ctx); err != nil {
		return ending{}, err
	}
	for f.show(); !f.m.over; f.show() {
		if len(f.m.pin.Replies) > 0 && len(f.m.run.Questions()) > 0 {
			w.heed(in.Run, f.m.pin, f.m.run.Seq())
		}
		if err := f.wait(); err != nil {
			return ending{}, err
		}
		if len(f.inbox) == 0 && len(f.log) == 0 {
			return ending{}, f.next()
		}
		if len(f.inbox) == 0 {
			f.archive()
			continue
		}
		f.m.drain = in.Limits.drains(f.length(), f.m.acts)
		arrivals := f.inbox
		f.inbox = nil
		if err := f.m.wake(workflow.Now(f.ctx), arrivals); err != nil {
			return ending{}, broken(err)
		}
		if most := f.in.Limits.ArchiveBytes; most > 0 && f.logged >= most && !f.archiving {
			f.archive()
		}
		if f.reset() {
			return ending{}, refusal(errors.New("a run cannot be reset, because what it did since would happen again; use `hocket fork`"))
		}
	}
	return f.end()
}

// reset reports whether this execution repeats another one up to a point that somebody chose with Temporal's own tools.
// Until that point it must do what the other one did.
func (f *flow) reset() bool {
	info := workflow.GetInfo(f.ctx)
	return info.OriginalRunID != info.WorkflowExecution.RunID && !workflow.IsReplaying(f.ctx)
}

// wait waits until something has arrived, or the run can continue in a new execution.
func (f *flow) wait() error {
	return workflow.Await(f.ctx, func() bool {
		f.gather()
		return len(f.inbox) > 0 || f.rests() && !f.archiving
	})
}

// expected is something outside of the workflow that ends some day.
type expected struct {
	end  workflow.Future
	then func()
}

// when lets something be done when a future is ready.
func (f *flow) when(end workflow.Future, then func()) { f.open = append(f.open, expected{end, then}) }

// gather puts what has arrived into the inbox. The SDK makes all futures of a workflow task ready before it runs the
// workflow, and runs the handlers of updates first: so what arrives in one task is handled together, as by a mirror.
// A coroutine for each future would cost more than all the rest, because the SDK wakes all of them in every task.
func (f *flow) gather() {
	for i := 0; i < len(f.open); i++ {
		if e := f.open[i]; e.end.IsReady() {
			f.open = slices.Delete(f.open, i, i+1)
			i--
			e.then()
		}
	}
	for n := new(note); f.notes.ReceiveAsync(n); n = new(note) {
		f.inbox = append(f.inbox, arrival{note: n})
	}
	if f.asked != nil && f.asked.Err() != nil {
		f.asked = nil
		f.inbox = append(f.inbox, arrival{cancelled: true})
	}
}

// broken makes an error of the engine fail the workflow task, not the run: the run goes on with a
// program that can continue it.
func broken(err error) error { panic(err) }

// known returns an error if a newer release began the run, which may mean something else by it.
func (b *begin) known() error {
	if b.Version <= flowVersion {
		return nil
	}
	return fmt.Errorf("temporal: run %s needs a newer release of hocket-temporal than this one: update it, or look at the run with the program that started it", b.Run)
}

// receive lets everything that reaches the run arrive in the inbox.
func (f *flow) receive(asked workflow.Context) error {
	f.asked, f.notes = asked, workflow.GetSignalChannel(f.ctx, noteSignal)
	if err := workflow.SetQueryHandler(f.ctx, pingQuery, func() (bool, error) { return true, nil }); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(f.ctx, actUpdate, f.act, workflow.UpdateHandlerOptions{Validator: f.admit})
}

// admit refuses what the run does not allow, before it becomes part of the history.
func (f *flow) admit(ctx workflow.Context, a act) error {
	e, err := f.m.event(workflow.Now(ctx), &a)
	if err == nil {
		err = f.m.run.Admit(e)
	}
	if f.m.over {
		err = errOver
	}
	if err == nil && a.Plan != nil {
		err = f.w.allows(f.in.Run, a.Plan)
	}
	if err != nil {
		return refusal(err)
	}
	return nil
}

// refusedType is the type of an error that says why the run refused something.
const refusedType = "refused"

func refusal(err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), refusedType, nil)
}

// act waits until the machine has recorded or refused it: something may have happened since admit.
func (f *flow) act(ctx workflow.Context, a act) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx) // also after Temporal's own way of cancelling
	var verdict error
	done := false
	a.verdict = func(err error) { verdict, done = err, true }
	f.inbox = append(f.inbox, arrival{act: &a})
	if err := workflow.Await(ctx, func() bool { return done }); err != nil {
		return err
	}
	if verdict != nil {
		return refusal(verdict)
	}
	return nil
}

func (f *flow) nudge() { f.ring(time.Millisecond) }

func (f *flow) arm(at time.Time) { f.ring(at.Sub(workflow.Now(f.ctx))) }

func (f *flow) ring(after time.Duration) {
	timer := workflow.NewTimer(f.ctx, after)
	f.when(timer, func() {
		if timer.Get(f.ctx, nil) == nil {
			f.inbox = append(f.inbox, arrival{rang: true})
		}
	})
}

func (f *flow) recorded(_ *engine.Run, e engine.Envelope, _ []engine.Command) {
	f.log = append(f.log, eventJSON{e})
	f.logged += weight(e)
	if ev, ok := e.Event.(*engine.Replanned); ok {
		f.about.replanned(ev)
		f.renamed = true
	}
}

func (f *flow) length() size {
	info := workflow.GetInfo(f.ctx)
	return size{info.GetCurrentHistoryLength(), info.GetCurrentHistorySize()}
}

// rests reports whether the history is long, and nothing of the run is in progress outside of the workflow.
func (f *flow) rests() bool {
	length := f.length()
	return (f.in.Limits.quiets(length) || f.in.Limits.drains(length, f.m.acts)) &&
		len(f.stops) == 0 && len(f.m.crowded) == 0 && len(f.m.queries) == 0 && len(f.m.handings) == 0 && workflow.AllHandlersFinished(f.ctx)
}

// next continues the run in a new execution.
func (f *flow) next() error {
	in := *f.in
	in.Events, in.Plans, in.Snapshot, in.Seq, in.Began = nil, nil, f.m.run.Snapshot(), f.m.run.Seq(), f.m.began
	in.About = f.about
	in.About.Size = f.in.About.Size + int64(workflow.GetInfo(f.ctx).GetCurrentHistorySize())
	if f.m.pin != in.Pin {
		in.First = cmp.Or(in.First, in.Pin)
		in.Pin = f.m.pin
	}
	f.m = nil
	f.w.tidy(len(in.Snapshot))
	return workflow.NewContinueAsNewError(f.ctx, flowName, in)
}

// ending is the result of the workflow, for people who look at it with Temporal's own tools.
type ending struct {
	Status engine.Status `json:"status"`
}

func (f *flow) end() (ending, error) {
	for f.archiving || len(f.log) > 0 {
		if !f.archiving {
			f.archive()
		}
		if err := workflow.Await(f.ctx, func() bool { return !f.archiving }); err != nil {
			return ending{}, err
		}
	}
	return ending{f.about.Status}, nil
}

// show updates what lists show, if that has changed. A step that costs nothing adds nothing to the history, and
// what the others cost is not updated more often than every few seconds.
func (f *flow) show() {
	f.about.Homes = f.m.homes
	was, now := f.about, workflow.Now(f.ctx)
	f.about.state(f.m.run)
	if f.m.version >= 3 && f.about.Status == engine.Waiting && f.m.looks() {
		f.about.Status, f.about.Due = engine.Running, time.Time{}
	}
	status := was.Status != f.about.Status || f.renamed
	cost := was.Usage.Usage != f.about.Usage.Usage && now.Sub(f.shown) >= showEvery
	if !status && !cost && was.Open == f.about.Open && was.Due.Equal(f.about.Due) {
		f.about = was
		return
	}
	renamed := f.renamed
	f.shown, f.renamed = now, false
	f.about.Size = f.in.About.Size + int64(workflow.GetInfo(f.ctx).GetCurrentHistorySize())
	err := workflow.UpsertMemo(f.ctx, map[string]any{memoFacts: f.about})
	if err == nil && status { // only what has changed: the server takes longer for each
		set := []temporal.SearchAttributeUpdate{statusKey.ValueSet(string(f.about.Status))}
		if renamed {
			set = append(set, workflowKey.ValueSet(f.about.Workflow))
		}
		err = workflow.UpsertTypedSearchAttributes(f.ctx, set...)
	}
	if err != nil {
		_ = broken(err)
	}
}

const showEvery = 5 * time.Second

// archive begins to store what was recorded, because Temporal deletes the execution some day: all of it, or as much as is
// stored at a time. It takes place in the process of the workflow, which saves a round trip to the server. Meanwhile the run
// goes on: what arrives is handled when it arrives, or mirrors would see another run.
func (f *flow) archive() {
	f.archiving = true
	until, bytes := 0, 0
	for most := f.in.Limits.ArchiveBytes; until < len(f.log) && (bytes < most || most == 0); until++ {
		bytes += weight(f.log[until].Envelope)
	}
	part := segment{Run: f.in.Run, Events: f.log[:until:until], Plans: f.m.plans[:len(f.m.plans)-replans(f.log[until:])]}
	if part.Events[0].Seq == 1 {
		part.First = cmp.Or(f.in.First, f.in.Pin)
	}
	if f.m.over && until == len(f.log) {
		part.End = &f.about
	}
	options := workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}}
	workflow.Go(workflow.WithLocalActivityOptions(f.ctx, options), func(ctx workflow.Context) {
		for wait := time.Second; workflow.ExecuteLocalActivity(ctx, archiveName, part).Get(ctx, nil) != nil; wait = min(2*wait, 5*time.Minute) {
			// The store is out of reach. Mirrors ignore this timer because it has a summary.
			_ = workflow.NewTimerWithOptions(ctx, wait, workflow.TimerOptions{Summary: "archive"}).Get(ctx, nil)
		}
		f.log, f.logged, f.archiving = slices.Clone(f.log[until:]), f.logged-bytes, false // the rest can be freed
	})
}
