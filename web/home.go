package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/server"
)

type homeData struct {
	Questions []card
	Proposals []proposal
	Running   []server.RunLine
	Recent    []server.RunLine
	Projects  []server.Project
	RunsToday int
	Today     used
}

const (
	recentRuns = 15
	mostRuns   = 500 // that a page looks at
)

func (s *site) home(r *http.Request) (string, any, error) {
	ctx := r.Context()
	var d homeData
	var err error
	if d.Questions, err = s.questions(ctx); err != nil {
		return "", nil, err
	}
	d.Proposals = s.proposals(ctx)
	if d.Running, err = s.running(ctx); err != nil {
		return "", nil, err
	}
	if d.Projects, err = s.Projects(ctx); err != nil {
		return "", nil, err
	}
	year, month, day := time.Now().Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.Local)
	for _, p := range s.Names() {
		runs, err := s.Runs(ctx, &server.ListRuns{InProject: server.InProject{Project: p}, Paged: server.Paged{Limit: mostRuns}})
		if err != nil {
			return "", nil, err
		}
		for _, run := range runs.Items {
			if !inProgress(run) {
				d.Recent = append(d.Recent, run)
			}
			if !run.Started.Before(midnight) {
				d.RunsToday++
			}
		}
		rows, err := s.Usage(ctx, p, 1)
		if err != nil {
			return "", nil, err
		}
		for _, row := range rows {
			d.Today.add(row)
		}
	}
	newestFirst(d.Recent)
	d.Recent = d.Recent[:min(recentRuns, len(d.Recent))]
	return "Home", d, nil
}

// running returns the runs of all projects that are in progress.
func (s *site) running(ctx context.Context) ([]server.RunLine, error) {
	var all []server.RunLine
	for _, p := range s.Names() {
		for _, status := range []string{"running", "waiting"} {
			runs, err := s.Runs(ctx, &server.ListRuns{InProject: server.InProject{Project: p}, Paged: server.Paged{Limit: 100}, Status: status})
			if err != nil {
				return nil, err
			}
			all = append(all, runs.Items...)
		}
	}
	newestFirst(all)
	return all, nil
}

func inProgress(r server.RunLine) bool {
	return slices.Contains([]string{"running", "waiting", "pending", "interrupted"}, r.Status)
}

func newestFirst(runs []server.RunLine) {
	slices.SortStableFunc(runs, func(a, b server.RunLine) int { return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.ID, b.ID)) })
}

func (s *site) inbox(r *http.Request) (string, any, error) {
	var d homeData
	var err error
	if d.Questions, err = s.questions(r.Context()); err != nil {
		return "", nil, err
	}
	d.Proposals = s.proposals(r.Context())
	return "Inbox", d, nil
}

type projectData struct {
	Name      string
	Workflows []server.WorkflowLine
	Triggers  []server.Trigger
	Runs      []server.RunLine
	Next      string
	Status    string
	Workflow  string
	Statuses  []string
	Trusted   bool
}

func (s *site) project(r *http.Request) (string, any, error) {
	q := r.URL.Query()
	d := projectData{Name: r.PathValue("project"), Status: q.Get("status"), Workflow: q.Get("workflow"),
		Statuses: []string{"running", "waiting", "success", "partial", "error", "timeout", "cancelled"}}
	runs, err := s.Runs(r.Context(), &server.ListRuns{
		InProject: server.InProject{Project: d.Name}, Paged: server.Paged{Cursor: q.Get("cursor"), Limit: 30}, Status: d.Status, Workflow: d.Workflow,
	})
	if err != nil {
		return "", nil, err
	}
	d.Runs, d.Next = runs.Items, runs.Next
	t, err := s.Trust(r.Context(), d.Name)
	if err != nil {
		return "", nil, err
	}
	d.Trusted = t.Trusted
	if d.Triggers, err = s.Triggers(r.Context(), d.Name); err != nil {
		return "", nil, err
	}
	d.Workflows, err = s.Workflows(r.Context(), d.Name)
	return d.Name, d, err
}
