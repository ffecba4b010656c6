package view

import (
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/engine"
)

// Plain is one fact as one line for a log: time, address, what happened. It is
// "" for facts that say nothing new to a reader.
func Plain(f engine.Fact, style Style) string {
	word, paint, detail := plainWords(f)
	if word == "" {
		return ""
	}
	parts := []string{style.Paint(Dim, f.Time.Local().Format("15:04:05.000"))}
	if f.Address != "" {
		parts = append(parts, Line(f.Address))
	}
	parts = append(parts, style.Paint(paint, word))
	if detail = Line(detail); detail != "" {
		parts = append(parts, detail)
	}
	return strings.Join(parts, " ")
}

// plainWords says what happened: a word, its colour, and what there is to add.
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
			return "again", None, "no result was recorded"
		}
		return "failed", Red, fmt.Sprintf("attempt %d: %s", f.Attempt, f.Text)
	case engine.Retrying:
		return "retrying", Yellow, "in " + Duration(f.Until.Sub(f.Time))
	case engine.StepEnded:
		return string(f.Status), statusPaint(f.Status), strings.TrimSpace(f.Text + " " + spent(f.Usage))
	case engine.StepSkipped:
		return "skipped", Dim, f.Text
	case engine.Asked:
		return "asks", Yellow, f.Text
	case engine.Answered:
		return "answered", None, f.Text
	case engine.Decided:
		return "decided", None, f.Text
	case engine.Iterated:
		return "again", None, f.Text
	case engine.Paused:
		return "paused", Yellow, f.Text
	case engine.Raised:
		return "raised", None, f.Text
	case engine.Warned:
		return "warning", Yellow, f.Text
	case engine.RunEnded:
		return string(f.Status), statusPaint(f.Status), f.Text
	}
	return "", None, ""
}

// Lost says whether an attempt is made again because the process that made it
// has gone, or never came to begin it: no failure of its own.
func Lost(f engine.Fact) bool {
	return f.Kind == engine.AttemptFailed && strings.HasPrefix(f.Text, "lost; it is made again")
}

func spent(u engine.Usage) string {
	if u.CostUSD == 0 {
		return ""
	}
	return Cost(u.CostUSD)
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
	return None
}

// Status is a status as a cell of a table.
func Status(s engine.Status) Cell { return Cell{string(s), statusPaint(s)} }
