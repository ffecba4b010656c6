package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Replan is what is recorded with a new plan of a run.
type Replan struct {
	Words string // what the plan was asked for with, if anything
	// Limits raises limits of the run. Zero fields do not change anything. The limits of the new
	// plan do not apply to the run.
	Limits workflow.Limits
	// Origin says who wrote a plan that had to be approved; nil if its file says it.
	Origin *Origin
}

// Planner returns a new plan for a run in which a step with on_error: replan has failed; words say
// what failed. The origin says who wrote the plan, and is nil if its file does. A person must have
// approved the plan; otherwise the run waits.
type Planner func(ctx context.Context, r *Run, words string) (*Workflow, *Origin, error)

// Replan gives the run a new plan, and continues it if it is over: what is done and unchanged is
// kept, attempts that are unchanged go on, and everything else runs as the new plan says. If no
// process drives the run, Resume or Drive continues it. The error is an *[InvalidError] if the
// workflow cannot run, a *[RefusedError] if this run cannot go on with it, and, as for a start, one
// that says what the user has to approve first.
func (r *Run) Replan(ctx context.Context, w *Workflow, o Replan) (Receipt, error) {
	if err := r.p.CheckSecret("the words", o.Words); err != nil {
		return Receipt{}, err
	}
	plan, err := r.newPlan(ctx, w, o)
	if err != nil {
		return Receipt{}, err
	}
	receipt, err := r.d.Replan(ctx, r.id, plan)
	if err == nil {
		r.forget()
	}
	return receipt, err
}

// ReplanFailure asks a planner for a new plan, if a failed step waits for one, and gives it to the
// run. [Run.Drive] does that with the planner of the project, see [Options].
func (r *Run) ReplanFailure(ctx context.Context, plan Planner) (replanned bool, err error) {
	open, err := r.Questions(ctx)
	if err != nil {
		return false, err
	}
	for _, q := range open {
		if q.Kind != engine.ReplanQuestion {
			continue
		}
		words := q.Address + ": " + q.Detail
		w, origin, err := plan(ctx, r, words)
		if err != nil {
			return false, err
		}
		_, err = r.Replan(ctx, w, Replan{Words: words, Origin: origin})
		return err == nil, err
	}
	return false, nil
}

// newPlan collects what a run needs for a new plan, as Record does for a start.
func (r *Run) newPlan(ctx context.Context, w *Workflow, o Replan) (driver.Replan, error) {
	replies, err := r.Replies(ctx)
	if err != nil {
		return driver.Replan{}, err
	}
	p := &Project{r.p.core, r.p.owner, w.p.still} // with the files that the workflow was loaded with
	if err := r.checkPlan(ctx, w, replies); err != nil {
		return driver.Replan{}, err
	}
	if err := r.CheckApproval(ctx); err != nil {
		return driver.Replan{}, err
	}
	s := &starting{replies: replies}
	spec, err := p.spec(w, nil, s)
	if err != nil {
		return driver.Replan{}, err
	}
	definition, err := p.admit(w, s)
	if err != nil {
		return driver.Replan{}, err
	}
	if definition != nil && definition.Digest != "" && o.Origin != nil {
		definition.Origin = o.Origin
	}
	trusted, err := p.settleStart(ctx, w, s)
	if err != nil {
		return driver.Replan{}, err
	}
	trusted.Definition = definition
	if spec.Pin.Trust, err = json.Marshal(trusted); err != nil {
		return driver.Replan{}, err
	}
	_, runs, err := r.Planning(ctx)
	if err != nil {
		return driver.Replan{}, err
	}
	base, err := r.recapture(ctx, spec.Pin.Bundle)
	if err != nil {
		return driver.Replan{}, err
	}
	return driver.Replan{
		Pin: spec.Pin, Base: base, Tasks: spec.Tasks, Limits: o.Limits, Words: o.Words, Planning: runs,
		Labels: map[string]string{MadeByLabel: definition.label(nil)[MadeByLabel]}, By: p.owner.By, Via: p.owner.Via,
	}, nil
}

// PlansLabel is the label of a run in which a model plans for another run: the id of that run.
const PlansLabel = "plans"

// Planning returns what planning for the run has used since the run got its last plan, whether or not a
// plan came of it, and the same by the run in which it was used. The next plan charges the run for it.
func (r *Run) Planning(ctx context.Context) (used engine.Usage, runs map[string]engine.Usage, err error) {
	found, err := r.p.Runs(ctx, Filter{Label: PlansLabel})
	if err != nil {
		return engine.Usage{}, nil, err
	}
	found = slices.DeleteFunc(found, func(i Info) bool { return i.Owner.Labels[PlansLabel] != r.id || i.Driven })
	if len(found) == 0 {
		return engine.Usage{}, nil, nil
	}
	charged := map[string]bool{}
	for e, err := range r.d.Events(ctx, r.id, 0, false) {
		if err != nil {
			return engine.Usage{}, nil, err
		}
		if plan, ok := e.Event.(*engine.Replanned); ok {
			for _, id := range slices.AppendSeq(slices.Clone(plan.Planners), maps.Keys(plan.Planning)) {
				charged[id] = true
			}
		}
	}
	for _, info := range slices.Backward(found) {
		if !charged[info.ID] {
			if runs == nil {
				runs = map[string]engine.Usage{}
			}
			runs[info.ID] = info.Usage.Usage
			used = used.Plus(info.Usage.Usage)
		}
	}
	return used, runs, nil
}

// checkPlan checks a new plan with the inputs of the run.
func (r *Run) checkPlan(ctx context.Context, w *Workflow, replies *Replies) error {
	found := w.Check(replies)
	if w.Model() == nil || found.Errors() {
		return &InvalidError{found}
	}
	given, err := r.Inputs(ctx)
	if err != nil {
		return err
	}
	inputs := map[string]any{}
	for name, value := range given {
		if declared := w.Model().Inputs; len(declared) == 0 || slices.ContainsFunc(declared, func(in workflow.Param) bool { return in.Name == name }) {
			inputs[name] = value
		}
	}
	if _, wrong := w.Inputs(inputs, nil); wrong.Errors() {
		return &InvalidError{wrong}
	}
	return w.CheckExposed()
}

// Inputs returns the inputs that the run was started with.
func (r *Run) Inputs(ctx context.Context) (map[string]any, error) {
	for e, err := range r.d.Events(ctx, r.id, 0, false) {
		if started, ok := e.Event.(*engine.Started); ok || err != nil {
			if err != nil {
				return nil, err
			}
			return started.Inputs, nil
		}
	}
	return nil, errors.New("hocket: the run has no events")
}
