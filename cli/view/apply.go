package view

import (
	"bytes"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Began sets when the run itself began, if the facts so far are those of the run that it
// was forked from.
func (t *Tree) Began(at time.Time) { t.began = at }

// Apply updates the tree with a fact.
func (t *Tree) Apply(f engine.Fact) {
	if t.began.IsZero() {
		t.began = f.Time
	}
	if f.Kind == engine.Warned {
		t.warnings = append(t.warnings, Line(strings.ReplaceAll(f.Text, "\n", "; ")))
		return
	}
	if f.Address == "" {
		t.applyRun(f)
		return
	}
	if it := t.find(f.Address); it != nil {
		t.known[f.Address] = it
		t.applyStep(it, f)
	}
}

// follow makes the tree that of a new plan, in which some steps are as they were.
func (t *Tree) follow(b *workflow.Bundle, kept []string) {
	known := t.known
	t.plan(b)
	for _, address := range kept {
		was, it := known[address], t.find(address)
		if was == nil || it == nil || was.def.Kind() != it.def.Kind() {
			continue
		}
		t.known[address] = it
		it.attempt, it.until, it.usage, it.note, it.log, it.total = was.attempt, was.until, was.usage, was.note, was.log, max(it.total, was.total)
		it.began = was.began
		it.set(was.state, was.ended)
	}
}

func (t *Tree) applyRun(f engine.Fact) {
	switch f.Kind {
	case engine.RunEnded:
		t.status, t.reason, t.ended = f.Status, Line(Because(f.Status, f.Text)), f.Time
	case engine.Paused:
		t.status, t.reason = engine.Waiting, Line(f.Text)
	case engine.Raised:
		t.status, t.reason = engine.Running, ""
	case engine.PlanChanged: // it may have been over
		t.usage = t.usage.Plus(f.Usage)
		t.status, t.reason, t.ended = engine.Running, "", time.Time{}
		if f.Plan != nil {
			t.follow(f.Plan.Bundle, f.Plan.Kept)
		}
	case engine.StepStarted, engine.AttemptStarted, engine.AttemptFailed, engine.Retrying, engine.StepEnded,
		engine.StepSkipped, engine.QuestionAsked, engine.AnswerGiven, engine.AnswerUnused, engine.Decided, engine.Iterated, engine.Warned:
	}
}

func (t *Tree) applyStep(it *item, f engine.Fact) {
	switch f.Kind {
	case engine.StepStarted:
		t.steps += btoi(it.isWork() && it.state != running) // otherwise it was reported before the run was resumed
		it.total = max(it.total, f.Items)
		it.set(running, f.Time)
	case engine.AttemptStarted:
		it.attempt, it.note, it.log = f.Attempt, "", nil
		it.set(running, f.Time)
	case engine.AttemptFailed:
		if !Lost(f) {
			it.note = Line(f.Text)
		}
		t.spend(it, f.Usage)
	case engine.Retrying:
		it.until = f.Until
		it.set(retrying, f.Time)
	case engine.StepEnded:
		t.spend(it, f.Usage)
		it.end(f)
	case engine.StepSkipped:
		it.note = Line(f.Text)
		it.set(skipped, f.Time)
	case engine.QuestionAsked, engine.Paused:
		it.note = Line(f.Text)
		it.set(waiting, f.Time)
	case engine.AnswerGiven:
		it.note = Line(f.Text)
		if it.isWork() {
			it.set(running, f.Time)
		}
	case engine.AnswerUnused:
	case engine.Raised:
		it.set(running, f.Time)
	case engine.Decided:
		it.note = Line(decision(f.Text))
	case engine.Iterated:
		if it.def.Kind() == "loop" {
			it.enterRound(f.Attempt)
		}
	case engine.Warned, engine.RunEnded, engine.PlanChanged:
	}
}

// isWork reports whether a step counts as a task: tasks, and choices that ask an agent.
func (it *item) isWork() bool { return it.def.Task() != nil }

// spend sets what an instance has used so far, in all its attempts.
func (t *Tree) spend(it *item, u engine.Usage) {
	t.usage.CostUSD += u.CostUSD - it.usage.CostUSD
	t.usage.CostUnknown = t.usage.CostUnknown || u.CostUnknown // once unknown, the total stays unknown
	t.usage.TokensIn += u.TokensIn - it.usage.TokensIn
	t.usage.TokensOut += u.TokensOut - it.usage.TokensOut
	it.usage = u
}

func (it *item) end(f engine.Fact) {
	if f.Text != "" {
		it.note = Line(f.Text)
	}
	it.set(endState(f.Status), f.Time)
}

func endState(s engine.Status) state {
	switch s {
	case engine.Success, engine.Partial:
		return succeeded
	case engine.Failed, engine.TimedOut:
		return failed
	case engine.Skipped:
		return skipped
	case engine.Cancelled:
		return cancelled
	case engine.Running:
		return running
	case engine.Waiting:
		return waiting
	}
	return succeeded
}

// Log adds output of an attempt, whose last line is shown next to it. A line may come in
// many pieces, as models stream text; while a long line grows, its end is shown.
func (t *Tree) Log(address string, piece []byte) {
	it := t.find(address)
	if it == nil || it.state != running {
		return
	}
	it.log = append(it.log, piece...)
	if len(it.log) > 2*maxLog {
		it.log = append(it.log[:0], it.log[len(it.log)-maxLog:]...)
	}
	text := bytes.TrimRight(it.log, "\r\n\t ")
	growing := len(text) == len(bytes.TrimRight(it.log, "\t "))
	text = text[bytes.LastIndexAny(text, "\r\n")+1:]
	line := Line(string(text[:min(len(text), maxLine)]))
	if growing {
		line = Line(endOf(string(text[max(len(text)-maxLine, 0):])))
	}
	if line != "" {
		it.note = line
	}
}

const (
	maxLog   = 8000 // how many bytes of an attempt's output are kept
	maxLine  = 1000 // how many bytes are searched for the last line
	maxShown = 60   // how many characters of an unfinished line are shown
)

// endOf returns the end of a long line, starting at a word.
func endOf(line string) string {
	runes := []rune(strings.ToValidUTF8(line, ""))
	if len(runes) <= maxShown {
		return string(runes)
	}
	end := string(runes[len(runes)-maxShown:])
	if _, rest, ok := strings.Cut(end, " "); ok {
		end = rest
	}
	return "… " + end
}

// Stall says what the run lacks to go on; "" means nothing.
func (t *Tree) Stall(why string) { t.stalled = why }

// Stop marks the run as stopping.
func (t *Tree) Stop() { t.stopping = true }

// Interrupt marks the run as no longer driven. If it has not ended, its running steps
// were interrupted.
func (t *Tree) Interrupt(now time.Time) {
	if !t.status.Done() {
		t.cut, t.ended = true, now
	}
}

func (it *item) elapsed(st state, now time.Time) time.Duration {
	switch {
	case it.began.IsZero():
		return 0
	case st.live():
		return now.Sub(it.began)
	default:
		return it.ended.Sub(it.began)
	}
}
