package web

import (
	"context"
	"net/http"
	"net/url"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/server"
)

// proposal is something that a model wrote and nobody has approved.
type proposal struct {
	server.Definition
	Project string
	Path    string
}

func definitionPath(project, id string) string {
	return projectPath(project) + "/definitions/" + url.PathEscape(id)
}

// proposals returns what waits for an approval in all projects, the newest first.
func (s *site) proposals(ctx context.Context) []proposal {
	var all []proposal
	for _, project := range s.Names() {
		found, err := s.Definitions(ctx, project)
		if err != nil {
			continue // a mistake in one project must not hide the others; its page says what is wrong
		}
		for _, d := range found {
			if d.State == string(hocket.Proposed) || d.State == string(hocket.Changed) {
				all = append(all, proposal{d, project, definitionPath(project, d.ID)})
			}
		}
	}
	return all
}

type reviewData struct {
	server.Review
	Project string
	Path    string
	Drawing *drawn // nil: there is none
}

// review shows all that a person must see before approving something that a model wrote.
func (s *site) review(r *http.Request) (string, any, error) {
	in := inDefinition(r)
	shown, err := s.Review(r.Context(), in)
	if err != nil {
		return "", nil, err
	}
	d := reviewData{Review: shown, Project: in.Project, Path: definitionPath(in.Project, in.ID)}
	if shown.Kind == string(hocket.WorkflowKind) {
		w, _, err := s.Workflow(r.Context(), &server.InWorkflow{InProject: in.InProject, Name: in.ID})
		if err == nil && w.Model() != nil {
			picture, err := draw.Inline{Bundle: w.Bundle(), Calls: draw.MostCalled}.Draw(r.Context()) // no step is folded
			if err != nil {
				return "", nil, err
			}
			d.Drawing = newDrawn(picture, draw.Look{}, nil)
		}
	}
	return "Review " + shown.Name, d, nil
}

func inDefinition(r *http.Request) *server.InDefinition {
	return &server.InDefinition{InProject: server.InProject{Project: r.PathValue("project")}, ID: r.PathValue("id")}
}

// approve approves what the form showed.
func (s *site) approve(r *http.Request) (string, error) {
	in := inDefinition(r)
	return definitionPath(in.Project, in.ID), s.Approve(r.Context(), in, r.PostForm.Get("digest"), r.PostForm.Get("state"))
}

func (s *site) reject(r *http.Request) (string, error) {
	in := inDefinition(r)
	return "/inbox", s.Reject(r.Context(), in, r.PostForm.Get("state"))
}

type trustData struct {
	server.Trust
	Project string
}

// trust shows what the files of a project can do.
func (s *site) trust(r *http.Request) (string, any, error) {
	project := r.PathValue("project")
	t, err := s.Trust(r.Context(), project)
	return "Trust " + project, trustData{t, project}, err
}

func (s *site) giveTrust(r *http.Request) (string, error) {
	project := r.PathValue("project")
	return projectPath(project) + "/trust", s.GiveTrust(r.Context(), project, r.PostForm.Get("digest"))
}
