package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
)

func (a *app) traceVerb() *cobra.Command {
	var export bool
	var endpoint string
	cmd := &cobra.Command{
		Use:   "trace RUN [FLAGS]",
		Short: "Show where the time of a run went, or export its spans",
		Long: `Show the spans of a run as a tree: its workflows, attempts, questions to people,
responses of models and calls of tools, with the time, cost and tokens of each.

With --export, send them to a collector of OpenTelemetry, over HTTP: that of
--endpoint, or the one of the environment (OTEL_EXPORTER_OTLP_ENDPOINT) or of the
project. Spans of a run that is driven now are exported anyway, when they end, if
a collector is configured; --export sends all spans of any run, also of an old one.
Their ids are always the same.`,
		Example: `  hocket trace review-3k7q
  hocket trace review-3k7q --export --endpoint http://localhost:4318

  # The slowest calls of tools
  hocket trace review-3k7q --json | jq -r '.spans[] | select(.operation == "execute_tool") | [.start, .end, .name] | @tsv'`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if endpoint != "" && !export {
				return usagef("add --export, or remove --endpoint", "--endpoint is only for --export")
			}
			return a.withRun(cmd.Context(), args[0], func(r *hocket.Run) error {
				if export {
					return a.exportTrace(cmd.Context(), r, endpoint)
				}
				return a.showTrace(cmd.Context(), r)
			})
		},
	}
	cmd.Flags().BoolVar(&export, "export", false, "send the spans to a collector")
	cmd.Flags().StringVar(&endpoint, "endpoint", "", "the `URL` of the collector, such as http://localhost:4318")
	return cmd
}

// exportTrace sends the spans of a run.
func (a *app) exportTrace(ctx context.Context, r *hocket.Run, endpoint string) error {
	done, err := r.Export(ctx, endpoint)
	if err != nil {
		return err
	}
	switch {
	case a.json:
		err = a.printJSON(map[string]any{"run": r.ID(), "exported": done.Spans, "left": done.Left, "problem": done.Why})
	case done.Spans > 0 || done.Left == 0:
		err = a.print("exported " + view.Count(done.Spans, "span") + "\n")
	}
	if done.Left > 0 && err == nil {
		return fmt.Errorf("%s not exported: %s", view.Count(done.Left, "span")+wereWas(done.Left), done.Why)
	}
	return err
}

func wereWas(n int) string {
	if n == 1 {
		return " was"
	}
	return " were"
}

// showTrace prints the spans of a run.
func (a *app) showTrace(ctx context.Context, r *hocket.Run) error {
	spans, err := r.Trace(ctx)
	if err != nil {
		return err
	}
	if a.json {
		if spans == nil {
			spans = []hocket.Span{}
		}
		return a.printJSON(map[string]any{"run": r.ID(), "spans": spans})
	}
	info, err := r.Info(ctx)
	if err != nil {
		return err
	}
	return a.print(drawTrace(spans, lastSeen(info), a.outStyle))
}

// timeline is the width of the column that shows when a span was.
const timeline = 24

// drawTrace draws spans as a tree. Those in progress last until now.
func drawTrace(spans []hocket.Span, now time.Time, style view.Style) string {
	if len(spans) == 0 {
		return "the run has not begun\n"
	}
	from, to := spans[0].Start, now
	for _, s := range spans {
		if s.Start.Before(from) {
			from = s.Start
		}
		if to.IsZero() || s.End.After(to) {
			to = s.End
		}
	}
	t := &view.Table{Head: []string{"span", "operation", "took", "cost", "tokens", "result", "when"}, Right: []bool{2: true, 3: true, 4: true, 5: false}, Spare: []int{6, 4, 1}}
	t.Lead = view.Branches(depths(spans), style)
	for _, s := range spans {
		end, result, paint := s.End, "ok", view.Green
		switch {
		case end.IsZero():
			end, result, paint = to, "in progress", view.Yellow
		case s.Error == "cancelled":
			result, paint = s.Error, view.Yellow
		case s.Error != "":
			result, paint = s.Error, view.Red
		}
		used := s.Usage()
		cost, tokens := "", ""
		if used.CostUSD > 0 || used.CostUnknown {
			if cost = used.CostText(); used.CostUnknown {
				cost = "?"
			}
		}
		if n := used.Tokens(); n > 0 {
			tokens = view.Tokens(n)
		}
		name := view.None
		if s.Operation == "invoke_workflow" {
			name = view.Bold
		}
		t.Row(view.Cell{Text: spanLabel(s), Paint: name}, view.Cell{Text: s.Name, Paint: view.Dim}, view.Cell{Text: view.Took(end.Sub(s.Start))},
			view.Cell{Text: cost}, view.Cell{Text: tokens}, view.Cell{Text: result, Paint: paint}, view.Cell{Text: view.Bar(s.Start.Sub(from), end.Sub(from), to.Sub(from), timeline, style), Paint: paint})
	}
	text := t.Draw(style)
	for _, s := range spans {
		for _, l := range s.Links {
			text += style.Paint(view.Dim, "links to the trace "+l.Trace.String()+" ("+l.Why+")") + "\n"
		}
	}
	return text + style.Paint(view.Dim, "trace "+spans[0].Trace.String()) + "\n"
}

// spanLabel names a span among those around it.
func spanLabel(s hocket.Span) string {
	text := func(key string) string { v, _ := s.Get(key).(string); return v }
	address := text("hocket.address")
	label := address[strings.LastIndexByte(address, '/')+1:]
	switch {
	case label == "" && s.Operation == "invoke_workflow":
		label = text("gen_ai.workflow.name")
	case label == "":
		_, label, _ = strings.Cut(s.Name, " ")
	}
	if n, _ := s.Get("hocket.attempt").(int64); n > 1 {
		label += " (attempt " + strconv.FormatInt(n, 10) + ")"
	}
	if label == "" {
		label = s.Operation
	}
	return view.Line(label)
}

// depths returns how many spans are around each.
func depths(spans []hocket.Span) []int {
	at := map[string]int{}
	list := make([]int, len(spans))
	for i, s := range spans {
		if depth, ok := at[s.Parent.String()]; ok {
			list[i] = depth + 1
		}
		at[s.ID.String()] = list[i]
	}
	return list
}
