package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/hocket-dev/hocket/check"
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
	used, runs, err := r.Planning(ctx)
	if err != nil {
		return driver.Replan{}, err
	}
	return driver.Replan{
		Pin: spec.Pin, Tasks: spec.Tasks, Limits: o.Limits, Words: o.Words, Usage: used, Planning: runs,
		Labels: map[string]string{MadeByLabel: definition.label(nil)[MadeByLabel]}, By: p.owner.By, Via: p.owner.Via,
	}, nil
}

// PlansLabel is the label of a run in which a model plans for another run: the id of that run.
const PlansLabel = "plans"

// Planning returns what planning for the run has used since the run got its last plan, whether or not a
// plan came of it, and the runs in which it was used. The next plan charges the run for it.
func (r *Run) Planning(ctx context.Context) (used engine.Usage, runs []string, err error) {
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
			for _, id := range plan.Planning {
				charged[id] = true
			}
		}
	}
	for _, info := range slices.Backward(found) {
		if !charged[info.ID] {
			used, runs = used.Plus(info.Usage.Usage), append(runs, info.ID)
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
	return w.checkExposed(r.p.now().secrets)
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

// NodeChange is what a new plan changes about a step of a workflow.
type NodeChange struct {
	Workflow string
	Node     string
	Kind     StepChangeKind
}

// StepChangeKind is how a new plan changes the definition of a step.
type StepChangeKind string

// The kinds of changes.
const (
	StepKept    StepChangeKind = "kept" // its definition is the same
	StepChanged StepChangeKind = "changed"
	StepAdded   StepChangeKind = "added"
	StepRemoved StepChangeKind = "removed"
)

// Comparison is what a new plan would change in a run.
type Comparison struct {
	Nodes []NodeChange // the steps of the new plan in their order, and then those that are removed
	// What would happen to the steps of the run at once, by address. Steps that depend on others
	// which run again follow later.
	Kept      []string // have a result, which stays
	GoesOn    []string // in progress, and go on
	Again     []string // have a result, or are in progress, and run again
	Cancelled []string // in progress, and are not part of the new plan
	Dropped   []string // have a result, and are not part of the new plan
}

// Compare returns what a new plan would change. It records nothing. The errors are those of
// [Run.Replan], except that nobody has to approve anything.
func (r *Run) Compare(ctx context.Context, w *Workflow) (*Comparison, error) {
	replies, err := r.Replies(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.checkPlan(ctx, w, replies); err != nil {
		return nil, err
	}
	old, err := r.Bundle(ctx)
	if err != nil {
		return nil, err
	}
	first, err := r.d.FirstPin(ctx, r.id)
	if err != nil {
		return nil, err
	}
	run, err := driver.Replay(r.id, first.Bundle, r.load(ctx), r.d.Events(ctx, r.id, 0, false), nil)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Nodes: compareNodes(old, w.Bundle())}
	before := run.Result()
	e := engine.Envelope{Time: run.Time(), Unattended: true, Event: &engine.Replanned{Bundle: w.Bundle(), Tasks: taskFacts(*w.Bundle(), w.l.Agents(), replies)}}
	if err := run.Admit(e); err != nil {
		return nil, &RefusedError{Run: r.id, Reason: err.Error()}
	}
	if _, err := driver.Step(run, r.id, e); err != nil {
		return nil, err
	}
	c.compareSteps(before.Steps, run.Result().Steps)
	return c, nil
}

func (c *Comparison) compareSteps(before, after []engine.StepResult) {
	now := map[string]engine.StepResult{}
	for _, s := range after {
		now[s.Address] = s
	}
	for _, was := range before {
		s, exists := now[was.Address]
		same := s.Attempts == was.Attempts && s.Started.Equal(was.Started)
		done := was.Status == engine.Success
		started := was.Status == engine.Running || was.Status == engine.Waiting
		switch {
		case done && exists && same && s.Status == was.Status:
			c.Kept = append(c.Kept, was.Address)
		case started && was.Attempts > 0 && exists && same:
			c.GoesOn = append(c.GoesOn, was.Address)
		case exists && (done || started || was.Status == engine.Failed || was.Status == engine.TimedOut) && was.Attempts > 0:
			c.Again = append(c.Again, was.Address)
		case started && !exists:
			c.Cancelled = append(c.Cancelled, was.Address)
		case done && !exists:
			c.Dropped = append(c.Dropped, was.Address)
		}
	}
}

// compareNodes compares the definitions of steps.
func compareNodes(old, plan *workflow.Bundle) []NodeChange {
	var list []NodeChange
	was := definitions(old)
	for i := range was {
		if was[i].at[0] == old.Root.Name { // it may have another name now
			was[i].at[0] = plan.Root.Name
		}
	}
	seen := map[[2]string]bool{}
	for _, d := range definitions(plan) {
		i := slices.IndexFunc(was, func(o definition) bool { return o.at == d.at })
		seen[d.at] = true
		kind := StepChanged
		switch {
		case i < 0:
			kind = StepAdded
		case was[i].text == d.text:
			kind = StepKept
		}
		list = append(list, NodeChange{d.at[0], d.at[1], kind})
	}
	for _, d := range was {
		if !seen[d.at] {
			list = append(list, NodeChange{d.at[0], d.at[1], StepRemoved})
		}
	}
	return list
}

// definition is the definition of a step, with the edges that lead to it.
type definition struct {
	at   [2]string // workflow and node
	text string
}

func definitions(b *workflow.Bundle) []definition {
	var list []definition
	for _, w := range check.Workflows(*b) {
		w.Body.Walk(func(g *workflow.Graph, n *workflow.Node) {
			alone := *n
			switch s := n.Step.(type) {
			case *workflow.Loop:
				alone.Step = &workflow.Loop{Max: s.Max}
			case *workflow.Each:
				each := *s
				each.Body = workflow.Graph{}
				alone.Step = &each
			case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine:
			}
			edges := slices.DeleteFunc(slices.Clone(g.Edges), func(e workflow.Edge) bool { return e.To != n.ID })
			list = append(list, definition{[2]string{w.Name, n.ID}, workflow.Print(&workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{alone}, Edges: edges}})})
		})
	}
	return list
}
