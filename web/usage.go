package web

import (
	"cmp"
	"encoding/csv"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/server"
)

type usageData struct {
	Days  []day
	Parts []parts
	Total used
	Chart int // its height
}

// used is what some work cost.
type used struct {
	Attempts int
	Tokens   int64
	CostUSD  float64
	Unknown  bool // some costs are not known
}

func (u *used) add(row server.Usage) {
	u.Attempts += row.Attempts
	u.Tokens += row.TokensIn + row.TokensOut
	u.CostUSD += row.CostUSD
	u.Unknown = u.Unknown || row.CostUnknown
}

// Cost returns the cost for people.
func (u used) Cost() string {
	switch {
	case u.Unknown && u.CostUSD == 0:
		return "unknown"
	case u.Unknown:
		return "at least " + total(&u.CostUSD)
	}
	return total(&u.CostUSD)
}

// day is what was used on a day.
type day struct {
	used
	Date string
	X, H float64 // of its bar
	Y    float64
}

// Label returns the name of the day below its bar: each fifth has one.
func (d day) Label(i int) string {
	switch {
	case i == usageDays-1:
		return "today"
	case (usageDays-1-i)%5 == 0:
		return d.Date
	}
	return ""
}

// parts are the same costs by one of their properties.
type parts struct {
	By   string
	Rows []part
	More int // rows that are not shown
}

type part struct {
	used
	Name, Path string
	Project    string // empty if the row needs none
}

const (
	usageDays  = 30
	chartHigh  = 120.0
	chartPitch = 40.0
	mostParts  = 50 // rows of a table
)

// rows returns what was used in all projects.
func (s *site) rows(r *http.Request) ([]server.Usage, error) {
	var all []server.Usage
	for _, p := range s.Names() {
		some, err := s.Usage(r.Context(), p, usageDays)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// usage shows what agents cost in the last days: by day, workflow, agent, model, project and run.
func (s *site) usage(r *http.Request) (string, any, error) {
	rows, err := s.rows(r)
	if err != nil {
		return "", nil, err
	}
	d := usageData{Chart: int(chartHigh) + 42}
	year, month, today := time.Now().Date()
	byDay := map[string]int{}
	for i := range usageDays {
		at := time.Date(year, month, today-usageDays+1+i, 0, 0, 0, 0, time.Local)
		byDay[at.Format(time.DateOnly)] = i
		d.Days = append(d.Days, day{Date: at.Format("2 Jan"), X: float64(i) * chartPitch})
	}
	for _, row := range rows {
		d.Total.add(row)
		if i, ok := byDay[row.Day]; ok {
			d.Days[i].add(row)
		}
	}
	most := 0.0
	for _, one := range d.Days {
		most = max(most, one.CostUSD)
	}
	for i := range d.Days {
		if one := &d.Days[i]; most > 0 {
			one.H = one.CostUSD / most * chartHigh
			one.Y = chartHigh - one.H
		}
	}
	known := map[[2]string]bool{}
	for _, p := range s.Names() {
		lines, err := s.Workflows(r.Context(), p)
		if err != nil {
			return "", nil, err
		}
		for _, w := range lines {
			known[[2]string{p, w.Name}] = true
		}
	}
	d.Parts = tables(rows, known, len(s.Names()) > 1)
	return "Usage", d, nil
}

// tables adds up the same rows by each of their properties. known are the workflows that have a page, by project and
// name: what plans and single tasks ran has none. With several projects, rows say whose they are.
func tables(rows []server.Usage, known map[[2]string]bool, several bool) []parts {
	var all []parts
	for _, by := range []struct {
		name string
		of   func(u server.Usage) part
	}{
		{"Agent", func(u server.Usage) part { return part{Name: u.Agent} }},
		{"Model", func(u server.Usage) part { return part{Name: cmp.Or(u.Model, "unknown")} }},
		{"Workflow", func(u server.Usage) part {
			one := part{Name: u.Workflow, Project: u.Project}
			if known[[2]string{u.Project, u.Workflow}] {
				one.Path = workflowPath(u.Project, u.Workflow)
			}
			return one
		}},
		{"Project", func(u server.Usage) part { return part{Name: u.Project, Path: projectPath(u.Project)} }},
		{"Run", func(u server.Usage) part {
			return part{Name: u.Run, Project: u.Project, Path: runPath(u.Project, u.Run)}
		}},
	} {
		sums := map[part]*used{}
		for _, row := range rows {
			key := by.of(row)
			if !several {
				key.Project = ""
			}
			if sums[key] == nil {
				sums[key] = &used{}
			}
			sums[key].add(row)
		}
		table := parts{By: by.name}
		for one, sum := range sums {
			one.used = *sum
			table.Rows = append(table.Rows, one)
		}
		sort.Slice(table.Rows, func(i, j int) bool {
			a, b := table.Rows[i], table.Rows[j]
			return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Project, b.Project)) < 0
		})
		table.More = max(0, len(table.Rows)-mostParts)
		table.Rows = table.Rows[:len(table.Rows)-table.More]
		all = append(all, table)
	}
	return all
}

// usageCSV writes what was used as a table for spreadsheets.
func (s *site) usageCSV(w http.ResponseWriter, r *http.Request) {
	rows, err := s.rows(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="hocket-usage.csv"`)
	out := csv.NewWriter(w)
	_ = out.Write([]string{"day", "project", "workflow", "run", "agent", "model", "attempts", "cost_usd", "cost_unknown", "tokens_in", "tokens_out"})
	for _, u := range rows {
		_ = out.Write([]string{
			u.Day, cell(u.Project), cell(u.Workflow), cell(u.Run), cell(u.Agent), cell(u.Model), strconv.Itoa(u.Attempts), strconv.FormatFloat(u.CostUSD, 'f', -1, 64),
			strconv.FormatBool(u.CostUnknown), strconv.FormatInt(u.TokensIn, 10), strconv.FormatInt(u.TokensOut, 10),
		})
	}
	out.Flush() // the browser may have gone
}

// cell returns a text that a spreadsheet does not take for a formula.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
