package realtest

import (
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// A key is pressed once the screen shows something.
type key struct{ at, press string }

// forms is how people use the forms of a CLI.
var forms = map[string]struct {
	name            string // of the client, in the records
	mark            string // on the screen while there is a form
	accept, decline []key
	escape          []key // closes the form without an answer
}{
	"claude": {
		name: "MCP client claude-code", mark: "requests your input",
		accept:  []key{{"Answer: ▸ not set", "Right"}, {"◯ approve", "Enter"}, {"✔ Answer: approve", ""}, {"❯ Accept", "Enter"}},
		decline: []key{{"Answer: ▸ not set", "Down"}, {"❯ Accept", "Down"}, {"❯ Decline", "Enter"}},
		escape:  []key{{"Answer: ▸ not set", "Escape"}},
	},
	"codex": {
		name: "MCP client codex-mcp-client", mark: "Field 1/1",
		accept: []key{{"› 1. approve", "Enter"}}, // it has no button that declines
		escape: []key{{"› 1. approve", "Escape"}},
	},
}

// settling is how long a form that must not appear, or an answer that must not come, is waited for: a
// client that has a task looks at it every two seconds.
const settling = 5 * time.Second

// The user of a client in a terminal answers a gate in the client's own form, or does not.
func TestForms(t *testing.T) {
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			f, p := withHocket(t, name)
			f.settle(t)
			f.server.Reply(welcome)
			t.Run("accept", func(t *testing.T) {
				s := f.open(t, tool("hocket_workflow", map[string]any{"name": "gated"}), say("done it"))
				s.use(form.accept)
				run := newest(t, p)
				ended(t, p, run, engine.Success)
				a, at := answered(t, p, run)
				if a == nil || a.ID != "ship" || a.Value != "approve" || a.By != form.name || a.Via != "mcp" || time.Since(at).Abs() > time.Hour {
					t.Errorf("recorded as %+v at %v", a, at)
				}
				s.gone(form.mark)
				s.sees("done it")
			})
			for what, keys := range map[string][]key{"decline": form.decline, "escape": form.escape} {
				if keys == nil {
					continue
				}
				t.Run(what, func(t *testing.T) {
					s := f.open(t, tool("hocket_workflow", map[string]any{"name": "gated"}), say("done it"))
					s.use(keys)
					s.gone(form.mark)
					s.sees("done it")
					time.Sleep(settling)
					f.stillOpen(t, p)
					if name == "codex" || what == "decline" { // in claude, Escape means later
						s.wait("the command that answers", func() bool { return f.told("hocket answer " + newest(t, p)) })
					}
				})
			}
			t.Run("answered elsewhere", func(t *testing.T) {
				s := f.open(t, tool("hocket_workflow", map[string]any{"name": "gated"}), say("done it"))
				s.sees(form.mark)
				run := newest(t, p)
				inTerminal(t, p, run)
				if name == "claude" { // it does not look at a task while its form is open
					s.use(form.accept)
				}
				s.gone(form.mark)
				if a, _ := answered(t, p, run); a.Via == "mcp" {
					t.Errorf("recorded as %+v", a)
				}
			})
			t.Run("required", func(t *testing.T) {
				s := f.open(t, tool("hocket_workflow", map[string]any{"name": "strict"}), say("done it"))
				s.sees("done it")
				time.Sleep(settling)
				f.stillOpen(t, p)
				s.wait("the command that answers", func() bool { return f.told("hocket answer " + newest(t, p)) })
				inTerminal(t, p, newest(t, p))
				s.never(form.mark)
			})
		})
	}
}

func (s *terminal) use(keys []key) {
	s.t.Helper()
	for _, k := range keys {
		s.sees(k.at)
		if k.press != "" {
			time.Sleep(time.Second) // claude ignores keys that seem to be meant for what was there before
			s.press(k.press)
		}
	}
}

// newest returns the id of the newest run.
func newest(t *testing.T, p *hocket.Project) string {
	t.Helper()
	runs, err := p.Runs(t.Context(), hocket.Filter{})
	if err != nil || len(runs) == 0 {
		t.Fatalf("no run: %v", err)
	}
	return runs[0].ID
}

// answered returns the first answer in a run and its time, nil if there is none.
func answered(t *testing.T, p *hocket.Project, id string) (*engine.Answered, time.Time) {
	t.Helper()
	run, err := p.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range run.Recorded(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := e.Event.(*engine.Answered); ok {
			return a, e.Time
		}
	}
	return nil, time.Time{}
}

// stillOpen reports an error unless the newest run waits for its first answer.
func (f *fixture) stillOpen(t *testing.T, p *hocket.Project) {
	t.Helper()
	id := newest(t, p)
	run, err := p.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	open, err := run.Questions(t.Context())
	if a, _ := answered(t, p, id); err != nil || len(open) != 1 || a != nil {
		t.Errorf("%v, open: %+v, answered: %+v", err, open, a)
	}
}

// inTerminal answers the question of a run as a person does in a terminal, and has it driven to its
// end.
func inTerminal(t *testing.T, p *hocket.Project, id string) {
	t.Helper()
	run, err := p.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	open, err := run.Questions(t.Context())
	if err != nil || len(open) != 1 {
		t.Fatalf("%v: %+v", err, open)
	}
	receipt, err := run.Answer(t.Context(), open[0].ID, hocket.Answer{Value: "approve"})
	if err == nil && !receipt.Driven {
		_, err = run.Drive(t.Context(), hocket.Front{Elsewhere: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	ended(t, p, id, engine.Success)
}
