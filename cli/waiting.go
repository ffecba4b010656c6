package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// waitingText says what a run waits for, and the exact commands that go on.
func (a *app) waitingText(p *past, style view.Style) string {
	if p.run.Status().Done() {
		return ""
	}
	var b strings.Builder
	for _, q := range p.questions() {
		b.WriteString(a.questionText(p.info.ID, q, style))
	}
	b.WriteString(a.heldText(p, style))
	return b.String()
}

// heldText says which steps wait for a budget or for a time.
func (a *app) heldText(p *past, style view.Style) string {
	held := p.run.Held()
	if len(held)+len(p.later) == 0 {
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
		step("waits for a budget", h.Address, h.Reason, a.raiseCommand(p.info.ID, h))
		if h.Unknown {
			budget := "{max_cost_usd: 0.50}`, costs no more"
			if h.Tokens {
				budget = "{max_tokens: 20000}`, uses no more"
			}
			b.WriteString("  an agent whose definition has a budget, such as `budget: " + budget + ";\n  once the limit is raised this step goes on without a bound\n")
		}
	}
	for _, l := range p.later {
		step("waits until "+l.until.Local().Format(time.DateTime), l.address, l.why, a.self("resume", p.info.ID))
	}
	b.WriteString(style.Paint(view.Dim, "to go on, or to end it:") + "\n")
	for _, c := range append(commands, a.self("cancel", p.info.ID)) {
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

// question is what a run asks a person.
type question struct {
	*engine.AskHuman
	resume bool // an answer alone does not make the run go on
}

// questions are all that wait for an answer: those of the run, and those of its
// attempts, of which each has a name of its own.
func (p *past) questions() []question {
	var all []question
	for _, q := range p.run.Waiting() {
		all = append(all, question{q, true})
	}
	for _, q := range p.asks {
		h := &engine.AskHuman{Address: q.Name(), Question: q.Text}
		for _, o := range q.Options {
			h.Options = append(h.Options, workflow.Option{Value: o})
		}
		all = append(all, question{h, false})
	}
	return all
}

func (a *app) questionText(run string, q question, style view.Style) string {
	var b strings.Builder
	b.WriteString("\n" + style.Paint(view.BoldYellow, "waits for an answer") + ": " + view.Line(q.Address) + "\n")
	for line := range strings.SplitSeq(strings.TrimSpace(view.Text(q.Question)), "\n") {
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
func (a *app) answerCommand(run string, q question, value string) string {
	words := []string{"answer", run, q.Address, value}
	if q.resume {
		words = append(words, "--resume")
	}
	return a.self(words...)
}

// firstAnswer is an answer that a question takes.
func (a *app) firstAnswer(q question) string {
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
func (a *app) waitingList(p *past) []waitingFor {
	list := []waitingFor{}
	if p.run.Status().Done() {
		return list
	}
	for _, q := range p.questions() {
		options := make([]optionFor, len(q.Options))
		for i, o := range q.Options {
			options[i] = optionFor(o)
		}
		list = append(list, waitingFor{
			Address: q.Address, For: "answer", Question: q.Question, Options: options, Custom: q.Custom, Deadline: q.Deadline,
			Command: a.answerCommand(p.info.ID, q, a.firstAnswer(q)),
		})
	}
	for _, h := range p.run.Held() {
		list = append(list, waitingFor{Address: h.Address, For: "budget", Reason: h.Reason, Command: a.raiseCommand(p.info.ID, h)})
	}
	for _, l := range p.later {
		list = append(list, waitingFor{Address: l.address, For: "time", Reason: l.why, Until: l.until, Command: a.self("resume", p.info.ID)})
	}
	return list
}
