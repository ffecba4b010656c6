package activity

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// older is the version for which newer syntax is reported, because many people still have it.
const older = "1.2024.7"

// newer warns about what an older PlantUML refuses, or reads as something else.
func (r *reader) newer(l *line, st *stmt) {
	switch st.kind {
	case kActivity:
		r.newerLook(l.text, st, l.span)
	case kListItem:
		if l.text[0] == '*' {
			r.since("a step with *", l.span(0, 1))
		} else if st.group.written() {
			r.since("a stereotype after -", l.span(st.group.from, st.group.to))
		}
	case kNote, kNoteOpen:
		if st.group.written() {
			r.since("a stereotype of a note", l.span(st.group.from, st.group.to))
		}
	case kGroup:
	default:
		switch {
		case st.group.written():
			r.since("a stereotype here", l.span(st.group.from, st.group.to))
		case st.url.to > 0:
			r.since("a link here", l.span(st.url.from, st.url.to))
		}
	}
}

// newerLook checks what follows an activity: older versions support one stereotype, without
// colours and spaces.
func (r *reader) newerLook(text string, st *stmt, span func(from, to int) source.Span) {
	group := st.group.of(text)
	switch {
	case strings.Contains(group, "#"):
		r.since("a colour in a stereotype", span(st.group.from, st.group.to))
	case strings.Count(group, "<<") > 1:
		r.since("a second stereotype", span(st.group.from, st.group.to))
	case strings.ContainsAny(group, " \t"):
		r.since("a stereotype with spaces", span(st.group.from, st.group.to))
	}
	if st.url.to > 0 {
		r.since("a link after an activity", span(st.url.from, st.url.to))
	}
}

// newerLines checks an activity over several lines: older versions end it at the first line that
// ends with one of the old signs.
func (r *reader) newerLines(l *line) {
	for i := range r.lines {
		if s := l.text; s != "" && oldShape(s[len(s)-1]) != "" {
			r.since("a line that ends with "+s[len(s)-1:], l.span(len(s)-1, len(s)))
			return
		}
		l = &r.lines[i]
	}
}

// since warns about a form at its first use.
func (r *reader) since(form string, at source.Span) {
	if r.strict || slices.Contains(r.forms, form) {
		return
	}
	r.forms = append(r.forms, form)
	r.later = append(r.later, workflow.Warningf(r.src.Pos(at), codeVersion, "remove it if older versions should draw this",
		"PlantUML %s does not support %s", older, form))
}

// judge compares the diagnostics with how PlantUML itself reads the diagram. A line that PlantUML
// reads as text may be missing below, and what looks like a mistake may be text. If PlantUML
// refuses the diagram, or a block or a comment is open at the end, there must be an error: if
// there is no other, the last warning above that place becomes one. Otherwise there is none.
func (r *reader) judge(b block) {
	cause, errors := -1, false
	for i := range r.found {
		if d := &r.found[i]; d.Code != CodePreprocessor { // the diagram itself may be right
			cause, errors = i, errors || d.Severity == workflow.Error
		}
	}
	if cause < 0 || r.wrapped {
		return
	}
	strict := newReader(r.src, r.scan.text, b)
	strict.strict = true
	strict.read()
	switch refused := strict.stopped || strict.left; {
	case refused && !errors:
		stop := r.src.Pos(strict.stop).Line
		for i := range r.found[:cause+1] {
			if d := &r.found[i]; d.Severity == workflow.Warning && strict.stopped && d.Line <= stop {
				cause = i
			}
		}
		r.found[cause].Severity = workflow.Error
	case !refused && errors:
		for i := range r.found {
			if r.found[i].Code != CodePreprocessor {
				r.found[i].Severity = workflow.Warning
			}
		}
	}
}
