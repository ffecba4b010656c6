package markdown

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/markdown/internal/mermaid"
	"github.com/hocket-dev/hocket/workflow"
)

// Update changes the text of a file so that it means w. Sections and keys that
// mean the same already stay as they are, and so do prose and comments; the
// flowchart is drawn anew only if what it shows has changed, and keeps what
// decorates it. Where so little is alike that this is not possible, the file is
// written anew.
//
// What differs is found by writing both workflows, the one in the file and w, in
// the canonical way: a part that comes out the same in both is not touched.
func Update(file string, text []byte, w *workflow.Workflow) ([]byte, error) {
	r := read(file, text)
	if found := r.found.Sort(); found.Errors() {
		return nil, fmt.Errorf("markdown: %s cannot be changed, it has mistakes: %s", file, found[0].Summary)
	}
	digest := workflow.Digest(w)
	if workflow.Digest(r.w) == digest {
		return text, nil
	}
	after, err := write(w, r.like())
	if err != nil {
		return Format(w)
	}
	before, err := write(r.w, r.like())
	if err != nil {
		return Format(w)
	}
	u := &updater{reader: r, before: before, after: after}
	for _, care := range []care{keepKeys, keepParts, keepLittle} {
		changed := u.update(care)
		if again, found := Parse(file, changed); !found.Errors() && workflow.Digest(again) == digest {
			return changed, nil
		}
	}
	return Format(w)
}

// like is what a new version of the file should keep.
func (r *reader) like() *like {
	l := &like{ids: map[string]string{}, sections: map[string]bool{}, drawn: map[string]bool{}}
	for i := range r.vertices {
		v, id := &r.vertices[i], r.chart.Nodes[i].ID
		if r.chart.Nodes[i].Group >= 0 || v.mark {
			continue
		}
		l.ids[v.name] = id
		if v.section != nil {
			l.sections[id] = true
		} else {
			l.drawn[id] = true
		}
	}
	for i := range r.frames {
		if f := &r.frames[i]; f.id == f.name {
			l.ids[f.name] = r.chart.Subgraphs[i].ID
		}
	}
	return l
}

// care is how much of a file is kept. A file may say in its own way what is
// changed, so that both would stand in it: then less is kept.
type care int

const (
	keepKeys   care = iota // keys that mean the same
	keepParts              // sections, front matter and a flowchart that mean the same
	keepLittle             // sections; every section that w needs is added, and all is drawn anew
)

// updater changes one file.
type updater struct {
	*reader
	before, after *page
	care          care
	edits         edits
}

// update makes the changes.
func (u *updater) update(c care) []byte {
	u.care = c
	if u.doc == nil {
		return []byte(u.redraw())
	}
	u.edits = edits{doc: u.doc}
	u.front()
	u.title()
	if u.before.chart != u.after.chart || c == keepLittle {
		if span, whole := u.chartSpan(); whole {
			u.edits.replace(span, u.redraw())
		}
	}
	u.changeSections()
	return workflow.Apply(u.doc.text.Bytes, u.edits.list)
}

// front changes the front matter, key by key.
func (u *updater) front() {
	if u.before.front == u.after.front {
		return
	}
	f := u.doc.front
	if !f.exists() {
		at := 0
		if bytes.HasPrefix(u.doc.text.Bytes, bom) {
			at = len(bom)
		}
		u.edits.replace(source.Span{From: at, To: at}, "---\n"+u.merge("", u.before.front, u.after.front)+"---\n\n")
		return
	}
	was := string(u.doc.text.Bytes[f.yaml.From:f.yaml.To])
	u.edits.replace(f.yaml, u.merge(was, u.before.front, u.after.front))
}

// merge changes front matter. Where keys are not kept, what is only for people
// still is.
func (u *updater) merge(was, before, after string) string {
	if u.care == keepKeys {
		return mergeKeys(was, before, after)
	}
	var kept strings.Builder
	for _, e := range splitKeys(was) {
		_, said := find(splitKeys(after), e.key)
		if slices.Contains(forPeople, e.key) && !said {
			kept.WriteString(e.lines)
		}
	}
	return kept.String() + after
}

// forPeople are the keys that a workflow does not need.
var forPeople = []string{"id", "version", "description"}

// title changes the heading that repeats the name of the workflow.
func (u *updater) title() {
	for _, h := range u.doc.headings {
		if h.level == 1 && u.doc.title(h) == u.before.title && u.after.title != "" {
			u.edits.replace(h.title, u.after.title)
			return
		}
	}
}

// changeSections changes the sections that mean something else, drops those of
// nodes that are gone, and adds new ones behind those that stand above them.
func (u *updater) changeSections() {
	have, before, after := map[string]*section{}, u.before.byID(), u.after.byID()
	for i := range u.sections {
		have[u.sections[i].id] = &u.sections[i]
	}
	at, added := u.lastLine(), false
	for i := range u.after.pieces {
		p := &u.after.pieces[i]
		s, old := have[p.id], before[p.id]
		switch {
		case s != nil && old != nil && *old == *p:
			at = s.whole.To
		case s != nil:
			u.change(s, old, p)
			at = s.whole.To
		case old == nil || *old != *p || u.care == keepLittle:
			u.insert(at, p.text())
			added = added || at == u.lastLine()
		}
	}
	if added {
		u.endAbove(u.lastLine())
	}
	for i := range u.sections {
		s := &u.sections[i]
		if before[s.id] != nil && after[s.id] == nil {
			u.edits.replace(s.whole, "")
		}
	}
}

// lastLine is behind the block of the flowchart.
func (u *updater) lastLine() int {
	at := u.doc.fences[u.fence].shut.To
	if i := bytes.IndexByte(u.doc.text.Bytes[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(u.doc.text.Bytes)
}

// insert puts a section at a place, with blank lines around it.
func (u *updater) insert(at int, text string) {
	b := u.doc.text.Bytes
	switch {
	case at > 0 && b[at-1] != '\n':
		text = "\n\n" + text
	case !bytes.HasSuffix(b[:at], []byte("\n\n")):
		text = "\n" + text
	}
	if at < len(b) && b[at] != '\n' {
		text += "\n"
	}
	u.edits.list = append(u.edits.list, u.doc.text.Edit(source.Span{From: at, To: at}, text))
}

// endAbove ends new sections above a place where the file goes on with prose.
func (u *updater) endAbove(at int) {
	b := u.doc.text.Bytes
	next := len(b) - len(bytes.TrimLeft(b[at:], " \t\r\n"))
	if next == len(b) {
		return
	}
	next = bytes.LastIndexByte(b[:next], '\n') + 1
	begins := func(s section) bool { return s.whole.From == next }
	ends := func(h heading) bool { return h.level == endMark && h.line.From == next }
	if slices.ContainsFunc(u.sections, begins) || slices.ContainsFunc(u.doc.headings, ends) {
		return
	}
	text := "\n<!-- end -->\n"
	if b[at] != '\n' {
		text = "<!-- end -->\n\n"
	}
	u.edits.list = append(u.edits.list, u.doc.text.Edit(source.Span{From: at, To: at}, text))
}

// byID are the sections of a page.
func (p *page) byID() map[string]*piece {
	pieces := make(map[string]*piece, len(p.pieces))
	for i := range p.pieces {
		pieces[p.pieces[i].id] = &p.pieces[i]
	}
	return pieces
}

// change rewrites the parts of a section that mean something else.
func (u *updater) change(s *section, old, p *piece) {
	if old == nil {
		old = &piece{}
	}
	if old.front != p.front {
		was := ""
		if s.front.exists() {
			was = string(u.doc.text.Bytes[s.front.yaml.From:s.front.yaml.To])
		}
		merged := u.merge(was, old.front, p.front)
		switch {
		case s.front.exists() && merged != "":
			u.edits.replace(s.front.yaml, merged)
		case s.front.exists():
			u.edits.replace(s.front.whole, "")
		case merged != "":
			u.edits.replace(source.Span{From: s.heading.line.To, To: s.heading.line.To}, "\n---\n"+merged+"---\n")
		}
	}
	if old.body == p.body {
		return
	}
	if s.body.From < s.body.To {
		u.edits.replace(s.body, p.body)
		return
	}
	at := s.heading.line.To
	if s.front.exists() {
		at = s.front.whole.To
	}
	u.edits.replace(source.Span{From: at, To: at}, "\n"+p.body+"\n")
}

// redraw is the new chart, with the header of the old one and what decorates it.
func (u *updater) redraw() string {
	c := u.chart
	text := u.src.Bytes
	_, lines, _ := strings.Cut(u.after.chart, "\n")
	comments, rest := u.comments()
	head := string(bytes.TrimRight(text[:c.Header.To], " \t;")) + "\n"
	var b strings.Builder
	b.WriteString(head)
	for line := range strings.Lines(lines) {
		key := firstWord(line)
		for _, comment := range comments[key] {
			b.WriteString(line[:len(line)-len(strings.TrimLeft(line, " "))] + comment + "\n")
		}
		delete(comments, key)
		b.WriteString(line)
	}
	for _, key := range rest {
		for _, comment := range comments[key] {
			b.WriteString("    " + comment + "\n")
		}
	}
	ids := drawnIDs(lines)
	for _, d := range c.Decor {
		if u.keeps(&d, ids) {
			b.WriteString("    " + string(bytes.TrimSpace(text[d.Span.From:d.Span.To])) + "\n")
		}
	}
	return b.String()
}

// comments are the comments of the chart by the first word of the statement
// below them, and these words in order.
func (u *updater) comments() (by map[string][]string, order []string) {
	by = map[string][]string{}
	at := u.chart.Header.To
	add := func(to int, key string) {
		for line := range bytes.SplitSeq(u.src.Bytes[at:to], []byte{'\n'}) {
			if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte("%%")) {
				if by[key] == nil {
					order = append(order, key)
				}
				by[key] = append(by[key], string(line))
			}
		}
	}
	for _, s := range u.chart.Statements {
		add(s.From, firstWord(string(u.src.Bytes[s.From:s.To])))
		at = s.To
	}
	add(len(u.src.Bytes), "")
	return by, order
}

// firstWord is the id or keyword that a statement begins with.
func firstWord(statement string) string {
	statement = strings.TrimSpace(statement)
	end := strings.IndexFunc(statement, func(c rune) bool { return strings.ContainsRune(" \t\n[({>@:;", c) })
	if end < 0 {
		return statement
	}
	return statement[:end]
}

// keeps says whether a decoration is still of use: it is for nodes that are
// still there, and arrows are counted as before only if none has changed.
func (u *updater) keeps(d *mermaid.Decor, drawn map[string]bool) bool {
	switch d.Kind {
	case mermaid.ClassDef, mermaid.AccTitle, mermaid.AccDescr:
		return true
	case mermaid.Direction:
		return d.Subgraph < 0
	case mermaid.LinkStyle:
		return slices.Equal(d.IDs, []string{"default"})
	case mermaid.Class:
		if _, says := classes[d.Value]; says && u.care == keepLittle {
			return false
		}
	case mermaid.Style, mermaid.Click:
	}
	return !slices.ContainsFunc(d.IDs, func(id string) bool { return !drawn[id] })
}

// drawnIDs are the ids of the nodes and subgraphs of a chart.
func drawnIDs(lines string) map[string]bool {
	ids := map[string]bool{}
	for line := range strings.Lines(lines) {
		ids[firstWord(strings.TrimPrefix(strings.TrimSpace(line), "subgraph "))] = true
	}
	return ids
}
