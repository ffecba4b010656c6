package hocket

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/workflow"
)

// StartOption changes how a run is started.
type StartOption func(*starting)

type starting struct {
	limits  workflow.Limits
	replies *Replies
	key     string
	request string // "": the workflow, its inputs and its limits
	claim   bool
	run     string
	labels  map[string]string
	decided *pinnedTrust // about several workflows at once
	within  bool         // nobody is asked about more than was decided

	onlyApproved bool // the workflow must be approved by its digest
	byPerson     bool
	edit         engine.Edit
	replace      *driver.Replace
}

func startingWith(options []StartOption) (*starting, error) {
	s := &starting{}
	for _, option := range options {
		option(s)
	}
	if l := s.limits; min(l.Steps, l.Parallel, l.Depth, l.Replans) < 0 || l.Runtime < 0 || l.CostUSD < 0 || l.Tokens < 0 {
		return nil, fmt.Errorf("hocket: invalid limits %+v: must not be negative; use zero for no limit", l)
	}
	return s, nil
}

// WithLimits overrides limits of the workflow and the project. Zero fields do not change
// anything.
func WithLimits(l workflow.Limits) StartOption { return func(s *starting) { s.limits = l } }

// WithReplies makes agents and people reply from a file, see [ReadReplies].
func WithReplies(r *Replies) StartOption { return func(s *starting) { s.replies = r } }

// WithKey makes Start, Retry and Fork idempotent: if the key was used before for the same request, that
// run is returned; if it was used for another request, an error.
func WithKey(key string) StartOption { return func(s *starting) { s.key = key } }

// WithKeyFor is [WithKey] for a caller that was asked for something else, of which it made the workflow and
// its inputs: request is what must be the same if the key is used again.
func WithKeyFor(key, request string) StartOption {
	return func(s *starting) { s.key, s.request = key, request }
}

// StartedWith returns the run that was started [WithKeyFor] a key and a request, or nil. The error is a
// *[KeyError] if the key was used for another request.
func (p *Project) StartedWith(ctx context.Context, key, request string) (*Run, error) {
	d, err := p.runs()
	if err != nil {
		return nil, err
	}
	id, err := d.StartedWith(ctx, key, request)
	if id == "" || err != nil {
		return nil, err
	}
	return p.handle(d, id), nil
}

// WithClaim reserves the run for this process to drive. Start implies it.
func WithClaim() StartOption { return func(s *starting) { s.claim = true } }

// WithRun sets the id of the run. The error is an *[ExistsError] if there is such a run.
func WithRun(id string) StartOption { return func(s *starting) { s.run = id } }

// IsReservedLabel reports whether a label has a meaning for Hocket itself. A client of a front end must not
// choose it.
func IsReservedLabel(name string) bool {
	return slices.Contains([]string{MadeByLabel, HelperLabel, PlansLabel, outerLabel, reservationLabel, TriggerLabel, FiringLabel, DepthLabel}, name)
}

// HelperLabel is the label of runs that a front end started for itself, such as one that asks a model for
// a workflow. Lists for people leave them out.
const HelperLabel = "helper"

// WithLabels adds labels to the run, by which lists show and select it.
func WithLabels(labels map[string]string) StartOption {
	return func(s *starting) { s.labels = labels }
}

// ByPerson says that a person starts the run, which the caller has made sure of.
func ByPerson() StartOption { return func(s *starting) { s.byPerson = true } }

// WithComment has the step at which a run is retried or forked do its work again with a comment, and with
// the output that it is about.
func WithComment(text string) StartOption { return func(s *starting) { s.edit.Comment = text } }

// WithPrompt gives the step at which a run is retried or forked another prompt.
func WithPrompt(text string) StartOption { return func(s *starting) { s.edit.Prompt = &text } }

// Replacing cancels the run that is retried or forked, unless it is over, before the new one exists: so
// never do both go on. If question is not "", it must be open in that run with the digest. Otherwise
// nothing happens, and the error is a *[RefusedError]: someone has answered it. If the process dies in
// between, the same request can be repeated.
func Replacing(question, digest string) StartOption {
	return func(s *starting) { s.replace = &driver.Replace{Question: question, Digest: digest} }
}

// within limits a run to what another run may do, or to what was approved before. Nobody is asked.
func within(t pinnedTrust) StartOption {
	return func(s *starting) { s.decided, s.within = &t, true }
}

// Start records a run and drives it in the background until it ends, or waits for
// something that this process cannot provide; [Run.Wait] waits for that. If ctx is done,
// the run is interrupted, and [Run.Resume] continues it.
func (p *Project) Start(ctx context.Context, w *Workflow, inputs map[string]any, options ...StartOption) (*Run, error) {
	r, err := p.Record(ctx, w, inputs, slices.Concat(options, []StartOption{WithClaim()})...)
	if err != nil {
		return nil, err
	}
	if r.existed {
		info, err := r.Info(ctx)
		if err != nil || info.Driven || info.Status != engine.Running {
			return r, err
		}
		// The process that started it may be gone. If not, Drive leaves the run to it.
	}
	return r, r.Resume(ctx)
}

// Task starts a run of one task, see [Project.LoadTask].
func (p *Project) Task(ctx context.Context, t Task, options ...StartOption) (*Run, error) {
	w, inputs, err := p.LoadTask(t)
	if err != nil {
		return nil, err
	}
	return p.Start(ctx, w, inputs, options...)
}

// Record checks a workflow and its inputs, and records a run without starting it:
// [Run.Drive] and [Run.Resume] do. The error is an *[InvalidError] if the workflow cannot
// run.
func (p *Project) Record(ctx context.Context, w *Workflow, inputs map[string]any, options ...StartOption) (*Run, error) {
	s, err := startingWith(options)
	if err != nil {
		return nil, err
	}
	approved := w
	w = w.WithLimits(s.limits)
	limits := w.Limits()
	done, err := p.nest(ctx, &limits, s, func() check.Plan {
		if w.Model() == nil || w.Check(s.replies).Errors() { // which is reported below
			return check.Plan{}
		}
		return w.Plan(s.replies)
	})
	if err != nil {
		return nil, err
	}
	defer done()
	if limits != w.Limits() {
		w = w.WithLimits(limits)
	}
	p = &Project{p.core, p.owner, w.p.still} // with the files that the workflow was loaded with
	inputs, err = p.checkStart(w, inputs, s.replies)
	if err != nil {
		return nil, err
	}
	spec, err := p.spec(w, inputs, s)
	if err != nil {
		return nil, err
	}
	if check.Lower(approved.Limits(), w.Limits()) != w.Limits() { // an approval is also of all lower limits
		approved = w
	}
	definition, err := p.admit(approved, s)
	if err != nil {
		return nil, err
	}
	trusted, err := p.settleStart(ctx, w, s)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(p.checkInputs(inputs), w.CheckExposed()); err != nil { // now that secrets may be read
		return nil, err
	}
	trusted.Definition = definition
	spec.Owner.Labels = definition.label(spec.Owner.Labels)
	if spec.Pin.Trust, err = json.Marshal(trusted); err != nil {
		return nil, err
	}
	notes, err := p.trustNotes(w, s.replies)
	if err != nil {
		return nil, err
	}
	if w.only != nil && (s.replies == nil || !s.replies.CoversTask(w.Model().Name)) {
		if note := holdToLimits(&spec, w.only, w.l.Agents()); note != "" {
			notes = append(notes, note)
		}
	}
	d, err := p.runs()
	if err != nil {
		return nil, err
	}
	if err := p.now().files.NotePlace(); err != nil {
		return nil, err
	}
	if _, ok := d.(driver.Workers); ok { // not before the user trusts the project, whose files git reads
		at, changed, err := project.FilesOf(ctx, p.Root())
		if err != nil {
			return nil, err
		}
		files := driver.FilesAt(at, changed)
		spec.Pin.Files, spec.Pin.Changed = files.At, files.Short()
		refused, err := repliesNote(spec.Pin, s.replies)
		if err != nil {
			return nil, err
		}
		unfiled, err := p.unfiled(spec.Pin)
		if err != nil {
			return nil, err
		}
		notes = append(append(notes, unfiled...), refused...)
	}
	base, keep, err := p.capture(ctx, spec.Pin.Bundle, s.replies)
	if err != nil {
		return nil, err
	}
	spec.Base, notes = base.Commit, append(notes, base.Warnings...)
	made, err := d.Start(ctx, spec)
	kept := made.Run
	if made.Existed { // it has its own base
		kept = ""
	}
	if err := errors.Join(err, keep(kept)); err != nil {
		return nil, err
	}
	r := p.handle(d, made.Run)
	r.existed, r.Notes = made.Existed, notes
	if !made.Existed { // otherwise use what was recorded
		r.pin, r.agents, r.replies, r.trusted = spec.Pin, w.l.Agents(), s.replies, trusted
	}
	return r, nil
}

// nest makes the run a part of the runs that this process belongs to, unless it does nothing real.
func (p *Project) nest(ctx context.Context, limits *workflow.Limits, s *starting, plan func() check.Plan) (func(), error) {
	if p.o.Trial.replays() {
		return func() {}, nil
	}
	return p.nested(ctx, limits, &s.labels, plan)
}

// checkStart checks everything that goes into a run except for secrets, and returns its inputs.
func (p *Project) checkStart(w *Workflow, inputs map[string]any, replies *Replies) (map[string]any, error) {
	found := w.Check(replies)
	if w.Model() == nil || found.Errors() {
		return nil, &InvalidError{found}
	}
	inputs, wrong := w.Inputs(inputs, nil)
	if wrong.Errors() {
		return nil, &InvalidError{wrong}
	}
	if replies != nil {
		if unfit := replies.Problems(w.Bundle()); unfit.Errors() {
			return nil, &InvalidError{unfit}
		}
	}
	return inputs, nil
}

// spec collects everything that the run depends on.
func (p *Project) spec(w *Workflow, inputs map[string]any, s *starting) (driver.Spec, error) {
	pin := &driver.Pin{Bundle: w.Bundle(), Sources: map[string]string{}, Agents: w.l.Agents().Encode(), Dir: p.Root(), File: p.realFile(w.Model().Pos.File)}
	for file, text := range w.l.Sources() {
		pin.Sources[file] = string(text)
	}
	if s.replies != nil {
		pin.Replies = s.replies.Encode()
	}
	if p.Driver() != "" {
		pin.Sites = p.sitesOf(*pin.Bundle, w.l.Agents(), s.replies)
	}
	spec := driver.Spec{
		Run: s.run, Pin: pin, Inputs: inputs, Limits: w.Limits(), Owner: p.owner, Key: s.key,
		Tasks: taskFacts(*w.Bundle(), w.l.Agents(), s.replies),
	}
	spec.Owner.Claimed, spec.Owner.Labels = s.claim, s.labels
	if s.key == "" {
		return spec, nil
	}
	var err error
	if spec.Request = s.request; s.request == "" {
		spec.Request, err = requestDigest(&spec)
	}
	return spec, err
}

// digests returns the digests of a workflow and of all that it calls.
func digests(b *workflow.Bundle) []string {
	var all []string
	for _, w := range check.Workflows(*b) {
		all = append(all, workflow.Digest(w))
	}
	return all
}

// requestDigest returns the digest of a request to start a run, regardless of who makes
// it.
func requestDigest(spec *driver.Spec) (string, error) {
	digest, err := digestOf(struct {
		Workflow []string
		Inputs   map[string]any
		Limits   workflow.Limits
		Replies  json.RawMessage
	}{digests(spec.Pin.Bundle), spec.Inputs, spec.Limits, spec.Pin.Replies})
	if err != nil {
		return "", fmt.Errorf("hocket: inputs: %w", err)
	}
	return digest, nil
}

func digestOf(request any) (string, error) {
	data, err := json.Marshal(request)
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), err
}
