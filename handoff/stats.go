package handoff

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// Stats says how a project uses handoffs.
type Stats struct {
	// Checks counts the texts that were checked before sending, and XML those that contain a request.
	Checks  int          `json:"checks"`
	XML     int          `json:"with_xml"`
	Refused int          `json:"refused"`
	Errors  []ErrorCount `json:"errors"` // most common first

	Sessions map[Status]int `json:"sessions"`
	Agents   []AgentStats   `json:"agents"` // by name
}

// ErrorCount counts the texts with a certain error.
type ErrorCount struct {
	Code    string `json:"code"`
	Count   int    `json:"count"`
	Example string `json:"example"` // the latest
}

// AgentStats describes the sessions of an agent. Durations are in seconds, and include only
// sessions that have ended.
type AgentStats struct {
	Agent    string         `json:"agent"`
	Sessions int            `json:"sessions"`
	Statuses map[Status]int `json:"statuses"`
	Retries  int            `json:"retries"` // attempts after the first
	Median   float64        `json:"median_seconds"`
	P95      float64        `json:"p95_seconds"`
}

// Stats counts the checks and sessions of the project.
func (s *Sessions) Stats(ctx context.Context) (*Stats, error) {
	stats := &Stats{Errors: []ErrorCount{}, Sessions: map[Status]int{}, Agents: []AgentStats{}}
	notes, err := s.Checks()
	if err != nil {
		return nil, err
	}
	stats.addChecks(notes)
	listed, err := s.states(ctx, 0)
	if err != nil {
		return nil, err
	}
	agents, took := map[string]*AgentStats{}, map[string][]float64{}
	for _, state := range listed {
		s.complete(ctx, &state)
		a := agents[state.Agent]
		if a == nil {
			a = &AgentStats{Agent: state.Agent, Statuses: map[Status]int{}}
			agents[state.Agent] = a
		}
		stats.Sessions[state.Status]++
		a.Statuses[state.Status]++
		a.Sessions++
		a.Retries += max(state.Attempts-1, 0)
		if state.Final() && !state.Started.IsZero() {
			took[state.Agent] = append(took[state.Agent], state.Duration)
		}
	}
	for _, name := range sorted.Keys(agents) {
		a := agents[name]
		slices.Sort(took[name])
		a.Median, a.P95 = percentile(took[name], 50), percentile(took[name], 95)
		stats.Agents = append(stats.Agents, *a)
	}
	return stats, nil
}

func (stats *Stats) addChecks(notes []CheckNote) {
	kinds := map[string]*ErrorCount{}
	for _, n := range notes {
		stats.Checks++
		if n.Blocks > 0 {
			stats.XML++
		}
		if n.Passed {
			continue
		}
		stats.Refused++
		counted := map[string]bool{}
		for i, code := range n.Codes {
			if kinds[code] == nil {
				kinds[code] = &ErrorCount{Code: code}
			}
			if !counted[code] && i < len(n.Errors) {
				kinds[code].Count++
				kinds[code].Example = n.Errors[i]
			}
			counted[code] = true
		}
	}
	for _, k := range kinds {
		stats.Errors = append(stats.Errors, *k)
	}
	sort.Slice(stats.Errors, func(i, j int) bool {
		a, b := stats.Errors[i], stats.Errors[j]
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Code, b.Code)) < 0
	})
}

// percentile returns the smallest value that is greater than or equal to the given share of the
// sorted values; zero if there are none.
func percentile(sorted []float64, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}
