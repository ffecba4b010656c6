package hocket

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/workflow"
)

// What front ends and embedding programs see of a driver.
type (
	// Info is a run as lists show it.
	Info = driver.Info
	// Filter selects runs.
	Filter = driver.Filter
	// Change is something that happened to a run of the project.
	Change = driver.Change
	// Question is an open question and the run that asks it.
	Question = driver.Question
	// Receipt says what became of an answer, a cancellation or a raised limit.
	Receipt = driver.Receipt
	// Observer sees what happens in a run that this process drives.
	Observer = driver.Observer
	// Asker puts questions to people who are here.
	Asker = driver.Asker
	// Kept is what is kept about an attempt.
	Kept = driver.Kept
	// Retention is how many runs are kept.
	Retention = driver.Retention
	// Collected is a run that was deleted.
	Collected = driver.Collected
	// Stream is one of the streams that an attempt leaves.
	Stream = driver.Stream
	// Piece is a part of a stream.
	Piece = driver.Piece

	// UnknownRunError says that no run has an id, or that several begin with it.
	UnknownRunError = driver.UnknownRunError
	// DamagedLogError says that some of what steps printed cannot be read.
	DamagedLogError = driver.DamagedLogError
	// HeldError says that another process drives a run.
	HeldError = driver.HeldError
	// RefusedError says why a run does not take an answer, a cancellation or a
	// raised limit. It was not recorded.
	RefusedError = driver.RefusedError
	// InterruptedError says that a run was stopped before its end. Resume
	// continues it.
	InterruptedError = driver.InterruptedError
	// KeyError says that a start key was used before for another request.
	KeyError = driver.KeyError
)

// The streams of an attempt.
const (
	Output     = driver.Output
	Prompt     = driver.Prompt
	Transcript = driver.Transcript
)

// Damaged is the status of a run in a list whose line there cannot be read.
const Damaged = driver.Damaged

// KillPrograms ends at once all programs that this process has started. It is for one
// that is about to exit and cannot wait until they end in their own time.
func KillPrograms() { process.KillAll() }

// Run is one run of the project. It is safe for concurrent use.
type Run struct {
	// Notes are what the user should know about how the run was started: what it may
	// do on this machine, the first time, and what it goes on without.
	Notes []string

	p       *Project
	d       driver.Driver
	id      string
	existed bool // it was started before with the same key

	// What the run was started with, where this process knows it already.
	pin     *driver.Pin
	agents  *agent.Set
	replies *Replies
	trusted pinnedTrust

	mu     sync.Mutex
	drives chan struct{} // closed when the drive in the background is over; nil: there is none
	queued bool          // it waits for the one before
	result engine.Result
	err    error

	attempts map[string]int // of the steps that were seen, by address
}

func (p *Project) handle(d driver.Driver, id string) *Run { return &Run{p: p, d: d, id: id} }

// Run finds a run by its id or by a unique prefix of it. The error is an
// *[UnknownRunError] if there is none.
func (p *Project) Run(ctx context.Context, id string) (*Run, error) {
	d, err := p.runs()
	if err != nil {
		return nil, err
	}
	if id, err = d.Find(ctx, id); err != nil {
		return nil, err
	}
	return p.handle(d, id), nil
}

// Runs lists the runs of the project, newest first.
func (p *Project) Runs(ctx context.Context, f Filter) ([]Info, error) {
	d, err := p.runs()
	if err != nil {
		return nil, err
	}
	return d.Runs(ctx, f)
}

// Watch reports every run of the project, and then every change of a run's
// status, questions or driver, made by any process, until ctx is done.
func (p *Project) Watch(ctx context.Context) iter.Seq2[Change, error] {
	d, err := p.runs()
	if err != nil {
		return func(yield func(Change, error) bool) { yield(Change{}, err) }
	}
	return d.Watch(ctx)
}

// Questions lists what is open in all runs of the project.
func (p *Project) Questions(ctx context.Context) ([]Question, error) {
	d, err := p.runs()
	if err != nil {
		return nil, err
	}
	return d.Questions(ctx, "")
}

// ID is the id of the run.
func (r *Run) ID() string { return r.id }

// Info is the run as lists show it.
func (r *Run) Info(ctx context.Context) (Info, error) { return r.d.Info(ctx, r.id) }

// Bundle is the workflow that the run was started with, and those that it calls.
func (r *Run) Bundle(ctx context.Context) (*workflow.Bundle, error) {
	pin, err := r.pinned(ctx)
	if err != nil {
		return nil, err
	}
	return pin.Bundle, nil
}

func (r *Run) pinned(ctx context.Context) (*driver.Pin, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pin == nil {
		pin, err := r.d.Pin(ctx, r.id)
		if err != nil {
			return nil, err
		}
		r.pin = pin
	}
	return r.pin, nil
}

// Replies are those that the run was started with; nil: none.
func (r *Run) Replies(ctx context.Context) (*Replies, error) {
	pin, err := r.pinned(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.replies == nil && pin.Replies != nil {
		r.replies, err = scripted.Decode(pin.Replies)
	}
	return r.replies, err
}

// Front is who looks on while a run is driven in this process.
type Front struct {
	Observer Observer // nil: nobody looks
	Asker    Asker    // nil: nobody here can be asked
	// Elsewhere: what an agent asks while it works waits for an answer from
	// elsewhere if nobody here gives one. Else the agent learns at once that
	// nobody is here.
	Elsewhere bool
	// Replies take the place of those that the run was started with.
	Replies *Replies
}

// Resume drives the run in the background, as Start does. The error says why it cannot
// be driven here, see [Run.Drive]. If the run is being driven through this handle, it is
// taken up again when that is over: an answer may have come too late for it.
func (r *Run) Resume(ctx context.Context) error {
	work, end, err := r.work(ctx, Front{Elsewhere: true})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queued { // that one will see all that happened until now
		end()
		return nil
	}
	before, over := r.drives, make(chan struct{})
	r.drives, r.queued = over, before != nil
	go func() {
		defer close(over)
		defer end()
		if before != nil {
			select {
			case <-before:
			case <-ctx.Done():
			}
		}
		r.mu.Lock()
		r.queued = false
		r.mu.Unlock()
		result, err := r.d.Drive(ctx, r.id, work)
		r.retain(ctx, result)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.result, r.err = result, err
	}()
	return nil
}

// Drive drives the run here, until it is over or waits for something that nobody
// here can give. What was recorded is not done again. The error is a *[HeldError]
// if another process drives it, an *[InterruptedError] if ctx was done first, and
// a *[MissingAgentError] if agents that it uses are not available here; the run is
// unchanged then.
func (r *Run) Drive(ctx context.Context, f Front) (engine.Result, error) {
	w, end, err := r.work(ctx, f)
	if err != nil {
		return engine.Result{Run: r.id}, err
	}
	defer end()
	result, err := r.d.Drive(ctx, r.id, w)
	r.retain(ctx, result)
	return result, err
}

// work puts together what the run is driven with: the agents as they were when it
// started, with the configuration of today. Call the function when it was driven.
func (r *Run) work(ctx context.Context, f Front) (driver.Work, func(), error) {
	fail := func(err error) (driver.Work, func(), error) { return driver.Work{}, nil, err }
	pin, err := r.pinned(ctx)
	if err != nil {
		return fail(err)
	}
	p, err := r.p.at(r.id, pin.Dir)
	if err != nil {
		return fail(err)
	}
	p = p.steady()
	agents := r.agents
	if agents == nil {
		if agents, err = agent.DecodeSet(pin.Agents, p.now().files.Executors()); err != nil {
			return fail(err)
		}
	}
	replies := f.Replies
	if replies == nil {
		if replies, err = r.Replies(ctx); err != nil {
			return fail(err)
		}
	}
	if err := missingAgents(r.id, pin.Bundle, agents, replies); err != nil {
		return fail(err)
	}
	trusted := r.trusted
	if r.agents == nil || f.Replies != nil { // else that was settled when it was recorded
		if trusted, err = p.settleAgain(ctx, pin, agents, replies); err != nil {
			return fail(err)
		}
	}
	if err := p.now().files.NotePlace(); err != nil {
		return fail(err)
	}
	done, err := r.p.drives()
	if err != nil {
		return fail(err)
	}
	place := p.now().newWorkplace(p.Root())
	w := driver.Work{Agents: &lanes{agents, pin, p.Root(), place, trusted, p.now().files.Equipment}, Asker: f.Asker, Observer: f.Observer, Elsewhere: f.Elsewhere}
	if replies != nil {
		w.Script, w.ScriptAll = replies.Script(), replies.CoversAll(pin.Bundle)
	}
	return w, func() {
		place.close()
		done()
	}, nil
}

// CheckDrive returns the error with which [Run.Drive] would leave the run unchanged, for
// who has another process drive it, or a copy of it.
func (r *Run) CheckDrive(ctx context.Context, replies *Replies) error {
	_, end, err := r.work(ctx, Front{Replies: replies})
	if err == nil {
		end()
	}
	return err
}

// at is the project that a run was started in, with the same runs: this one, which may
// have been moved since, or another one where the user named one place for the runs of
// several.
func (p *Project) at(run, dir string) (*Project, error) {
	now := p.now().files.Now(dir)
	if now == p.Root() {
		return p, nil
	}
	if info, err := os.Stat(now); err != nil || !info.IsDir() {
		return nil, &MovedError{run, now}
	}
	o := p.o
	o.State, o.root = p.State(), now
	return Open(now, o)
}

// MovedError says that the directory is not there in which a run was started. The run
// waits; it can be resumed when that is there again, or where its project is now, after
// [Project.Adopt].
type MovedError struct{ Run, Dir string }

func (e *MovedError) Error() string {
	return fmt.Sprintf("run %s belongs to the project in %s, which is not there", e.Run, e.Dir)
}

// AdoptError says why a project cannot take over what is kept about another one.
type AdoptError = project.AdoptError

// Adopt gives the project what is kept about the one that was at a directory: its runs,
// sessions and memories. It is for a project that was moved to another disk, or restored;
// one that was only renamed is found again without it. It takes effect when the project
// is opened again.
func (p *Project) Adopt(dir string) error { return p.now().files.Adopt(dir) }

// MissingAgentError says that a run uses agents that cannot work here. The run
// waits; it can be resumed where they can.
type MissingAgentError struct {
	Run    string
	Agents []*agent.ResolveError
}

func (e *MissingAgentError) Error() string {
	return fmt.Sprintf("run %s cannot continue here: %v", e.Run, e.Agents[0])
}

// Hint says what to do about it.
func (e *MissingAgentError) Hint() string { return e.Agents[0].Advice() }

// missingAgents finds the agents of a workflow that have no executor here.
func missingAgents(run string, b *workflow.Bundle, agents *agent.Set, replies *Replies) error {
	missing := &MissingAgentError{Run: run}
	agents = agents.Snapshot()
	for _, w := range check.Workflows(*b) {
		w.Body.Walk(func(g *workflow.Graph, n *workflow.Node) {
			task := g.TaskOf(n)
			if task == nil || replies != nil && replies.Covers(n) {
				return
			}
			var failed *agent.ResolveError
			if _, _, err := agents.ResolveLane(task.Agent, w.RoleOf(task.Agent)); errors.As(err, &failed) && failed.Why == agent.NoExecutor {
				missing.Agents = append(missing.Agents, failed)
			}
		})
	}
	if len(missing.Agents) == 0 {
		return nil
	}
	return missing
}

// Wait waits until the run is over, or waits for something and nobody drives it, and
// returns what it has come to. It waits for whichever process drives the run, and for
// one that was recorded until somebody takes it up, unless the process that means to
// has ended. The error is that of the drive, if this handle has begun one.
// [engine.StepResult.Value] gives the outputs of steps, also long ones, as long as the
// project is open.
func (r *Run) Wait(ctx context.Context) (engine.Result, error) {
	r.mu.Lock()
	drives := r.drives
	r.mu.Unlock()
	if drives != nil {
		select {
		case <-drives:
		case <-ctx.Done():
			return engine.Result{Run: r.id}, context.Cause(ctx)
		}
		r.mu.Lock()
		result, err := r.result, r.err
		r.mu.Unlock()
		var held *HeldError
		if result.Status.Done() || err != nil && !errors.As(err, &held) {
			return result, err
		}
	}
	for change, err := range r.d.Watch(ctx) {
		if err != nil {
			return engine.Result{Run: r.id}, err
		}
		if change.Run == r.id && !change.Info.Driven && !change.Info.Pending {
			break
		}
	}
	if ctx.Err() != nil {
		return engine.Result{Run: r.id}, context.Cause(ctx)
	}
	s, err := r.State(ctx)
	if s == nil {
		return engine.Result{Run: r.id}, err
	}
	return s.Result, err
}

// Questions lists what the run asks and nobody has answered.
func (r *Run) Questions(ctx context.Context) ([]Question, error) { return r.d.Questions(ctx, r.id) }

// Answer is what a person says to a question.
type Answer struct {
	Value   string
	Comment string // why, for those who read it later
	// Digest, if not "", is that of the question as it was shown: the answer counts
	// only for exactly that question.
	Digest string
}

// Answer answers an open question by its id: the address of a step, or address@n
// for what an agent asks while it works. The first valid answer counts.
func (r *Run) Answer(ctx context.Context, id string, a Answer) (Receipt, error) {
	if err := r.p.CheckSecret("the answer", a.Value+"\n"+a.Comment); err != nil {
		return Receipt{}, err
	}
	by := r.p.owner
	return r.d.Act(ctx, r.id, &engine.Answered{ID: id, Value: a.Value, By: by.By, Via: by.Via, Comment: a.Comment, Digest: a.Digest})
}

// Cancel ends the run and everything that it started.
func (r *Run) Cancel(ctx context.Context, reason string) (Receipt, error) {
	return r.d.Act(ctx, r.id, &engine.CancelAsked{By: r.p.owner.By, Via: r.p.owner.Via, Reason: reason})
}

// Raise raises limits of the run; zero fields stay as they are.
func (r *Run) Raise(ctx context.Context, limits workflow.Limits) (Receipt, error) {
	if limits == (workflow.Limits{}) {
		return Receipt{}, errors.New("hocket: raise needs at least one limit")
	}
	return r.d.Act(ctx, r.id, &engine.LimitRaised{Limits: limits, By: r.p.owner.By, Via: r.p.owner.Via})
}

// Retry records a new run that repeats this one up to a step, and does that step
// and what depended on it again. Without an address that is what failed. Resume or
// Drive starts it. [WithLimits] sets limits of the new run over those of this one; no
// other option has a meaning here.
func (r *Run) Retry(ctx context.Context, address string, options ...StartOption) (*Run, error) {
	if address != "" {
		return r.Fork(ctx, address, nil, options...)
	}
	s, err := r.State(ctx)
	if err != nil {
		return nil, err
	}
	failed := FailedSteps(&s.Result)
	if len(failed) == 0 {
		return nil, &RefusedError{Run: r.id, Reason: "no step of it failed; name the step to begin again at"}
	}
	return r.fork(ctx, driver.ForkSpec{Address: failed[0], Also: failed[1:]}, options)
}

// FailedSteps are the steps to make again so that a run may succeed: the one that it
// failed by, or did not start for a limit, or those that failed and did not end it, or
// those that were cancelled.
func FailedSteps(res *engine.Result) []string {
	for _, s := range res.Steps {
		if s.Status == engine.Skipped && s.Error != "" && res.Status == engine.Failed { // by a limit
			return []string{s.Address}
		}
	}
	var failed []engine.StepResult
	for _, wanted := range [][]engine.Status{{engine.Failed, engine.TimedOut}, {engine.Cancelled}} {
		for _, s := range res.Steps {
			if len(failed) > 0 && strings.HasPrefix(s.Address, failed[len(failed)-1].Address+"/") {
				failed = failed[:len(failed)-1] // a call fails by what is in it
			}
			if slices.Contains(wanted, s.Status) {
				failed = append(failed, s)
			}
		}
		if len(failed) > 0 {
			break
		}
	}
	switch {
	case res.Status == engine.Success || !res.Status.Done() || len(failed) == 0:
		return nil
	case res.Status == engine.Failed:
		failed = []engine.StepResult{slices.MaxFunc(failed, func(a, b engine.StepResult) int { return a.Ended.Compare(b.Ended) })}
	}
	addresses := make([]string, len(failed))
	for i, s := range failed {
		addresses[i] = s.Address
	}
	return addresses
}

// Fork is Retry where the step is not done again: output is what it gives, the raw
// output of a task or the answer to a question. Nil: it is done again.
func (r *Run) Fork(ctx context.Context, address string, output *string, options ...StartOption) (*Run, error) {
	if output != nil {
		if err := r.p.CheckSecret("the output", *output); err != nil {
			return nil, err
		}
	}
	return r.fork(ctx, driver.ForkSpec{Address: address, Output: output}, options)
}

func (r *Run) fork(ctx context.Context, spec driver.ForkSpec, options []StartOption) (*Run, error) {
	s, err := startingWith(options)
	if err != nil {
		return nil, err
	}
	spec.From, spec.Limits, spec.Owner = r.id, s.limits, r.p.owner
	made, err := r.d.Fork(ctx, spec)
	if err != nil {
		return nil, err
	}
	forked := r.p.handle(r.d, made.Run)
	if made.Note != "" {
		forked.Notes = []string{made.Note}
	}
	return forked, nil
}

// Delete deletes the run and everything that is kept about it. A run that is
// driven or that can still go on must be cancelled first.
func (r *Run) Delete(ctx context.Context) error {
	info, err := r.Info(ctx)
	if err != nil {
		return err
	}
	if !info.Status.Done() {
		return &RefusedError{Run: r.id, Reason: "it is not over; cancel it first"}
	}
	return r.d.Delete(ctx, r.id)
}

// Collect deletes the runs that were over first, so that the others keep to r. With dry
// it only returns them. A run that waits or that can be resumed is never deleted.
func (p *Project) Collect(ctx context.Context, r Retention, dry bool) ([]Collected, error) {
	d, err := p.runs()
	if err != nil {
		return nil, err
	}
	return d.Collect(ctx, r, dry)
}

// Compact gives the space of runs that were deleted back to the system. Runs may have to
// wait for it.
func (p *Project) Compact(ctx context.Context) error {
	d, err := p.runs()
	if err != nil {
		return err
	}
	return d.Compact(ctx)
}

// retain collects what the configuration says, after a run has ended.
func (r *Run) retain(ctx context.Context, res engine.Result) {
	if keep := Retention(r.p.Config().Retention); keep != (Retention{}) && res.Status.Done() {
		_, _ = r.d.Collect(ctx, keep, false) // the next run that ends tries again
	}
}

// Kept is what is kept about an attempt of a step. The error is an *[UnknownStepError]
// if there is no such attempt.
func (r *Run) Kept(ctx context.Context, address string, attempt int) (Kept, error) {
	kept, err := r.d.Kept(ctx, driver.AttemptID{Run: r.id, Address: address, Attempt: attempt})
	if err == nil && len(kept.Sizes) == 0 {
		err = r.checkAttempt(ctx, address, attempt)
	}
	return kept, err
}

// Read reads a stream of an attempt from a byte offset on. With follow it waits for
// more until the attempt has ended. Of a long output its beginning and its end are
// kept; the offsets of the pieces show what is missing. A *[DamagedLogError] comes after
// all that can be read, an *[UnknownStepError] if there is no such attempt.
func (r *Run) Read(ctx context.Context, address string, attempt int, s Stream, offset int64, follow bool) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		empty := true
		for p, err := range r.d.Read(ctx, driver.AttemptID{Run: r.id, Address: address, Attempt: attempt}, s, offset, follow) {
			empty = false
			if !yield(p, err) {
				return
			}
		}
		if !empty || offset > 0 || ctx.Err() != nil {
			return // what has been read before exists
		}
		if err := r.checkAttempt(ctx, address, attempt); err != nil {
			yield(Piece{}, err)
		}
	}
}
