package web

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/sorted"
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
	Change  *change   // the diff that it is about, without its lines; nil: none
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
	a := about{Before: outputBefore(state, q.Address), Change: readChange(q.Detail).summary()}
	if q.Kind == string(engine.GateQuestion) {
		a.Earlier = earlierSteps(state, q.Address)
	}
	var values []string
	for _, name := range sorted.Keys(inputs) {
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

// changeData is a page on which a person decides about a change.
type changeData struct {
	server.InRun
	Card   *card // nil: the question was answered
	Change *change
}

// Lands reports whether the change lands unless the person rejects it. Then a reason is a comment, and no other answer.
func (d *changeData) Lands() bool {
	return d.Change.Digest != "" && slices.ContainsFunc(d.Card.Options, func(o server.Option) bool { return o.Value == "reject" })
}

// reviewChange shows all of a change that a question is about. It is not part of the pages that show the question,
// since these are asked for again and again.
func (s *site) reviewChange(r *http.Request) (string, any, error) {
	ctx, in := r.Context(), inRun(r)
	_, _, shown, err := s.Run(ctx, in)
	if err != nil {
		return "", nil, err
	}
	d := &changeData{InRun: *in}
	id := r.URL.Query().Get("question")
	open, err := s.cards(ctx, slices.DeleteFunc(shown.Open, func(q server.Question) bool { return q.ID != id }))
	if err != nil {
		return "", nil, err
	}
	if len(open) > 0 {
		if d.Change = readChange(open[0].Detail); d.Change != nil {
			d.Card = &open[0]
		}
	}
	return "Review a change", d, nil
}

var (
	ofLine   = lazy.Regexp(`:\d+( \(before\))?$`)
	numbered = lazy.Regexp(`^(\d+) *: *(.*)$`)
)

// remarks returns the comments of a form on files and lines, such as "a.go:12: use tabs". at has what each note is about. A
// note on a file may have several comments, of which each begins with the number of a line.
func remarks(at, notes []string) []string {
	var all []string
	for i, note := range notes[:min(len(at), len(notes))] {
		begun := false
		for line := range strings.SplitSeq(note, "\n") {
			line = strings.TrimSpace(line)
			number := numbered().FindStringSubmatch(line)
			switch {
			case line == "":
				continue
			case number != nil && !ofLine().MatchString(at[i]):
				line = at[i] + ":" + number[1] + ": " + number[2]
			case begun:
				line = "  " + line
			default:
				line = at[i] + ": " + line
			}
			begun = true
			all = append(all, line)
		}
	}
	return all
}

// answer answers the question of a form.
func (s *site) answer(r *http.Request) (string, error) {
	in, f := inRun(r), r.PostForm
	value := f.Get("value")
	if f.Get("own") != "" {
		value = f.Get("text")
	}
	comment := strings.TrimSpace(strings.Join(append([]string{f.Get("comment")}, remarks(f["at"], f["note"])...), "\n"))
	_, err := s.Answer(r.Context(), in, f.Get("question"), hocket.Answer{Value: value, Comment: comment, Digest: f.Get("digest")})
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
