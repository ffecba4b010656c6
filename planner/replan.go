package planner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// Replan has the model change the workflow of a run as some words say. The model sees the workflow, what
// became of its steps, and what they returned. The plan is what the run could continue with, see
// [hocket.Run.Replan]; a person has to approve it first. The restrictions on what a model may write apply
// to steps that are new or changed.
func (p *Planner) Replan(ctx context.Context, run *hocket.Run, words string, see func(Partial)) (*Plan, error) {
	s, err := run.State(ctx)
	if err != nil {
		return nil, err
	}
	old := s.Bundle.Root
	text, err := syntax.Format(old, "xml")
	if err != nil {
		return nil, fmt.Errorf("planner: %w", err)
	}
	q := p.question("replan", words)
	q.Workflow, q.Limits = true, s.Result.Limits
	q.inputs = append([]workflow.Binding{{Name: "workflow", Value: string(text)}}, p.told(ctx, s)...)
	replies, err := run.Replies(ctx)
	if err != nil {
		return nil, err
	}
	q.check = func(plan *Plan) (workflow.Diagnostics, error) {
		found := append(plan.Workflow.Check(replies), plan.Workflow.CheckChange(old)...)
		if found.Errors() {
			return found, nil
		}
		_, err := run.Compare(ctx, plan.Workflow)
		var refused *hocket.RefusedError
		var invalid *hocket.InvalidError
		switch {
		case errors.As(err, &refused):
			return workflow.Diagnostics{workflow.Errorf(workflow.Pos{}, codeAnswer, "", "%s", refused.Reason)}, nil
		case errors.As(err, &invalid):
			return invalid.Diagnostics, nil
		}
		return nil, err
	}
	q.dir, q.name = place(p.p, old), old.Name
	plan, err := p.plan(ctx, q, see)
	if err != nil {
		return nil, err
	}
	return plan, p.p.Wrote(plan.Workflow.Model())
}

// place returns the directory to which the calls of a workflow are relative. One that a model wrote has
// none, and what replaces it is not a proposal.
func place(p *hocket.Project, old *workflow.Workflow) string {
	dir := filepath.Dir(old.Pos.File)
	if old.Pos.File == "" || strings.Contains(filepath.ToSlash(dir), "/.hocket/generated/") {
		return p.Root()
	}
	return dir
}

// Limits of what the model sees of a run.
const (
	maxOutput  = 4 << 10  // of one step
	maxOutputs = 48 << 10 // of all steps
)

// told returns what became of the steps of a run. Texts that steps returned are inputs of their own,
// which the prompt of every task marks as material.
func (p *Planner) told(ctx context.Context, s *hocket.State) []workflow.Binding {
	var state strings.Builder
	fmt.Fprintf(&state, "The run is %s.\n", s.Status)
	var outputs []workflow.Binding
	left := maxOutputs
	for _, step := range s.Result.Steps {
		fmt.Fprintf(&state, "- %s: %s", step.Address, step.Status)
		if step.Error != "" {
			fmt.Fprintf(&state, ", because: %s", bounded(step.Error, maxOutput))
		}
		if step.Status == engine.Success && left > 0 {
			if value, err := step.Value(); err == nil && value != nil {
				text := bounded(workflow.FormatText(value), min(maxOutput, left))
				left -= len(text)
				name := fmt.Sprintf("output_%d", len(outputs)+1)
				outputs = append(outputs, workflow.Binding{Name: name, Value: text})
				fmt.Fprintf(&state, "; it returned what is in %s", name)
			}
		}
		state.WriteString("\n")
	}
	return append([]workflow.Binding{{Name: "state", Value: state.String()}}, outputs...)
}

// OnFailure returns the planner of a project, see [hocket.Options]: it has the model change a workflow in
// which a step with on_error: replan has failed. approve shows the plan to a person, and approves it with
// [hocket.Project.ApprovePlan]; if it returns an error, the run waits.
func OnFailure(o Options, approve func(ctx context.Context, run *hocket.Run, plan *Plan) error) hocket.Planner {
	return onFailure{o, approve}
}

type onFailure struct {
	o       Options
	approve func(ctx context.Context, run *hocket.Run, plan *Plan) error
}

// Replan plans again.
func (f onFailure) Replan(ctx context.Context, run *hocket.Run, words string) (*hocket.Workflow, error) {
	plan, err := New(run.Project(), f.o).Replan(ctx, run, FailureWords(words), nil)
	if err != nil {
		return nil, err
	}
	return plan.Workflow, f.approve(ctx, run, plan)
}

// FailureWords returns the words for a step that has failed.
func FailureWords(failure string) string {
	return "A step has failed. Change the workflow so that it can still reach its goal.\n\n" + failure
}
