package server

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/hocket-dev/hocket"
)

// Question is something that a run asks a person.
type Question struct {
	Project  string     `json:"project"`
	Run      string     `json:"run_id"`
	ID       string     `json:"id"`
	Kind     string     `json:"kind"`
	Workflow string     `json:"workflow"`
	Node     string     `json:"node"`
	Address  string     `json:"address"`
	Text     string     `json:"text"`
	Detail   string     `json:"detail,omitempty"`
	Options  []Option   `json:"options"`
	Custom   bool       `json:"custom" doc:"Any other answer is accepted, too"`
	Required bool       `json:"required" doc:"Only a person may answer"`
	Asked    time.Time  `json:"asked"`
	Deadline *time.Time `json:"deadline,omitempty"`
	Digest   string     `json:"digest" doc:"Of what is shown. Send it with the answer"`
}

// Option is an answer that a question offers.
type Option struct {
	Value       string `json:"value"`
	Label       string `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
}

func (a *api) addQuestions() {
	const tag = "Questions"
	add(a, op{id: "list-questions", method: http.MethodGet, path: "/questions", scope: Read, tag: tag, summary: "List the open questions of all projects, those of the oldest runs of each first"},
		func(ctx context.Context, in *ListQuestions) (*reply[page[Question]], error) {
			out, err := a.Questions(ctx, in)
			return say(out), err
		})
	add(a, op{id: "answer-question", method: http.MethodPost, path: "/projects/{project}/runs/{run}/questions/{question}/answer", scope: Answer, tag: tag,
		summary: "Answer a question", detail: "The first valid answer wins. It is recorded under the name of the token.", errors: []int{404, 409, 422}},
		func(ctx context.Context, in *struct {
			InRun
			Question string `path:"question" doc:"The id of the question; escape each slash in it as %2F" maxLength:"1000"`
			Body     struct {
				Value   string `json:"value" maxLength:"200000"`
				Comment string `json:"comment,omitempty" doc:"Such as the reason of a rejection" maxLength:"20000"`
				Digest  string `json:"digest" doc:"Of the question that was shown" minLength:"1" maxLength:"200"`
			}
		}) (*reply[Receipt], error) {
			out, err := a.Answer(ctx, &in.InRun, in.Question, hocket.Answer{Value: in.Body.Value, Comment: in.Body.Comment, Digest: in.Body.Digest})
			return say(out), err
		})
}

// ListQuestions selects open questions.
type ListQuestions struct {
	Paged
	Project string `query:"project" doc:"Only of this project" maxLength:"200"`
}

// Questions returns open questions, those of the oldest runs of each project first.
func (s *Server) Questions(ctx context.Context, in *ListQuestions) (page[Question], error) {
	last, err := in.after(3)
	if err != nil {
		return page[Question]{}, err
	}
	from := s.projects
	if in.Project != "" {
		p, err := s.project(ctx, in.Project)
		if err != nil {
			return page[Question]{}, err
		}
		from = []served{p}
	}
	f := hocket.QuestionFilter{Limit: in.Limit + 1}
	if last != nil {
		first := slices.IndexFunc(from, func(p served) bool { return p.name == last[0] })
		if first < 0 {
			return page[Question]{}, invalidCursor()
		}
		from, f.After = from[first:], hocket.Asked{Run: last[1], ID: last[2]}
	}
	var all []Question
	for _, p := range from {
		open, err := p.Questions(ctx, f)
		if err != nil {
			return page[Question]{}, cursorError(err, last)
		}
		for _, q := range open {
			all = append(all, questionOf(p.name, q))
		}
		if f.After, f.Limit = (hocket.Asked{}), f.Limit-len(open); f.Limit <= 0 {
			break
		}
	}
	return trim(&in.Paged, all, func(q Question) []string { return []string{q.Project, q.Run, q.ID} }), nil
}

// Answer answers a question, in the name of the caller.
func (s *Server) Answer(ctx context.Context, in *InRun, question string, answer hocket.Answer) (Receipt, error) {
	if who := callerOf(ctx); !who.allows(Answer) { // a page may do more than one thing
		return Receipt{}, noScope(who, Answer)
	}
	p, r, err := s.run(ctx, in)
	if err != nil {
		return Receipt{}, err
	}
	if answer.Digest == "" {
		return Receipt{}, invalidRequest(http.StatusUnprocessableEntity, "an answer needs the digest of the question that was shown")
	}
	made, err := r.Answer(ctx, question, answer)
	if err != nil {
		return Receipt{}, err
	}
	return s.receipt(ctx, p, r, made)
}

func questionOf(project string, q hocket.Question) Question {
	out := Question{
		Project: project, Run: q.Run, ID: q.ID, Kind: string(q.Kind), Workflow: q.Workflow, Node: q.Node, Address: q.Address, Text: q.Text, Detail: q.Detail,
		Options: []Option{}, Custom: q.Custom, Required: q.Required, Asked: q.Asked, Digest: q.Digest,
	}
	for _, o := range q.Options {
		out.Options = append(out.Options, Option{o.Value, o.Label, o.Description})
	}
	if !q.Deadline.IsZero() {
		out.Deadline = &q.Deadline
	}
	return out
}
