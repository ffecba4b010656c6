package agent

import (
	"html"
	"strings"
)

// Part is a part of a prompt, as [Compose] wrote it.
type Part struct {
	Tag     string // context, input, task, feedback or answer; [SystemPart]; "" outside of all parts
	Name    string // the source of a context, the name of an input, the agent of a system prompt
	Trusted bool
	Text    string // as the model reads it, with escapes
}

// SystemPart is the tag of a system prompt.
const SystemPart = "system"

const (
	systemHeading = "# System prompt of "
	promptHeading = "# Prompt\n\n"
)

// WithSystem returns a prompt with the system prompt of its agent, for people.
func WithSystem(name, system, prompt string) string {
	if system == "" {
		return prompt
	}
	return systemHeading + name + "\n\n" + strings.TrimRight(system, "\n") + "\n\n" + promptHeading + prompt
}

// Parts reads what [WithSystem] and [Compose] wrote. The explanation of the tags is left out. A text that
// they did not write is one part without a tag, and one that was cut ends with the part that it was cut in.
func Parts(prompt string) []Part {
	var parts []Part
	add := func(p Part) {
		if p.Text = strings.Trim(p.Text, "\n"); p.Text != "" {
			parts = append(parts, p)
		}
	}
	head, tagged, ok := strings.Cut(prompt, strings.TrimSpace(preamble))
	if !ok {
		head, tagged = prompt, ""
	}
	if rest, ok := strings.CutPrefix(head, systemHeading); ok {
		name, system, _ := strings.Cut(rest, "\n")
		system, head, ok = cutLast(system, promptHeading)
		if !ok {
			head = ""
		}
		add(Part{Tag: SystemPart, Name: name, Trusted: true, Text: system})
	}
	add(Part{Text: head})
	for tagged != "" {
		var line string
		line, tagged, _ = strings.Cut(tagged, "\n")
		part, ok := beginning(line)
		if !ok {
			add(Part{Text: line})
			continue
		}
		end := "\n</hocket:" + part.Tag + ">"
		part.Text, tagged, _ = strings.Cut("\n"+tagged, end)
		add(part)
	}
	return parts
}

// beginning reads the line that begins a part.
func beginning(line string) (Part, bool) {
	rest, ok := strings.CutPrefix(line, "<hocket:")
	rest, closed := strings.CutSuffix(rest, ">")
	if !ok || !closed {
		return Part{}, false
	}
	tag, attributes, _ := strings.Cut(rest, " ")
	p := Part{Tag: tag, Trusted: tag != "context" && tag != "input" && tag != "feedback"}
	for attributes != "" {
		var name, value string
		name, attributes, _ = strings.Cut(attributes, `="`)
		value, attributes, _ = strings.Cut(attributes, `"`)
		value = html.UnescapeString(value)
		switch strings.TrimSpace(name) {
		case "source", "name":
			p.Name = value
		case "trusted":
			p.Trusted = value == "true"
		}
	}
	return p, true
}

// cutLast is strings.Cut at the last place.
func cutLast(text, sep string) (before, after string, found bool) {
	if at := strings.LastIndex(text, sep); at >= 0 {
		return text[:at], text[at+len(sep):], true
	}
	return text, "", false
}
