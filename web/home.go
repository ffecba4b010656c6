package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/hocket-dev/hocket/server"
)

type homeData struct {
	inboxData
	Running   []server.RunLine
	More      int // runs in progress that are not listed
	Recent    []server.RunLine
	Projects  []server.Project
	RunsToday int
	Today     used
}

// inboxData is what waits for a person.
type inboxData struct {
	Trust     []untrusted
	Questions []card
	Proposals []proposal
	First     int // the number of the first question, from 1
	Open      int // questions
	Next      int // how many questions come before those of the next page; 0: this is the last page
	Previous  int // as for Next; -1: this is the first page
}

// untrusted is a project that waits for trust.
type untrusted struct {
	Project  string
	Triggers []string // those that start nothing until then
}

const (
	homeQuestions  = 5
	inboxQuestions = 20
	listedRuns     = 20 // in progress
	recentRuns     = 15
)

func (s *site) home(r *http.Request) (string, any, error) {
	ctx := r.Context()
	var d homeData
	var err error
	if d.inboxData, err = s.waiting(ctx, 0, homeQuestions); err != nil {
		return "", nil, err
	}
	if d.Running, err = s.latest(ctx, listedRuns, "running", "waiting"); err != nil {
		return "", nil, err
	}
	if d.Recent, err = s.latest(ctx, recentRuns, "success", "partial", "error", "timeout", "cancelled"); err != nil {
		return "", nil, err
	}
	if d.Projects, err = s.Projects(ctx); err != nil {
		return "", nil, err
	}
	year, month, day := time.Now().Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.Local)
	counts, err := s.Count(ctx, midnight)
	if err != nil {
		return "", nil, err
	}
	d.RunsToday, d.More = counts.Created, max(0, counts.Active-len(d.Running))
	for _, p := range s.Names() {
		rows, err := s.Usage(ctx, p, 1)
		if err != nil {
			return "", nil, err
		}
		for _, row := range rows {
			d.Today.add(row)
		}
	}
	return "Home", d, nil
}

// latest returns the newest runs of all projects with one of some states.
func (s *site) latest(ctx context.Context, most int, states ...string) ([]server.RunLine, error) {
	var all []server.RunLine
	for _, p := range s.Names() {
		for _, status := range states {
			runs, err := s.Runs(ctx, &server.ListRuns{InProject: server.InProject{Project: p}, Paged: server.Paged{Limit: most}, Status: status})
			if err != nil {
				return nil, err
			}
			all = append(all, runs.Items...)
		}
	}
	slices.SortStableFunc(all, func(a, b server.RunLine) int { return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.ID, b.ID)) })
	return all[:min(most, len(all))], nil
}

func inProgress(r server.RunLine) bool {
	return slices.Contains([]string{"running", "waiting", "pending", "interrupted"}, r.Status)
}

// waiting returns what waits for a person: some of the questions, after others, and everything else.
func (s *site) waiting(ctx context.Context, after, most int) (inboxData, error) {
	open, err := s.Questions(ctx, "")
	if err != nil {
		return inboxData{}, err
	}
	after = max(0, min(after, len(open)-1)) // some may have been answered
	d := inboxData{First: after + 1, Open: len(open), Previous: -1, Proposals: s.proposals(ctx)}
	if after > 0 {
		d.Previous = max(0, after-most)
	}
	if open = open[after:]; len(open) > most {
		open, d.Next = open[:most], after+most
	}
	if d.Questions, err = s.cards(ctx, open); err != nil {
		return d, err
	}
	for _, project := range s.Untrusted() {
		one := untrusted{Project: project}
		triggers, err := s.Triggers(ctx, project)
		if err != nil {
			return d, err
		}
		for _, t := range triggers {
			if !t.Trusted {
				one.Triggers = append(one.Triggers, t.Name)
			}
		}
		d.Trust = append(d.Trust, one)
	}
	return d, nil
}

func (s *site) inbox(r *http.Request) (string, any, error) {
	after, _ := strconv.Atoi(r.URL.Query().Get("after")) // otherwise the first ones
	d, err := s.waiting(r.Context(), after, inboxQuestions)
	return "Inbox", d, err
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
