package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-dev/hocket"
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

func (a *api) addActions() {
	const tag = "Runs"
	add(a, op{id: "start-run", method: http.MethodPost, path: "/projects/{project}/runs", scope: Start, tag: tag, status: http.StatusCreated,
		summary: "Start a run of a workflow of the project",
		detail:  "With the header Idempotency-Key, the same request can be repeated: it returns the run that the first one started. The same key with another request is a conflict.",
		errors:  []int{404, 409, 422}},
		func(ctx context.Context, in *struct {
			InProject
			Key  string `header:"Idempotency-Key" maxLength:"200" doc:"A unique value, such as a UUID"`
			Body struct {
				Workflow string            `json:"workflow" doc:"Its name" maxLength:"200"`
				Inputs   Inputs            `json:"inputs,omitempty"`
				Limits   *Limits           `json:"limits,omitempty"`
				Labels   map[string]string `json:"labels,omitempty" doc:"Values that lists show"`
				Replies  string            `json:"replies,omitempty" doc:"Scripted answers of agents and people, as a YAML file has them, to try the workflow for free" maxLength:"2000000"`
			}
		}) (*started, error) {
			p, w, err := a.load(ctx, in.Project, in.Body.Workflow)
			if err != nil {
				return nil, err
			}
			labels := map[string]string{servedLabel: "yes"}
			for k, v := range in.Body.Labels {
				if k == servedLabel || k == hocket.MadeByLabel || len(k) > 60 || len(v) > 500 || len(labels) > 20 {
					return nil, invalidRequest(http.StatusUnprocessableEntity, "invalid label "+quote(k)+": it is reserved, too long, or there are more than 20")
				}
				labels[k] = v
			}
			options := []hocket.StartOption{hocket.WithLimits(in.Body.Limits.model()), hocket.WithLabels(labels)}
			if in.Key != "" {
				options = append(options, hocket.WithKey("http "+callerOf(ctx).Name+" "+in.Key))
			}
			if in.Body.Replies != "" {
				replies, found := hocket.ReadReplies("replies.yml", []byte(in.Body.Replies))
				if found.Errors() {
					return nil, &hocket.InvalidError{Diagnostics: found}
				}
				options = append(options, hocket.WithReplies(replies))
			}
			r, err := p.Record(ctx, w, in.Body.Inputs, options...)
			if err != nil {
				return nil, err
			}
			return a.made(ctx, p, r)
		})
	act(a, "cancel-run", "/cancel", "End a run and everything that it started", Start,
		func(ctx context.Context, _ served, r *hocket.Run, in *struct {
			Reason string `json:"reason,omitempty" maxLength:"2000"`
		}) (hocket.Receipt, error) {
			return r.Cancel(ctx, in.Reason)
		})
	act(a, "raise-limits", "/raise", "Raise limits of a run", Start,
		func(ctx context.Context, _ served, r *hocket.Run, in *Limits) (hocket.Receipt, error) {
			return r.Raise(ctx, in.model())
		})
	add(a, op{id: "resume-run", method: http.MethodPost, path: "/projects/{project}/runs/{run}/resume", scope: Start, tag: tag, summary: "Hand a run to this server, which drives it from now on", errors: []int{404, 409}},
		func(ctx context.Context, in *InRun) (*reply[RunLine], error) {
			p, r, err := a.run(ctx, in)
			if err != nil {
				return nil, err
			}
			if err := p.drives.take(ctx, r); err != nil {
				return nil, err
			}
			info, err := r.Info(ctx)
			return say(lineOf(p.name, info)), err
		})
	add(a, op{id: "retry-run", method: http.MethodPost, path: "/projects/{project}/runs/{run}/retry", scope: Start, tag: tag, status: http.StatusCreated,
		summary: "Start a new run that repeats this one from a step, or from what failed", errors: []int{404, 409, 422}},
		func(ctx context.Context, in *struct {
			InRun
			Body struct {
				From   string  `json:"from,omitempty" doc:"The address of the step; absent: what failed" maxLength:"1000"`
				Output *string `json:"output,omitempty" doc:"Use this as the result of the step instead of running it again" maxLength:"2000000"`
				Limits *Limits `json:"limits,omitempty"`
			}
		}) (*started, error) {
			p, r, err := a.run(ctx, &in.InRun)
			if err != nil {
				return nil, err
			}
			if in.Body.Output != nil && in.Body.From == "" {
				return nil, invalidRequest(http.StatusUnprocessableEntity, "an output needs the step that it is for")
			}
			options := []hocket.StartOption{hocket.WithLimits(in.Body.Limits.model()), hocket.WithLabels(map[string]string{servedLabel: "yes"})}
			var again *hocket.Run
			if in.Body.Output != nil {
				// The output of a step may be the answer to a question, so this is more than running it again.
				if who := callerOf(ctx); !who.allows(Admin) {
					return nil, newProblem(http.StatusForbidden, "scope", "only a token with the scope admin may replace an output")
				}
				again, err = r.Fork(ctx, in.Body.From, in.Body.Output, options...)
			} else {
				again, err = r.Retry(ctx, in.Body.From, options...)
			}
			if err != nil {
				return nil, err
			}
			return a.made(ctx, p, again)
		})
	add(a, op{id: "delete-run", method: http.MethodDelete, path: "/projects/{project}/runs/{run}", scope: Admin, tag: tag, status: http.StatusNoContent, summary: "Delete a run that is over", errors: []int{404, 409}},
		func(ctx context.Context, in *InRun) (*struct{}, error) {
			_, r, err := a.run(ctx, in)
			if err != nil {
				return nil, err
			}
			info, err := r.Info(ctx)
			if err == nil && !info.Status.Done() && info.Status != hocket.Damaged {
				err = &hocket.RefusedError{Run: r.ID(), Reason: "it is not over; cancel it first"}
			}
			if err != nil {
				return nil, err
			}
			return nil, r.Delete(ctx)
		})
}

// made has a new run driven.
func (s *Server) made(ctx context.Context, p served, r *hocket.Run) (*started, error) {
	if err := p.drives.take(ctx, r); err != nil {
		return nil, err
	}
	info, err := r.Info(ctx)
	return &started{apiPath + "/projects/" + url.PathEscape(p.name) + "/runs/" + url.PathEscape(r.ID()), lineOf(p.name, info)}, err
}

// act adds an operation that records an event in a run.
func act[B any](a *api, id, path, summary string, scope Scope, do func(ctx context.Context, p served, r *hocket.Run, body *B) (hocket.Receipt, error)) {
	add(a, op{id: id, method: http.MethodPost, path: "/projects/{project}/runs/{run}" + path, scope: scope, tag: "Runs", summary: summary, errors: []int{404, 409, 422}},
		func(ctx context.Context, in *struct {
			InRun
			Body B
		}) (*reply[Receipt], error) {
			p, r, err := a.run(ctx, &in.InRun)
			if err != nil {
				return nil, err
			}
			receipt, err := do(ctx, p, r, &in.Body)
			if err != nil {
				return nil, err
			}
			return a.receipt(ctx, p, r, receipt)
		})
}

// receipt reports what an event changed, and has the run continue if the server is responsible for it.
func (s *Server) receipt(ctx context.Context, p served, r *hocket.Run, made hocket.Receipt) (*reply[Receipt], error) {
	info, err := r.Info(ctx)
	if err != nil {
		return nil, err
	}
	p.drives.see(info)
	status := string(info.Status)
	if info.Status == engine.Running && !made.Driven {
		status = statusOf(info)
	}
	return say(Receipt{status, made.Driven || p.drives.drivesNow(r.ID()), made.Note}), nil
}
