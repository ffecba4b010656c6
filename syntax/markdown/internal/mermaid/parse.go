package mermaid

import (
	"html"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// Parse parses a flowchart. The chart contains what could be read even if problems were found.
func Parse(src *source.Text) (*Chart, workflow.Diagnostics) {
	r := newReader(src)
	if v, at := r.prepare(newView(src.Bytes)); v != nil {
		r = r.read(v, at)
	}
	return r.chart, r.found.Sort()
}

// reader reads a chart and reports what is wrong with it.
type reader struct {
	*builder
	src      *source.Text
	found    workflow.Diagnostics
	said     map[workflow.Severity]int
	versions []string // what was already reported about versions
	budget   int      // how many bytes may still be read again because of mistakes
	lookups  int      // how many bytes may still be searched for words
	renamed  map[string]string
	doubts   []doubt
	fenced   bool // a fence was found
}

func newReader(src *source.Text) *reader {
	n := len(src.Bytes)
	return &reader{src: src, builder: newBuilder(src.Bytes), budget: 1<<20 + 64*n, lookups: 1<<20 + 64*n, said: map[workflow.Severity]int{}}
}

// search reports whether the text may be searched once more. Without a limit, a text full of
// mistakes would take too long.
func (r *reader) search(text string) bool {
	r.lookups -= len(text) + 16
	return r.lookups > 0
}

// read reads the statements of a chart. If an "end" is missing, it inserts it and reads them
// again.
func (r *reader) read(v *view, at int) *reader {
	begin := *r.chart
	said, versions := len(r.found), r.versions
	r.statements(v, at, 0)
	if len(r.frames) > 0 {
		again := newReader(r.src)
		*again.chart, again.versions = begin, versions
		again.found = append(again.found, r.found[:said]...)
		again.budget = r.budget
		var edits []edit
		for _, f := range missingEnds(v, at, len(r.frames)) {
			again.wrong(v, f)
			edits = append(edits, f.edits...)
		}
		again.statements(v.changed(0, len(v.text), inOrder(edits)), at, 0)
		r = again
	}
	for len(r.frames) > 0 {
		r.close(source.Span{})
	}
	r.finish()
	r.resolve()
	return r
}

func (r *reader) statements(v *view, at, depth int) {
	p := newParser(v.text)
	p.at = at
	for p.at < len(p.text) {
		f := p.statement()
		if f == nil {
			f = r.doubt(p)
		}
		if f != nil {
			p.at = r.recover(v, &p.st, f, depth)
			continue
		}
		if depth == 0 {
			r.builder.read = p.at
		}
		r.commit(v, &p.st)
	}
}

// doubt returns the fault of a statement that can be parsed but is not allowed here.
func (r *reader) doubt(p *parser) *fault {
	if p.st.form == chainForm && p.tok.kind == kSemi {
		return splitEntity(p)
	}
	if p.st.form == chainForm && strings.HasPrefix(p.text[p.st.from:], "```") {
		return r.strayFence(p)
	}
	if p.st.form != endForm {
		return nil
	}
	after := skipBlanks(p.text, p.st.to)
	node := after < len(p.text) && (looksLikeLink(p.text, after) || after == p.st.to && isBracket(p.text[after]))
	switch {
	case node:
		return &fault{why: extraEnd, tok: token{kEnd, p.st.from, p.st.to}, place: atStart}
	case len(r.frames) == 0:
		return &fault{why: extraEnd, tok: token{kEnd, p.st.from, p.st.to}, place: atStart}
	}
	return nil
}

// splitEntity returns the fault of a statement that ends in the middle of an HTML entity, if the
// rest of the line is not valid on its own.
func splitEntity(p *parser) *fault {
	amp := strings.LastIndexByte(p.text[p.st.from:p.st.to], '&')
	if amp < 0 || p.at < p.whole {
		return nil
	}
	amp += p.st.from
	if entity := p.text[amp:p.st.to] + ";"; html.UnescapeString(entity) == entity {
		return nil
	}
	p.whole = lineEnd(p.text, p.at)
	rest := newParser(p.text[p.at:p.whole])
	for rest.at < len(rest.text) {
		if rest.statement() != nil {
			return &fault{why: unexpected, tok: token{kBad, amp, amp + 1}, place: afterNode}
		}
	}
	return nil
}

// strayFence returns the fault of a fence that Mermaid reads as a node, if it cannot read what
// follows: then the chart ends there.
func (r *reader) strayFence(p *parser) *fault {
	if r.fenced {
		return nil
	}
	r.fenced = true
	rest := newParser(p.text[p.at:])
	for rest.at < len(rest.text) {
		if rest.statement() != nil {
			return &fault{why: unexpected, tok: token{kBad, p.st.from, p.st.from}, place: atStart}
		}
	}
	return nil
}
