package cli

import (
	"context"
	"errors"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/cli/ask"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/planner"
	"github.com/hocket-dev/hocket/workflow"
)

// replanWords has a model change the workflow of a run, and gives it to the run once a person has approved
// it.
func (a *app) replanWords(ctx context.Context, r *hocket.Run, words string, f *replanFlags) (hocket.Receipt, error) {
	words, err := a.promptText("text", words, `hocket replan RUN "skip the third phone"`)
	if err != nil {
		return hocket.Receipt{}, err
	}
	if f.yes {
		return hocket.Receipt{}, usagef("leave it out: only a person can approve what a model wrote", "--yes does not apply to a plan in words")
	}
	if a.people(a.std.Err) == nil { // before the model is paid for a plan that cannot be approved
		return hocket.Receipt{}, usagef("run it in a terminal, or write the new workflow yourself: `"+a.self("replan", r.ID(), "--with", "FILE")+"`", "cannot ask for approval: not a terminal")
	}
	replies, err := a.readReplies(f.replies)
	if err != nil {
		return hocket.Receipt{}, err
	}
	w, origin, err := a.planAgain(ctx, r, words, "", planner.Options{Agent: f.agent, Replies: replies, Limits: f.limits})
	if err != nil {
		return hocket.Receipt{}, err
	}
	return r.Replan(ctx, w, hocket.Replan{Words: words, Limits: f.limits, Origin: origin})
}

// planAgain has a model change the workflow of a run, and shows the difference and all that the new one does to
// a person, who approves it. Without words, it is because of a failure.
func (a *app) planAgain(ctx context.Context, r *hocket.Run, words, failure string, o planner.Options) (*hocket.Workflow, *hocket.Origin, error) {
	p := r.Project()
	pl := planner.New(p, o)
	plan, err := a.watchPlan(ctx, func(ctx context.Context, see func(planner.Partial)) (*planner.Plan, error) {
		return pl.Replan(ctx, r, words, see)
	})
	if err != nil {
		return nil, nil, err
	}
	a.noteRepairs(plan, false)
	changes, err := r.Compare(ctx, plan.Workflow)
	if err != nil {
		return nil, nil, err
	}
	if changes.Same && o.Limits == (workflow.Limits{}) {
		return nil, nil, errSamePlan
	}
	s, err := r.State(ctx)
	if err != nil {
		return nil, nil, err
	}
	spent, _, err := r.Planning(ctx)
	if err != nil {
		return nil, nil, err
	}
	review, err := p.ReviewPlan(plan.Workflow, r.ID(), plan.Origin)
	if err != nil {
		return nil, nil, err
	}
	review.Plan.Limits = check.Override(s.Result.Limits, o.Limits) // a run keeps its own
	text := a.explanation(plan) + "\nChanges\n" + comparisonText(plan.Workflow, changes) + "\n" + a.reviewText(review) + "\nUsed so far\n  " + usageText(s.Result.Usage) + "\n"
	if used := plannerUsage(spent); used != "" {
		text += "  and for this plan: " + used + "\n"
	}
	if failure != "" {
		text = "Failed\n  " + indented(failure) + "\n\n" + text
	}
	if err := a.confirm(ctx, review, text); err != nil {
		return nil, nil, err
	}
	return plan.Workflow, &plan.Origin, p.ApprovePlan(plan.Workflow, r.ID(), review.Digest)
}

// offerPlan has a model change the workflow of a run in which a step with on_error: replan has failed, if a
// person is here to approve it. It returns false if the run waits.
func (a *app) offerPlan(ctx context.Context, d *drive, res engine.Result) bool {
	if res.Status != engine.Waiting || a.json || a.people(a.std.Err) == nil || a.onlyPerson("replan") != nil {
		return false
	}
	replies := d.replies
	replanned, err := d.run.ReplanFailure(ctx, func(ctx context.Context, r *hocket.Run, failure string) (*hocket.Workflow, *hocket.Origin, error) {
		var err error
		if replies == nil {
			replies, err = r.Replies(ctx)
		}
		switch {
		case err != nil:
		case replies == nil:
			err = a.askToPlan(ctx, failure)
		case !replies.CoversPerson("replan"): // "*" is for the steps of the workflow
			err = &planner.NoReplyError{Key: "replan"}
		}
		if err != nil {
			return nil, nil, err
		}
		return a.planAgain(ctx, r, "", failure, planner.Options{Replies: replies})
	})
	reported := exitError(0)
	switch {
	case err == nil || errors.As(err, &reported):
	case errors.Is(err, errSamePlan):
		a.note(errSamePlan.Error() + "\n")
	default:
		what, hint := explain(err)
		a.report(what, hint)
	}
	return replanned
}

// askToPlan asks whether a model may be paid for a new plan.
func (a *app) askToPlan(ctx context.Context, failure string) error {
	return a.decide(ctx, a.people(a.std.Err), ask.Question{
		Text:   "A step has failed. Should a model change the workflow?",
		Detail: failure,
		Options: []workflow.Option{
			{Value: "plan", Description: "ask the model; what it uses counts against the limits of the run"},
			{Value: "wait", Description: "leave the run waiting"},
		},
	}, "plan", "not planned")
}
