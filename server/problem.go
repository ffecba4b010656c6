package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/workflow"
)

// Problem is the body of every error, as RFC 9457 defines it.
type Problem struct {
	Type        string              `json:"type" doc:"What kind of problem it is, for programs" example:"urn:hocket:refused"`
	Title       string              `json:"title" doc:"The meaning of the status" example:"Conflict"`
	Status      int                 `json:"status" example:"409"`
	Detail      string              `json:"detail" doc:"What is wrong, for people"`
	Hint        string              `json:"hint,omitempty" doc:"What to do about it"`
	Errors      []*huma.ErrorDetail `json:"errors,omitempty" doc:"Which parts of the request are invalid"`
	Diagnostics []Diagnostic        `json:"diagnostics,omitempty" doc:"What is wrong in a workflow or its inputs"`
}

const problemType = "application/problem+json"

func (p *Problem) Error() string { return p.Detail }

// newProblem creates a problem of a kind, such as "refused".
func newProblem(status int, kind, detail string) *Problem {
	return &Problem{Type: "urn:hocket:" + kind, Title: http.StatusText(status), Status: status, Detail: detail}
}

// maxErrors limits how many mistakes of a request are listed.
const maxErrors = 50

// invalidRequest is a request that does not fit the description of the operation.
func invalidRequest(status int, detail string, errs ...error) *Problem {
	kind := "invalid-request"
	if status == http.StatusRequestEntityTooLarge {
		kind = "too-large"
	}
	p := newProblem(status, kind, detail)
	for _, err := range errs[:min(len(errs), maxErrors)] {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return newProblem(http.StatusRequestEntityTooLarge, "too-large", "the request is too large")
		}
		var detailed huma.ErrorDetailer
		if errors.As(err, &detailed) {
			e := *detailed.ErrorDetail()
			e.Value = nil // it may be long, and the client knows it
			p.Errors = append(p.Errors, &e)
		} else if err != nil {
			p.Errors = append(p.Errors, &huma.ErrorDetail{Message: err.Error()})
		}
	}
	return p
}

// kinds are the errors of the host that are the client's to solve.
var kinds = []struct {
	is     func(error) bool
	status int
	kind   string
}{
	{isA[*hocket.UnknownRunError], http.StatusNotFound, "unknown-run"},
	{isA[*hocket.UnknownStepError], http.StatusNotFound, "unknown-step"},
	{isA[*hocket.UnknownWorkflowError], http.StatusNotFound, "unknown-workflow"},
	{isA[*hocket.UnknownDefinitionError], http.StatusNotFound, "unknown-definition"},
	{isA[*hocket.UnknownSessionError], http.StatusNotFound, "unknown-session"},
	{isA[*handoff.UnknownError], http.StatusNotFound, "unknown-handoff"},
	{isA[*hocket.UnknownMemoryError], http.StatusNotFound, "unknown-memory"},
	{isA[*hocket.InvalidError], http.StatusUnprocessableEntity, "invalid-workflow"},
	{isA[*hocket.InvalidMemoryError], http.StatusUnprocessableEntity, "invalid-memory"},
	{isA[*hocket.FileNameError], http.StatusUnprocessableEntity, "invalid-file-name"},
	{isA[*hocket.SecretError], http.StatusUnprocessableEntity, "secret"},
	{isA[*hocket.UntrustedError], http.StatusForbidden, "untrusted"},
	{isA[*hocket.UnapprovedError], http.StatusForbidden, "unapproved"},
	{isA[*hocket.RequiresPersonError], http.StatusForbidden, "requires-person"},
	{isA[*hocket.NoLimitError], http.StatusUnprocessableEntity, "no-limit"},
	{isA[*hocket.NestedError], http.StatusForbidden, "nested"},
	{isA[*hocket.RefusedError], http.StatusConflict, "refused"},
	{isA[*hocket.HeldError], http.StatusConflict, "held"},
	{isA[*hocket.KeyError], http.StatusConflict, "key-used"},
	{isA[*hocket.MemoryKeyError], http.StatusConflict, "key-used"},
	{isA[*hocket.ExistsError], http.StatusConflict, "exists"},
	{isA[*hocket.ChangedError], http.StatusConflict, "changed"},
	{isA[*hocket.NotFileError], http.StatusConflict, "not-a-file"},
	{isA[*hocket.RevisionError], http.StatusConflict, "revision"},
	{isA[*hocket.DecidedError], http.StatusConflict, "decided"},
	{isA[*hocket.NameTakenError], http.StatusConflict, "name-taken"},
	{isA[*hocket.MissingAgentError], http.StatusConflict, "missing-agent"},
	{isA[*hocket.MovedError], http.StatusConflict, "moved"},
	{isA[*hocket.UnknownDriverError], http.StatusConflict, "unknown-driver"},
	{func(err error) bool { return errors.Is(err, hocket.ErrClosed) }, http.StatusServiceUnavailable, "stopping"},
	{func(err error) bool { return errors.Is(err, context.Canceled) }, http.StatusServiceUnavailable, "stopping"},
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// Explain returns an error as the API reports it.
func (s *Server) Explain(ctx context.Context, err error) *Problem {
	var known *Problem
	if errors.As(err, &known) {
		return known
	}
	p := newProblem(http.StatusInternalServerError, "internal", err.Error())
	for _, k := range kinds {
		if k.is(err) {
			p = newProblem(k.status, k.kind, err.Error())
			break
		}
	}
	if p.Status == http.StatusInternalServerError {
		s.log.ErrorContext(ctx, "request failed", "error", err)
	}
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) && !strings.Contains(p.Detail, hinted.Hint()) {
		p.Hint = hinted.Hint()
	}
	var invalid *hocket.InvalidError
	if errors.As(err, &invalid) {
		p.Detail, p.Diagnostics = "the workflow, its inputs or its replies have errors", diagnosticsOf(invalid.Diagnostics)
	}
	if p.Type == "urn:hocket:key-used" { // the recorded key has the name of the token, too
		var run *hocket.KeyError
		made := "which added a memory"
		if errors.As(err, &run) {
			made = "which started run " + run.Run
		}
		p.Detail = "the Idempotency-Key was used for another request, " + made + "; use a new key"
	}
	p.Detail = strings.TrimPrefix(p.Detail, "hocket: ") // which names the package, for Go programs
	return p
}

// Diagnostic is something wrong in a workflow, at a place in its text.
type Diagnostic struct {
	File      string `json:"file,omitempty"`
	Line      int    `json:"line" doc:"From 1; 0 if it is about the whole file"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
	Severity  string `json:"severity" enum:"error,warning,note"`
	Code      string `json:"code"`
	Summary   string `json:"summary"`
	Detail    string `json:"detail,omitempty"`
}

// maxDiagnostics is how many of them an answer has. The last one says that there are more.
const maxDiagnostics = 1000

func diagnosticsOf(found workflow.Diagnostics) []Diagnostic {
	all := make([]Diagnostic, 0, min(len(found), maxDiagnostics))
	for _, d := range found[:min(len(found), maxDiagnostics)] {
		all = append(all, Diagnostic{
			d.File, d.Line, d.Column, d.EndLine, d.EndColumn, string(d.Severity), d.Code, d.Summary, d.Detail,
		})
	}
	if more := len(found) - len(all); more > 0 {
		all[len(all)-1].Summary += fmt.Sprintf("; %d more are not listed", more)
	}
	return all
}
