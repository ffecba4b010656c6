package agent

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Brief is all that goes into the prompt of a task.
type Brief struct {
	Instructions string    // of the project, its AGENTS.md; trusted
	Memories     []Passage // the most relevant first; untrusted
	Session      string    // the id of the conversation that History was said in
	History      []Message // the oldest first; untrusted
	Inputs       []Input
	Received     []Received // what steps before it brought; untrusted
	Prompt       string
	Feedback     string   // what was wrong with the attempt before
	Decide       []string // labels, one of which the answer must name
	Asks         bool     // the prompt is a question about what was received, to be decided
	Output       workflow.Output
	MaxBytes     int // of the whole prompt; zero: no bound
}

// Received is what a step before a task brought, and what was decided since then.
type Received struct {
	Step     string
	Output   any // nil: there is only a decision
	Decision string
	Reason   string
}

// received are the texts that steps brought, and where each comes from. What was decided
// stands apart: an output that says "Decision: yes" decides nothing.
func (b *Brief) received() (texts, sources []string) {
	for _, r := range b.Received {
		if r.Decision != "" {
			text := "Decision: " + r.Decision
			if r.Reason != "" {
				text += "\n\nReason: " + r.Reason
			}
			texts, sources = append(texts, text), append(sources, "decision:"+r.Step)
		}
		if r.Output != nil {
			texts, sources = append(texts, workflow.FormatText(r.Output)), append(sources, "step:"+r.Step)
		}
	}
	return texts, sources
}

// Passage is a piece of text and where it comes from.
type Passage struct {
	Source string // e.g. "memory:17"
	Text   string
}

// Message is one thing that was said in a conversation.
type Message struct {
	Role    string    `json:"role"` // user or assistant
	Content string    `json:"content"`
	At      time.Time `json:"at,omitzero"`
}

// The roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Composed is a prompt with all that belongs to it.
type Composed struct {
	Prompt string
	// LeftOut says, for the log, what did not fit and why. Empty: nothing.
	LeftOut []string
}

//go:embed compose.md
var preamble string

// Compose makes the prompt of a task. Every part stands in a tag of its own, in
// which it says where it comes from and whether it may be trusted:
//
//	<hocket:context source="AGENTS.md" trusted="true">
//	<hocket:context source="memory:17" trusted="false">
//	<hocket:context source="session:task-1a2b3c4d" trusted="false">, with
//	  <hocket:message role="user">
//	<hocket:context source="decision:draft" trusted="false">
//	<hocket:context source="step:draft" trusted="false">
//	<hocket:input name="diff">
//	<hocket:task>
//	<hocket:feedback>
//	<hocket:answer>
//
// Tags stand at the beginning of a line. No text inside of a part can end it or
// begin another one: see [Escape].
//
// Where the prompt would be longer than it may, memories are left out, the least
// relevant first, then what was said, the oldest first; then what steps brought is cut,
// the longest first. All else always stays.
func Compose(b Brief) Composed {
	head := []string{strings.TrimSpace(preamble)}
	if b.Instructions != "" {
		head = append(head, section("context", Escape(b.Instructions, true), "source", "AGENTS.md", "trusted", "true"))
	}
	memories := make([]string, len(b.Memories))
	for i, m := range b.Memories {
		memories[i] = section("context", Escape(m.Text, false), "source", or(m.Source, "memory"), "trusted", "false")
	}
	history := make([]string, len(b.History))
	for i, m := range b.History {
		history[i] = section("message", Escape(m.Content, false), "role", m.Role)
	}
	received, sources := b.received()
	tail := b.tail()
	room := room{max: b.MaxBytes, used: size(head) + size(memories) + size(history) + size(sections(received, sources)) + size(tail)}
	if len(history) > 0 {
		room.used += size([]string{b.conversation("")})
	}
	whole := room.used
	memories = room.fit(memories, true)
	history = room.fit(history, false)
	cut := room.cut(received)
	parts := slices.Concat(head, memories)
	if len(history) > 0 {
		parts = append(parts, b.conversation(strings.Join(history, "\n\n")))
	}
	parts = slices.Concat(parts, sections(received, sources), tail)
	return Composed{
		Prompt:  strings.Join(parts, "\n\n") + "\n",
		LeftOut: b.leftOut(whole, room.used, len(memories), len(history), cut),
	}
}

// sections are the parts that hold what steps brought.
func sections(texts, sources []string) []string {
	parts := make([]string, len(texts))
	for i, text := range texts {
		parts[i] = section("context", Escape(text, false), "source", sources[i], "trusted", "false")
	}
	return parts
}

// conversation is the part that holds what was said.
func (b *Brief) conversation(messages string) string {
	return section("context", messages, "source", "session:"+b.Session, "trusted", "false")
}

// tail are the parts that are never left out, behind the context.
func (b *Brief) tail() []string {
	var parts []string
	for _, in := range b.Inputs {
		parts = append(parts, section("input", Escape(workflow.FormatText(in.Value), false), "name", in.Name))
	}
	parts = append(parts, section("task", Escape(b.Prompt, true)))
	if b.Feedback != "" {
		parts = append(parts, section("feedback", "Your answer before was not accepted:\n"+Escape(b.Feedback, false)))
	}
	if how := b.answer(); how != "" {
		parts = append(parts, section("answer", Escape(how, true)))
	}
	return parts
}

// answer says how to answer, so that the value can be taken from it.
func (b *Brief) answer() string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	taken, place := "Your answer", "alone on the last line"
	switch b.Output.Mode {
	case workflow.Full:
		if b.Output.Schema != nil {
			add("Answer with one JSON value and nothing else.")
			taken, place = "The value", `as the value of "decision"`
		}
	case workflow.JSON:
		add("Answer with one JSON value and nothing else.")
		taken, place = "The value", `as the value of "decision"`
	case workflow.JSONPath:
		add("Answer with one JSON value and nothing else. The result is taken from it with the JSONPath %s.", b.Output.Pattern)
		taken, place = "The result", "in the place that the path leads to"
	case workflow.Regex:
		add("Your answer must contain text that matches the regular expression %s. The result is its first group, or the match if it has none.", b.Output.Pattern)
		taken, place = "The result", "where the expression finds it"
	case workflow.FirstLine:
		add("Only the first line of your answer counts: write the result there.")
		taken, place = "The first line", "alone on the first line"
	}
	if b.Output.Schema != nil {
		add("%s must satisfy this JSON Schema:\n%s", taken, workflow.FormatJSON(b.Output.Schema))
	}
	switch {
	case len(b.Decide) > 0 && b.Asks:
		add("Decide for exactly one of these labels%s:\n- %s", noneFits(b.Decide), strings.Join(b.Decide, "\n- "))
		add(`Answer with one JSON object and nothing else: {"decision": the label as it is above, "reason": why, in a sentence or two}.`)
	case len(b.Decide) > 0:
		add("Decide for exactly one of these labels, and write it as it is here, %s:\n- %s", place, strings.Join(b.Decide, "\n- "))
	}
	return strings.Join(lines, "\n\n")
}

// noneFits says what to answer if no label fits, where that may be.
func noneFits(labels []string) string {
	other := string(workflow.OnElse)
	if !slices.Contains(labels, other) {
		return ""
	}
	return fmt.Sprintf(", %q if none of the others fits", other)
}

// leftOut says what did not fit.
func (b *Brief) leftOut(whole, used, memories, history, cut int) []string {
	if b.MaxBytes <= 0 || whole <= b.MaxBytes {
		return nil
	}
	var notes []string
	why := fmt.Sprintf("the prompt would have %d bytes, and %d are allowed", whole, b.MaxBytes)
	if n := len(b.Memories) - memories; n > 0 {
		notes = append(notes, fmt.Sprintf("left out %d of %d memories, the least relevant: %s", n, len(b.Memories), why))
	}
	if n := len(b.History) - history; n > 0 {
		notes = append(notes, fmt.Sprintf("left out %d of %d messages of session %s, the oldest: %s", n, len(b.History), b.Session, why))
	}
	if cut > 0 {
		notes = append(notes, fmt.Sprintf("cut %d bytes of what the steps before brought: %s", cut, why))
	}
	if used > b.MaxBytes {
		notes = append(notes, fmt.Sprintf("the prompt has %d bytes, more than the %d that are allowed: instructions, inputs and the task are never left out", used, b.MaxBytes))
	}
	return notes
}

// room is how much of a prompt is used.
type room struct{ max, used int }

// fit drops parts, one after the other from an end of the list, until all is in
// bounds.
func (r *room) fit(parts []string, fromEnd bool) []string {
	for r.max > 0 && r.used > r.max && len(parts) > 0 {
		at := 0
		if fromEnd {
			at = len(parts) - 1
		}
		r.used -= size(parts[at : at+1])
		if fromEnd {
			parts = parts[:at]
		} else {
			parts = parts[1:]
		}
	}
	return parts
}

// cutMark is where a text was cut.
const cutMark = "\n[cut]"

// cut shortens the longest texts until all is in bounds, and says by how much.
func (r *room) cut(texts []string) (cut int) {
	for r.max > 0 && r.used > r.max && len(texts) > 0 {
		longest := 0
		for i := range texts {
			if len(texts[i]) > len(texts[longest]) {
				longest = i
			}
		}
		text := texts[longest]
		if len(text) <= len(cutMark) {
			break
		}
		keep := max(0, len(text)-(r.used-r.max)-len(cutMark))
		texts[longest] = strings.ToValidUTF8(text[:keep], "") + cutMark
		saved := len(text) - len(texts[longest])
		cut, r.used = cut+saved, r.used-saved
	}
	return cut
}

// size is how much parts take, each with the empty line behind it.
func size(parts []string) int {
	n := 0
	for _, p := range parts {
		n += len(p) + len("\n\n")
	}
	return n
}

// section puts content that was escaped into a tag with attributes.
func section(tag, content string, attributes ...string) string {
	var b strings.Builder
	b.WriteString("<hocket:" + tag)
	for i := 0; i < len(attributes); i += 2 {
		b.WriteString(" " + attributes[i] + `="` + attribute(attributes[i+1]) + `"`)
	}
	b.WriteString(">\n" + content + "\n</hocket:" + tag + ">")
	return b.String()
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
