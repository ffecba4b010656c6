package cli

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
)

// waitingText says what a run is waiting for, with the exact commands to continue.
func (a *app) waitingText(s *hocket.State, style view.Style) string {
	if s.Status.Done() {
		return ""
	}
	var b strings.Builder
	for _, q := range s.Questions {
		b.WriteString(a.questionText(s.ID, q, style))
	}
	b.WriteString(a.laterText(s, style))
	return b.String()
}

// laterText lists the steps that wait for a time.
func (a *app) laterText(s *hocket.State, style view.Style) string {
	if len(s.Later) == 0 {
		return ""
	}
	var b strings.Builder
	for _, l := range s.Later {
		b.WriteString("\n" + style.Paint(view.BoldYellow, "waiting until "+l.Until.Local().Format(time.DateTime)) + ": " + view.Line(l.Address) + "\n  " + view.Line(l.Why) + "\n")
	}
	b.WriteString(style.Paint(view.Dim, "to continue or cancel:") + "\n")
	for _, c := range []string{a.self("resume", s.ID), a.self("cancel", s.ID)} {
		b.WriteString("  " + c + "\n")
	}
	return b.String()
}

// shownText is the complete text of a question.
func shownText(q *engine.Question) string {
	if q.Detail == "" {
		return q.Text
	}
	return q.Text + "\n\n" + q.Detail
}

func (a *app) questionText(run string, q hocket.Question, style view.Style) string {
	var b strings.Builder
	what := "an answer"
	switch q.Kind {
	case engine.BudgetQuestion:
		what = "a budget"
	case engine.ReplanQuestion:
		what = "a new plan"
	case engine.GateQuestion, engine.PermissionQuestion, engine.LostQuestion, engine.TrustQuestion:
	}
	b.WriteString("\n" + style.Paint(view.BoldYellow, "waiting for "+what) + ": " + view.Line(q.ID) + "\n")
	for _, line := range style.Asked(q.Text, q.Detail, "  ") {
		b.WriteString(line + "\n")
	}
	choices := a.choices(run, q)
	b.WriteString(meanings(choices, style))
	dir, here := conflictDirectory(q)
	head := "to answer:"
	if dir != "" && !here {
		head = "to answer, here or on any machine with the project:" // what is above is for that of the worker
	}
	b.WriteString(style.Paint(view.Dim, head) + "\n")
	if here { // in a line that is not wrapped, so that it can be copied
		b.WriteString("  cd " + quoteWord(dir) + "\n")
	}
	for _, c := range choices {
		b.WriteString("  " + c.command + "\n")
	}
	return b.String()
}

// conflictDirectory returns the directory in which a question asks a person to resolve conflicts, "" if it asks something else, and
// whether that is on this machine.
func conflictDirectory(q hocket.Question) (dir string, here bool) {
	if dir = hocket.ConflictDirectory(q); dir == "" {
		return "", false
	}
	_, err := os.Stat(dir)
	return dir, err == nil
}

// choice is one way to answer a question.
type choice struct {
	command string
	word    string // in the command, that tells it from the others
	about   string // what it means; may be ""
	free    bool   // any text
}

// choices lists how a question can be answered.
func (a *app) choices(run string, q hocket.Question) (list []choice) {
	if q.Kind == engine.ReplanQuestion {
		words := strings.Replace(a.self("replan", run, "WORDS", "--resume"), " WORDS ", ` "WORDS" `, 1)
		list = append(list, choice{command: words, word: "WORDS", about: "a model changes the plan as you say"}, choice{command: a.replanCommand(run), word: "FILE", about: "continue with a new plan"})
	}
	custom := choice{command: a.answerCommand(run, q, anyAnswer(q)), word: anyAnswer(q), free: true}
	if q.Custom && q.Kind == engine.BudgetQuestion {
		list = append(list, custom)
	}
	for _, o := range q.Options {
		list = append(list, choice{command: a.answerCommand(run, q, o.Value), word: view.Line(o.Value), about: aboutOption(o.Label, o.Value, o.Description)})
	}
	if q.Custom && q.Kind != engine.BudgetQuestion {
		if len(q.Options) > 0 {
			custom.about = "any other text"
		}
		list = append(list, custom)
	}
	return list
}

// meanings says what choices mean, above their commands: there are shells that take a comment behind a command as a part of it.
func meanings(choices []choice, style view.Style) string {
	const indent, gap, widest = 2, 2, 16
	column := 0
	for _, c := range choices {
		if w := view.Width(c.word); c.about != "" && w <= widest {
			column = max(column, w)
		}
	}
	some := slices.ContainsFunc(choices, func(c choice) bool { return c.about != "" && !c.free }) // then the others look missing
	var b strings.Builder
	for _, c := range choices {
		if c.about == "" && (!some || c.free) {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("\n")
		}
		b.WriteString(strings.Repeat(" ", indent) + c.word)
		if c.about == "" {
			b.WriteString("\n")
			continue
		}
		before := strings.Repeat(" ", max(column-view.Width(c.word), 0)+gap)
		if view.Width(c.word) > column {
			before = "\n" + strings.Repeat(" ", indent+column+gap)
		}
		for _, row := range style.Wrap(c.about, indent+column+gap) {
			b.WriteString(before + style.Paint(view.Dim, row) + "\n")
			before = strings.Repeat(" ", indent+column+gap)
		}
	}
	return b.String()
}

// anyAnswer is a placeholder for a free-text answer.
func anyAnswer(q hocket.Question) string {
	if q.Kind == engine.BudgetQuestion {
		return "LIMIT"
	}
	return "TEXT"
}

func aboutOption(label, value, description string) string {
	if label == value {
		label = ""
	}
	return strings.TrimSpace(view.Line(label) + " " + view.Line(description))
}

// answerCommand returns the command that answers a question and continues the run.
func (a *app) answerCommand(run string, q hocket.Question, value string) string {
	words := []string{"answer", run, q.ID, value}
	if change := hocket.ChangeToName(q); change != "" && len(q.Options) > 0 && value == q.Options[0].Value {
		words = append(words, "--change", change[:min(8, len(change))])
	}
	if q.Kind != engine.PermissionQuestion || q.Orphaned { // a running attempt continues by itself
		words = append(words, "--resume")
	}
	if _, here := conflictDirectory(q); here && len(a.opened) > 0 { // whoever is in that directory is in another project
		return a.selfIn(a.opened[0].Root(), words...)
	}
	return a.self(words...)
}

// replanCommand returns the command that continues a run with a new plan.
func (a *app) replanCommand(run string) string {
	return a.self("replan", run, "--with", "FILE", "--resume")
}

// firstAnswer returns an answer that a question accepts.
func (a *app) firstAnswer(q hocket.Question) string {
	if len(q.Options) > 0 && !(q.Custom && q.Kind == engine.BudgetQuestion) {
		return q.Options[0].Value
	}
	return anyAnswer(q)
}

// waitingFor is one thing that a run is waiting for, with --json.
type waitingFor struct {
	Address  string      `json:"address"`
	For      string      `json:"for"` // answer, budget, plan or time
	Question string      `json:"question,omitempty"`
	Options  []optionFor `json:"options,omitempty"`
	Custom   bool        `json:"custom,omitempty"`
	Deadline time.Time   `json:"deadline,omitzero"` // of the answer
	Reason   string      `json:"reason,omitempty"`  // why it cannot continue now
	Until    time.Time   `json:"until,omitzero"`
	Command  string      `json:"command"` // that continues the run
}

// optionFor is one option of a question.
type optionFor struct {
	Value       string `json:"value"`
	Label       string `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
}

// waitingList lists what a run is waiting for. It is never nil.
func (a *app) waitingList(s *hocket.State) []waitingFor {
	list := []waitingFor{}
	if s.Status.Done() {
		return list
	}
	for _, q := range s.Questions {
		options := make([]optionFor, len(q.Options))
		for i, o := range q.Options {
			options[i] = optionFor(o)
		}
		one := waitingFor{
			Address: q.ID, For: "answer", Question: shownText(&q.Question), Options: options, Custom: q.Custom, Deadline: q.Deadline,
			Command: a.answerCommand(s.ID, q, a.firstAnswer(q)),
		}
		switch q.Kind {
		case engine.BudgetQuestion:
			one.For = "budget"
		case engine.ReplanQuestion:
			one.For, one.Command = "plan", a.replanCommand(s.ID)
		case engine.GateQuestion, engine.PermissionQuestion, engine.LostQuestion, engine.TrustQuestion:
		}
		list = append(list, one)
	}
	for _, l := range s.Later {
		list = append(list, waitingFor{Address: l.Address, For: "time", Reason: l.Why, Until: l.Until, Command: a.self("resume", s.ID)})
	}
	return list
}
