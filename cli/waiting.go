package cli

import (
	"strings"
	"time"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
)

// waitingText says what a run waits for, and the exact commands that go on.
func (a *app) waitingText(p *past, style view.Style) string {
	questions := p.run.Waiting()
	if p.run.Status().Done() || len(questions)+len(p.held) == 0 {
		return ""
	}
	var b strings.Builder
	for _, q := range questions {
		b.WriteString(a.questionText(p.info.ID, q, style))
	}
	b.WriteString(a.heldText(p, style))
	return b.String()
}

// heldText says which steps wait for a budget or for a time.
func (a *app) heldText(p *past, style view.Style) string {
	var b strings.Builder
	budget, quota := false, false
	for _, h := range p.held {
		what := "waits for a budget"
		if !h.until.IsZero() {
			what = "waits until " + h.until.Local().Format(time.DateTime)
		}
		budget, quota = budget || h.until.IsZero(), quota || !h.until.IsZero()
		b.WriteString("\n" + style.Paint(view.BoldYellow, what) + ": " + view.Line(h.address) + "\n")
		b.WriteString("  " + view.Line(h.why) + "\n")
	}
	if budget || quota {
		b.WriteString(style.Paint(view.Dim, "to go on, or to end it:") + "\n")
	}
	if budget {
		b.WriteString("  " + a.self("raise", p.info.ID, "--max-cost", "USD", "--resume") + "\n")
	}
	if quota {
		b.WriteString("  " + a.self("resume", p.info.ID) + "\n")
	}
	if budget || quota {
		b.WriteString("  " + a.self("cancel", p.info.ID) + "\n")
	}
	return b.String()
}

func (a *app) questionText(run string, q *engine.AskHuman, style view.Style) string {
	var b strings.Builder
	b.WriteString("\n" + style.Paint(view.BoldYellow, "waits for an answer") + ": " + view.Line(q.Address) + "\n")
	for line := range strings.SplitSeq(strings.TrimSpace(view.Text(q.Question)), "\n") {
		b.WriteString("  " + line + "\n")
	}
	b.WriteString(style.Paint(view.Dim, "to answer:") + "\n")
	for _, o := range q.Options {
		line := a.answerCommand(run, q, o.Value)
		if about := aboutOption(o.Label, o.Value, o.Description); about != "" {
			line += style.Paint(view.Dim, "   # "+about)
		}
		b.WriteString("  " + line + "\n")
	}
	if q.Custom {
		b.WriteString("  " + a.answerCommand(run, q, "TEXT") + "\n")
	}
	return b.String()
}

func aboutOption(label, value, description string) string {
	if label == value {
		label = ""
	}
	return strings.TrimSpace(view.Line(label) + " " + view.Line(description))
}

// answerCommand is the command that answers a question and goes on.
func (a *app) answerCommand(run string, q *engine.AskHuman, value string) string {
	return a.self("answer", run, q.Address, value, "--resume")
}

// firstAnswer is an answer that a question takes.
func (a *app) firstAnswer(q *engine.AskHuman) string {
	if len(q.Options) > 0 {
		return q.Options[0].Value
	}
	return "TEXT"
}
