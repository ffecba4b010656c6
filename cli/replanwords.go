package cli

import (
	"context"
	"errors"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/planner"
)

// replanWords has a model change the workflow of a run, and gives it to the run once a person has approved
// it.
func (a *app) replanWords(ctx context.Context, r *hocket.Run, words string, f *replanFlags) (hocket.Receipt, error) {
	words, err := a.promptText(words, `hocket replan RUN "skip the third phone"`)
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
	return a.planAgain(ctx, r, words, planner.Options{Agent: f.agent, Replies: replies, Limits: f.limits}, hocket.Replan{Words: words, Limits: f.limits})
}

// planAgain has a model change a workflow, shows the difference and all that the new one does, and gives
// it to the run.
func (a *app) planAgain(ctx context.Context, r *hocket.Run, words string, o planner.Options, with hocket.Replan) (hocket.Receipt, error) {
	p := r.Project()
	plan, err := a.watchPlan(ctx, func(ctx context.Context, see func(planner.Partial)) (*planner.Plan, error) {
		return planner.New(p, o).Replan(ctx, r, words, see)
	})
	if err != nil {
		return hocket.Receipt{}, err
	}
	a.noteRepairs(plan, false)
	changes, err := r.Compare(ctx, plan.Workflow)
	if err != nil {
		return hocket.Receipt{}, err
	}
	s, err := r.State(ctx)
	if err != nil {
		return hocket.Receipt{}, err
	}
	with.Origin = &hocket.Origin{By: plan.By, Goal: words, At: time.Now().UTC()}
	review, err := p.ReviewPlan(plan.Workflow, r.ID(), *with.Origin)
	if err != nil {
		return hocket.Receipt{}, err
	}
	review.Plan.Limits = check.Override(s.Result.Limits, with.Limits) // a run keeps its own
	text := a.explanation(plan) + "\nChanges\n" + comparisonText(plan.Workflow, changes) + "\n" + a.reviewText(review) + "\nUsed so far\n  " + usageText(s.Result.Usage) + "\n"
	if err := a.confirm(ctx, review, text); err != nil {
		return hocket.Receipt{}, err
	}
	if err := p.ApprovePlan(plan.Workflow, r.ID(), review.Digest); err != nil {
		return hocket.Receipt{}, err
	}
	return r.Replan(ctx, plan.Workflow, with)
}

// offerPlan has a model change the workflow of a run in which a step with on_error: replan has failed, if a
// person is here to approve it. It returns false if the run waits.
func (a *app) offerPlan(ctx context.Context, d *drive, res engine.Result) bool {
	if res.Status != engine.Waiting || a.json || a.people(a.std.Err) == nil || a.onlyPerson("replan") != nil {
		return false
	}
	open, err := d.run.Questions(ctx)
	if err != nil {
		return false
	}
	for _, q := range open {
		if q.Kind != engine.ReplanQuestion {
			continue
		}
		words := q.Address + ": " + q.Detail
		o := planner.Options{}
		if replies, err := d.run.Replies(ctx); err == nil && replies != nil && replies.CoversPerson("replan") {
			o.Replies = replies
		}
		_, err := a.planAgain(ctx, d.run, planner.FailureWords, o, hocket.Replan{Words: words})
		var told exitError
		if err != nil && !errors.As(err, &told) {
			what, hint := explain(err)
			a.report(what, hint)
		}
		return err == nil
	}
	return false
}
