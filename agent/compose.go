package agent

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Brief is everything that goes into the prompt of a task.
type Brief struct {
	Instructions string    // the project's AGENTS.md; trusted
	Memories     []Passage // most relevant first; untrusted
	Session      string    // id of the conversation that History belongs to
	History      []Message // oldest first; untrusted
	Inputs       []Input
	Received     []Received // from earlier steps; untrusted
	Prompt       string
	Feedback     string   // what was wrong with the previous attempt
	Comment      string   // of a person who had the task done again; trusted
	Decide       []string // the answer must name one of these labels
	Asks         bool     // the prompt is a question about what was received, to be decided
	Output       workflow.Output
	MaxBytes     int // limit for the whole prompt; zero: none
}

// Received is the output of an earlier step, and what was decided about it since.
type Received struct {
	Step     string
	Output   any // nil: there is only a decision
	Decision string
	Reason   string
}

// received returns the outputs of earlier steps, and the source of each. Decisions are
// separate: an output that contains "Decision: yes" decides nothing.
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

// Message is one message of a conversation.
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

// Composed is a prompt and what was left out of it.
type Composed struct {
	Prompt string
	// LeftOut says, for the log, what did not fit and why.
	LeftOut []string
}

//go:embed compose.md
var preamble string

// Compose returns the prompt of a task. Every part is in its own tag, which names its
// source and says whether it may be trusted:
//
//	<hocket:context source="AGENTS.md" trusted="true">
//	<hocket:context source="memory:17" trusted="false">
//	<hocket:context source="session:task-1a2b3c4d" trusted="false">, with
//	  <hocket:message role="user">
//	<hocket:context source="decision:draft" trusted="false">
//	<hocket:context source="step:draft" trusted="false">
//	<hocket:input name="diff">
//	<hocket:task>
//	<hocket:comment>
//	<hocket:feedback>
//	<hocket:answer>
//
// Tags are at the beginning of a line. No text inside a part can end it or begin another
// one, see [Escape].
//
// If the prompt would be too long, memories are left out, least relevant first, then
// messages, oldest first; then the outputs of earlier steps are cut, longest first.
// Everything else always stays.
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

// sections returns the parts that hold the outputs of earlier steps.
func sections(texts, sources []string) []string {
	parts := make([]string, len(texts))
	for i, text := range texts {
		parts[i] = section("context", Escape(text, false), "source", sources[i], "trusted", "false")
	}
	return parts
}

// conversation returns the part that holds the history.
func (b *Brief) conversation(messages string) string {
	return section("context", messages, "source", "session:"+b.Session, "trusted", "false")
}

// tail returns the parts after the context, which are never left out.
func (b *Brief) tail() []string {
	var parts []string
	for _, in := range b.Inputs {
		parts = append(parts, section("input", Escape(workflow.FormatText(in.Value), false), "name", in.Name))
	}
	parts = append(parts, section("task", Escape(b.Prompt, true)))
	if b.Comment != "" {
		parts = append(parts, section("comment", "This task was done before, and a person wants it done again. Their comment:\n"+Escape(b.Comment, true)))
	}
	if b.Feedback != "" {
		parts = append(parts, section("feedback", "Your previous answer was not accepted:\n"+Escape(b.Feedback, false)))
	}
	if how := b.answer(); how != "" {
		parts = append(parts, section("answer", Escape(how, true)))
	}
	return parts
}

// answer explains how to answer, so that the value can be extracted.
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
		taken, place = "The result", "at the place that the path selects"
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
		add("Choose exactly one of these labels%s:\n- %s", noneFits(b.Decide), strings.Join(b.Decide, "\n- "))
		add(`Answer with one JSON object and nothing else: {"decision": the label exactly as above, "reason": why, in a sentence or two}.`)
	case len(b.Decide) > 0:
		add("Choose exactly one of these labels, and write it exactly as shown here, %s:\n- %s", place, strings.Join(b.Decide, "\n- "))
	}
	return strings.Join(lines, "\n\n")
}

// noneFits says what to answer if no label fits, if that is allowed.
func noneFits(labels []string) string {
	other := string(workflow.OnElse)
	if !slices.Contains(labels, other) {
		return ""
	}
	return fmt.Sprintf(", %q if none of the others fits", other)
}

// leftOut describes what did not fit.
func (b *Brief) leftOut(whole, used, memories, history, cut int) []string {
	if b.MaxBytes <= 0 || whole <= b.MaxBytes {
		return nil
	}
	var notes []string
	why := fmt.Sprintf("the prompt would be %d bytes long, and the limit is %d", whole, b.MaxBytes)
	if n := len(b.Memories) - memories; n > 0 {
		notes = append(notes, fmt.Sprintf("left out %d of %d memories, the least relevant: %s", n, len(b.Memories), why))
	}
	if n := len(b.History) - history; n > 0 {
		notes = append(notes, fmt.Sprintf("left out %d of %d messages of session %s, the oldest: %s", n, len(b.History), b.Session, why))
	}
	if cut > 0 {
		notes = append(notes, fmt.Sprintf("cut %d bytes from the outputs of earlier steps: %s", cut, why))
	}
	if used > b.MaxBytes {
		notes = append(notes, fmt.Sprintf("the prompt is %d bytes long and the limit is %d: instructions, inputs and the task are never left out", used, b.MaxBytes))
	}
	return notes
}

// room tracks how much of a prompt is used.
type room struct{ max, used int }

// fit drops parts from one end of the list until everything fits.
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

// cutMark marks where a text was cut.
const cutMark = "\n[cut]"

// cut shortens the longest texts until everything fits, and returns the number of bytes
// removed.
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

// size returns the length of parts, each followed by an empty line.
func size(parts []string) int {
	n := 0
	for _, p := range parts {
		n += len(p) + len("\n\n")
	}
	return n
}

// section wraps escaped content in a tag with attributes.
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
