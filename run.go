package hocket

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/workflow"
)

// The types of package driver that front ends and embedding programs use.
type (
	// Info is a run as lists show it.
	Info = driver.Info
	// Filter selects runs.
	Filter = driver.Filter
	// QuestionFilter selects open questions. The zero value selects all.
	QuestionFilter = driver.QuestionFilter
	// Asked names a question.
	Asked = driver.Asked
	// Change is something that happened to a run of the project.
	Change = driver.Change
	// Question is an open question and its run.
	Question = driver.Question
	// Receipt is the result of an answer, a cancellation or a raised limit.
	Receipt = driver.Receipt
	// Observer sees what happens in a run that this process drives.
	Observer = driver.Observer
	// Asker asks people in this process.
	Asker = driver.Asker
	// Kept is what is stored about an attempt.
	Kept = driver.Kept
	// Spent is what an attempt has cost.
	Spent = driver.Spent
	// Counts is how many runs and questions a project has.
	Counts = driver.Counts
	// Retention limits how many runs are kept.
	Retention = driver.Retention
	// Collected is a run that was deleted.
	Collected = driver.Collected
	// Stream is one of the recorded streams of an attempt.
	Stream = driver.Stream
	// AttemptID names an attempt of a run.
	AttemptID = driver.AttemptID
	// Outcome is the end of an attempt.
	Outcome = driver.Outcome
	// Piece is a part of a stream.
	Piece = driver.Piece

	// UnknownRunError reports that no run has an id, or that it is an ambiguous prefix.
	UnknownRunError = driver.UnknownRunError
	// DamagedLogError reports that part of a log cannot be read.
	DamagedLogError = driver.DamagedLogError
	// HeldError reports that another process drives a run.
	HeldError = driver.HeldError
	// RefusedError reports why a run rejects an answer, a cancellation or a raised
	// limit. Nothing was recorded.
	RefusedError = driver.RefusedError
	// InterruptedError reports that a run was stopped before its end. Resume
	// continues it.
	InterruptedError = driver.InterruptedError
	// ExistsError reports that there is already a run with an id.
	ExistsError = driver.ExistsError
	// KeyError reports that a start key was used before for another request.
	KeyError = driver.KeyError
)

// The streams of an attempt.
const (
	Output     = driver.Output
	Prompt     = driver.Prompt
	Transcript = driver.Transcript
)

// RunAppeared is the kind of a [Change] with which a run is seen for the first time.
const RunAppeared = driver.Appeared

// RunDeleted is the kind of a [Change] after which a run does not exist any more.
const RunDeleted = driver.Deleted

// WatchReset is the kind of a [Change] before which others are not reported.
const WatchReset = driver.Reset

// Damaged is the status of a run in a list if its entry cannot be read.
const Damaged = driver.Damaged

// KillPrograms kills all programs that this process has started. It is for a process that
// is about to exit and cannot wait for them to end.
func KillPrograms() { process.KillAll() }

// EndPrograms ends the programs that a process which was killed has left running, on systems that tell which ones
// they are. It is for a process that watches another one.
func EndPrograms(pid int) error {
	err := process.EndOwned(pid, time.Second)
	if errors.Is(err, process.ErrUnseen) {
		return nil // its successor ends them, or nobody
	}
	return err
}

// Run is one run of the project. It is safe for concurrent use.
type Run struct {
	// Notes are messages for the user about the start of the run: what it may do on this
	// machine, the first time, and what it has to do without.
	Notes []string

	p       *Project
	d       driver.Driver
	id      string
	existed bool // it was started before with the same key

	// What the run was started with, if this process knows it already.
	pin     *driver.Pin
	agents  *agent.Set
	replies *Replies
	trusted pinnedTrust

	mu     sync.Mutex
	drives chan struct{} // closed when the background drive has ended; nil: there is none
	queued bool          // it waits for the previous one
	result engine.Result
	err    error

	attempts map[string]int // of the steps seen so far, by address
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

// Notice returns why [Project.Runs] lacks runs that users may look for, as a sentence; "" if it lacks none.
func (p *Project) Notice(ctx context.Context) (string, error) {
	d, err := p.runs()
	if n, ok := d.(driver.Noticer); ok && err == nil {
		return n.Notice(ctx)
	}
	return "", err
}

// Count counts the runs that are not over and those created since a time, and the open questions. It is fast for many.
func (p *Project) Count(ctx context.Context, since time.Time) (Counts, error) {
	d, err := p.runs()
	if err != nil {
		return Counts{}, err
	}
	return d.Count(ctx, since)
}

// Watch reports every run of the project, and then every change of a run's
// status, questions or driver, made by any process, until ctx is done.
func (p *Project) Watch(ctx context.Context) iter.Seq2[Change, error] { return p.WatchSince(ctx, 0) }

// WatchSince is like Watch, but begins after a version of the list of runs, which [Project.Count] returns and every
// change has; 0: with all runs. If the list was never at that version, the first change has the kind [WatchReset].
func (p *Project) WatchSince(ctx context.Context, since int64) iter.Seq2[Change, error] {
	d, err := p.runs()
	if err != nil {
		return func(yield func(Change, error) bool) { yield(Change{}, err) }
	}
	return d.Watch(ctx, since)
}

// Questions lists open questions of runs of the project. The oldest run comes first.
func (p *Project) Questions(ctx context.Context, f QuestionFilter) ([]Question, error) {
	d, err := p.runs()
	if err != nil {
		return nil, err
	}
	return d.Questions(ctx, f)
}

// Spent adds up what the attempts of all runs that ended since a time have cost, by day, workflow, run, agent
// and model, and in this order. The days are those of the zone of since. What a fork took over from another run
// is not counted again.
func (p *Project) Spent(ctx context.Context, since time.Time) ([]Spent, error) {
	d, err := p.runs()
	if err != nil {
		return nil, err
	}
	return d.Spent(ctx, since)
}

// Project returns the project of the run.
func (r *Run) Project() *Project { return r.p }

// ID returns the id of the run.
func (r *Run) ID() string { return r.id }

// Info returns the run as lists show it.
func (r *Run) Info(ctx context.Context) (Info, error) { return r.d.Info(ctx, r.id) }

// Bundle returns the workflow of the run, or its newest plan, and those that it calls.
func (r *Run) Bundle(ctx context.Context) (*workflow.Bundle, error) {
	pin, err := r.pinned(ctx)
	if err != nil {
		return nil, err
	}
	return pin.Bundle, nil
}

// IsOf reports whether the run was started with the workflow that has a name in the project. Neither what a
// file elsewhere says its name is counts, nor a plan that the run got later.
func (r *Run) IsOf(ctx context.Context, name string) (bool, error) {
	pin, err := r.d.FirstPin(ctx, r.id)
	if err != nil {
		return false, err
	}
	want, _, _, err := r.p.Source(name)
	if err != nil {
		return false, nil //nolint:nilerr // no workflow has the name, or several: a check says so
	}
	if pin.File != "" {
		return pin.File == r.p.realFile(want), nil
	}
	inside := func(root, file string) string { // of a run that an older version recorded
		if rel, err := filepath.Rel(root, file); err == nil && filepath.IsAbs(file) {
			return rel
		}
		return file
	}
	return inside(pin.Dir, pin.Bundle.Root.Pos.File) == inside(r.p.Root(), want), nil // the project may have been moved
}

// realFile returns where a file really is, relative to the root, so that it can be compared however it was
// spelled, and after the project was moved.
func (p *Project) realFile(file string) string {
	if file == "" || file == "-" { // standard input, wherever that was read
		return file
	}
	if real, err := filepath.EvalSymlinks(file); err == nil { // otherwise it is the name of a text
		file = real
	}
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	if rel, err := filepath.Rel(p.Root(), file); err == nil {
		file = rel
	}
	return filepath.ToSlash(file)
}

func (r *Run) pinned(ctx context.Context) (*driver.Pin, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pin != nil {
		return r.pin, nil
	}
	return r.d.Pin(ctx, r.id)
}

// forget makes the run read what it works with again: another process may have given it a new plan.
func (r *Run) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pin, r.agents, r.trusted = nil, nil, pinnedTrust{}
}

// Replies returns the replies that the run was started with, nil if there are none.
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

// Wait waits until the run ends, or waits for something and no process drives it, and
// returns its result. It waits regardless of which process drives the run. For a run that
// was only recorded, it waits until a process starts driving it, unless the process that
// reserved it has ended. A run on workers is always driven: there, Wait returns when nothing goes on
// until a person answers a question. The error is that of the drive, if this handle started one.
// [engine.StepResult.Value] returns the outputs of steps, even long ones, as long as the
// project is open.
func (r *Run) Wait(ctx context.Context) (engine.Result, error) {
	r.mu.Lock()
	drives := r.drives
	r.mu.Unlock()
	if r.OnWorkers() {
		return r.waitOnWorkers(ctx, drives)
	}
	if drives != nil {
		select {
		case <-drives:
		case <-ctx.Done():
			return engine.Result{Run: r.id}, context.Cause(ctx)
		}
		if result, last, err := r.driven(); last {
			return result, err
		}
	}
	if err := r.until(ctx, func(i Info) bool { return !i.Driven && !i.Pending }); err != nil {
		return engine.Result{Run: r.id}, err
	}
	s, err := r.State(ctx)
	if s == nil {
		return engine.Result{Run: r.id}, err
	}
	return s.Result, err
}

// driven returns how the background drive has ended, and whether that is all there is to wait for.
func (r *Run) driven() (result engine.Result, last bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result, r.result.Status.Done() || r.err != nil && !errors.As(r.err, new(*HeldError)), r.err
}

// until waits until the entry of the run in the list is as wanted, or is deleted.
func (r *Run) until(ctx context.Context, wanted func(Info) bool) error {
	for change, err := range r.d.Watch(ctx, 0) {
		if err != nil {
			return err
		}
		if change.Run == r.id && (change.Kind == RunDeleted || wanted(change.Info)) {
			return nil
		}
	}
	return context.Cause(ctx)
}

// waitOnWorkers is Wait for a run on workers, which this handle drives until the channel is closed; nil: it does not. The
// list may be a moment old, so it only says when to look at the run itself. While the server is away, this goes on.
func (r *Run) waitOnWorkers(ctx context.Context, drives <-chan struct{}) (engine.Result, error) {
	for {
		err := r.untilItStops(ctx, drives)
		select {
		case <-drives:
			if result, last, err := r.driven(); last {
				return result, err
			}
			drives, err = nil, context.Cause(ctx) // what ended the watch was only the end of the drive
		default:
		}
		var s *State
		if err == nil {
			s, err = r.State(ctx)
		}
		over := false
		if err == nil {
			over, err = r.stopped(ctx, s)
		}
		switch {
		case ctx.Err() != nil:
			return engine.Result{Run: r.id}, context.Cause(ctx)
		case !over && (err == nil || r.d.(driver.Workers).Away(err)):
		case s == nil:
			return engine.Result{Run: r.id}, err
		default:
			return s.Result, err
		}
		select {
		case <-time.After(time.Second): // until then, the list may be as it was
		case <-ctx.Done():
		}
	}
}

// untilItStops waits until the list says that nothing goes on in the run, or until drives is closed.
func (r *Run) untilItStops(ctx context.Context, drives <-chan struct{}) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-drives:
		case <-watching.Done():
		}
		stop()
	}()
	return r.until(watching, func(i Info) bool {
		return i.Status.Done() || i.Problem != "" || i.Status == engine.Waiting && i.Open > 0
	})
}

// stopped reports whether nothing goes on in a run on workers until a person answers a question: none of those that are
// open will be answered by a script.
func (r *Run) stopped(ctx context.Context, s *State) (bool, error) {
	if s.Status.Done() || s.Problem != "" {
		return true, nil
	}
	if s.Status != engine.Waiting || len(s.Questions) == 0 {
		return false, nil
	}
	replies, err := r.Replies(ctx)
	if replies == nil || err != nil {
		return err == nil, err
	}
	all := replies.CoversAll(s.Bundle)
	return !slices.ContainsFunc(s.Questions, func(q Question) bool {
		return q.Kind == engine.GateQuestion && (all || !q.Required) && replies.Takes(q.Address, q.Node, q.Options, q.Custom)
	}), nil
}

// Questions lists the open questions of the run.
func (r *Run) Questions(ctx context.Context) ([]Question, error) {
	return r.d.Questions(ctx, QuestionFilter{Run: r.id})
}

// Answer is a person's answer to a question.
type Answer struct {
	Value   string
	Comment string // recorded with the answer
	// Digest is the digest of the question that was shown: the answer is valid only for
	// exactly that question. "" means the one that is open now.
	Digest string
	// Change, if not "", is the hash of the change that a landing shows, or its beginning: the answer is
	// valid only for that.
	Change string
}

// Answer answers an open question by its id: the address of a step, or address@n
// for a question of a working agent. The first valid answer wins. It is recorded with the
// digest of the question.
func (r *Run) Answer(ctx context.Context, id string, a Answer) (Receipt, error) {
	if err := r.p.CheckSecret("the answer", a.Value+"\n"+a.Comment); err != nil {
		return Receipt{}, err
	}
	if a.Digest == "" {
		q, err := r.question(ctx, id)
		if err != nil {
			return Receipt{}, err
		}
		if err := mayAnswer(r.id, q, a); err != nil {
			return Receipt{}, err
		}
		if q != nil {
			a.Digest = q.Digest
		}
	}
	by := r.p.owner
	return r.d.Act(ctx, r.id, &engine.Answered{ID: id, Value: a.Value, By: by.By, Via: by.Via, Comment: a.Comment, Digest: a.Digest})
}

// question returns the open question that an answer to id is for, nil if there is not exactly one.
func (r *Run) question(ctx context.Context, id string) (found *Question, err error) {
	open, err := r.Questions(ctx)
	if err != nil {
		return nil, err
	}
	several := false
	for _, q := range open {
		switch id {
		case q.ID:
			return &q, nil
		case q.Address:
			several, found = found != nil, &q
		}
	}
	if several {
		return nil, nil // the driver says why
	}
	return found, nil
}

// Cancel ends the run and everything that it started. Of a run that has ended it takes back what that has landed only partly, and reports
// how the run had ended; if there is nothing to take back, the error is a *[RefusedError].
func (r *Run) Cancel(ctx context.Context, reason string) (Receipt, error) {
	receipt, err := r.d.Act(ctx, r.id, &engine.CancelAsked{By: r.p.owner.By, Via: r.p.owner.Via, Reason: reason})
	switch {
	case errors.As(err, new(*RefusedError)):
		return r.cancelAgain(ctx, err)
	case err != nil || !receipt.Status.Done(): // whoever drives it does the rest
		return receipt, err
	}
	_ = r.forgetMessages()
	receipt.Note = strings.Trim(receipt.Note+"\n"+r.withdrawn(ctx), "\n")
	return receipt, nil
}

// cancelAgain is Cancel for a run that refuses it. The process that cancelled it first may have been killed before it took back what
// the run had landed.
func (r *Run) cancelAgain(ctx context.Context, refused error) (Receipt, error) {
	info, err := r.d.Info(ctx, r.id)
	if err != nil || !hasEnded(info) {
		return Receipt{}, refused
	}
	_ = r.forgetMessages()
	note, err := r.withdraw(ctx)
	if note == "" && err == nil {
		err = refused
	}
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{Status: info.Status, Note: note}, nil
}

// Raise raises limits of the run. Zero fields do not change anything.
func (r *Run) Raise(ctx context.Context, limits workflow.Limits) (Receipt, error) {
	if limits == (workflow.Limits{}) {
		return Receipt{}, &NoLimitError{}
	}
	return r.d.Act(ctx, r.id, &engine.LimitRaised{Limits: limits, By: r.p.owner.By, Via: r.p.owner.Via})
}

// NoLimitError reports that no limit was given to raise.
type NoLimitError struct{}

func (*NoLimitError) Error() string { return "no limit was given to raise" }

// Kept returns what is stored about an attempt of a step. The error is an
// *[UnknownStepError] if there is no such attempt.
func (r *Run) Kept(ctx context.Context, address string, attempt int) (Kept, error) {
	kept, err := r.d.Kept(ctx, driver.AttemptID{Run: r.id, Address: address, Attempt: attempt})
	if err == nil && len(kept.Sizes) == 0 {
		err = r.checkAttempt(ctx, address, attempt)
	}
	return kept, err
}

// Read reads a stream of an attempt from a byte offset. With follow, it waits for more
// until the attempt has ended. Of a long output, only the beginning and the end are
// stored; the offsets of the pieces show what is missing. A *[DamagedLogError] comes after
// all that can be read, and an *[UnknownStepError] if there is no such attempt.
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
			return // the attempt exists
		}
		if err := r.checkAttempt(ctx, address, attempt); err != nil {
			yield(Piece{}, err)
		}
	}
}
