package server

import (
	"context"
	"net/http"
	"time"
)

// Usage is what an agent used in a run on a day.
type Usage struct {
	Day         string  `json:"day" format:"date" doc:"In the time zone of the server"`
	Project     string  `json:"project"`
	Workflow    string  `json:"workflow"`
	Run         string  `json:"run_id"`
	Agent       string  `json:"agent"`
	Model       string  `json:"model" doc:"As its provider names it; empty if it is unknown"`
	Attempts    int     `json:"attempts"`
	CostUSD     float64 `json:"cost_usd"`
	CostUnknown bool    `json:"cost_unknown" doc:"The cost of some attempts is unknown: the sum is at least this"`
	TokensIn    int64   `json:"tokens_in"`
	TokensOut   int64   `json:"tokens_out"`
}

// key is what the list is sorted by.
func (u Usage) key() []string { return []string{u.Day, u.Workflow, u.Run, u.Agent, u.Model} }

func (a *api) addUsage() {
	add(a, op{id: "list-usage", method: http.MethodGet, path: "/projects/{project}/usage", scope: Read, tag: "Runs", summary: "List what agents used, by day, run, agent and model", errors: []int{404}},
		func(ctx context.Context, in *struct {
			InProject
			Paged
			Days int `query:"days" doc:"How many days, with today" minimum:"1" maximum:"3650" default:"30"`
		}) (*reply[page[Usage]], error) {
			all, err := a.Usage(ctx, in.Project, in.Days)
			if err != nil {
				return nil, err
			}
			out, err := part(&in.Paged, all, Usage.key)
			return say(out), err
		})
}

// Usage returns what agents used in the last days, with today, in the order of days, workflows, runs, agents and models.
func (s *Server) Usage(ctx context.Context, project string, days int) ([]Usage, error) {
	p, err := s.project(ctx, project)
	if err != nil {
		return nil, err
	}
	year, month, day := time.Now().Date()
	spent, err := p.Spent(ctx, time.Date(year, month, day-days+1, 0, 0, 0, 0, time.Local))
	if err != nil {
		return nil, err
	}
	all := make([]Usage, len(spent))
	for i, one := range spent {
		u := one.Usage
		all[i] = Usage{one.Day, project, one.Workflow, one.Run, one.Agent, one.Model, one.Attempts, u.CostUSD, u.CostUnknown, u.TokensIn, u.TokensOut}
	}
	return all, nil
}
