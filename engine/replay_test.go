package engine_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// TestVersion1 replays recorded runs of version 1, and compares what the engine does now with what
// it did then. The files were written by version 1 of the engine and are never rewritten.
//
// The texts of the engine's own questions are not compared, because they are for people, and a
// pause for a budget was not a question then.
func TestVersion1(t *testing.T) {
	files, err := filepath.Glob("../testdata/journals/traces-engine-1/*.txtar")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d recorded runs: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := string(archive.Files[1].Data)
			for _, restores := range []bool{false, true} {
				got := retrace(t, archive.Files[0].Data, want, restores)
				if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("restored after every event: %t (-then +now):\n%s", restores, diff)
				}
			}
		})
	}
}

// retrace replays the events of a trace, which are the lines that begin with a brace, and returns
// the new trace.
func retrace(t *testing.T, bundle []byte, trace string, restores bool) string {
	dec := json.NewDecoder(strings.NewReader(string(bundle)))
	dec.UseNumber()
	b := &workflow.Bundle{}
	if err := dec.Decode(b); err != nil {
		t.Fatal(err)
	}
	run, err := engine.New(b)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	var began time.Time
	budget := map[string]bool{} // questions that are open
	for line := range strings.Lines(trace) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		out.WriteString(line)
		e, err := engine.Decode([]byte(strings.TrimSpace(line)))
		if err != nil {
			t.Fatal(err)
		}
		if began.IsZero() {
			began = e.Time
		}
		commands, err := run.Step(e)
		if err != nil {
			t.Fatal(err)
		}
		traceCommands(&out, "", commands, began, budget)
		for _, f := range run.Facts() {
			text := f.Text
			if f.Kind == engine.QuestionAsked || f.Kind == engine.Paused || strings.HasPrefix(text, "lost;") {
				text = ""
			}
			fmt.Fprintf(&out, "  · %s %s %d %s %q\n", f.Kind, f.Address, f.Attempt, f.Status, text)
		}
		switch e.Event.(type) {
		case *engine.Recovered, *engine.Forked:
			traceCommands(&out, "pending ", run.Pending(), began, budget)
		}
		if restores {
			if run, err = engine.Restore(b, run.Snapshot()); err != nil {
				t.Fatal(err)
			}
		}
	}
	traceResult(&out, run.Result(), began)
	return out.String()
}

func traceCommands(out *strings.Builder, prefix string, commands []engine.Command, began time.Time, budget map[string]bool) {
	for _, c := range commands {
		if text := traceCommand(c, began, budget); text != "" {
			fmt.Fprintf(out, "  %s%s\n", prefix, text)
		}
	}
}

func traceCommand(c engine.Command, began time.Time, budget map[string]bool) string {
	switch c := c.(type) {
	case *engine.StartTask:
		inputs := []any{}
		for _, in := range c.Inputs {
			inputs = append(inputs, []any{in.Name, in.Value})
		}
		tokens, _ := c.May.Tokens.Amount()
		return fmt.Sprintf("start %s attempt=%d again=%t agent=%q prompt=%q inputs=%s settings=%s feedback=%q timeout=%s usd=%g tokens=%d decide=%q",
			c.Address, c.Attempt, c.Again, c.Agent, c.Prompt, workflow.FormatJSON(inputs), workflow.FormatJSON(c.Settings), c.Feedback, c.Timeout, dollars(c), int64(tokens), c.Decide)
	case *engine.CancelTask:
		return fmt.Sprintf("cancel %s attempt=%d", c.Address, c.Attempt)
	case *engine.SetTimer:
		due := c.Clock
		if !c.At.IsZero() {
			due = c.At.Sub(began)
		}
		return fmt.Sprintf("timer %s at %s", c.ID, due)
	case *engine.CancelTimer:
		return "clear " + c.ID
	case *engine.Ask:
		text := c.Text
		switch c.Kind {
		case engine.BudgetQuestion:
			budget[c.ID] = true
			return ""
		case engine.LostQuestion:
			text = "lost"
		case engine.GateQuestion, engine.PermissionQuestion:
		}
		var offers []string
		for _, o := range c.Options {
			offers = append(offers, o.Value)
		}
		return fmt.Sprintf("ask %s %q offers=%q custom=%t required=%t until %s", c.Address, text, offers, c.Custom, c.Required, c.Deadline.Sub(began))
	case *engine.Withdraw:
		if budget[c.ID] {
			return ""
		}
		return "withdraw " + c.ID
	case *engine.Reply:
		return "reply " + c.ID
	case *engine.Finish:
		return fmt.Sprintf("finish %s %s %q", c.Status, workflow.FormatJSON(c.Output), c.Error)
	}
	panic(fmt.Sprintf("%T", c))
}

func traceResult(out *strings.Builder, res engine.Result, began time.Time) {
	u := res.Usage
	fmt.Fprintf(out, "result %s %s %q steps=%d usd=%g unknown=%t in=%d out=%d\n", res.Status, workflow.FormatJSON(res.Output), res.Error, u.Steps, u.CostUSD, u.CostUnknown, u.TokensIn, u.TokensOut)
	for _, s := range res.Steps {
		fmt.Fprintf(out, "  %s %s %s %q %dms attempts=%d iteration=%d index=%d from %s\n",
			s.Address, s.Status, workflow.FormatJSON(s.Output), s.Error, s.DurationMS, s.Attempts, s.Iteration, s.StepIndex, s.Started.Sub(began))
	}
	for _, w := range res.Warnings {
		fmt.Fprintf(out, "  warning %q\n", w)
	}
}
