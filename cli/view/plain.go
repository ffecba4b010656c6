package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Plain formats facts as log lines: time, address, what happened. It remembers when steps
// began, to print how long they took, and why steps failed, to print it only once.
type Plain struct {
	Style  Style
	asks   map[[2]string]string // what choices ask, by workflow and node
	began  map[string]time.Time
	failed map[string]int // ADDRESS: WHY, with the length of the address
}

// NewPlain returns a Plain for a run of a bundle.
func NewPlain(style Style, b *workflow.Bundle) Plain {
	p := Plain{Style: style, asks: map[[2]string]string{}}
	for _, w := range slices.AppendSeq([]*workflow.Workflow{b.Root}, maps.Values(b.Called)) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			if text := question(n); text != "" {
				p.asks[[2]string{w.Name, n.ID}] = text
			}
		})
	}
	return p
}

// Line formats a fact as one line, "" if it has nothing new for a reader.
func (p *Plain) Line(f engine.Fact) string {
	word, paint, detail := plainWords(p.once(f))
	if f.Kind == engine.StepStarted {
		detail += optional(": ", p.asks[[2]string{f.Workflow, f.Node}])
	}
	took := p.took(f)
	if word == "" {
		return ""
	}
	parts := []string{p.Style.Paint(Dim, f.Time.Local().Format("15:04:05.000"))}
	if f.Address != "" {
		parts = append(parts, Line(f.Address))
	}
	parts = append(parts, p.Style.Paint(paint, word))
	if took != "" {
		parts = append(parts, took)
	}
	line := strings.Join(parts, " ")
	if strings.HasPrefix(detail, ":") {
		return line + Line(detail)
	}
	return line + optional(" ", Line(detail))
}

// once removes a reason from a fact if it was already printed for an inner step. For a
// step, the address of the inner step remains; for a run, nothing.
func (p *Plain) once(f engine.Fact) engine.Fact {
	if f.Kind != engine.StepEnded && f.Kind != engine.RunEnded || f.Text == "" {
		return f
	}
	for rest, more := f.Text, true; more; _, rest, more = strings.Cut(rest, ": ") {
		if named, printed := p.failed[rest]; printed {
			if f.Text = f.Text[:len(f.Text)-len(rest)+named]; f.Kind == engine.RunEnded {
				f.Text = ""
			}
			return f
		}
	}
	if f.Kind == engine.StepEnded && (f.Status == engine.Failed || f.Status == engine.TimedOut) {
		if p.failed == nil {
			p.failed = map[string]int{}
		}
		p.failed[f.Address+": "+f.Text] = len(f.Address)
	}
	return f
}

// took formats the duration of what a fact ends, "" if it ends nothing. The run itself
// has the address "" and begins with its first fact.
func (p *Plain) took(f engine.Fact) string {
	if p.began == nil {
		p.began = map[string]time.Time{"": f.Time}
	}
	switch f.Kind {
	case engine.StepStarted:
		p.began[f.Address] = f.Time
	case engine.AttemptStarted:
		if _, known := p.began[f.Address]; !known {
			p.began[f.Address] = f.Time // it began in another process
		}
	case engine.StepEnded, engine.RunEnded:
		if began, ok := p.began[f.Address]; ok {
			delete(p.began, f.Address)
			return "in " + Took(f.Time.Sub(began))
		}
	case engine.AttemptFailed, engine.Retrying, engine.StepSkipped, engine.QuestionAsked, engine.AnswerGiven, engine.AnswerUnused,
		engine.Decided, engine.Iterated, engine.Paused, engine.Raised, engine.Warned, engine.PlanChanged:
	}
	return ""
}

// Began sets when the run itself began, if the facts so far are those of the run that it
// was forked from.
func (p *Plain) Began(at time.Time) {
	if p.began == nil {
		p.began = map[string]time.Time{}
	}
	p.began[""] = at
}

// plainWords describes a fact: a word, its colour, and details. A reason begins with a colon.
func plainWords(f engine.Fact) (word string, paint Paint, detail string) {
	switch f.Kind {
	case engine.StepStarted:
		return "started", None, optional("by ", f.Agent)
	case engine.AttemptStarted:
		if f.Attempt > 1 {
			return "attempt", None, fmt.Sprint(f.Attempt)
		}
		return "", None, ""
	case engine.AttemptFailed:
		if Lost(f) {
			return "retrying", None, "because no result was recorded"
		}
		return "failed", Red, fmt.Sprintf("attempt %d: %s", f.Attempt, f.Text)
	case engine.Retrying:
		return "retrying", Yellow, "in " + Took(f.Until.Sub(f.Time))
	case engine.StepEnded:
		return string(f.Status), statusPaint(f.Status), spent(f.Usage) + optional(": ", f.Text)
	case engine.StepSkipped:
		return "skipped", Dim, optional(": ", f.Text)
	case engine.QuestionAsked:
		return "asks", Yellow, f.Text
	case engine.AnswerGiven:
		return "answered", None, f.Text
	case engine.AnswerUnused:
		return "unused", Yellow, "the answer " + f.Text
	case engine.Decided:
		return "decided", None, decision(f.Text)
	case engine.Iterated:
		return "again", None, f.Text
	case engine.Paused:
		return "paused", Yellow, optional(": ", f.Text)
	case engine.Raised:
		return "raised", None, f.Text
	case engine.PlanChanged:
		return "replanned", None, optional(": ", f.Text)
	case engine.Warned:
		return "warning", Yellow, optional(": ", strings.ReplaceAll(f.Text, "\n", "; "))
	case engine.RunEnded:
		return string(f.Status), statusPaint(f.Status), optional(": ", Because(f.Status, f.Text))
	}
	return "", None, ""
}

// decision returns the text of a decision for people: without the marks of edges that lead
// to no step.
func decision(text string) string {
	at := strings.LastIndex(text, " → ")
	if at < 0 {
		return text
	}
	how, targets := text[:at], text[at:]
	if how == string(workflow.OnWhen) {
		how = "by condition"
	}
	return how + strings.ReplaceAll(targets, "@", "")
}

// Because returns the reason why a run ended without the status, if it begins with that,
// to be printed after the status.
func Because(s engine.Status, reason string) string {
	rest, repeats := strings.CutPrefix(reason, string(s))
	if !repeats {
		return reason
	}
	return strings.TrimLeft(rest, ": ")
}

// Lost reports whether an attempt runs again because its process crashed or never started
// it, and not because it failed.
func Lost(f engine.Fact) bool {
	return f.Kind == engine.AttemptFailed && strings.HasPrefix(f.Text, "lost; it will run again")
}

// spent formats a cost, "" for none. An unknown cost is not none.
func spent(u engine.Usage) string {
	switch {
	case u.CostUnknown:
		return "cost unknown"
	case u.CostUSD == 0:
		return ""
	}
	return workflow.FormatUSD(u.CostUSD)
}

func optional(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

func statusPaint(s engine.Status) Paint {
	switch s {
	case engine.Success:
		return Green
	case engine.Partial, engine.Waiting:
		return Yellow
	case engine.Failed, engine.TimedOut:
		return Red
	case engine.Skipped, engine.Cancelled:
		return Dim
	case engine.Running:
		return Cyan
	}
	return Yellow // interrupted or pending
}

// Status is a status as a cell of a table.
func Status(s engine.Status) Cell { return Cell{string(s), statusPaint(s)} }
