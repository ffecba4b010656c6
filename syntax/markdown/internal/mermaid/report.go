package mermaid

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// finding is a mistake, with its remedy.
type finding struct {
	code    string
	from    int // where it is
	to      int
	summary string
	remedy  string // without the text to write, which follows from the edits
	exact   bool   // the remedy already says what to write
	edits   []edit // in order; empty if only the author can decide
	last    bool   // nothing after it belongs to the chart
}

// report reports a finding, up to a maximum number.
func (r *reader) report(v *view, severity workflow.Severity, f finding) {
	const most = 1000
	if r.said[severity]++; r.said[severity] > most {
		return
	}
	d := workflow.Diagnostic{
		Pos: r.src.Pos(v.span(f.from, max(f.from, f.to))), Severity: severity,
		Code: f.code, Summary: f.summary, Detail: f.remedy,
	}
	if len(f.edits) > 0 {
		if line := replacement(v, f.edits); line != "" && !f.exact && d.Detail != "write "+line {
			if d.Detail != "" {
				d.Detail += "; "
			}
			d.Detail += "write " + line
		}
		d.Fix = r.fix(v, f.edits)
	}
	r.found = append(r.found, d)
}

func (r *reader) wrong(v *view, f finding) { r.report(v, workflow.Error, f) }

func (r *reader) warn(v *view, f finding) { r.report(v, workflow.Warning, f) }

// fix returns the change to the file. It returns nil if the change would affect text that another
// fix inserts, which then has to be applied first.
func (r *reader) fix(v *view, edits []edit) *workflow.Fix {
	fix := &workflow.Fix{}
	for _, e := range edits {
		if !v.written(e.from, e.to) {
			return nil
		}
		fix.Edits = append(fix.Edits, r.src.Edit(v.span(e.from, e.to), e.text))
	}
	return fix
}

// replacement returns the line that the author should write instead, if it is a single line.
func replacement(v *view, edits []edit) string {
	from, _ := v.line(edits[0].from)
	to := edits[len(edits)-1].to
	if to == 0 || v.text[to-1] != '\n' || edits[len(edits)-1].text != "" || edits[len(edits)-1].from == to {
		_, to = v.line(to)
	}
	const longest = 400
	if to-from > longest {
		return ""
	}
	line := strings.TrimSpace(v.changed(from, to, edits).text)
	return strings.Join(strings.Split(line, "\n"), " ⏎ ")
}

// visible returns a character in the form used in messages.
func visible(s string, at int) string {
	if at >= len(s) {
		return "the end"
	}
	switch s[at] {
	case '\n':
		return "the end of the line"
	case '"':
		return "a quote"
	case ' ':
		return "a space"
	}
	for i, c := range s[at:] {
		if i == 0 {
			return `"` + string(c) + `"`
		}
	}
	return ""
}

// short returns the beginning of a text, for messages.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const most = 30
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && s[end]&0xc0 == 0x80 {
		end--
	}
	return s[:end] + "…"
}
