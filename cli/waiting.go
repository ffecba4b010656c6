package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
)

// waitingText says what a run waits for, and the exact commands that go on.
func (a *app) waitingText(s *hocket.State, style view.Style) string {
	if s.Status().Done() {
		return ""
	}
	var b strings.Builder
	for _, q := range s.Questions {
		b.WriteString(a.questionText(s.ID, q, style))
	}
	b.WriteString(a.heldText(s, style))
	return b.String()
}

// heldText says which steps wait for a budget or for a time.
func (a *app) heldText(s *hocket.State, style view.Style) string {
	held := s.Held()
	if len(held)+len(s.Later) == 0 {
		return ""
	}
	var b strings.Builder
	var commands []string
	step := func(what, address, why, command string) {
		b.WriteString("\n" + style.Paint(view.BoldYellow, what) + ": " + view.Line(address) + "\n  " + view.Line(why) + "\n")
		if !slices.Contains(commands, command) {
			commands = append(commands, command)
		}
	}
	for _, h := range held {
		step("waits for a budget", h.Address, h.Reason, a.raiseCommand(s.ID, h))
		if h.Unknown {
			budget := "{max_cost_usd: 0.50}`, costs no more"
			if h.Tokens {
				budget = "{max_tokens: 20000}`, uses no more"
			}
			b.WriteString("  an agent whose definition has a budget, such as `budget: " + budget + ";\n  once the limit is raised this step goes on without a bound\n")
		}
	}
	for _, l := range s.Later {
		step("waits until "+l.Until.Local().Format(time.DateTime), l.Address, l.Why, a.self("resume", s.ID))
	}
	b.WriteString(style.Paint(view.Dim, "to go on, or to end it:") + "\n")
	for _, c := range append(commands, a.self("cancel", s.ID)) {
		b.WriteString("  " + c + "\n")
	}
	return b.String()
}

// raiseCommand is the command that lets a step go on which a budget holds back.
func (a *app) raiseCommand(run string, h engine.Held) string {
	if h.Tokens {
		return a.self("raise", run, "--max-tokens", "N", "--resume")
	}
	return a.self("raise", run, "--max-cost", "USD", "--resume")
}

func (a *app) questionText(run string, q hocket.Question, style view.Style) string {
	var b strings.Builder
	b.WriteString("\n" + style.Paint(view.BoldYellow, "waits for an answer") + ": " + view.Line(q.ID) + "\n")
	for line := range strings.SplitSeq(strings.TrimSpace(view.Text(q.AskHuman.Question)), "\n") {
		b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
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
func (a *app) answerCommand(run string, q hocket.Question, value string) string {
	words := []string{"answer", run, q.ID, value}
	if !strings.Contains(q.ID, "@") { // who asks while it works goes on by itself
		words = append(words, "--resume")
	}
	return a.self(words...)
}

// firstAnswer is an answer that a question takes.
func (a *app) firstAnswer(q hocket.Question) string {
	if len(q.Options) > 0 {
		return q.Options[0].Value
	}
	return "TEXT"
}

// waitingFor is one thing that a run waits for, with --json.
type waitingFor struct {
	Address  string      `json:"address"`
	For      string      `json:"for"` // answer, budget or time
	Question string      `json:"question,omitempty"`
	Options  []optionFor `json:"options,omitempty"`
	Custom   bool        `json:"custom,omitempty"`
	Deadline time.Time   `json:"deadline,omitzero"` // of the answer
	Reason   string      `json:"reason,omitempty"`  // why it cannot go on now
	Until    time.Time   `json:"until,omitzero"`
	Command  string      `json:"command"` // that goes on
}

// optionFor is one answer that a question offers.
type optionFor struct {
	Value       string `json:"value"`
	Label       string `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
}

// waitingList is all that a run waits for; empty and not nil for none.
func (a *app) waitingList(s *hocket.State) []waitingFor {
	list := []waitingFor{}
	if s.Status().Done() {
		return list
	}
	for _, q := range s.Questions {
		options := make([]optionFor, len(q.Options))
		for i, o := range q.Options {
			options[i] = optionFor(o)
		}
		list = append(list, waitingFor{
			Address: q.ID, For: "answer", Question: q.AskHuman.Question, Options: options, Custom: q.Custom, Deadline: q.Deadline,
			Command: a.answerCommand(s.ID, q, a.firstAnswer(q)),
		})
	}
	for _, h := range s.Held() {
		list = append(list, waitingFor{Address: h.Address, For: "budget", Reason: h.Reason, Command: a.raiseCommand(s.ID, h)})
	}
	for _, l := range s.Later {
		list = append(list, waitingFor{Address: l.Address, For: "time", Reason: l.Why, Until: l.Until, Command: a.self("resume", s.ID)})
	}
	return list
}
