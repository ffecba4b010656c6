package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// Replan has the model change the workflow of a run as some words say. The model sees the workflow, what
// became of its steps, and what they returned. The plan is what the run could continue with, see
// [hocket.Run.Replan]; a person has to approve it first. The restrictions on what a model may write apply
// to steps that are new or changed.
//
// Without words, the plan is for a step with on_error: replan that has failed. What the model uses counts
// against the limits of the run: the error is a *[SpentError] if nothing is left, and a *[hocket.RefusedError]
// while another planner is using it.
func (p *Planner) Replan(ctx context.Context, run *hocket.Run, words string, see func(Partial)) (*Plan, error) {
	unlock, err := run.LockPlanning()
	if err != nil {
		return nil, err
	}
	defer unlock()
	s, err := run.State(ctx)
	if err != nil {
		return nil, err
	}
	old := s.Bundle.Root
	text, err := syntax.Format(old, "xml")
	if err != nil {
		return nil, fmt.Errorf("planner: %w", err)
	}
	q := p.question("replan", cmp.Or(words, failureWords))
	if words == "" {
		q.reason = "continue after a failure"
		for _, failed := range s.Questions {
			if failed.Kind == engine.ReplanQuestion {
				q.reason = "continue after the failure of " + failed.Address
				break
			}
		}
	}
	q.Workflow, q.Limits = true, check.Override(s.Result.Limits, p.o.Limits)
	spent, _, err := run.Planning(ctx)
	if err != nil {
		return nil, err
	}
	q.run, q.used = run.ID(), s.Result.Usage.Usage.Plus(spent)
	q.most = workflow.Limits{CostUSD: q.Limits.CostUSD, Tokens: q.Limits.Tokens}
	q.inputs = append([]workflow.Binding{{Name: "workflow", Value: string(text)}}, p.progress(s)...)
	replies, err := run.Replies(ctx)
	if err != nil {
		return nil, err
	}
	q.dir, q.name = place(p.p, old), old.Name
	before, err := p.p.LoadText(filepath.Join(q.dir, "before.xml"), text)
	if err != nil {
		return nil, err
	}
	q.check = func(plan *Plan) (workflow.Diagnostics, error) {
		found := append(strictly(plan.Workflow.Check(replies), before.Check(replies)), plan.Workflow.CheckChange(old)...)
		if found.Errors() {
			return found, nil
		}
		changes, err := run.Compare(ctx, plan.Workflow)
		var refused *hocket.RefusedError
		var invalid *hocket.InvalidError
		switch {
		case errors.As(err, &refused):
			return refuse("", "%s", refused.Reason), nil
		case errors.As(err, &invalid):
			return invalid.Diagnostics, nil
		case err != nil:
			return nil, err
		}
		return tooMany(plan.Workflow.Plan(replies).Least, changes, s.Result.Usage.Steps, q.Limits.Steps), nil
	}
	plan, err := p.plan(ctx, q, see)
	if err != nil {
		return nil, err
	}
	return plan, p.p.Wrote(plan.Workflow.Model(), plan.Origin)
}

// tooMany refuses a plan that the rest of the limit of steps cannot cover, even if nothing fails. Results
// that stay are among the steps that were used.
func tooMany(least int, c *hocket.Comparison, used, limit int) workflow.Diagnostics {
	need := least - len(c.Kept) - len(c.GoesOn)
	if limit == 0 || need <= 0 || used+need <= limit {
		return nil
	}
	return refuse("plan fewer steps", "the run has used %d of its %d steps, and this workflow needs at least %d more", used, limit, need)
}

// place returns the directory to which the calls of a workflow are relative. One that a model wrote has
// none, and what replaces it is not a proposal.
func place(p *hocket.Project, old *workflow.Workflow) string {
	dir := filepath.Dir(old.Pos.File)
	if old.Pos.File == "" || filepath.Dir(dir) == project.GeneratedDir(p.Root()) {
		return p.Root()
	}
	return dir
}

// Limits of what the model sees of a run.
const (
	maxText    = 4 << 10  // of one error or output
	maxTexts   = 48 << 10 // of all errors, and of all outputs
	maxSteps   = 200      // that are listed
	maxOutputs = 40       // outputs
)

// allowance is how many bytes of texts may still be told.
type allowance int

// take returns the beginning of a text, "" if nothing is left.
func (a *allowance) take(text string) string {
	if *a <= 0 {
		return ""
	}
	text = bounded(text, min(maxText, int(*a)))
	*a -= allowance(len(text))
	return text
}

// progress returns what became of the steps of a run. Texts that steps returned are inputs of their own,
// which the prompt of every task marks as material.
func (p *Planner) progress(s *hocket.State) []workflow.Binding {
	var state strings.Builder
	fmt.Fprintf(&state, "The run is %s.\n", s.Status)
	errs, texts := allowance(maxTexts), allowance(maxTexts)
	for _, q := range s.Questions {
		if q.Kind == engine.ReplanQuestion {
			fmt.Fprintf(&state, "%s has failed and waits for a new plan, because: %s\n", q.Address, errs.take(q.Detail))
		}
	}
	steps := slices.Clone(s.Result.Steps)
	if len(steps) > maxSteps { // what has not succeeded matters most
		sort.SliceStable(steps, func(i, j int) bool { return rank(steps[i]) < rank(steps[j]) })
		steps = steps[:maxSteps]
	}
	var outputs []workflow.Binding
	for _, step := range steps {
		fmt.Fprintf(&state, "- %s: %s", step.Address, step.Status)
		if why := errs.take(step.Error); why != "" {
			fmt.Fprintf(&state, ", because: %s", why)
		}
		if step.Status == engine.Success && len(outputs) < maxOutputs {
			if value, err := step.Value(); err == nil && value != nil {
				if text := texts.take(workflow.FormatText(value)); text != "" {
					name := fmt.Sprintf("output_%d", len(outputs)+1)
					outputs = append(outputs, workflow.Binding{Name: name, Value: text})
					fmt.Fprintf(&state, "; it returned what is in %s", name)
				}
			}
		}
		state.WriteString("\n")
	}
	if more := len(s.Result.Steps) - len(steps); more > 0 {
		fmt.Fprintf(&state, "and %d more steps\n", more)
	}
	return append([]workflow.Binding{{Name: "state", Value: state.String()}}, outputs...)
}

// rank orders steps: those that succeeded, were skipped or have not begun come last.
func rank(s engine.StepResult) int {
	if s.Error != "" && s.Status != engine.Skipped {
		return 0
	}
	return 1
}

// failureWords are what the model is asked for if a step has failed. Why it failed is in the state of the
// run: it is the text of a command or a model, and must not become what the model is asked for.
const failureWords = "A step has failed, as the input `state` says. Change the workflow so that it can still reach its goal."
