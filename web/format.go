package web

import (
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/internal/visible"
	"github.com/hocket-dev/hocket/workflow"
)

// functions are what the templates can call.
func (s *site) functions() template.FuncMap {
	return template.FuncMap{
		"when": when, "iso": isoTime, "advice": advice, "duration": duration, "usd": usd, "total": total, "count": count,
		"status": statusText, "handoffStatus": handoffStatus, "price": func(cost float64) *float64 { return &cost }, "projectPath": projectPath, "runPath": runPath, "workflowPath": workflowPath, "hasWorkflow": s.HasWorkflow, "headed": headed, "took": took,
		"notations": func() [][2]string { return notations }, "lower": strings.ToLower, "asset": func(name string) string { return s.assets + name }, "kind": kindText, "sentence": sentence, "plain": plain, "bound": bound, "plural": plural, "size": size, "inProgress": inProgress, "rows": rows, "readableAlike": func() int { return draw.ReadableAlike }, "newKey": newKey, "hidden": func() string { return visible.Pattern }, "args": func(all ...any) []any { return all },
	}
}

// advice returns a text about a workflow without what only a person in a terminal can do.
func advice(text string) string { return strings.ReplaceAll(text, agent.ReplyAdvice, "") }

// isoTime returns a time for the browser.
func isoTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// when returns a time for people: the time of day, and the date unless it is today.
func when(t time.Time) string {
	t = t.Local()
	now := time.Now()
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		return t.Format("15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006 15:04")
}

// took returns how long something took that has ended.
func took(from, to time.Time) string { return duration(to.Sub(from)) }

func duration(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// usd returns a cost; nil is one that is partly unknown.
func usd(cost *float64) string {
	switch {
	case cost == nil:
		return "unknown"
	case *cost == 0:
		return "–"
	}
	return workflow.FormatUSD(*cost)
}

// total returns a cost, also if it is nothing.
func total(cost *float64) string {
	if cost != nil && *cost == 0 {
		return "$0"
	}
	return usd(cost)
}

// bound returns the most of something; nil is unknown.
func bound(n *float64) string {
	if n == nil {
		return "unknown"
	}
	return count(*n)
}

// count returns a number with its digits in groups.
func count(n any) string {
	text := fmt.Sprint(n)
	if f, ok := n.(float64); ok {
		text = fmt.Sprintf("%.0f", f)
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

// size returns how long a text is.
func size(bytes int) string {
	switch {
	case bytes < 1000:
		return plural(bytes, "byte", "bytes")
	case bytes < 1000_000:
		return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

var statusTexts = map[string]string{
	"running": "Running", "waiting": "Waiting", "success": "Success", "partial": "Partly failed", "error": "Failed", "timeout": "Timed out",
	"cancelled": "Cancelled", "pending": "Pending", "interrupted": "Interrupted", "damaged": "Damaged", "skipped": "Skipped", "": "Not started",
}

func statusText(status string) string {
	if text, ok := statusTexts[status]; ok {
		return text
	}
	return status
}

var kindTexts = map[string]string{
	"gate": "Decision", "permission": "Permission", "budget": "Budget", "lost": "Run again?", "replan": "New plan needed", "trust": "Trust",
}

func kindText(kind string) string {
	if text, ok := kindTexts[kind]; ok {
		return text
	}
	return sentence(kind)
}

// headed returns the first paragraph of a question, and the rest: often what the question is about, and long.
func headed(text string) [2]string {
	head, rest, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	return [2]string{head, strings.Trim(rest, "\n")}
}

// sentence returns a text that begins with a capital letter.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// handoffStatus returns the status of a run that looks like that of a handoff.
func handoffStatus(status string) string {
	if same, ok := map[string]string{"COMPLETED": "success", "FAILED": "error"}[status]; ok {
		return same
	}
	return strings.ToLower(status)
}
