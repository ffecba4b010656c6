package engine

import (
	"sort"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// Pending returns the commands that were issued and not answered, in the order in which they were
// issued. A new process executes them after Recovered. After the end of the run, it returns only
// Finish.
func (r *Run) Pending() []Command {
	if r.finish != nil {
		return []Command{r.finish}
	}
	type entry struct {
		issued int32
		c      Command
	}
	var all []entry
	for _, address := range sorted.Keys(r.attempts) {
		in := r.attempts[address]
		all = append(all, entry{in.issued, in.cmd})
		if in.phase == stopping || in.expired {
			all = append(all, entry{in.issued, &CancelTask{address, int(in.attempt)}})
		}
	}
	for _, id := range sorted.Keys(r.questions) {
		all = append(all, entry{r.questions[id].issued, &Ask{r.questions[id].Question}})
	}
	for _, id := range sorted.Keys(r.timers) {
		all = append(all, entry{r.timers[id].issued, &r.timers[id].SetTimer})
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].issued < all[j].issued })
	out := make([]Command, len(all))
	for i, e := range all {
		out[i] = e.c
	}
	return out
}
