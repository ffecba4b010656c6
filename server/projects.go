package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/hocket-dev/hocket"
)

// Project is a project that is served.
type Project struct {
	Name      string `json:"name" doc:"Its name in the paths of this API"`
	Root      string `json:"root" doc:"Its directory"`
	Workflows int    `json:"workflows"`
	Agents    int    `json:"agents" doc:"How many its files define"`
	Questions int    `json:"questions" doc:"How many questions are open"`
	Driven    int    `json:"driven" doc:"How many of its runs this server drives now"`
	Problems  int    `json:"problems" doc:"How many errors its files have"`
	Trusted   bool   `json:"trusted" doc:"Whether its user has approved all that its files can do"`
	Problem   string `json:"problem,omitempty" doc:"Why its runs cannot be read, unless that is because it is not trusted"`
}

func (a *api) addProjects() {
	add(a, op{id: "list-projects", method: http.MethodGet, path: "/projects", scope: Read, tag: "Projects", summary: "List the projects"},
		func(ctx context.Context, _ *struct{}) (*reply[[]Project], error) {
			all, err := a.Projects(ctx)
			return say(all), err
		})
	add(a, op{id: "show-project", method: http.MethodGet, path: "/projects/{project}", scope: Read, tag: "Projects", summary: "Show a project", errors: []int{404}},
		func(ctx context.Context, in *InProject) (*reply[Project], error) {
			p, err := a.project(ctx, in.Project)
			if err != nil {
				return nil, err
			}
			one, err := a.describe(ctx, p, 0)
			return say(one), err
		})
}

// Names returns the names of the projects.
func (s *Server) Names() []string {
	var names []string
	for _, p := range s.projects {
		names = append(names, p.name)
	}
	return names
}

// Count counts the runs of all projects that are not over and those created since a time, and the open questions.
func (s *Server) Count(ctx context.Context, since time.Time) (all hocket.Counts, err error) {
	for _, p := range s.projects {
		one, err := p.Count(ctx, since)
		if err != nil {
			return all, err
		}
		all.Active, all.Created, all.Questions = all.Active+one.Active, all.Created+one.Created, all.Questions+one.Questions
	}
	return all, nil
}

// Untrusted returns the projects whose user has not approved all that their files can do.
func (s *Server) Untrusted() (names []string) {
	for _, p := range s.projects {
		if !p.approved.within(approvedFor, p) {
			names = append(names, p.name)
		}
	}
	return names
}

// Projects returns the projects that are served.
func (s *Server) Projects(ctx context.Context) ([]Project, error) {
	all := []Project{}
	for _, p := range s.projects {
		one, err := s.describe(ctx, p, approvedFor)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// describe describes a project. Whether it is trusted may have been true for some time.
func (s *Server) describe(ctx context.Context, p served, age time.Duration) (Project, error) {
	_ = p.Reload() // if the files have mistakes, the old ones stay in use
	counts, err := p.Project.Count(ctx, time.Now())
	if ctx.Err() != nil {
		return Project{}, ctx.Err()
	}
	one := Project{
		Name: p.name, Root: p.Root(), Workflows: len(p.Workflows()),
		Questions: counts.Questions, Driven: p.drives.running(), Trusted: p.approved.within(age, p),
	}
	if err != nil && !isA[*hocket.UntrustedError](err) {
		why := s.Explain(ctx, err)
		one.Problem = why.Detail
		if why.Hint != "" {
			one.Problem += "; " + why.Hint
		}
	}
	for _, d := range p.Agents().Definitions() {
		if !d.Builtin {
			one.Agents++
		}
	}
	for _, d := range p.Diagnostics() {
		if d.Severity == "error" {
			one.Problems++
		}
	}
	return one, nil
}

// approved remembers for a moment whether its user has approved all that a project can do. To find out, every workflow is
// read, and the home page asks after each change of any run. No run depends on this: each checks its own powers.
type approved struct {
	mu  sync.Mutex
	at  time.Time // zero: it is not known
	all bool
}

// approvedFor is how old it may be in lists.
const approvedFor = 3 * time.Second

// within returns what was true at most an age ago.
func (a *approved) within(age time.Duration, p served) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.at) > age {
		trust, err := trustOf(p)
		a.at, a.all = time.Now(), err == nil && trust.Trusted
	}
	return a.all
}

func (a *approved) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = time.Time{}
}
