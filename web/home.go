package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sort"
	"time"

	"github.com/hocket-dev/hocket/internal/sorted"
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
	Open      int    // questions
	Next      string // the cursor of the next page; "": this is the last one
	Later     bool   // this is not the first page
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
	if d.inboxData, err = s.waiting(ctx, "", homeQuestions); err != nil {
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
			if server.Closed(err) {
				break
			}
			if err != nil {
				return nil, err
			}
			all = append(all, runs.Items...)
		}
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := &all[i], &all[j]
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.ID, b.ID)) < 0
	})
	return all[:min(most, len(all))], nil
}

func inProgress(r server.RunLine) bool {
	return slices.Contains([]string{"running", "waiting", "pending", "interrupted"}, r.Status)
}

// waiting returns what waits for a person: some of the questions, after a cursor, and everything else.
func (s *site) waiting(ctx context.Context, cursor string, most int) (inboxData, error) {
	open, err := s.Questions(ctx, &server.ListQuestions{Paged: server.Paged{Cursor: cursor, Limit: most}})
	if cursor != "" && (err != nil || len(open.Items) == 0) { // they were answered, or their run was deleted
		return s.waiting(ctx, "", most)
	}
	if err != nil {
		return inboxData{}, err
	}
	counts, err := s.Count(ctx, time.Now())
	if err != nil {
		return inboxData{}, err
	}
	d := inboxData{Open: counts.Questions, Next: open.Next, Later: cursor != "", Proposals: s.proposals(ctx)}
	if d.Questions, err = s.cards(ctx, open.Items); err != nil {
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
	d, err := s.waiting(r.Context(), r.URL.Query().Get("cursor"), inboxQuestions)
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
	Names     []string // of workflows to choose from
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
	d.Names = d.names()
	return d.Name, d, err
}

// names returns the workflows whose runs a person can choose: also files elsewhere in the project can be run.
func (d *projectData) names() []string {
	names := map[string]bool{}
	for _, w := range d.Workflows {
		names[w.Name] = true
	}
	for _, r := range d.Runs {
		names[r.Workflow] = true
	}
	if d.Workflow != "" {
		names[d.Workflow] = true
	}
	return sorted.Keys(names)
}
