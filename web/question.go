package web

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/server"
	"github.com/hocket-dev/hocket/workflow"
)

// card is an open question, with what tells it from the same question of another run.
type card struct {
	server.Question
	Left bool // nothing happens after an answer until someone continues the run
	about
}

// about is what a page says about the run of a question. It does not change while the question is open.
type about struct {
	Inputs  string
	Before  string    // the beginning of the output that led to the question
	Earlier []earlier // steps that work can be sent back to
}

const mostCards = 200 // whose runs are remembered

// cards adds what pages show with questions.
func (s *site) cards(ctx context.Context, questions []server.Question) ([]card, error) {
	var all []card
	for _, q := range questions {
		in := &server.InRun{InProject: server.InProject{Project: q.Project}, Run: q.Run}
		one, err := s.abouts.of(q.Project+"/"+q.Run+"/"+q.ID+"/"+q.Digest, func() (about, error) { return s.about(ctx, in, q) })
		if err != nil {
			continue // it was answered or deleted meanwhile, or is damaged: then its own page says why
		}
		left, err := s.isLeft(ctx, in)
		if err != nil {
			return nil, err
		}
		all = append(all, card{q, left, one})
	}
	return all, nil
}

func (s *site) isLeft(ctx context.Context, in *server.InRun) (bool, error) {
	goesOn, err := s.GoesOn(ctx, in)
	return !goesOn, err
}

func (s *site) about(ctx context.Context, in *server.InRun, q server.Question) (about, error) {
	run, state, _, err := s.Run(ctx, in)
	if err != nil {
		return about{}, err
	}
	inputs, err := run.Inputs(ctx)
	if err != nil {
		return about{}, err
	}
	a := about{Before: outputBefore(state, q.Address)}
	if q.Kind == string(engine.GateQuestion) {
		a.Earlier = earlierSteps(state, q.Address)
	}
	var values []string
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		text, ok := inputs[name].(string)
		if !ok {
			text = workflow.FormatJSON(inputs[name])
		}
		values = append(values, name+": "+firstLine(text))
	}
	a.Inputs = firstLine(strings.Join(values, ", "))
	return a, nil
}

// outputBefore returns the beginning of the last output that led to a step.
func outputBefore(state *hocket.State, address string) string {
	before := trailTo(state.Bundle, address)
	for _, step := range slices.Backward(state.Result.Steps) {
		out, ok := step.Output.(string)
		if ok && out != "" && before.has(step.Address) {
			return firstLine(out)
		}
	}
	return ""
}

// answer answers the question of a form.
func (s *site) answer(r *http.Request) (string, error) {
	in, f := inRun(r), r.PostForm
	value := f.Get("value")
	if f.Get("own") != "" {
		value = f.Get("text")
	}
	_, err := s.Answer(r.Context(), in, f.Get("question"), hocket.Answer{Value: value, Comment: f.Get("comment"), Digest: f.Get("digest")})
	return back(r, runPath(in.Project, in.Run)), err
}

// answerLeft answers a question of a run that nothing drives, and continues the run if the person wants that. Otherwise its
// page says how it goes on.
func (s *site) answerLeft(r *http.Request) (string, error) {
	next, err := s.answer(r)
	if err != nil {
		return next, err
	}
	if in := inRun(r); r.PostForm.Get("continue") != "" {
		_, err = s.Resume(r.Context(), in)
	} else if left, _ := s.isLeft(r.Context(), in); left {
		next = runPath(in.Project, in.Run)
	}
	return next, err
}
