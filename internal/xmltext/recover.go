package xmltext

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/workflow"
)

// Rules describe the elements of a document, so that Recover can distinguish them from text
// that looks like a tag, and Read can tell where an end tag is missing.
type Rules struct {
	// Known reports whether an element may have that name at all.
	Known func(name string) bool
	// Root reports whether the document may begin with an element of that name.
	Root func(name string) bool
	// Inside reports whether an element of that name may be inside another.
	Inside func(parent Element, name string) bool
	// Start is where the text begins, if it is a part of the file.
	Start Start
}

// Start is where a text begins in a file: the lines before it, the characters before it in
// its line, and all bytes before it.
type Start struct{ Line, Column, Offset int }

// Recover reads the answer of a model: a document surrounded by text and fences, with
// mistakes, or cut off anywhere. Repairs are reported as warnings. The document is never
// broken; it has no root if the answer has none so far. What it finds in a text it also
// finds in any continuation of that text.
func Recover(file string, text []byte, rules Rules) *Document {
	d := newDocument(file, whole(string(text[:min(len(text), maxBytes)])), rules.Start)
	r := &recoverer{builder: builder{scanner: &scanner{Document: d}, rules: rules}}
	r.isTag, r.problems = r.known, r.repaired
	r.build()
	return d
}

// whole removes an incomplete character at the end, and replaces invalid bytes.
func whole(text string) string {
	for i := 1; i <= min(utf8.UTFMax-1, len(text)); i++ {
		if tail := text[len(text)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				text = text[:len(text)-i]
			}
			break
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// recoverer is a builder that repairs.
type recoverer struct {
	builder
	pending []mistake // outside the document, or in the tag with which it begins
	before  int       // how much was found before the token
}

// repaired records a repair. What is outside the document is ignored.
func (r *recoverer) repaired(m mistake) {
	if len(r.open) == 0 {
		r.pending = append(r.pending, m)
		return
	}
	if len(r.found) < maxReported {
		found := r.diagnose(m)
		found.Severity, found.Code = workflow.Warning, codeRepaired
		r.Report(found)
	}
}

// known reports whether a name is that of an element here: one that may be inside the open
// one, or that is open itself.
func (r *recoverer) known(name string) bool {
	if len(r.open) == 0 {
		return r.rules.Root(name)
	}
	if r.restarts(name) {
		return true
	}
	return r.depthOf(name) >= 0 || r.home(name) >= 0
}

// home returns the depth of the innermost open element that may contain a name, or -1.
func (r *recoverer) home(name string) int {
	for i, at := range slices.Backward(r.open) {
		if r.rules.Inside(r.element(at), name) {
			return i
		}
	}
	return -1
}

// restarts reports whether a start tag begins the document again: the first mention of its
// root was in the surrounding text.
func (r *recoverer) restarts(name string) bool {
	return len(r.open) == 1 && r.elements[0].first < 0 && r.rules.Root(name) && !r.rules.Inside(r.element(0), name)
}

func (r *recoverer) build() {
	for !r.closed {
		attrs := len(r.attrs)
		r.pending, r.before = r.pending[:0], len(r.found)
		t := r.next()
		switch t.kind {
		case endOfText:
			r.closeAll(t.from)
			return
		case charData, cdataSection:
			if len(r.open) > 0 {
				r.addText(t)
			}
		case startTag:
			r.dropTwice(t, attrs)
			r.start(t, attrs)
		case endTag:
			r.end(t)
		case instruction, comment:
		}
		if len(r.open) > maxDepth {
			r.closeAll(t.to)
			return
		}
	}
}

// start enters an element where it is allowed, and closes the open elements inside that.
func (r *recoverer) start(t token, attrs int) {
	switch {
	case len(r.open) == 0:
	case r.restarts(t.name):
		r.forget()
	default:
		r.closeTo(max(r.home(t.name), 0), t.from)
	}
	r.enter(t, attrs)
	for _, m := range r.pending {
		r.repaired(m)
	}
	if t.empty {
		r.leave(t.to, t.to)
		r.nextRoot()
	}
}

// closeTo closes everything inside the element at a depth.
func (r *recoverer) closeTo(depth, at int) {
	for len(r.open) > depth+1 {
		name := r.elements[r.open[len(r.open)-1]].name
		missing := "</" + name + ">"
		r.repaired(mistake{at: Span{at, at + 1}, summary: missing + " was missing", detail: "write it before this"}.fixedBy(Span{at, at}, missing))
		r.leave(at, at)
	}
}

// end closes the innermost element of that name. A stray end tag is ignored.
func (r *recoverer) end(t token) {
	depth := r.depthOf(t.name)
	if depth < 0 {
		r.repaired(mistake{at: Span{t.from, t.to}, summary: "</" + t.name + "> closes nothing", detail: "remove it"}.fixedBy(Span{t.from, t.to}, ""))
		return
	}
	r.closeTo(depth, t.from)
	r.leave(t.from, t.to)
	r.nextRoot()
}

// nextRoot looks for another root if the closed one is empty: it was only a mention.
func (r *recoverer) nextRoot() {
	if r.closed && r.elements[0].first < 0 {
		r.forget()
	}
}

// forget starts again. Errors in the tag that begins it stay.
func (r *recoverer) forget() {
	r.elements, r.open, r.closed, r.found = r.elements[:0], r.open[:0], false, r.found[r.before:]
	r.before = 0 // <a<a/> begins twice in one token
}
