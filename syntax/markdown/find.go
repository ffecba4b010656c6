package markdown

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/markdown/internal/mermaid"
	"github.com/hocket-dev/hocket/workflow"
)

// findSections finds the sections of the nodes, and headings that seem to be sections of nodes
// that are not drawn.
func (r *reader) findSections() {
	if r.doc == nil {
		return
	}
	index := r.index()
	isID := func(id string) bool {
		_, ok := index[id]
		return ok
	}
	r.sections = r.doc.sections(isID)
	for i := range r.sections {
		s := &r.sections[i]
		slot := r.sectionOf(index[s.id])
		if *slot != nil {
			first := lineOf(r.doc.text, (*slot).heading.title)
			r.report(workflow.Errorf(r.doc.text.Pos(s.heading.title), codeTwice, "move everything into the section on line "+first, "%q has two sections", s.id))
			continue
		}
		*slot = s
		r.bareWords(s)
	}
	r.strayHeadings(isID)
}

// bareWords warns about a section whose first lines are only keys of a step: the dashes around
// them are missing, so they are part of the prompt.
func (r *reader) bareWords(s *section) {
	text := r.doc.prompt(*s)
	if s.front.exists() || text == "" {
		return
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			break
		} else if !(isKey([]byte(line)) && slices.Contains(bareKeys, line[:strings.IndexByte(line, ':')])) {
			return
		}
	}
	r.report(workflow.Warningf(r.doc.text.Pos(s.body), codeMatter, "if they are settings, add a line --- above and below them",
		"the keys below %q are read as its prompt", s.id))
}

// bareKeys are the keys of steps that are rarely the first word of a prompt.
var bareKeys = []string{"agent", "prompt", "template", "config", "inputs", "output", "output_schema", "retry", "timeout", "on_error", "workflow", "human", "for_each"}

// sectionOf returns where the section of a node or a subgraph is stored.
func (r *reader) sectionOf(i int32) **section {
	if v := r.vertex(i); v != nil {
		return &v.section
	}
	return &r.frames[int(i)-len(r.vertices)].section
}

// strayHeadings warns about headings that look like those of sections but do not name a node: front
// matter follows, or only one letter is wrong. A heading that names a node at another level is not
// a section either.
func (r *reader) strayHeadings(isID func(string) bool) {
	var ids []string
	inside := false // in a section, whose text may have headings
	for i := range r.doc.headings {
		h := &r.doc.headings[i]
		id := r.doc.sectionID(*h)
		if inside = h.level != endMark && (inside || id != "" && isID(id)); h.level == endMark || id != "" && isID(id) {
			continue
		}
		if id == "" {
			r.otherLevel(h, isID, inside)
			continue
		}
		if ids == nil {
			for i := range r.chart.Nodes {
				ids = append(ids, r.chart.Nodes[i].ID)
			}
		}
		near := r.nearSection(id, ids)
		if near == "" && !h.front.exists() && !isPlainID(id) {
			continue
		}
		detail := "write the id of a node in the flowchart"
		d := workflow.Warningf(r.doc.text.Pos(h.title), codeSection, detail, "there is no node %q in the flowchart", id)
		if near != "" {
			d.Detail = "did you mean \"" + near + "\"?"
			if h.front.exists() || isSlip(id, near) { // otherwise it may be an ordinary heading
				d.Fix = &workflow.Fix{Edits: []workflow.Edit{r.doc.text.Edit(h.title, near)}}
			}
		}
		r.report(d)
	}
}

// nearSection returns the node without a section that a heading was meant for, by its id or by
// its label, or "".
func (r *reader) nearSection(title string, ids []string) string {
	near := ""
	for i := range r.chart.Nodes {
		if n := &r.chart.Nodes[i]; n.HasText && mermaid.Unescape(n.Text) == title {
			near = n.ID
		}
	}
	if near == "" && len(ids)*len(r.doc.headings) < 1_000_000 {
		near = workflow.Nearest(strings.Join(strings.Fields(title), "_"), ids)
	}
	if near != "" && r.hasSection(near) {
		return ""
	}
	return near
}

// otherLevel reports a heading of another level that names a node without a section. If front
// matter follows, it is certainly meant for the node.
func (r *reader) otherLevel(h *heading, isID func(string) bool, inside bool) {
	id := r.doc.named(*h)
	if !isID(id) || r.hasSection(id) {
		return
	}
	words := r.doc.below(h.line.To).exists()
	aboveChart := h.line.From < r.doc.fences[r.fence].open.From // there it may be the title of the file
	if !words && (inside && len(id) > 2 || aboveChart) {
		return
	}
	d := workflow.Warningf(r.doc.text.Pos(h.title), codeSection, "write ### "+id, "the section of %q must have a heading of level 3", id)
	if words {
		d.Severity = workflow.Error
	}
	marks := source.Span{From: h.line.From + bytes.IndexByte(r.doc.text.Bytes[h.line.From:], '#'), To: h.title.From}
	d.Fix = &workflow.Fix{Edits: []workflow.Edit{r.doc.text.Edit(marks, "### ")}}
	r.report(d)
}

// isPlainID reports whether a heading is more likely the id of a node than a heading in a prompt:
// one or two letters, or a word in lower case.
func isPlainID(title string) bool {
	word := !strings.ContainsFunc(title, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '-' })
	return word && (len(title) <= 2 || title == strings.ToLower(title))
}

// isSlip reports whether two words differ in one letter, or in two that are swapped. It returns
// false for short words.
func isSlip(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) < 4 {
		return false
	}
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	swapped := len(x) == 2 && len(y) == 2 && x[0] == y[1] && x[1] == y[0]
	return swapped || len(x) <= 1 && len(y) <= 1
}

func (r *reader) hasSection(id string) bool { return *r.sectionOf(r.index()[id]) != nil }

// checkFences reports blocks that are not closed correctly, and a flowchart that is not marked as
// one.
func (r *reader) checkFences() {
	for i := range r.doc.fences {
		f := &r.doc.fences[i]
		text := r.doc.text
		open := text.Pos(f.open)
		switch {
		case f.glued.To > 0:
			d := workflow.Errorf(text.Pos(f.glued), codeFence, "write "+f.mark+" on a line of its own", "%q at the end of a line does not close the block that begins on line %d", f.mark, open.Line)
			d.Fix = &workflow.Fix{Edits: []workflow.Edit{text.Edit(f.glued, "\n"+f.mark)}}
			r.report(d)
		case !f.ended:
			d := workflow.Errorf(open, codeFence, "add a line "+f.mark+" below its last line", "this block is not closed")
			at := source.Span{From: f.open.To, To: f.open.To}
			hidden := "" // a section that would become text
			for _, line := range f.lines {
				written := bytes.TrimSpace(text.Bytes[line.From:line.To])
				if hidden == "" && !isDiagram(f.info) && bytes.HasPrefix(written, []byte("### ")) {
					hidden = lineOf(text, line)
				}
				if brokenMark().Match(written) {
					at, d.Detail = line, "write "+f.mark+" on line "+lineOf(text, line)
					break
				}
				if len(written) > 0 {
					at = source.Span{From: line.To, To: line.To}
				}
			}
			if hidden != "" {
				d.Detail = "add a line " + f.mark + " above the heading on line " + hidden + "; or, if this line closes a block, add the line that opens it"
			} else {
				d.Fix = &workflow.Fix{Edits: []workflow.Edit{text.Edit(at, closing(text.Bytes, at.From, f.mark))}}
			}
			r.report(d)
		case f.tail != "":
			d := workflow.Errorf(text.Pos(f.shut), codeFence, "write only "+f.mark, "%q does not close the block that begins on line %d", f.mark+f.tail, open.Line)
			d.Fix = &workflow.Fix{Edits: []workflow.Edit{text.Edit(f.shut, f.mark)}}
			r.report(d)
		case i == r.fence && !isDiagram(f.info):
			d := workflow.Warningf(open, codeFence, "write "+f.mark+"mermaid", "this block is not marked as a Mermaid diagram")
			d.Fix = &workflow.Fix{Edits: []workflow.Edit{text.Edit(f.open, f.mark+"mermaid")}}
			r.report(d)
		}
	}
}

// unopened reports a flowchart without an opening fence above its first line, so that the closing
// fence seems to open a block.
func (r *reader) unopened() bool {
	text := r.doc.text
	at := 0
	for i := range r.doc.fences {
		f := &r.doc.fences[i]
		for at < f.open.From {
			end := at + bytes.IndexByte(text.Bytes[at:], '\n')
			if line := text.Bytes[at:end]; f.info == "" && headerWord(bytes.TrimSpace(line)) == flowchart && len(bytes.Fields(line)) > 1 {
				d := workflow.Errorf(text.Pos(source.Span{From: at, To: at + len(bytes.TrimSpace(line))}), codeFence, "add a line "+f.mark+"mermaid above it", "the opening fence of this flowchart is missing")
				d.Fix = &workflow.Fix{Edits: []workflow.Edit{text.Edit(source.Span{From: at, To: at}, f.mark+"mermaid\n")}}
				r.report(d)
				return true
			}
			at = end + 1
		}
		if n := len(f.lines); n > 0 {
			at = f.lines[n-1].To
		}
		at = max(at, f.open.To, f.shut.To)
	}
	return false
}

// brokenMark matches a line that was meant to close a block.
var brokenMark = lazy.Regexp("^(`[^\\pL\\pN]*|~[^\\pL\\pN]*)$")

// closing returns the line that closes a block, after a text that may lack its last line break.
func closing(text []byte, at int, mark string) string {
	if at > 0 && text[at-1] != '\n' {
		return "\n" + mark + "\n"
	}
	return mark + "\n"
}

func lineOf(t *source.Text, s source.Span) string { return strconv.Itoa(t.Pos(s).Line) }
