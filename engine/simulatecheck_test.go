package engine_test

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// checkFork forks the run that has ended from any of its steps, and plays the
// fork to its end.
func (s *simulation) checkFork() error {
	var ran []string
	for _, step := range s.run.Result().Steps {
		if step.Attempts > 0 {
			ran = append(ran, step.Address)
		}
	}
	if len(ran) == 0 {
		return nil
	}
	address := ran[s.IntN(len(ran))]
	old := s.events
	load := func(seq int) (string, error) { return old[seq-1].Event.(*engine.TaskEnded).Output, nil }
	given := old
	if s.stores {
		given = brief(old)
	}
	events, err := engine.Fork(s.first, given, load, address, "fork", workflow.Limits{}, s.now)
	if err != nil && (strings.Contains(err.Error(), "would be cancelled again") || strings.Contains(err.Error(), "was handed off before the plan was changed")) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("fork from %s: %w", address, err)
	}
	for i := range events { // as they are recorded
		if ended, ok := events[i].Event.(*engine.TaskEnded); ok && ended.Stored > 0 {
			whole := *ended
			whole.Output, _ = load(ended.Stored)
			whole.Stored, events[i].Event = 0, &whole
		}
	}
	s.Ended, s.events, s.limits.CostUSD = nil, events, max(s.limits.CostUSD, raised(events))
	s.run, s.other, s.model = s.fresh.Fresh(), nil, nil
	if s.stores {
		s.run.Offload(0, s.load)
	}
	for _, ev := range events {
		if _, err := s.run.Step(ev); err != nil {
			return fmt.Errorf("fork from %s: %w", address, err)
		}
	}
	if s.run.Status().Done() {
		return nil // nothing that takes time was left
	}
	if err := s.crash(); err != nil {
		return fmt.Errorf("fork from %s: %w", address, err)
	}
	for i := 0; s.Ended == nil; i++ {
		if i > 5000 {
			return fmt.Errorf("fork from %s: no end", address)
		}
		if err := s.next(); err != nil {
			return fmt.Errorf("fork from %s: %w", address, err)
		}
	}
	return s.checkEnd()
}

// raised is the amount to which a run's cost limit was raised.
func raised(events []engine.Envelope) float64 {
	cost := 0.0
	for _, ev := range events {
		if r, ok := ev.Event.(*engine.LimitRaised); ok {
			cost = max(cost, r.Limits.CostUSD)
		}
	}
	return cost
}

// checkQuestions compares the questions that were asked with those that the run reports as open.
func (s *simulation) checkQuestions() error {
	open := s.run.Questions()
	if len(open) != len(s.Questions) {
		return fmt.Errorf("%d questions are open, but %d were asked", len(open), len(s.Questions))
	}
	for _, q := range open {
		if s.Questions[q.ID].Digest != q.Digest || s.Questions[q.ID].Orphaned != q.Orphaned {
			return fmt.Errorf("%+v was asked as %+v", q, s.Questions[q.ID])
		}
		if c := s.Tasks[q.Address]; q.Kind == engine.PermissionQuestion && !q.Orphaned && (c == nil || c.Attempt != q.Attempt) {
			return fmt.Errorf("no attempt waits for %+v", q)
		}
	}
	return nil
}

// checkFacts compares what the run reports with its result.
func (s *simulation) checkFacts() error {
	ended := map[string]engine.Fact{} // the last of each step
	for _, f := range s.run.Facts() {
		if !f.Time.Equal(s.run.Time()) || f.Workflow == "" || f.Address == "" && f.Workflow != s.bundle.Root.Name {
			return fmt.Errorf("%+v happened in no workflow, or not now", f)
		}
		switch f.Kind {
		case engine.StepEnded:
			ended[f.Address] = f
		case engine.Retrying:
			if t := s.Timers[fmt.Sprintf("retry %s@%d", f.Address, f.Attempt)]; t != nil && !f.Until.Equal(s.dueAt(t)) {
				return fmt.Errorf("the next attempt is due at %s, but the run reports %+v", s.dueAt(t), f)
			}
		case engine.RunEnded:
			if got := (engine.Finish{Status: f.Status, Output: f.Output, Error: f.Text}); !reflect.DeepEqual(got, *s.Ended) {
				return fmt.Errorf("the run ended as %+v, but it reports %+v", *s.Ended, got)
			}
		}
	}
	if len(ended) == 0 {
		return nil
	}
	for _, step := range s.run.Result().Steps {
		f, ok := ended[step.Address]
		if !ok || !step.Status.Done() {
			continue
		}
		want, err := step.Value()
		got, err2 := f.Value()
		if err := cmp.Or(err, err2); err != nil || f.Status != step.Status || f.Usage != step.Usage || workflow.FormatJSON(got) != workflow.FormatJSON(want) {
			return fmt.Errorf("the step is %+v, but the run reports %+v: %w", step, f, err)
		}
	}
	return nil
}

// dueAt returns the time on the wall clock at which a timer is due.
func (s *simulation) dueAt(t *engine.SetTimer) time.Time {
	if !t.At.IsZero() {
		return t.At
	}
	now := s.run.Time()
	return now.Add(t.Clock - s.run.ClockAt(now))
}

// checkTimeouts checks that the timeout of an attempt begins with it.
func (s *simulation) checkTimeouts(commands []engine.Command) error {
	for _, c := range commands {
		start, ok := c.(*engine.StartTask)
		if !ok || start.Timeout == 0 || s.Stopped[start.Address] {
			continue
		}
		id := fmt.Sprintf("timeout %s@%d", start.Address, start.Attempt)
		if t := s.Timers[id]; t == nil || t.Clock != s.clock+start.Timeout {
			return fmt.Errorf("%s starts at %s, and its timeout of %s is %+v", start.Address, s.clock, start.Timeout, t)
		}
	}
	return nil
}

// checkTimes compares the timers that are set with the time at which the run says that one is due.
func (s *simulation) checkTimes() error {
	if got := s.run.Seq(); got != len(s.events) {
		return fmt.Errorf("%d events happened, but the run counts %d", len(s.events), got)
	}
	var due time.Time
	for _, t := range s.Timers {
		if !t.At.IsZero() && t.Clock != 0 {
			return fmt.Errorf("timer %s names two clocks: %s and %s", t.ID, t.At, t.Clock)
		}
		at := s.dueAt(t)
		if due.IsZero() || at.Before(due) {
			due = at
		}
	}
	if got := s.run.Due(); !got.Equal(due) {
		return fmt.Errorf("a timer is due at %s, but the run says %s", due, got)
	}
	return nil
}

func (s *simulation) checkBudget() error {
	usage := s.run.Usage()
	if usage.Steps > s.limits.Steps {
		return fmt.Errorf("%d steps started, but the limit is %d", usage.Steps, s.limits.Steps)
	}
	if s.model == nil && s.bound.Keeps {
		// In a fork, more may be left for a task than in the other run, and an unknown cost counts
		// as all of it. The host has no run in which such a task is not the only one.
		return nil
	}
	reserved := s.reserved()
	if most := s.limits.CostUSD; most > 0 && usage.CostUSD+reserved > most+1e-6 {
		return fmt.Errorf("%g is spent and %g reserved, but the limit is %g", usage.CostUSD, reserved, most)
	}
	return nil
}

// reserved returns what the attempts that are running may cost.
func (s *simulation) reserved() (sum float64) {
	for _, c := range s.Tasks {
		sum += dollars(c)
	}
	return sum
}

// compareReplay compares the state with the one that the events lead to.
func (s *simulation) compareReplay() error {
	run := s.fresh.Fresh()
	stored := s.IntN(5) == 0 // as the journal stores them, which takes most of the time
	events := s.events
	if s.IntN(2) == 0 {
		events = brief(events)
		run.Offload(0, s.load)
	}
	for _, ev := range events {
		if ended, ok := ev.Event.(*engine.TaskEnded); stored && !(ok && ended.Stored > 0) {
			var err error
			plan, replanned := ev.Event.(*engine.Replanned)
			if ev, err = throughJSON(ev); replanned {
				ev.Event.(*engine.Replanned).Bundle = plan.Bundle
			}
			if err != nil {
				return err
			}
		}
		if _, err := run.Step(ev); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
	}
	if want, got := string(s.run.Dump()), string(run.Dump()); want != got {
		return fmt.Errorf("the replayed state differs\nwas:\n%s\nis:\n%s", want, got)
	}
	return nil
}

// brief returns events as the journal returns them for a run that keeps no outputs.
func brief(events []engine.Envelope) []engine.Envelope {
	events = slices.Clone(events)
	for i := range events {
		if ended, ok := events[i].Event.(*engine.TaskEnded); ok && ended.Output != "" {
			left := *ended
			left.Output, left.Stored = "", i+1
			events[i].Event = &left
		}
	}
	return events
}

func throughJSON(e engine.Envelope) (engine.Envelope, error) {
	line, err := engine.Encode(e)
	if err != nil {
		return e, err
	}
	return engine.Decode(line)
}

// checkEnd checks what must be true of every run that has ended.
func (s *simulation) checkEnd() error {
	if len(s.Tasks)+len(s.Questions)+len(s.Timers) > 0 {
		return fmt.Errorf("finished with %d attempts, %d questions and the timers %v open", len(s.Tasks), len(s.Questions), s.Timers)
	}
	result := s.run.Result()
	if !result.Status.Done() || result.Status == engine.Skipped {
		return fmt.Errorf("ended as %q", result.Status)
	}
	var used engine.Usage
	for _, step := range result.Steps {
		if !step.Status.Done() {
			return fmt.Errorf("step %s is still %s", step.Address, step.Status)
		}
		used = used.Plus(step.Usage)
	}
	if is := result.Usage; s.bundle == s.first && (used.Tokens() != is.Tokens() || used.CostUnknown != is.CostUnknown || math.Abs(used.CostUSD-is.CostUSD) > 1e-6) {
		return fmt.Errorf("the run used %+v, but its steps %+v", is, used)
	}
	if result.Status != engine.Success && result.Error == "" {
		return fmt.Errorf("%s without a reason", result.Status)
	}
	if err := s.run.Admit(engine.Envelope{Event: &engine.CancelAsked{}}); err == nil {
		return fmt.Errorf("an event is accepted after the end")
	}
	return nil
}
