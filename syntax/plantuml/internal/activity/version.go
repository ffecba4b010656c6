package activity

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// older is the version that forms which came later are held against: many still
// have it.
const older = "1.2024.7"

// newer warns of what an older PlantUML refuses, or reads as something else.
func (r *reader) newer(l *line, st *stmt) {
	switch st.kind {
	case kActivity:
		r.newerLook(l.text, st, l.span)
	case kListItem:
		if l.text[0] == '*' {
			r.since("a step with *", l.span(0, 1))
		} else if st.group.written() {
			r.since("a stereotype behind -", l.span(st.group.from, st.group.to))
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

// newerLook looks at what stands behind an activity: older versions know one
// stereotype, without colours and blanks.
func (r *reader) newerLook(text string, st *stmt, span func(from, to int) source.Span) {
	group := st.group.of(text)
	switch {
	case strings.Contains(group, "#"):
		r.since("a colour in a stereotype", span(st.group.from, st.group.to))
	case strings.Count(group, "<<") > 1:
		r.since("a second stereotype", span(st.group.from, st.group.to))
	case strings.ContainsAny(group, " \t"):
		r.since("a stereotype with blanks", span(st.group.from, st.group.to))
	}
	if st.url.to > 0 {
		r.since("a link behind an activity", span(st.url.from, st.url.to))
	}
}

// newerLines looks at an activity over several lines: older versions end it at
// the first line with one of the old signs at its end.
func (r *reader) newerLines(l *line) {
	for i := range r.lines {
		if s := l.text; s != "" && oldShape(s[len(s)-1]) != "" {
			r.since("a line that ends in "+s[len(s)-1:], l.span(len(s)-1, len(s)))
			return
		}
		l = &r.lines[i]
	}
}

// since warns of a form, at the first place where it is used.
func (r *reader) since(form string, at source.Span) {
	if r.strict || slices.Contains(r.forms, form) {
		return
	}
	r.forms = append(r.forms, form)
	r.later = append(r.later, workflow.Warningf(r.src.Pos(at), codeVersion, "leave it out if older versions are to draw this",
		"PlantUML %s does not know %s", older, form))
}

// judge holds what was found against how PlantUML itself reads the diagram. A line
// that it takes for text may be missing below, and what looks like a mistake may be
// text to it. If it refuses the diagram, or a block or a comment is open at the end,
// there is an error: if nothing else is, the last warning above that place. Otherwise
// there is none.
func (r *reader) judge(b block) {
	cause, errors := -1, false
	for i := range r.found {
		if d := &r.found[i]; d.Code != CodePreprocessor { // as a diagram it may be right
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
