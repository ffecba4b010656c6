package view_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
)

func TestPlainLines(t *testing.T) {
	at := func(ms int) time.Time { return time.Date(2026, 3, 1, 12, 0, 0, ms*1e6, time.Local) }
	p := view.NewPlain(view.Style{}, judged())
	var got strings.Builder
	for _, f := range []engine.Fact{
		{Time: at(0), Kind: engine.StepStarted, Address: "scan[3]", Agent: "shell"},
		{Time: at(0), Kind: engine.AttemptStarted, Address: "scan[3]", Attempt: 1},
		{Time: at(5), Kind: engine.AttemptFailed, Address: "scan[3]", Attempt: 1, Text: "boom\n\x1b[31mred"},
		{Time: at(5), Kind: engine.Retrying, Address: "scan[3]", Until: at(55)},
		{Time: at(10), Kind: engine.AttemptStarted, Address: "scan[3]", Attempt: 2},
		{Time: at(15), Kind: engine.AttemptFailed, Address: "scan[3]", Attempt: 2, Text: "lost; it will run again"},
		{Time: at(20), Kind: engine.StepEnded, Address: "scan[3]", Status: engine.Success, Usage: engine.Usage{CostUSD: 0.5}},
		{Time: at(20), Kind: engine.StepEnded, Address: "ask", Status: engine.Success, Usage: engine.Usage{CostUSD: 0.5, CostUnknown: true}},
		{Time: at(20), Kind: engine.QuestionAsked, Address: "gate", Text: "Ship?"},
		{Time: at(20), Kind: engine.AnswerGiven, Address: "gate", Text: "yes (ada)"},
		{Time: at(20), Kind: engine.StepSkipped, Address: "rest"},
		{Time: at(20), Kind: engine.StepStarted, Address: "good", Workflow: "page", Node: "good", Agent: "critic"},
		{Time: at(20), Kind: engine.Decided, Address: "good", Text: "when → publish"},
		{Time: at(20), Kind: engine.Decided, Address: "good", Text: "a → b, by last line → @again, log"},
		{Time: at(20), Kind: engine.Paused, Address: "pay", Text: "it may cost $1.00"},
		{Time: at(20), Kind: engine.StepEnded, Address: "pay", Status: engine.Failed, Text: "no money", Usage: engine.Usage{CostUSD: 0.5}},
		{Time: at(20), Kind: engine.Warned, Text: "nothing ran"},
		{Time: at(1500), Kind: engine.RunEnded, Status: engine.Failed, Text: "it broke"},
	} {
		if line := p.Line(f); line != "" {
			got.WriteString(line + "\n")
		}
	}
	same(t, got.String(), `12:00:00.000 scan[3] started by shell
12:00:00.005 scan[3] failed attempt 1: boom red
12:00:00.005 scan[3] retrying in 50ms
12:00:00.010 scan[3] attempt 2
12:00:00.015 scan[3] retrying because no result was recorded
12:00:00.020 scan[3] success in 20ms $0.50
12:00:00.020 ask success cost unknown
12:00:00.020 gate asks Ship?
12:00:00.020 gate answered yes (ada)
12:00:00.020 rest skipped
12:00:00.020 good started by critic: Good?
12:00:00.020 good decided by condition → publish
12:00:00.020 good decided a → b, by last line → again, log
12:00:00.020 pay paused: it may cost $1.00
12:00:00.020 pay error $0.50: no money
12:00:00.020 warning: nothing ran
12:00:01.500 error in 1.5s: it broke
`)
}

// The reason for a failure is printed where it happens, and not again by the enclosing
// steps.
func TestPlainTellsAFailureOnce(t *testing.T) {
	p := view.NewPlain(view.Style{}, judged())
	var got []string
	for _, f := range []engine.Fact{
		{Kind: engine.StepEnded, Address: "call/each[0]", Status: engine.Failed, Text: "exit status 3"},
		{Kind: engine.StepEnded, Address: "call/each", Status: engine.Failed, Text: "item 0: call/each[0]: exit status 3"},
		{Kind: engine.StepEnded, Address: "call", Status: engine.Failed, Text: "call/each: item 0: call/each[0]: exit status 3"},
		{Kind: engine.StepEnded, Address: "other", Status: engine.TimedOut, Text: "exit status 3"},
		{Kind: engine.StepEnded, Address: "gone", Status: engine.Cancelled, Text: "other: exit status 3"},
		{Kind: engine.RunEnded, Status: engine.Failed, Text: "call: call/each: item 0: call/each[0]: exit status 3"},
		{Kind: engine.RunEnded, Status: engine.Failed, Text: "it timed out"},
	} {
		_, line, _ := strings.Cut(p.Line(f), " ")
		got = append(got, line)
	}
	same(t, strings.Join(got, "\n")+"\n", `call/each[0] error: exit status 3
call/each error: item 0: call/each[0]
call error: call/each: item 0: call/each[0]
other timeout: exit status 3
gone cancelled: other
error in 0ms
error: it timed out
`)
}
