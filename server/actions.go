package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Receipt is what became of a request to change a run.
type Receipt struct {
	Status string `json:"status" doc:"Of the run"`
	Driven bool   `json:"driven" doc:"A process drives it, and goes on by itself"`
	Note   string `json:"note,omitempty" doc:"Which processes may be left of attempts whose process died"`
}

// Inputs are the inputs of a run. Their numbers are kept as they are written.
type Inputs map[string]any

// UnmarshalJSON reads them.
func (in *Inputs) UnmarshalJSON(data []byte) error {
	v, err := workflow.ParseJSON(data)
	if err != nil {
		return err
	}
	values, ok := v.(map[string]any)
	if !ok {
		return errors.New("inputs: expected an object")
	}
	*in = values
	return nil
}

// Schema describes them.
func (Inputs) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: "By name, as the workflow declares them"}
}

// started is the response to a request that creates a run.
type started struct {
	Location string `header:"Location"`
	Body     RunLine
}

// StartRun says what to start.
type StartRun struct {
	Workflow string            `json:"workflow" doc:"Its name" maxLength:"200"`
	Inputs   Inputs            `json:"inputs,omitempty"`
	Limits   *Limits           `json:"limits,omitempty"`
	Labels   map[string]string `json:"labels,omitempty" doc:"Values that lists show"`
	Replies  string            `json:"replies,omitempty" doc:"Scripted answers of agents and people, as a YAML file has them, to try the workflow for free" maxLength:"2000000"`
}

// RetryRun says what a run repeats of another.
type RetryRun struct {
	From    string  `json:"from,omitempty" doc:"The address of the step; absent: what failed" maxLength:"1000"`
	Output  *string `json:"output,omitempty" doc:"Use this as the result of the step instead of running it again" maxLength:"2000000"`
	Prompt  *string `json:"prompt,omitempty" doc:"Give the step this prompt instead of its own" maxLength:"2000000"`
	Comment string  `json:"comment,omitempty" doc:"Send the step back: its agent gets this, and the output that it is about" maxLength:"20000"`
	Replace bool    `json:"replace,omitempty" doc:"Cancel this run first, unless it is over, because the new one replaces it"`
	// A person who sends work back instead of answering has seen a question, which someone else may have answered.
	Question string  `json:"question,omitempty" doc:"With replace, the id of an open question: if it was answered first, nothing happens" maxLength:"1000"`
	Digest   string  `json:"digest,omitempty" doc:"Of the question that was shown" maxLength:"200"`
	Limits   *Limits `json:"limits,omitempty"`
}

func (a *api) addActions() {
	const tag = "Runs"
	add(a, op{id: "start-run", method: http.MethodPost, path: "/projects/{project}/runs", scope: Start, tag: tag, status: http.StatusCreated,
		summary: "Start a run of a workflow of the project",
		detail:  repeatable, errors: []int{404, 409, 422}},
		func(ctx context.Context, in *struct {
			InProject
			Repeatable
			Body StartRun
		}) (*started, error) {
			return startedAt(a.Start(ctx, in.Project, in.Key, &in.Body))
		})
	act(a, "cancel-run", "/cancel", "End a run and everything that it started", Start,
		func(ctx context.Context, run *InRun, in *struct {
			Reason string `json:"reason,omitempty" maxLength:"2000"`
		}) (Receipt, error) {
			return a.Cancel(ctx, run, in.Reason)
		})
	act(a, "raise-limits", "/raise", "Raise limits of a run", Admin, a.Raise)
	add(a, op{id: "resume-run", method: http.MethodPost, path: "/projects/{project}/runs/{run}/resume", scope: Start, tag: tag, summary: "Hand a run to this server, which drives it from now on", errors: []int{404, 409}},
		func(ctx context.Context, in *InRun) (*reply[RunLine], error) {
			line, err := a.Resume(ctx, in)
			return say(line), err
		})
	add(a, op{id: "retry-run", method: http.MethodPost, path: "/projects/{project}/runs/{run}/retry", scope: Start, tag: tag, status: http.StatusCreated,
		summary: "Start a new run that repeats this one from a step, or from what failed",
		detail:  "The step can be given another output, another prompt, or a comment: the work is sent back to it. " + repeatable, errors: []int{404, 409, 422}},
		func(ctx context.Context, in *struct {
			InRun
			Repeatable
			Body RetryRun
		}) (*started, error) {
			return startedAt(a.Retry(ctx, &in.InRun, in.Key, &in.Body))
		})
	add(a, op{id: "delete-run", method: http.MethodDelete, path: "/projects/{project}/runs/{run}", scope: Admin, tag: tag, status: http.StatusNoContent, summary: "Delete a run that is over", errors: []int{404, 409}},
		func(ctx context.Context, in *InRun) (*struct{}, error) {
			return nil, a.Delete(ctx, in)
		})
}

// Delete deletes a run that is over.
func (s *Server) Delete(ctx context.Context, in *InRun) error {
	_, r, err := s.run(ctx, in)
	if err != nil {
		return err
	}
	info, err := r.Info(ctx)
	if err == nil && !info.Status.Done() && info.Status != hocket.Damaged {
		err = &hocket.RefusedError{Run: r.ID(), Reason: "it is not over; cancel it first"}
	}
	if err != nil {
		return err
	}
	return r.Delete(ctx)
}

// Raise raises limits of a run.
func (s *Server) Raise(ctx context.Context, in *InRun, limits *Limits) (Receipt, error) {
	p, r, err := s.run(ctx, in)
	if err != nil {
		return Receipt{}, err
	}
	made, err := r.Raise(ctx, limits.model())
	if err != nil {
		return Receipt{}, err
	}
	return s.receipt(ctx, p, r, made)
}

// Inputs returns the inputs of a run.
func (s *Server) Inputs(ctx context.Context, in *InRun) (map[string]any, error) {
	_, r, err := s.run(ctx, in)
	if err != nil {
		return nil, err
	}
	return r.Inputs(ctx)
}

// Start starts a run of a workflow of a project, which the server drives. A request with the same key
// returns the same run; "": none.
func (s *Server) Start(ctx context.Context, project, key string, in *StartRun) (RunLine, error) {
	if err := s.mayStart(); err != nil {
		return RunLine{}, err
	}
	p, w, err := s.load(ctx, project, in.Workflow)
	if err != nil {
		return RunLine{}, err
	}
	labels := map[string]string{ServedLabel: "yes"}
	for k, v := range in.Labels {
		if k == ServedLabel || hocket.IsReservedLabel(k) || len(k) > 60 || len(v) > 500 || len(labels) > 20 {
			return RunLine{}, invalidRequest(http.StatusUnprocessableEntity, "invalid label "+quote(k)+": it is reserved, too long, or there are more than 20")
		}
		labels[k] = v
	}
	limits := in.Limits.model()
	admin := callerOf(ctx).allows(Admin)
	if given := w.WithLimits(limits).Limits(); !admin && check.Lower(w.Limits(), given) != given {
		return RunLine{}, newProblem(http.StatusForbidden, "scope", "only a token with the scope admin may raise limits")
	}
	options := []hocket.StartOption{hocket.WithLimits(limits), hocket.WithLabels(labels), hocket.WithKey(keyOf(ctx, key))}
	if in.Replies != "" {
		replies, found := hocket.ReadReplies("replies.yml", []byte(in.Replies))
		if found.Errors() {
			return RunLine{}, &hocket.InvalidError{Diagnostics: found}
		}
		if !admin && !replies.CoversAll(w.Bundle()) {
			// A reply may be the answer to a question, or what the next step believes.
			return RunLine{}, newProblem(http.StatusForbidden, "scope", "only a token with the scope admin may reply for some steps while others do real work; give every task a reply")
		}
		options = append(options, hocket.WithReplies(replies))
	}
	r, err := p.Record(ctx, w, in.Inputs, options...)
	if err != nil {
		return RunLine{}, err
	}
	return drivenFromNow(ctx, p, r)
}

// Retry starts a run that repeats another one from a step, or from what failed. A request with the same key
// returns the same run; "": none.
func (s *Server) Retry(ctx context.Context, in *InRun, key string, what *RetryRun) (RunLine, error) {
	if err := s.mayStart(); err != nil {
		return RunLine{}, err
	}
	p, r, err := s.run(ctx, in)
	if err != nil {
		return RunLine{}, err
	}
	if what.From == "" && (what.Output != nil || what.Prompt != nil || what.Comment != "") {
		return RunLine{}, invalidRequest(http.StatusUnprocessableEntity, "an output, a prompt or a comment needs the step that it is for")
	}
	if what.Question != "" && !what.Replace {
		return RunLine{}, invalidRequest(http.StatusUnprocessableEntity, "a question needs replace: otherwise it stays open, and can be answered")
	}
	options := []hocket.StartOption{hocket.WithLimits(what.Limits.model()), hocket.WithLabels(map[string]string{ServedLabel: "yes"}), hocket.WithKey(keyOf(ctx, key))}
	var again *hocket.Run
	if who := callerOf(ctx); who.allows(Admin) {
		options = append(options, hocket.ByPerson())
	} else if what.Output != nil || what.Prompt != nil || what.Limits != nil {
		// The output of a step may be the answer to a question, so this is more than running it again.
		return RunLine{}, newProblem(http.StatusForbidden, "scope", "only a token with the scope admin may replace an output or a prompt, or change limits")
	}
	if what.Prompt != nil {
		options = append(options, hocket.WithPrompt(*what.Prompt))
	}
	if what.Comment != "" {
		options = append(options, hocket.WithComment(what.Comment))
	}
	if what.Replace {
		options = append(options, hocket.Replacing(what.Question, what.Digest))
	}
	if what.Output != nil {
		again, err = r.Fork(ctx, what.From, what.Output, options...)
	} else {
		again, err = r.Retry(ctx, what.From, options...)
	}
	if err != nil {
		return RunLine{}, err
	}
	return drivenFromNow(ctx, p, again)
}

// Repeatable are the parameters of requests that start or add something: a client that got no response can repeat them.
type Repeatable struct {
	Key string `header:"Idempotency-Key" maxLength:"200" doc:"A unique value, such as a UUID"`
}

const repeatable = "With the header Idempotency-Key, the same request can be repeated: it returns what the first one made. The same key with another request is a conflict."

// keyOf returns the key of a request as it is recorded; "": none. Keys of different tokens are different.
func keyOf(ctx context.Context, key string) string {
	if key == "" {
		return ""
	}
	return fmt.Sprintf("http %q %s", callerOf(ctx).Name, key)
}

// Resume hands a run to the server.
func (s *Server) Resume(ctx context.Context, in *InRun) (RunLine, error) {
	if err := s.mayStart(); err != nil {
		return RunLine{}, err
	}
	p, r, err := s.run(ctx, in)
	if err != nil {
		return RunLine{}, err
	}
	return drivenFromNow(ctx, p, r)
}

// Cancel ends a run.
func (s *Server) Cancel(ctx context.Context, in *InRun, reason string) (Receipt, error) {
	p, r, err := s.run(ctx, in)
	if err != nil {
		return Receipt{}, err
	}
	made, err := r.Cancel(ctx, reason)
	if err != nil {
		return Receipt{}, err
	}
	return s.receipt(ctx, p, r, made)
}

// drivenFromNow has the server drive a run.
func drivenFromNow(ctx context.Context, p served, r *hocket.Run) (RunLine, error) {
	if err := p.drives.take(ctx, r); err != nil {
		return RunLine{}, err
	}
	info, err := r.Info(ctx)
	return lineOf(p.name, info), err
}

func startedAt(l RunLine, err error) (*started, error) {
	if err != nil {
		return nil, err
	}
	return &started{apiPath + "/projects/" + url.PathEscape(l.Project) + "/runs/" + url.PathEscape(l.ID), l}, nil
}

// act adds an operation that records an event in a run.
func act[B any](a *api, id, path, summary string, scope Scope, do func(ctx context.Context, run *InRun, body *B) (Receipt, error)) {
	add(a, op{id: id, method: http.MethodPost, path: "/projects/{project}/runs/{run}" + path, scope: scope, tag: "Runs", summary: summary, errors: []int{404, 409, 422}},
		func(ctx context.Context, in *struct {
			InRun
			Body B
		}) (*reply[Receipt], error) {
			out, err := do(ctx, &in.InRun, &in.Body)
			return say(out), err
		})
}

// receipt reports what an event changed, and has the run continue if the server is responsible for it.
func (s *Server) receipt(ctx context.Context, p served, r *hocket.Run, made hocket.Receipt) (Receipt, error) {
	info, err := r.Info(ctx)
	if err != nil {
		return Receipt{}, err
	}
	p.drives.see(info)
	driven, status := made.Driven || p.drives.drivesNow(r.ID()), string(info.Status)
	if info.Status == engine.Running && !driven {
		status = string(info.Shown())
	}
	return Receipt{status, driven, made.Note}, nil
}
