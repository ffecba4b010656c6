package xmltext

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/workflow"
)

// Rules say what the elements of a document are. So Recover can tell them from text
// that looks like a tag, and Read where an end tag is missing.
type Rules struct {
	// Known says whether an element may have that name at all.
	Known func(name string) bool
	// Root says whether the document may begin with an element of that name.
	Root func(name string) bool
	// Inside says whether an element of that name may stand in another.
	Inside func(parent Element, name string) bool
}

// Recover reads the answer of a model: a document with text and fences around it,
// with mistakes, or cut off anywhere. What it repaired are warnings. The document
// is never broken; it has no root if the answer has none so far.
//
// What it has found of a text, it also finds of the text with more behind it.
func Recover(file string, text []byte, rules Rules) *Document {
	d := newDocument(file, whole(string(text[:min(len(text), maxBytes)])))
	r := &recoverer{builder: builder{scanner: &scanner{Document: d}, rules: rules}}
	r.isTag, r.problems = r.known, r.repaired
	r.build()
	return d
}

// whole leaves out a character that is cut off at the end, and marks bytes that
// are none.
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
	pending []mistake // outside of the document, or in the tag with which it begins
	before  int       // how much was found before the token
}

// repaired notes a repair. What stands outside of the document is not looked at.
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

// known says whether a name is that of an element here: one that may stand in
// what is open, or that is open itself.
func (r *recoverer) known(name string) bool {
	if len(r.open) == 0 {
		return r.rules.Root(name)
	}
	if r.restarts(name) {
		return true
	}
	return r.depthOf(name) >= 0 || r.home(name) >= 0
}

// home is where the innermost open element stands that may hold a name, or -1.
func (r *recoverer) home(name string) int {
	for i, at := range slices.Backward(r.open) {
		if r.rules.Inside(r.element(at), name) {
			return i
		}
	}
	return -1
}

// restarts says whether a start tag begins the document anew: the first mention
// of its root was in the text around it.
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

// start enters an element where it may stand, and closes what is open in there.
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
		r.goOn()
	}
}

// closeTo closes everything in the element at a depth.
func (r *recoverer) closeTo(depth, at int) {
	for len(r.open) > depth+1 {
		name := r.elements[r.open[len(r.open)-1]].name
		missing := "</" + name + ">"
		r.repaired(mistake{at: Span{at, at + 1}, summary: missing + " was missing", detail: "write it in front of this"}.fixedBy(Span{at, at}, missing))
		r.leave(at, at)
	}
}

// end closes the innermost element of that name. A stray end tag is left out.
func (r *recoverer) end(t token) {
	depth := r.depthOf(t.name)
	if depth < 0 {
		r.repaired(mistake{at: Span{t.from, t.to}, summary: "</" + t.name + "> closes nothing", detail: "remove it"}.fixedBy(Span{t.from, t.to}, ""))
		return
	}
	r.closeTo(depth, t.from)
	r.leave(t.from, t.to)
	r.goOn()
}

// goOn looks for another root if the one that was closed is empty: it was no more
// than a mention.
func (r *recoverer) goOn() {
	if r.closed && r.elements[0].first < 0 {
		r.forget()
	}
}

// forget begins anew. What is wrong with the tag that begins it stays.
func (r *recoverer) forget() {
	r.elements, r.open, r.closed, r.found = r.elements[:0], r.open[:0], false, r.found[r.before:]
	r.before = 0 // <a<a/> begins twice in one token
}
