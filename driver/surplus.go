package driver

import (
	"slices"
	"sort"
	"time"
)

// Surplus returns the runs that neither r nor keep keeps, beginning with those that ended first. size returns
// the size of a run.
func Surplus(runs []Info, r Retention, keep []string, now time.Time, size func(run string) (int64, error)) ([]Collected, error) {
	runs = slices.DeleteFunc(slices.Clone(runs), func(i Info) bool { return i.Status == Damaged }) // its age is unknown
	sort.SliceStable(runs, func(i, j int) bool { return runs[i].Changed.After(runs[j].Changed) })
	last := slices.IndexFunc(runs, func(i Info) bool { return i.Status.Done() })
	sizes, total := make([]int64, len(runs)), int64(0)
	var err error
	for i := range runs {
		if r.Size > 0 {
			if sizes[i], err = size(runs[i].ID); err != nil {
				return nil, err
			}
			total += sizes[i]
		}
	}
	left := len(runs)
	var surplus []Collected
	for i, run := range slices.Backward(runs) {
		old := r.Age > 0 && now.Sub(run.Changed) > r.Age
		many := r.Runs > 0 && left > r.Runs
		large := r.Size > 0 && total > r.Size
		if !run.Status.Done() || slices.Contains(keep, run.ID) || !old && (i == last || !many && !large) {
			continue
		}
		if r.Size == 0 {
			if sizes[i], err = size(run.ID); err != nil {
				return nil, err
			}
		}
		left, total = left-1, total-sizes[i]
		surplus = append(surplus, Collected{Info: run, Size: sizes[i]})
	}
	return surplus, nil
}
