package attempt

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/protocol"
)

// Message is a message for an agent from another agent: the context of a handoff without a session,
// or the result of a session that the agent should be notified of.
type Message struct {
	From string   `json:"from"`
	Text string   `json:"text"`
	Asks *Handoff `json:"asks,omitempty"` // what the next task must also deliver; nil: nothing
}

// Message returns the message for the agent of a request without a session.
func (h *Handoff) Message() Message {
	own := *h
	own.Dir, own.MessageOnly = "", false
	m := Message{From: h.Request.ParentAgent, Text: own.context()}
	if len(h.Request.Deliverables) > 0 {
		m.Asks = &own
	}
	return m
}

// name identifies the message. It is safe to use in Hocket's own part of a prompt.
func (m Message) name() string {
	words := []string{"message"}
	if m.Asks != nil {
		words = append(words, m.Asks.Session)
	}
	from := strings.Trim(notInID().ReplaceAllString(m.From, "-"), "-")
	if from != "" {
		words = append(words, "from", from[:min(len(from), 100)])
	}
	return strings.Join(words, " ")
}

// takesMessages reports whether a task can receive messages and answer them. If its answer has a
// fixed form, the messages wait for the next task.
func takesMessages(traits agent.Traits, task *agent.Task) bool {
	free := len(task.Decide) == 0 && !task.Asks && task.Output.Mode == "" && task.Output.Schema == nil
	return free && traits.FromPrompt(task)
}

// inherit returns a handoff with everything that a task has to deliver: the deliverables of h, if
// it is not nil, and those that messages ask for. It returns h if they ask for nothing.
func inherit(h *Handoff, messages []Message) *Handoff {
	all, q := Handoff{}, protocol.Request{}
	if h != nil {
		all, q = *h, *h.Request
	}
	before := map[string]string{}
	for _, m := range messages {
		if m.Asks == nil {
			continue
		}
		for _, d := range m.Asks.Request.Deliverables {
			if d.Kind == protocol.File {
				d.Path = m.Asks.path(d)
			}
			q.Deliverables = append(slices.Clip(q.Deliverables), d)
			all.inherited = append(all.inherited, m.name())
		}
		maps.Copy(before, m.Asks.Before)
	}
	if all.inherited == nil {
		return h
	}
	maps.Copy(before, all.Before)
	all.Request, all.Before = &q, before
	return &all
}

// own returns the number of deliverables that do not come from messages.
func (h *Handoff) own() int { return len(h.Request.Deliverables) - len(h.inherited) }

// origin returns the message that asks for a deliverable, or "" if it is the task's own.
func (h *Handoff) origin(i int) string {
	if i < h.own() {
		return ""
	}
	return h.inherited[i-h.own()]
}

// demands lists in Hocket's own words what messages ask for. The text of the senders appears only
// in the messages, which the agent is told to treat as information. guided is the request to
// describe the answer with, also without that text.
func (h *Handoff) demands() (list []string, guided *protocol.Request) {
	q := *h.Request
	q.Deliverables = slices.Clone(q.Deliverables)
	numbers := map[string]int{}
	for i := h.own(); i < len(q.Deliverables); i++ {
		d, from := &q.Deliverables[i], h.origin(i)
		if d.Kind == protocol.File {
			d.Text = "the file that " + from + " asks for"
			list = append(list, fmt.Sprintf("`%s`: %s%s", d.Path, d.Text, optional(*d)))
			continue
		}
		key := from + string(d.Kind)
		numbers[key]++
		d.Text = fmt.Sprintf("%s %d of %s", d.Kind, numbers[key], from)
		list = append(list, "An answer to "+d.Text)
	}
	return list, &q
}

func optional(d protocol.Deliverable) string {
	if d.Required {
		return ""
	}
	return " (optional)"
}

// asks lists the deliverables of a request with the same numbers as demands.
func (h *Handoff) asks() (list []string) {
	numbers := map[protocol.Kind]int{}
	for _, d := range h.Request.Deliverables {
		if d.Kind == protocol.File {
			list = append(list, fmt.Sprintf("file `%s`%s: %s", h.path(d), optional(d), d.Text))
			continue
		}
		numbers[d.Kind]++
		list = append(list, fmt.Sprintf("%s %d: %s", d.Kind, numbers[d.Kind], d.Text))
	}
	return list
}

//go:embed messages.md
var messagesText string

// messagesPart returns the part of a prompt about the deliverables that messages ask for, or "".
func (h *Handoff) messagesPart() string {
	list, _ := h.demands()
	if len(list) == 0 {
		return ""
	}
	return messagesText + "\n- " + strings.Join(list, "\n- ")
}

// addTo adds the deliverables that messages ask for to the prompt of a task that was not handed off.
func (h *Handoff) addTo(prompt string) string {
	prompt = strings.TrimRight(prompt, "\n") + "\n\n" + h.messagesPart() + "\n"
	_, q := h.demands()
	if slices.ContainsFunc(q.Deliverables, func(d protocol.Deliverable) bool { return d.Kind != protocol.File }) {
		prompt += "\n# How to answer\n" + protocol.ResponseGuide(q, "") + "\n"
	}
	return prompt
}
