package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/handoff"
)

func (a *app) handoffStatsVerb() *cobra.Command {
	var svg string
	cmd := &cobra.Command{
		Use:   "stats [FLAGS]",
		Short: "Show how the project uses handoffs",
		Long: `Show how many of the texts that were sent contain a request in XML, how many were
refused and why, how sessions ended, and, by agent, how long they took and how often
they were retried. Durations include only sessions that have ended.`,
		Example: `  hocket handoff stats
  hocket handoff stats --json | jq '.with_xml / .checks'
  hocket handoff stats --svg handoffs.svg`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.handoffStats(cmd.Context(), svg) },
	}
	cmd.Flags().StringVar(&svg, "svg", "", "write a chart to `FILE`")
	return cmd
}

func (a *app) handoffStats(ctx context.Context, svg string) error {
	s, err := a.handoffs()
	if err != nil {
		return err
	}
	stats, err := s.Stats(ctx)
	if err != nil {
		return err
	}
	if svg != "" {
		if err := os.WriteFile(a.outPath(svg), []byte(statsPicture(stats)), 0o666); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(stats)
	}
	return a.print(a.statsText(stats))
}

// share formats a part of a whole.
func share(part, whole int) string {
	if whole == 0 {
		return "none yet"
	}
	return fmt.Sprintf("%d of %d (%d%%)", part, whole, (200*part+whole)/(2*whole))
}

var allStatuses = []handoff.Status{handoff.Completed, handoff.Failed, handoff.TimedOut, handoff.Cancelled, handoff.Running}

func statusText(counts map[handoff.Status]int) string {
	var parts []string
	for _, status := range allStatuses {
		if n := counts[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	if parts == nil {
		return "none yet"
	}
	return strings.Join(parts, ", ")
}

func (a *app) statsText(stats *handoff.Stats) string {
	var b strings.Builder
	fmt.Fprintf(&b, "texts with XML  %s\n", share(stats.XML, stats.Checks))
	fmt.Fprintf(&b, "texts refused   %s\n", share(stats.Refused, stats.Checks))
	fmt.Fprintf(&b, "sessions        %s\n", statusText(stats.Sessions))
	if len(stats.Errors) > 0 {
		t := &view.Table{Head: []string{"ERROR", "TEXTS", "LATEST"}, Spare: []int{2}}
		for _, e := range stats.Errors {
			t.Row(view.Cell{Text: e.Code}, view.Cell{Text: strconv.Itoa(e.Count)}, view.Cell{Text: e.Example})
		}
		b.WriteString("\n" + t.Draw(a.outStyle))
	}
	if len(stats.Agents) > 0 {
		t := &view.Table{Head: []string{"AGENT", "SESSIONS", "COMPLETED", "RETRIES", "MEDIAN", "P95"}, Spare: []int{0}}
		for _, one := range stats.Agents {
			t.Row(view.Cell{Text: one.Agent}, view.Cell{Text: strconv.Itoa(one.Sessions)}, view.Cell{Text: strconv.Itoa(one.Statuses[handoff.Completed])},
				view.Cell{Text: strconv.Itoa(one.Retries)}, view.Cell{Text: took(one.Median)}, view.Cell{Text: took(one.P95)})
		}
		b.WriteString("\n" + t.Draw(a.outStyle))
	}
	return b.String()
}

func took(seconds float64) string { return view.Took(time.Duration(seconds * float64(time.Second))) }

// maxBars is how many agents the chart shows: those with the most sessions.
const maxBars = 20

// statsPicture draws the statistics.
func statsPicture(stats *handoff.Stats) string {
	checks := draw.Bars{Title: "Texts that were sent", Full: float64(stats.Checks), Bars: []draw.Bar{
		{Label: "with XML", Value: float64(stats.XML), Text: share(stats.XML, stats.Checks)},
		{Label: "refused", Value: float64(stats.Refused), Text: share(stats.Refused, stats.Checks)},
	}}
	statuses := draw.Bars{Title: "Sessions"}
	for _, status := range allStatuses {
		n := stats.Sessions[status]
		statuses.Bars = append(statuses.Bars, draw.Bar{Label: string(status), Value: float64(n), Text: strconv.Itoa(n)})
	}
	agents := slices.Clone(stats.Agents)
	sort.SliceStable(agents, func(i, j int) bool { return agents[i].Sessions > agents[j].Sessions })
	durations := draw.Bars{Title: "Median and 95th percentile of how long sessions took"}
	for _, one := range agents[:min(len(agents), maxBars)] {
		durations.Bars = append(durations.Bars, draw.Bar{
			Label: one.Agent, Value: one.Median, Mark: one.P95,
			Text: fmt.Sprintf("%s, %s, %s", took(one.Median), took(one.P95), strings.Replace(view.Count(one.Retries, "retry"), "retrys", "retries", 1)),
		})
	}
	groups := []draw.Bars{checks, statuses}
	if len(durations.Bars) > 0 {
		groups = append(groups, durations)
	}
	return draw.Chart("Handoffs", groups)
}
