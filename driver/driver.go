// Package driver is the interface between the host and whatever stores and drives runs: one
// interface, and the plain types that cross it. driver/local stores runs in a journal on
// this machine.
//
// The host reaches runs only through a [Driver], so everything that a front end offers
// works with every driver. driver/drivertest is the suite that every driver must pass.
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

// Driver stores runs durably and drives them. It is safe for concurrent use.
//
// A run is named by its id. Methods do not accept a prefix: [Driver.Find] completes it. An
// unknown id is an *[UnknownRunError].
type Driver interface {
	// Start records a new run and returns its id. It starts no work: Drive does. If the key
	// was used before, it returns the earlier run if the request is the same, and a
	// *[KeyError] otherwise.
	Start(ctx context.Context, spec Spec) (Created, error)
	// Drive resumes a run and drives it until it is over, or waits for something that cannot be
	// provided here. It leaves no goroutine, process or lock behind. The error is a *[HeldError] if
	// another process drives the run, and an *[InterruptedError] if ctx was done first.
	Drive(ctx context.Context, run string, w Work) (engine.Result, error)

	// StartedWith returns the run that was started with a key for a request; "" if there is none. The error
	// is a *[KeyError] if the key was used for another request.
	StartedWith(ctx context.Context, key, request string) (run string, err error)
	// Find returns the id of a run with a unique prefix.
	Find(ctx context.Context, prefix string) (string, error)
	// Info returns the current state of a run.
	Info(ctx context.Context, run string) (Info, error)
	// Runs lists runs, newest first.
	Runs(ctx context.Context, f Filter) ([]Info, error)
	// Count counts runs and questions, without reading them.
	Count(ctx context.Context, since time.Time) (Counts, error)
	// Pin returns what a run works with: what it was started with, or its newest plan.
	Pin(ctx context.Context, run string) (*Pin, error)
	// FirstPin returns what a run was started with, with which its events are replayed.
	FirstPin(ctx context.Context, run string) (*Pin, error)
	// Watch reports changes to runs of this project, made by any process, until ctx is
	// done. It works even before the first run exists. It begins after a version of the list of
	// runs, which Count returns and every change has; with 0 it reports all runs first. If the driver
	// does not know the list at that version, it first reports [Reset], and then what changes from now on.
	Watch(ctx context.Context, since int64) iter.Seq2[Change, error]

	// Events yields the recorded events of a run after a sequence number. With follow it
	// then waits for more, until the run is over or ctx is done. Long outputs may be
	// omitted, as indicated by engine.TaskEnded.Stored: Output returns them.
	Events(ctx context.Context, run string, after int, follow bool) iter.Seq2[engine.Envelope, error]
	// Output returns the output of the task whose end is an event of a run.
	Output(ctx context.Context, run string, seq int) (string, error)
	// Read yields what an attempt wrote to a stream, from a byte offset on. With follow it waits
	// for more until the attempt has ended, or the run is neither driven nor pending, or ctx is
	// done.
	Read(ctx context.Context, a AttemptID, s Stream, offset int64, follow bool) iter.Seq2[Piece, error]
	// Kept returns what is stored about an attempt.
	Kept(ctx context.Context, a AttemptID) (Kept, error)
	// Spent adds up what attempts that ended since a time have cost, by day, workflow, run, agent and model,
	// and in this order. The days are those of the zone of since. What a fork took over from another run is
	// not counted again.
	Spent(ctx context.Context, since time.Time) ([]Spent, error)
	// Questions lists open questions. The oldest run comes first.
	Questions(ctx context.Context, f QuestionFilter) ([]Question, error)

	// ClaimExport lets exactly one caller, of all processes, export the events of a run after a number up to another one, even
	// if it dies before it has. after is what ClaimExport returned before, or 0. It returns up to which events are claimed, and
	// whether the caller has claimed these now. If through is not more than after, it claims nothing.
	ClaimExport(ctx context.Context, run string, after, through int) (claimed int, mine bool, err error)

	// Act records an answer, a cancellation or a raised limit. A process that drives the
	// run continues by itself. The error is a *[RefusedError] if the run does not accept
	// the event, which is then not recorded.
	Act(ctx context.Context, run string, ev engine.Event) (Receipt, error)
	// Replan gives a run a new plan, and continues it if it is over: see engine.Replanned. Either all
	// of it is recorded or nothing. A process that drives the run continues by itself with the new
	// plan. The error is a *[RefusedError] if the run, or that process, cannot continue with it.
	Replan(ctx context.Context, run string, p Replan) (Receipt, error)
	// Fork records a new run that repeats another one up to a step. A key that was used before returns
	// the earlier run, as in Start.
	Fork(ctx context.Context, spec ForkSpec) (Created, error)
	// Delete deletes a run. The error is a *[HeldError] if a process drives it. The caller must
	// check that the run is over.
	Delete(ctx context.Context, run string) error
	// Collect deletes the runs that ended first, except those to keep, until the others satisfy r. It
	// returns those runs; with dry it only returns them.
	Collect(ctx context.Context, r Retention, keep []string, dry bool) ([]Collected, error)
	// Compact returns the space of deleted runs to the system. Runs may have to wait for
	// it.
	Compact(ctx context.Context) error

	Close() error
}

// Spec is a run to start.
type Spec struct {
	Run    string // its id; "": the driver generates one
	Pin    *Pin
	Inputs map[string]any
	Limits workflow.Limits // of the whole run, defaults filled in
	Tasks  map[string]engine.TaskFacts
	Base   string // see [engine.Started]
	Owner  Owner
	// Key makes starting idempotent: a second Start with the same key returns the first
	// run. Request is the digest of the request; the same key with another request is an
	// error. "" means no key.
	Key, Request string
}

// Owner is who started a run, and who may drive it.
type Owner struct {
	By  string `json:"by,omitempty"`  // a person or a program, e.g. "ada"
	Via string `json:"via,omitempty"` // a front end, e.g. "cli", "http", "go"
	// Claimed means that the driver that records the run is going to drive it, so no other driver
	// drives it as long as that driver is open.
	Claimed bool `json:"claimed,omitempty"`
	// Labels are values by name that the front end wants to show for the run in a list.
	Labels map[string]string `json:"labels,omitempty"`
}

// Created is a run that was recorded now or earlier.
type Created struct {
	Run     string
	Existed bool // the key was used before
	// Note says which processes may be left of attempts of the other run whose process
	// died; "" if there are none, or no run was forked.
	Note string
}

// ForkSpec is a new run that repeats another up to a step.
type ForkSpec struct {
	From    string // the other run
	Address string // the step to run again
	// Also lists further steps to run again, if they do not depend on it.
	Also []string
	// Output, if not nil, is used as the result of the step instead of running it again:
	// the raw output of a task, or the answer to a question.
	Output *string
	Edit   engine.Edit     // what else the step is told
	Limits workflow.Limits // of the new run; zero fields are copied from the other
	Run    string          // the new run's id; "": the driver generates one
	Owner  Owner
	// Replace, if not nil, cancels the other run unless it is over, because the new one replaces it.
	Replace *Replace
	// Key and Request make forking idempotent, as in Spec.
	Key, Request string
}

// Replace says when a run may be replaced. If it may not, the error is a *[RefusedError]. The run is
// cancelled before the new one exists, so that both never go on. If the process dies in between, the same
// fork can be asked for again.
type Replace struct {
	// Question, if not "", must be open in the run with this digest: an answer that came first stays.
	Question, Digest string
}

// Replan is a new plan for a run. Everything else that the run was started with stays: its inputs,
// its limits and what it has used of them.
type Replan struct {
	Pin    *Pin
	Tasks  map[string]engine.TaskFacts
	Limits workflow.Limits // to raise; zero fields do not change anything
	Base   string          // see [engine.Replanned]
	Words  string          // what the plan was asked for with, if anything
	// Planning is what planning has used and the run was not charged for yet, by the run in which that was.
	Planning map[string]engine.Usage
	Labels   map[string]string // to change; an empty one is removed
	By       string            // who approved it
	Via      string            // through which front end
}

// Pin is everything that a run was started with, or that a new plan brought, and that could change
// afterwards: editing a file does not affect a run in progress.
type Pin struct {
	Bundle *workflow.Bundle `json:"bundle"`
	// Plan names it among the plans of its run, for a driver with workers; "" is what the run was started with. The
	// driver sets it.
	Plan string `json:"plan,omitempty"`
	// Sources are the texts of the files that were read, by path.
	Sources map[string]string `json:"sources,omitempty"`
	// Agents, Replies and Trust are documents of the host; drivers do not interpret them.
	Agents  json.RawMessage `json:"agents,omitempty"`
	Replies json.RawMessage `json:"replies,omitempty"`
	Trust   json.RawMessage `json:"trust,omitempty"`
	// Dir is the project's root, absolute.
	Dir string `json:"dir,omitempty"`
	// File is where the file of the workflow really is, relative to Dir: positions name it as it was
	// spelled. "" if there is none, or if an older version recorded the run.
	File string `json:"file,omitempty"`
	// Sites say which machines may make attempts, for a driver with workers. The keys are those of
	// Spec.Tasks, and "@" with the name of an agent, as tasks write it, for work that is handed off.
	Sites map[string]Site `json:"sites,omitempty"`
	// Files describes the project's files, for tasks that stay on one machine; "" if that is unknown.
	Files string `json:"files,omitempty"`
	// Changed are the files with which Files differs from its commit, see [Files.Short]. Versions before it did not
	// record them.
	Changed *Changed `json:"changed,omitempty"`
}

// Site says which machines may make the attempts of a task.
type Site struct {
	// Queue is the label of the workers that may make them; "" means any.
	Queue string `json:"queue,omitempty"`
	// Program is the agent's executor, if not every machine has it.
	Program string `json:"program,omitempty"`
	// Stays means that the task uses files, programs or conversations of a machine. All such tasks of a
	// run with the same Queue are done on the same one.
	Stays bool `json:"stays,omitempty"`
}

// Site returns which machines may make an attempt.
func (p *Pin) Site(c *engine.StartTask) Site {
	if s, ok := p.Sites[c.Workflow+"/"+c.Node]; ok {
		return s
	}
	return p.Sites["@"+c.Agent]
}

// Info is a run as lists show it.
type Info struct {
	ID       string
	Workflow string
	Digest   string // of the workflow
	Created  time.Time
	Changed  time.Time
	// Status is the state of the run. A run that is Running and that no process drives was
	// interrupted: see Driven.
	Status  engine.Status
	Driven  bool     // a process drives it now
	Pending bool     // no process has started it yet, or no worker is there, and any may; never if it was claimed
	Holder  Holder   // that process, if known
	Origin  string   // the run that this one was forked from
	Problem string   // why the engine could not continue, a defect of the program; for a Damaged run, what cannot be read
	Workers bool     // workers make its attempts: if there is none, it waits for one
	Home    string   // the name of the worker that has its files, if only that one may do, or has done, its steps; only Driver.Info says it
	Stalled string   // what the run lacks to go on by itself, such as a worker; only Driver.Info says it
	Untaken []string // addresses of steps whose attempts no worker has taken yet; only Driver.Info says it
	Owner   Owner
	Seq     int             // of its last event
	Due     time.Time       // when the run must be driven again; zero: not by itself
	Usage   engine.RunUsage // while the run is Running, Steps may be behind
	Open    int             // questions that wait for an answer
}

// Shown returns the status of a run for people and models: a run that no process drives is not running,
// and a run with an open question is waiting.
func (i Info) Shown() engine.Status {
	switch {
	case i.Status != engine.Running:
		return i.Status
	case i.Pending, i.Workers && !i.Driven:
		return "pending"
	case !i.Driven:
		return "interrupted"
	case i.Open > 0:
		return engine.Waiting
	}
	return engine.Running
}

// Damaged is the status of a run whose entry in the list cannot be read.
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
	Label    string // only runs with this label
	Without  string // only runs without this label
	Before   string // only runs older than this one, for paging
}

// QuestionFilter selects open questions. The zero value selects all.
type QuestionFilter struct {
	Run   string // only of this run
	After Asked  // only those after this one, which may have been answered, for paging
	Limit int    // zero: no limit
}

// Asked names a question.
type Asked struct{ Run, ID string }

// Counts is how many runs and questions there are.
type Counts struct {
	Active    int   // runs that are not over
	Created   int   // runs since a time
	Questions int   // that are open; a killed driver may leave some until they are listed
	Version   int64 // of the list of runs, which goes up with every change
}

// Retention is how many runs are kept. A run that is not over is always kept, and counts.
// The run that ended last is kept unless it is too old.
type Retention struct {
	Age  time.Duration // since they ended; zero: any
	Runs int           // zero: any number
	Size int64         // total size in bytes; zero: any
}

// Collected is a run that was deleted.
type Collected struct {
	Info
	Size int64 // its size in bytes
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
	Info Info // current state; only ID for Deleted
	// Version is that of the list of runs after the change, and after all that were reported before.
	Version int64
}

// ChangeKind is the kind of a change.
type ChangeKind string

// The kinds of changes.
const (
	Appeared ChangeKind = "appeared" // a run was recorded, or existed when Watch began
	Moved    ChangeKind = "moved"    // status, driver or open questions changed
	Deleted  ChangeKind = "deleted"
	Reset    ChangeKind = "reset" // not of a run: what changed before this version is not reported
)

// AttemptID names an attempt.
type AttemptID struct {
	Run     string
	Address string
	Attempt int // from 1
}

// Stream is one of the streams that an attempt writes.
type Stream string

// The streams.
const (
	Output     Stream = "output"     // what it printed
	Prompt     Stream = "prompt"     // its prompt
	Transcript Stream = "transcript" // JSON lines: text, tool calls, results, file changes
)

// Piece is a part of a stream. The beginning and the end of a long output are kept: if At
// is not the end of the previous piece, something was omitted.
type Piece struct {
	At   int64 // the offset of its first byte in the stream
	Text []byte
}

// Kept is what is stored about an attempt.
type Kept struct {
	Session string           // the conversation that it was part of
	Model   string           // that did the work, as its provider names it
	Sizes   map[Stream]int64 // of the streams that exist, including omitted parts
	Files   fs.FS            // files that it left; nil: none
	Dir     string           // where Files are on this machine; "": elsewhere
}

// Spent is what the attempts of an agent have cost in a run on a day.
type Spent struct {
	Day      string // such as 2026-11-18
	Run      string
	Workflow string
	Agent    string
	Model    string // as its provider names it; "": unknown
	Attempts int
	Usage    engine.Usage
}

// Receipt says who continues a run after an event was recorded in it.
type Receipt struct {
	// Driven means that the process that drives the run, which may be this one, continues
	// by itself. Otherwise Drive must be called.
	Driven bool
	Status engine.Status // of the run, if it is not driven; else ""
	Note   string        // what may be left, or was removed, of attempts whose process died; "": nothing
}

// Examiner is a driver that can say whether the place where it stores runs is in order. It reports everything
// that it checks.
type Examiner interface {
	Examine(ctx context.Context) []Finding
}

// Noter is a driver for which it is expensive to return everything that is stored about an attempt.
type Noter interface {
	// Noted returns the session and the model of an attempt.
	Noted(ctx context.Context, a AttemptID) (session, model string, err error)
}

// Noticer is a driver that may have to tell something about the list of runs.
type Noticer interface {
	// Notice returns why the list lacks runs that users may look for, as a sentence; "" if it lacks none.
	Notice(ctx context.Context) (string, error)
}

// Finding is the result of one check. One with a remedy that is not broken is a warning.
type Finding struct {
	What   string // a word
	Found  string
	Remedy string // "": nothing to do
	Broken bool
}
