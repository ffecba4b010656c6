package activity

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// otherNotation parses a line of another kind of diagram. If nothing was drawn before it, the
// whole diagram is of that kind.
func (r *reader) otherNotation(l *line) bool {
	kind := notationOf(l.text)
	drawn := r.stack[0].last != nil || len(r.stack) > 1
	if !drawn && len(r.diagram.Lanes) == 0 && !r.found.Errors() {
		if kind == "" {
			kind = "another kind of diagram"
			if first := lower(l.text[:wordEnd(l.text, 0)]); opensStatement(first) || first == "label" || first == "goto" || r.rest(l) {
				return false
			}
		}
		r.foreign, r.stopped, r.stop = true, true, l.whole()
		r.problem(workflow.Error, codeNotation, l.whole(), "this is "+kind+", not an activity diagram",
			"draw the workflow with :step;, if (…) then (…), fork and so on")
		return true
	}
	if kind == "" {
		return false
	}
	r.problem(workflow.Error, codeNotation, l.whole(), "this line belongs to "+kind,
		"in an activity diagram, write a step as :text;, and connect steps by their order")
	r.decor(Misplaced, l)
	return true
}

// rest reports whether an activity diagram continues after an unknown line.
func (r *reader) rest(l *line) bool {
	at := l.next
	for range 200 {
		m := r.scan.line(at)
		if m.kind == fileEnd {
			return false
		}
		at = m.next
		if m.kind != plain {
			continue
		}
		switch classify(m.text).kind {
		case kActivity, kStart, kStop, kIf, kWhile, kFork, kSplit, kSwitch, kRepeatWhile, kEndIf, kEndWhile, kEndFork:
			return true
		}
	}
	return false
}

// notationOf returns the kind of diagram that a line belongs to, or "" if that is not clear.
func notationOf(s string) string {
	fields := strings.Fields(s)
	if len(fields) == 0 {
		return ""
	}
	if strings.HasPrefix(s, "(*)") || strings.Contains(s, "--> (*)") || strings.Contains(s, "-->(*)") {
		return "an activity diagram in the old syntax"
	}
	if strings.HasPrefix(s, "[*]") || strings.Contains(s, "--> [*]") {
		return "a state diagram"
	}
	switch lower(fields[0]) {
	case "participant", "actor", "boundary", "control", "entity", "database", "collections", "queue", "activate",
		"deactivate", "alt", "opt", "loop", "par", "ref", "autonumber", "create", "destroy", "return":
		if len(fields) > 1 || lower(fields[0]) == "alt" {
			return "a sequence diagram"
		}
	case "class", "interface", "enum", "abstract", "annotation":
		return "a class diagram"
	case "state":
		return "a state diagram"
	case "component", "node", "cloud", "artifact", "folder", "frame", "storage":
		return "a component diagram"
	case "usecase":
		return "a use case diagram"
	case "flowchart", "graph", "sequencediagram":
		return "Mermaid"
	}
	arrow := -1
	for i, f := range fields {
		if i > 0 && strings.Trim(f, "-<>.|=ox*[]#") == "" && strings.ContainsAny(f, "-.=") && strings.ContainsAny(f, "<>|") {
			arrow = i
			break
		}
	}
	switch {
	case arrow < 0 || arrow+1 >= len(fields):
		return ""
	case strings.ContainsAny(fields[arrow], "|*o"):
		return "a class diagram"
	case strings.HasPrefix(s, `"`) && strings.Contains(fields[arrow], "-->"):
		return "an activity diagram of the old kind"
	case strings.Contains(strings.Join(fields[arrow:], " "), ":"):
		return "a sequence diagram"
	}
	return "a diagram of names and arrows"
}
