package notify

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// Reason is why people are told about a run.
type Reason string

// The reasons.
const (
	Waiting Reason = "waiting" // for a person
	Failed  Reason = "failed"
	Done    Reason = "done"
	Cost    Reason = "cost" // more than an amount
	Trial   Reason = "test" // somebody tries whether it works, see [Test]
)

// Notice is what is told about a run. Commands and webhooks get it as JSON.
type Notice struct {
	Reason    Reason     `json:"reason"`
	Project   string     `json:"project"`
	Workflow  string     `json:"workflow"`
	Run       string     `json:"run"`
	Status    string     `json:"status"`
	At        time.Time  `json:"at"`
	Title     string     `json:"title"` // one line
	Text      string     `json:"text"`  // more; may have several lines
	Link      string     `json:"link"`
	CostUSD   float64    `json:"cost_usd"`
	LimitUSD  float64    `json:"limit_usd,omitempty"` // for Cost
	Questions []Question `json:"questions,omitempty"` // for Waiting
}

// Question is a question that waits for an answer.
type Question struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"`
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"`
}

const (
	maxTitle     = 150 // characters
	maxText      = 1200
	maxQuestion  = 400
	maxQuestions = 5
)

// happening is something about a run that people may want to know.
type happening struct {
	run      string
	reason   Reason
	at       time.Time
	question hocket.Question // for Waiting
	usd      float64         // for Cost
}

// key identifies it among everything that happens in the project.
func (h happening) key() string {
	key := string(h.reason) + " " + h.run
	switch h.reason {
	case Waiting:
		key += " " + h.question.ID + " " + h.question.Digest
	case Cost:
		key += " " + strconv.FormatFloat(h.usd, 'f', -1, 64)
	case Failed, Done, Trial:
	}
	return key
}

// happenings returns what a run is to be told about, whether it was told before or not.
func (n *notifier) happenings(ctx context.Context, info hocket.Info) (all []happening) {
	switch info.Status {
	case engine.Success, engine.Partial:
		all = append(all, happening{run: info.ID, reason: Done, at: info.Changed})
	case engine.Failed, engine.TimedOut:
		all = append(all, happening{run: info.ID, reason: Failed, at: info.Changed})
	case engine.Running, engine.Waiting:
		if info.Problem != "" {
			all = append(all, happening{run: info.ID, reason: Failed, at: info.Changed})
		}
	case engine.Cancelled, engine.Skipped: // a person did that
	}
	at := info.Changed
	if !info.Status.Done() { // its cost has changed, and not its status
		at = time.Now()
	}
	for _, usd := range n.costs() {
		if info.Usage.CostUSD > usd {
			all = append(all, happening{run: info.ID, reason: Cost, at: at, usd: usd})
		}
	}
	if info.Open == 0 || info.Status.Done() {
		return all
	}
	r, err := n.Project.Run(ctx, info.ID)
	var questions []hocket.Question
	if err == nil {
		questions, err = r.Questions(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			n.Log.Error("questions cannot be read for notifications", "project", n.Name, "run", info.ID, "error", err)
		}
		return all
	}
	for _, q := range questions {
		all = append(all, happening{run: info.ID, reason: Waiting, at: q.Asked, question: q})
	}
	return all
}

// costs returns the amounts that somebody wants to know about.
func (n *notifier) costs() (all []float64) {
	for _, one := range n.Project.Config().Notify {
		all = append(all, one.Costs...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// wants reports whether a target is to be told about something.
func wants(n *hocket.NotificationRule, h happening) bool {
	switch h.reason {
	case Waiting:
		return n.Waiting
	case Failed:
		return n.Failed
	case Done:
		return n.Done
	case Cost:
		return slices.Contains(n.Costs, h.usd)
	case Trial:
	}
	return false
}

// grouped puts all questions of a run into one notice: a step for each item of a list may ask at once.
func grouped(all []happening) (groups [][]happening) {
	var questions []happening
	for _, h := range all {
		if h.reason == Waiting {
			questions = append(questions, h)
		} else {
			groups = append(groups, []happening{h})
		}
	}
	if len(questions) > 0 {
		groups = append(groups, questions)
	}
	return groups
}

// compose writes a notice about something that happened to a run.
func (n *notifier) compose(ctx context.Context, info hocket.Info, group []happening) Notice {
	h := group[0]
	notice := Notice{
		Reason: h.reason, Project: line(n.Name, maxTitle), Workflow: line(info.Workflow, maxTitle), Run: info.ID, Status: string(info.Shown()), At: h.at.UTC(),
		Link: n.Link(info.ID), CostUSD: info.Usage.CostUSD,
	}
	switch h.reason {
	case Waiting:
		notice.Title = notice.Workflow + " waits for you"
		var texts []string
		for _, one := range group[:min(len(group), maxQuestions)] {
			q := n.question(one.question)
			notice.Questions = append(notice.Questions, q)
			text := q.Text
			if len(q.Options) > 0 {
				text += "\n(" + strings.Join(q.Options, ", ") + ")"
			}
			texts = append(texts, text)
		}
		if more := len(group) - maxQuestions; more > 0 {
			texts = append(texts, fmt.Sprintf("and %d more questions", more))
		}
		notice.Text = strings.Join(texts, "\n\n")
	case Failed:
		notice.Title = notice.Workflow + " failed"
		notice.Text = n.failure(ctx, info)
	case Done:
		notice.Title = notice.Workflow + " is done"
		if info.Status == engine.Partial {
			notice.Title += ", with failures"
		}
	case Cost:
		notice.Title = fmt.Sprintf("%s has cost more than $%s", notice.Workflow, strconv.FormatFloat(h.usd, 'f', -1, 64))
		notice.Text = fmt.Sprintf("It has cost $%.2f so far.", info.Usage.CostUSD)
		notice.LimitUSD = h.usd
	case Trial: // has no run
	}
	notice.Title, notice.Text = line(notice.Title, maxTitle), lines(notice.Text, maxText)
	return notice
}

func (n *notifier) question(q hocket.Question) Question {
	one := Question{ID: line(q.ID, maxTitle), Kind: string(q.Kind), Text: lines(n.Project.Mask(q.Text), maxQuestion)}
	for _, o := range q.Options[:min(len(q.Options), 10)] {
		one.Options = append(one.Options, line(n.Project.Mask(o.Value), 50))
	}
	return one
}

// failure returns why a run has failed, as far as that can be read.
func (n *notifier) failure(ctx context.Context, info hocket.Info) string {
	if info.Problem != "" {
		return n.Project.Mask(info.Problem)
	}
	r, err := n.Project.Run(ctx, info.ID)
	if err != nil {
		return ""
	}
	s, err := r.State(ctx)
	if err != nil {
		return ""
	}
	return n.Project.Mask(s.Result.Error)
}

// line returns a text as one line without control characters, of limited length.
func line(text string, most int) string {
	return strings.Join(strings.Fields(lines(text, most)), " ")
}

// lines returns a text without control characters other than line breaks, of limited length.
func lines(text string, most int) string {
	var b strings.Builder
	count := 0
	for _, r := range strings.TrimSpace(strings.ToValidUTF8(text, "�")) {
		if r == '\t' {
			r = ' '
		}
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029') {
			continue
		}
		if count++; count > most {
			return strings.TrimSpace(b.String()) + "…"
		}
		b.WriteRune(r)
	}
	return b.String()
}
