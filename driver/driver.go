// Package driver is the seam between the host and whatever keeps and drives runs:
// one interface, and the plain types that cross it. driver/local keeps runs in a
// journal on this machine. The host reaches runs through a [Driver] only, so
// everything that a front end offers works on every driver.
//
// driver/drivertest is the suite that every driver passes.
package driver

import (
	"context"
	"encoding/json"
	"io/fs"
	"iter"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Driver keeps runs durably and drives them. It is safe for concurrent use.
//
// A run is named by its id. Where a method takes one, a unique prefix is not
// enough: [Driver.Find] completes it. An unknown id is an *[UnknownRunError].
type Driver interface {
	// Start records a new run and returns its id. It starts no work: Drive does.
	// With a key that was used before for the same request, it returns the run
	// of that time; for another request, a *[KeyError].
	Start(ctx context.Context, spec Spec) (Created, error)
	// Drive takes a run up and drives it until it is over, or waits for something
	// that nobody here can give. It leaves no goroutine, process or lock behind.
	// The error is a *[HeldError] if another process drives the run, and an
	// *[InterruptedError] if ctx was done first.
	Drive(ctx context.Context, run string, w Work) (engine.Result, error)

	// Find finds the id of a run by a unique prefix of it.
	Find(ctx context.Context, prefix string) (string, error)
	// Info is how far a run has come.
	Info(ctx context.Context, run string) (Info, error)
	// Runs lists runs, newest first.
	Runs(ctx context.Context, f Filter) ([]Info, error)
	// Pin is what a run was started with.
	Pin(ctx context.Context, run string) (*Pin, error)
	// Watch reports changes to runs of this project, made by any process, until
	// ctx is done. It works before the first run exists.
	Watch(ctx context.Context) iter.Seq2[Change, error]

	// Events yields the recorded events of a run after a sequence number. With
	// follow it then waits for more, until the run is over or ctx is done. Long outputs
	// may be left out, as engine.TaskEnded.Stored says: Output gives them.
	Events(ctx context.Context, run string, after int, follow bool) iter.Seq2[engine.Envelope, error]
	// Output is the output of the task whose end is an event of a run.
	Output(ctx context.Context, run string, seq int) (string, error)
	// Read yields what an attempt left in a stream from a byte offset on. With
	// follow it waits for more until the attempt has ended, or nobody drives the run
	// and it is not pending, or ctx is done.
	Read(ctx context.Context, a AttemptID, s Stream, offset int64, follow bool) iter.Seq2[Piece, error]
	// Kept is what is kept about an attempt.
	Kept(ctx context.Context, a AttemptID) (Kept, error)
	// Questions lists what is open: of one run, or of all if run is "".
	Questions(ctx context.Context, run string) ([]Question, error)

	// Act records an answer, a cancellation or a raised limit. A process that
	// drives the run goes on by itself. The error is a *[RefusedError] if the run
	// does not take the event, which is not recorded then.
	Act(ctx context.Context, run string, ev engine.Event) (Receipt, error)
	// Fork records a new run that repeats another one up to a step.
	Fork(ctx context.Context, spec ForkSpec) (Created, error)
	// Delete deletes a run that nobody drives. The error is a *[HeldError] if somebody
	// does. That the run is over is for the caller to see to.
	Delete(ctx context.Context, run string) error
	// Collect deletes the runs that were over first, so that the others keep to r. It
	// returns those runs; with dry it only returns them.
	Collect(ctx context.Context, r Retention, dry bool) ([]Collected, error)
	// Compact gives the space of what was deleted back to the system. Runs may have
	// to wait for it.
	Compact(ctx context.Context) error

	Close() error
}

// Spec is a run to start.
type Spec struct {
	Run    string // its id; "": the driver makes one
	Pin    *Pin
	Inputs map[string]any
	Limits workflow.Limits // of the whole run, defaults filled in
	Tasks  map[string]engine.TaskFacts
	Owner  Owner
	// Key makes starting idempotent: a second Start with the same key returns
	// the first run. Request is the digest of what is asked for; the same key
	// with another request is an error. "": no key.
	Key, Request string
}

// Owner is who started a run, and who may take it up.
type Owner struct {
	By  string `json:"by,omitempty"`  // a person or a program, e.g. "ada"
	Via string `json:"via,omitempty"` // a front end, e.g. "cli", "http", "go"
	// Claimed: the driver that records the run means to drive it, so from the start
	// nobody else takes it up, as long as that driver is open.
	Claimed bool `json:"claimed,omitempty"`
}

// Created is a run that was recorded, or had been before.
type Created struct {
	Run     string
	Existed bool // the key was used before
	// Note says what may be left of attempts of the other run whose process died; "":
	// nothing, or no run was forked.
	Note string
}

// ForkSpec is a new run that repeats another up to a step.
type ForkSpec struct {
	From    string // the other run
	Address string // the step that is made again
	// Also are further steps that are made again, if they do not depend on it.
	Also []string
	// Output, if not nil, is what the step gives, in place of making it again:
	// the raw output of a task, or the answer to a question.
	Output *string
	Limits workflow.Limits // of the new run; zero fields are as in the other
	Run    string          // the new run's id; "": the driver makes one
	Owner  Owner
}

// Pin is everything that a run was started with and that could change
// afterwards: editing a file does not touch a run under way.
type Pin struct {
	Bundle *workflow.Bundle `json:"bundle"`
	// Sources are the texts of the files that were read, by path.
	Sources map[string]string `json:"sources,omitempty"`
	// Agents, Replies and Trust are documents of the host; drivers do not look
	// into them.
	Agents  json.RawMessage `json:"agents,omitempty"`
	Replies json.RawMessage `json:"replies,omitempty"`
	Trust   json.RawMessage `json:"trust,omitempty"`
	// Dir is the project's root, absolute.
	Dir string `json:"dir,omitempty"`
}

// Info is a run as lists show it.
type Info struct {
	ID       string
	Workflow string
	Digest   string // of the workflow
	Created  time.Time
	Changed  time.Time
	// Status is how far the run has come. A run that is Running and that no
	// process drives was interrupted: see Driven.
	Status  engine.Status
	Driven  bool   // a process drives it now
	Pending bool   // no process has taken it up yet, and any one may
	Holder  Holder // that process, as far as it is known
	Origin  string // the run that this one was forked from
	Problem string // why the engine could not go on, a defect of the program; of a Damaged run, what cannot be read
	Owner   Owner
	Due     time.Time // when the run wants to be driven again; zero: not by itself
	Usage   engine.RunUsage
	Open    int // questions that wait for an answer
}

// Damaged is the status of a run in a list whose line there cannot be read.
const Damaged engine.Status = "damaged"

// Holder is a process that drives a run.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// Filter selects runs. The zero value selects all.
type Filter struct {
	Limit    int // zero: no limit
	Status   []engine.Status
	Workflow string
	Origin   string
	Before   string // only runs older than this one, for paging
}

// Retention is how many runs are kept. A run that is not over is always kept, and
// counts. The run that ended last is kept unless it is too old.
type Retention struct {
	Age  time.Duration // since they ended; zero: any
	Runs int           // zero: any number
	Size int64         // bytes that all of them take; zero: any
}

// Collected is a run that was deleted.
type Collected struct {
	Info
	Size int64 // bytes that it took
}

// Question is an open question and the run that asks it.
type Question struct {
	Run string
	engine.Question
}

// Change is something that happened to a run of the project.
type Change struct {
	Run  string
	Kind ChangeKind
	Info Info // as of now; only ID for Deleted
}

// ChangeKind is what a change is about.
type ChangeKind string

// The kinds of changes.
const (
	Appeared ChangeKind = "appeared" // a run was recorded, or existed when Watch began
	Moved    ChangeKind = "moved"    // status, driver or open questions changed
	Deleted  ChangeKind = "deleted"
)

// AttemptID names an attempt.
type AttemptID struct {
	Run     string
	Address string
	Attempt int // from 1
}

// Stream is one of the streams that an attempt leaves.
type Stream string

// The streams.
const (
	Output     Stream = "output"     // what it printed
	Prompt     Stream = "prompt"     // what its agent was given
	Transcript Stream = "transcript" // JSON lines: text, tool calls, results, file changes
)

// Piece is a part of a stream. Of a long output its beginning and its end are kept:
// where At is not the end of the piece before, something was left out.
type Piece struct {
	At   int64 // the offset of its first byte in the stream
	Text []byte
}

// Kept is what is kept about an attempt.
type Kept struct {
	Session string           // the conversation that it was part of
	Model   string           // that did the work, as its provider names it
	Usage   engine.Usage     // of this attempt alone
	Sizes   map[Stream]int64 // of the streams that exist, with what was left out
	Files   fs.FS            // what it left; nil: nothing
	Dir     string           // where Files are on this machine; "": not here
}

// Receipt says who goes on with a run after an event was recorded in it.
type Receipt struct {
	// Driven: the process that drives the run, which may be this one, goes on by
	// itself. Else Drive has to.
	Driven bool
	Status engine.Status // of the run, if it is not driven; else ""
	Note   string        // what may be left of attempts whose process died; "": nothing
}
