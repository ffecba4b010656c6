package cli

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/trial"
	"github.com/hocket-dev/hocket/workflow"
)

// caseText returns the line of a case, and what is wrong with it.
func (a *app) caseText(o *trial.Outcome) string {
	s := a.outStyle
	word := s.Paint(view.Green, "ok  ")
	if !o.Passed() {
		word = s.Paint(view.BoldRed, "FAIL")
	}
	took := view.Took(o.Took)
	if o.Virtual >= time.Minute {
		took = view.Duration(o.Virtual) + " in " + took
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\n", word, view.Line(o.Case.File.Name+": "+o.Case.Name), s.Paint(view.Dim, took))
	if o.Invalid.Errors() {
		errors := slices.DeleteFunc(slices.Clone(o.Invalid), func(d workflow.Diagnostic) bool { return d.Severity != workflow.Error })
		b.WriteString(strings.TrimSuffix(view.Diagnostics(nearPaths(foremost(errors)), a.sourceOf, s), "\n"))
	}
	for _, p := range o.Problems {
		a.problem(&b, p)
	}
	for _, p := range o.Drift {
		p.Summary = "drift: " + p.Summary
		p.Detail = ""
		a.problem(&b, p)
	}
	if o.Written != "" && o.Passed() {
		b.WriteString("     recorded " + view.Line(nearPath(o.Written)) + "\n")
	}
	return b.String()
}

func (a *app) problem(b *strings.Builder, p trial.Problem) {
	s := a.outStyle
	const indent = "     "
	for i, line := range strings.Split(p.Summary, "\n") {
		if i == 0 {
			line = s.Paint(view.Bold, view.Line(line))
		} else {
			line = view.Line(line)
		}
		b.WriteString(indent + line + "\n")
	}
	if p.Pos.File != "" {
		p.Pos.File = nearPath(p.Pos.File)
		b.WriteString(indent + s.Paint(view.BoldBlue, "--> ") + view.Line(p.Pos.String()) + "\n")
	}
	for _, l := range p.Diff {
		paint := map[string]view.Paint{trial.Removed: view.Red, trial.Added: view.Green, trial.Skipped: view.Dim}[l.Kind]
		b.WriteString(indent + "  " + s.Paint(paint, strings.TrimRight(l.Kind+" "+view.Line(l.Text), " ")) + "\n")
	}
	if p.Detail != "" {
		b.WriteString(indent + s.Paint(view.BoldBlue, "= ") + s.Paint(view.Bold, "help") + ": " + view.Line(p.Detail) + "\n")
	}
}

// summary counts the cases, and says what no case uses.
func (a *app) summary(all []*trial.Outcome, c *trial.Coverage, took time.Duration) string {
	s := a.outStyle
	failed, drift := 0, 0
	for _, o := range all {
		if !o.Passed() {
			failed++
		}
		if len(o.Drift) > 0 {
			drift++
		}
	}
	parts := []string{s.Paint(view.Green, fmt.Sprintf("%d passed", len(all)-failed))}
	if failed > 0 {
		parts = append(parts, s.Paint(view.BoldRed, fmt.Sprintf("%d failed", failed)))
	}
	if drift > 0 {
		parts = append(parts, s.Paint(view.Yellow, fmt.Sprintf("%d drifted", drift)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s in %s\n", strings.Join(parts, ", "), view.Took(took))
	if c.Total == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "\n%s %s of the steps and branches\n", s.Paint(view.Bold, "coverage"), percentText(c.Percent()))
	width := 0
	for _, w := range c.Workflows {
		width = max(width, view.Width(view.Line(w.Name)))
	}
	for _, w := range c.Workflows {
		name := view.Line(w.Name)
		fmt.Fprintf(&b, "  %s%s %5s  %d of %d\n", name, strings.Repeat(" ", width-view.Width(name)), percentText(w.Percent()), w.Covered, w.Total)
		for _, p := range w.Parts {
			if !p.Covered {
				b.WriteString("    " + s.Paint(view.Yellow, "not tested") + " " + partText(p) + "\n")
			}
		}
	}
	return b.String()
}

// partText says what is not covered.
func partText(p trial.Part) string {
	switch p.Kind {
	case trial.NodePart:
		return "step " + view.Line(p.String())
	case trial.ErrorPart, trial.TimeoutPart:
		return string(p.Kind) + " edge " + view.Line(p.Node+" -> "+p.Target)
	case trial.BackPart:
		return "back edge " + view.Line(p.String())
	case trial.ResolverPart:
		return "resolver of " + view.Line(p.String())
	case trial.PickPart:
		return "pick " + view.Line(p.String())
	case trial.LabelPart, trial.ElsePart:
	}
	return "branch " + view.Line(p.String())
}

// percentText rounds down to one decimal: 100% means all, and 90% that at least that is covered.
func percentText(p float64) string { return fmt.Sprintf("%g%%", math.Floor(p*10)/10) }

// testLine is one case with --json.
type testLine struct {
	Name       string               `json:"name"`
	File       string               `json:"file"`
	Workflow   string               `json:"workflow"`
	Passed     bool                 `json:"passed"`
	Status     engine.Status        `json:"status,omitempty"` // of its run
	DurationMS int64                `json:"duration_ms"`
	VirtualMS  int64                `json:"virtual_ms"` // the time in the run
	CostUSD    float64              `json:"cost_usd"`
	Problems   []trial.Problem      `json:"problems"`
	Drift      []trial.Problem      `json:"drift,omitempty"`
	Invalid    workflow.Diagnostics `json:"invalid,omitempty"`
	Recorded   string               `json:"recorded,omitempty"`
}

// testJSON is the report with --json.
type testJSON struct {
	Passed   int             `json:"passed"`
	Failed   int             `json:"failed"`
	Cases    []testLine      `json:"cases"`
	Coverage *trial.Coverage `json:"coverage"`
}

func testReport(root string, all []*trial.Outcome, c *trial.Coverage) testJSON {
	report := testJSON{Cases: []testLine{}, Coverage: c}
	inside := func(file string) string {
		if rel, err := filepath.Rel(root, file); err == nil && file != "" {
			return filepath.ToSlash(rel)
		}
		return file
	}
	for _, o := range all {
		line := testLine{
			Name: o.Case.Name, File: inside(o.Case.File.Path), Workflow: o.Case.Workflow, Passed: o.Passed(), Status: o.Result.Status,
			DurationMS: o.Took.Milliseconds(), VirtualMS: o.Virtual.Milliseconds(), CostUSD: o.Result.Usage.CostUSD,
			Problems: append([]trial.Problem{}, o.Problems...), Drift: o.Drift, Recorded: inside(o.Written),
		}
		if o.Invalid.Errors() {
			line.Invalid = jsonDiagnostics(o.Invalid)
		}
		for _, list := range [][]trial.Problem{line.Problems, line.Drift} {
			for i := range list {
				list[i].Pos.File = inside(list[i].Pos.File)
			}
		}
		report.Cases = append(report.Cases, line)
		if o.Passed() {
			report.Passed++
		} else {
			report.Failed++
		}
	}
	return report
}
