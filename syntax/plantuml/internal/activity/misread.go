package activity

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// misread looks for lines that PlantUML accepts, but not as what they look like. It reports
// whether it has parsed the line.
func (r *reader) misread(l *line, st *stmt) bool {
	if r.repairing >= maxRepairs {
		return false
	}
	switch st.kind {
	case kActivity:
		if inner := st.test.of(l.text); strings.IndexByte(inner, ';') >= 0 {
			return r.severalOnALine(l, workflow.Warning)
		}
	case kActivityOpen:
		return r.endComment(l, workflow.Warning) || r.oldActivity(l, st) || r.wideMarks(l, workflow.Warning) ||
			r.severalOnALine(l, workflow.Warning)
	case kListItem:
		return r.longArrow(l)
	case kArrow:
		if label := st.label.of(l.text); strings.HasPrefix(label, ":") {
			m := repairing(l).keep(st.label.from, len(l.text))
			r.instead(workflow.Warning, codeArrow, l.span(0, st.label.from),
				`PlantUML reads the activity after "->" as a label`, m)
			return true
		}
	case kArrowOpen:
		return r.endComment(l, workflow.Warning)
	case kIf, kElseIf, kWhile, kSwitch:
		return r.swallowed(l, st)
	case kIfOpen, kElseIfOpen, kElseOpen:
		return r.endComment(l, workflow.Error) || r.severalOnALine(l, workflow.Error) || r.endColon(l)
	case kKill:
		return r.looseKill(l)
	case kGroup:
		if r.top().word == "group" && words(l.text, 0, "group", "end") == len(strings.TrimSuffix(l.text, ";")) {
			r.instead(workflow.Warning, codeKeyword, l.whole(), "PlantUML opens a group named end here", repairing(l).put("}"))
			return true
		}
	}
	return false
}

// severalOnALine splits a line into its statements.
func (r *reader) severalOnALine(l *line, severity workflow.Severity) bool {
	parts := statements(l.text)
	if len(parts) < 2 {
		return false
	}
	m := repairing(l)
	for _, p := range parts {
		m.keep(p.from, p.to).end()
	}
	summary := "there are several statements on one line"
	if severity == workflow.Warning {
		summary += ", which PlantUML reads as one"
	}
	code := codeJoined
	if between := l.text[parts[0].to:parts[1].from]; strings.Contains(between, ">") {
		code, summary = codeArrow, quoted(trimSpace(between))+" does not draw an arrow here: activities are connected by their order"
	}
	r.instead(severity, code, l.span(parts[0].to, parts[1].to), summary, m)
	return true
}

// longArrow parses `--> label;`, which PlantUML reads as the list form of an activity.
func (r *reader) longArrow(l *line) bool {
	s := l.text
	dashes := 0
	for dashes < len(s) && s[dashes] == '-' {
		dashes++
	}
	if dashes < 2 || byteAt(s, dashes, '>') < 0 {
		return false
	}
	from := blanks(s, dashes+1)
	m := repairing(l)
	switch {
	case from == len(s):
		m.put("->")
	case s[from] == ':':
		m.keep(from, len(s))
	case s[len(s)-1] == ';':
		m.put("-> ").keep(from, len(s))
	default:
		m.put("-> ").keep(from, len(s)).put(";")
	}
	r.instead(workflow.Warning, codeArrow, l.span(0, dashes+1), quoted(s[:dashes+1])+` does not draw an arrow: PlantUML reads a step named "->"`, m)
	return true
}

// swallowed finds conditions in which PlantUML reads the rest of the line as part of the
// condition.
func (r *reader) swallowed(l *line, st *stmt) bool {
	test := st.test.of(l.text)
	if strings.IndexByte(test, ')') < 0 {
		return false
	}
	for i := range len(test) {
		if test[i] != ')' {
			continue
		}
		next := blanks(test, i+1)
		then := word(test, next, "then")
		is := isWordAt(test, next)
		at := max(then, is)
		if at < 0 {
			continue
		}
		open := blanks(test, at)
		if open < len(test) && test[open] != '(' {
			continue
		}
		return r.unswallow(l, st, i, then > 0, open)
	}
	return false
}

// unswallow parses a condition that ends at an offset of the test, and what follows it.
func (r *reader) unswallow(l *line, st *stmt, end int, then bool, open int) bool {
	s, from := l.text, st.test.from
	m := repairing(l)
	inner := ""
	if from+open+1 <= st.test.to {
		inner = trimSpace(s[from+open+1 : st.test.to])
	}
	summary := "PlantUML reads the rest of the line as part of the condition"
	switch {
	case inner == "" && st.kind == kWhile:
		m.keep(0, from+end+1)
		summary = "empty parentheses: " + summary
	case inner == "":
		m.keep(0, from+end+1).put(" then")
		summary = "empty parentheses: " + summary
	case st.kind == kWhile:
		m.keep(0, from+end+1).put(" is (").keep(from+open+1, st.test.to).put(")")
	case then:
		m.keep(0, from+end+1).put(" then (").keep(from+open+1, st.test.to).put(")")
	default:
		m.keep(0, from+end).put(" ").keep(blanks(s, from+end+1), from+open).keep(from+open+1, len(s))
	}
	r.instead(workflow.Warning, codeCondition, l.span(from+end, st.test.to+1), summary, m)
	return true
}

// looseKill parses a line that PlantUML reads as a kill because of how it begins or ends.
func (r *reader) looseKill(l *line) bool {
	if exactKill(l.text) {
		return false
	}
	if r.endComment(l, workflow.Warning) {
		return true
	}
	if st := byFirst(l.text); st.kind != kUnknown {
		r.problem(workflow.Warning, codeKill, l.whole(), "PlantUML reads this line as a detach, because it ends with this word",
			"end the line with another word")
		if !r.misread(l, &st) {
			r.apply(l, &st)
		}
		return true
	}
	word := "detach"
	if strings.HasPrefix(lower(l.text), "kill") {
		word = "kill"
	}
	r.instead(workflow.Warning, codeKill, l.whole(), "PlantUML reads this line as a "+word, repairing(l).put(word))
	return true
}

// oldActivity parses the forms that PlantUML supported until 2026: another sign than the
// semicolon at the end for another shape, and a colour at the beginning.
func (r *reader) oldActivity(l *line, st *stmt) bool {
	s := l.text
	end := s[len(s)-1]
	shape := oldShape(end)
	coloured := st.color.to > 0
	if shape == "" && (!coloured || end != ';') || len(s) <= st.test.from || !r.begins(l) {
		return false
	}
	m := repairing(l).put(":").keep(st.test.from, len(s)-1).put(";")
	what := `":text` + string(end) + `"`
	if shape != "" && shape != "plain" {
		m.put(" <<" + shape + ">>")
	}
	if coloured {
		what = "a colour before the activity"
		m.put(" <<" + st.color.of(s) + ">>")
	}
	m.end()
	detail := "write " + m.lines[0].text
	var edits []workflow.Edit
	if !l.made {
		edits = append(edits, r.src.Edit(l.whole(), m.text()))
	}
	r.problem(workflow.Warning, codeVersion, l.whole(), what+" was removed in PlantUML 1.2026.2", detail, edits...)
	r.step(l)
	a := r.newActivity()
	a.Text, a.Ending, a.Look = r.text(l, part{st.test.from, len(s) - 1}), end, r.look(l, st)
	r.addActivity(a, l.whole())
	return true
}

// oldShape returns the stereotype that replaces an old sign, other than a semicolon, at the end of an activity.
func oldShape(end byte) string {
	switch end {
	case '|':
		return "procedure"
	case '<':
		return "input"
	case '>':
		return "output"
	case '/':
		return "save"
	case '\\':
		return "load"
	case ']':
		return "task"
	case '}':
		return "continuous"
	}
	return ""
}
