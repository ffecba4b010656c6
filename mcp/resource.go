package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// The URIs of resources:
//
//	hocket://workflows/NAME          as its author wrote it
//	hocket://workflows/NAME/tree     drawn, as text; svg: as a picture
//	hocket://runs/ID                 its state, with the outputs of its steps
//	hocket://runs/ID/tree            its workflow, drawn; svg: as a picture
//	hocket://runs/ID/logs/STEP       what the last attempt of a step printed
const scheme = "hocket"

func runURI(id string) string { return scheme + "://runs/" + url.PathEscape(id) }

func workflowURI(name string) string { return scheme + "://workflows/" + url.PathEscape(name) }

const (
	maxLog   = 256 << 10 // how much of a log a client gets: its end
	maxState = 1 << 20   // how much of the outputs of a run
)

func (s *server) addResources() {
	for template, about := range map[string]string{
		"hocket://workflows/{name}":        "A workflow as its author wrote it",
		"hocket://workflows/{name}/{form}": "A workflow drawn: tree or svg",
		"hocket://runs/{run}":              "The state of a run, with the outputs of its steps",
		"hocket://runs/{run}/{form}":       "The workflow of a run drawn: tree or svg",
		"hocket://runs/{run}/logs/{step}":  "What the last attempt of a step printed",
	} {
		s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{Name: about, URITemplate: template}, s.readResource)
	}
	s.sdk.AddReceivingMiddleware(s.listResources)
}

// listResources lists the workflows, and then the runs, a page at a time.
func (s *server) listResources(next sdk.MethodHandler) sdk.MethodHandler {
	const page = 50
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		r, ok := req.(*sdk.ListResourcesRequest)
		if !ok {
			return next(ctx, method, req)
		}
		res := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}, Cacheable: private}
		before := ""
		if r.Params != nil {
			before = r.Params.Cursor
		}
		if before == "" {
			for _, name := range s.workflowNames() {
				res.Resources = append(res.Resources, s.workflowLine(name).resource())
			}
		}
		runs, err := s.p.Runs(ctx, hocket.Filter{Limit: page + 1, Before: before, Without: hocket.HelperLabel})
		if err != nil {
			return nil, err
		}
		if len(runs) > page {
			runs = runs[:page]
			res.NextCursor = runs[page-1].ID
		}
		for _, run := range runs {
			res.Resources = append(res.Resources, &sdk.Resource{URI: runURI(run.ID), Name: run.ID, Description: "Run of " + run.Workflow + ", " + string(run.Status), MIMEType: "application/json"})
		}
		return res, nil
	}
}

// resource describes a workflow as a resource: clients show that to people and to models.
func (l workflowLine) resource() *sdk.Resource {
	about := "Workflow, approved"
	if !l.Approved {
		about = "Workflow, cannot run: " + l.Problem
	}
	for i, p := range l.params {
		about += map[bool]string{true: ". Inputs: ", false: ", "}[i == 0] + p.Name
		if p.Required && !p.HasDefault {
			about += " (required)"
		}
	}
	title, _, _ := strings.Cut(l.Description, "\n")
	return &sdk.Resource{URI: workflowURI(l.Name), Name: l.Name, Title: cmp.Or(title, l.Name), Description: about}
}

// readResource reads a resource. Names in URIs are compared with what exists, and never used as
// paths.
func (s *server) readResource(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != scheme {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	parts := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	for i, part := range parts {
		if parts[i], err = url.PathUnescape(part); err != nil {
			return nil, sdk.ResourceNotFoundError(uri)
		}
	}
	var text, mime string
	switch {
	case u.Host == "workflows":
		text, mime, err = s.workflowText(ctx, parts)
	case u.Host == "runs":
		text, mime, err = s.runText(ctx, parts)
	}
	switch {
	case isMissing(err) || err == nil && mime == "":
		return nil, sdk.ResourceNotFoundError(uri)
	case err != nil:
		return nil, errors.New(s.explain(err))
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: mime, Text: s.p.Mask(text)}}}, nil
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*hocket.UnknownRunError)) || errors.As(err, new(*hocket.UnknownStepError))
}

func (s *server) workflowText(ctx context.Context, parts []string) (text, mime string, err error) {
	w, err := s.p.LoadNamed(parts[0])
	switch {
	case err != nil || len(parts) > 2:
		return "", "", err
	case len(parts) == 2 && w.Model() == nil:
		return "", "", &hocket.InvalidError{Diagnostics: w.Diagnostics()}
	case len(parts) == 2:
		return drawn(ctx, w.Model(), parts[1])
	}
	file, source, _, err := s.p.Source(parts[0]) // also if it has mistakes
	mime = "text/plain"
	if n, ok := syntax.Of(file, source); ok && n.Name == "yaml" {
		mime = "application/yaml"
	}
	return string(source), mime, err
}

// drawn draws a workflow. mime is "" for an unknown form.
func drawn(ctx context.Context, w *workflow.Workflow, form string) (text, mime string, err error) {
	switch form {
	case "tree":
		return draw.Tree(w), "text/plain", nil
	case "svg":
		text, err = draw.SVG(ctx, w, draw.Fold{})
		return text, "image/svg+xml", err
	}
	return "", "", nil
}

func (s *server) runText(ctx context.Context, parts []string) (text, mime string, err error) {
	run, err := s.p.Run(ctx, parts[0])
	if err != nil || run.ID() != parts[0] {
		return "", "", err
	}
	switch {
	case len(parts) == 1:
		text, err = s.runJSON(ctx, run)
		return text, "application/json", err
	case len(parts) == 2:
		bundle, err := run.Bundle(ctx)
		if err != nil {
			return "", "", err
		}
		return drawn(ctx, bundle.Root, parts[1])
	case len(parts) == 3 && parts[1] == "logs":
		text, err = logText(ctx, run, parts[2])
		return text, "text/plain", err
	}
	return "", "", nil
}

// runJSON returns the state of a run with the outputs of its steps. What is too much for a client is
// left out, which the notes say.
func (s *server) runJSON(ctx context.Context, run *hocket.Run) (string, error) {
	state, err := run.State(ctx)
	if state == nil {
		return "", err
	}
	type stepOutput struct {
		step
		Output json.RawMessage `json:"output,omitempty"`
	}
	all := struct {
		*outcome
		Output json.RawMessage `json:"output,omitempty"`
		Steps  []stepOutput    `json:"steps"`
	}{outcome: s.outcomeOf(ctx, run, state)}
	all.outcome.Notes = notesOf(run, state) // without the one about steps
	left, without := maxState, 0
	fit := func(output any) json.RawMessage {
		if output == nil {
			return nil
		}
		text := []byte(workflow.FormatJSON(output))
		if len(text) > left {
			without++
			return nil
		}
		left -= len(text)
		return text
	}
	all.Output = fit(state.Result.Output)
	for i, r := range state.Result.Steps {
		one := step{r.Address, string(r.Status), r.Agent, r.Error}
		if left -= len(one.Step) + len(one.Error) + 100; left < 0 {
			all.Notes = append(slices.Clip(all.Notes), fmt.Sprintf("%d more steps are left out; the user sees them with %s", len(state.Result.Steps)-i, s.command("show", run.ID())))
			break
		}
		output, err := r.Value()
		if err != nil {
			return "", err
		}
		all.Steps = append(all.Steps, stepOutput{one, fit(output)})
	}
	if without > 0 {
		all.Notes = append(slices.Clip(all.Notes), fmt.Sprintf("%d outputs are too long and left out; the user sees them with %s", without, s.command("show", run.ID(), "STEP")))
	}
	data, err := json.Marshal(all)
	return string(data), err
}

// logText returns the end of what the last attempt of a step printed.
func logText(ctx context.Context, run *hocket.Run, address string) (string, error) {
	state, err := run.State(ctx)
	if state == nil {
		return "", err
	}
	i := slices.IndexFunc(state.Result.Steps, func(r engine.StepResult) bool { return r.Address == address })
	if i < 0 {
		return "", fs.ErrNotExist
	}
	var log []byte
	for piece, err := range run.Read(ctx, address, max(state.Result.Steps[i].Attempts, 1), hocket.Output, 0, false) {
		if err != nil {
			return "", err
		}
		log = append(log, piece.Text...)
		if len(log) > 2*maxLog {
			log = log[len(log)-maxLog:]
		}
	}
	if len(log) > maxLog {
		log = log[len(log)-maxLog:]
	}
	return strings.ToValidUTF8(string(log), ""), nil
}

// refreshPrompts offers the prompts of the project, with their inputs as arguments.
func (s *server) refreshPrompts() {
	now := map[string]*sdk.Prompt{}
	for _, p := range s.p.Prompts() {
		one := &sdk.Prompt{Name: p.Name, Description: p.Description}
		for _, in := range p.Inputs {
			one.Arguments = append(one.Arguments, &sdk.PromptArgument{Name: in.Name, Description: in.Description, Required: !in.HasDefault})
		}
		now[p.Name] = one
	}
	s.prompts = exchange(s.prompts, now, func(name string) { s.sdk.RemovePrompts(name) }, func(_ string, one *sdk.Prompt) { s.sdk.AddPrompt(one, s.prompt) })
}

// prompt returns a prompt with its arguments filled in.
func (s *server) prompt(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	for _, p := range s.p.Prompts() {
		if p.Name != req.Params.Name {
			continue
		}
		text, err := p.Text(req.Params.Arguments)
		if err != nil {
			return nil, errors.New(s.explain(err))
		}
		return &sdk.GetPromptResult{Description: p.Description, Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: s.p.Mask(text)}}}}, nil
	}
	return nil, fmt.Errorf("unknown prompt %q", req.Params.Name)
}
