package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/server"
)

type usageData struct {
	Days      []day
	Workflows []part
	Total     spent
	Chart     int // its height
}

// day is what was spent on a day.
type day struct {
	spent
	Date string
	X, H float64 // of its bar
	Y    float64
}

// Label reports whether the day is named below its bar: each fifth is.
func (day) Label(i int) bool { return i%5 == 0 }

// part is what the runs of a workflow cost.
type part struct {
	spent
	Project, Workflow string
}

func (s *spent) add(r server.RunLine) {
	s.Runs++
	cost, tokens := ownCost(r)
	s.Tokens += tokens
	if s.CostUSD == nil && s.Runs > 1 || cost == nil {
		s.CostUSD = nil
		return
	}
	sum := *cost
	if s.CostUSD != nil {
		sum += *s.CostUSD
	}
	s.CostUSD = &sum
}

// ownCost returns what a run has used, without what runs of their own have used to change its plan: these
// are listed, too.
func ownCost(r server.RunLine) (cost *float64, tokens int64) {
	cost, tokens = r.CostUSD, r.TokensIn+r.TokensOut
	if r.Planning == nil {
		return cost, tokens
	}
	if cost != nil && r.Planning.CostUSD != nil {
		own := max(0, *cost-*r.Planning.CostUSD)
		cost = &own
	}
	return cost, tokens - r.Planning.Tokens
}

const (
	usageDays  = 30
	chartHigh  = 120.0
	chartPitch = 20.0
)

// usage shows what the runs of the last days cost, by the day on which they started and by workflow.
func (s *site) usage(r *http.Request) (string, any, error) {
	year, month, today := time.Now().Date()
	d := usageData{Chart: int(chartHigh) + 24}
	byDay, byWorkflow := map[string]*day{}, map[[2]string]*part{}
	for i := range usageDays {
		d.Days = append(d.Days, day{Date: time.Date(year, month, today-usageDays+1+i, 0, 0, 0, 0, time.Local).Format("2 Jan"), X: float64(i) * chartPitch})
	}
	for i := range d.Days {
		byDay[d.Days[i].Date] = &d.Days[i]
	}
	since := time.Date(year, month, today-usageDays+1, 0, 0, 0, 0, time.Local)
	for _, p := range s.Names() {
		for in := (&server.ListRuns{InProject: server.InProject{Project: p}, Paged: server.Paged{Limit: mostRuns}}); ; {
			runs, err := s.Runs(r.Context(), in)
			if err != nil {
				return "", nil, err
			}
			for _, run := range runs.Items {
				if run.Started.Before(since) {
					runs.Next = ""
					break
				}
				key := [2]string{p, run.Workflow}
				if byWorkflow[key] == nil {
					byWorkflow[key] = &part{Project: p, Workflow: run.Workflow}
				}
				byWorkflow[key].add(run)
				d.Total.add(run)
				if one := byDay[run.Started.Local().Format("2 Jan")]; one != nil {
					one.add(run)
				}
			}
			if in.Cursor = runs.Next; in.Cursor == "" {
				break
			}
		}
	}
	for _, p := range byWorkflow {
		d.Workflows = append(d.Workflows, *p)
	}
	slices.SortFunc(d.Workflows, func(a, b part) int {
		return cmp.Or(cmp.Compare(amount(b.CostUSD), amount(a.CostUSD)), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Workflow, b.Workflow))
	})
	most := 0.0
	for _, one := range d.Days {
		most = max(most, amount(one.CostUSD))
	}
	for i := range d.Days {
		if one := &d.Days[i]; most > 0 {
			one.H = amount(one.CostUSD) / most * chartHigh
			one.Y = chartHigh - one.H
		}
	}
	return "Usage", d, nil
}

func amount(cost *float64) float64 {
	if cost == nil {
		return 0
	}
	return *cost
}
