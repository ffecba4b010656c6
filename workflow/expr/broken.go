package expr

import (
	"errors"
	"slices"
	"strings"
)

// brokenMark is the prefix of a text that did not parse in the dialect of its author; without it,
// the text might be valid plain text in the canonical dialect. The text follows as it was
// written. ${? is never valid.
const brokenMark = "${?"

// AsWritten returns a text that does not parse as its author wrote it. Resolve stores such a text
// with a mark in front of it.
func AsWritten(text string) string { return strings.TrimPrefix(text, brokenMark) }

// maxFaults limits how many mistakes of one text are reported.
const maxFaults = 20

// faults parses as much as possible of a text that does not parse. It returns all mistakes, and
// the references in the expressions that are valid.
func faults(text string, d Dialect) (refs []*Ref, wrong []*SyntaxError) {
	p := &parser{text: text}
	t := &Template{}
	for p.pos < len(text) && len(wrong) < maxFaults {
		at, what := nextMark(text, p.pos, d)
		p.pos = at
		known := len(p.refs)
		var e *SyntaxError
		if !errors.As(t.mark(p, what), &e) {
			continue
		}
		wrong = append(wrong, e)
		p.refs = p.refs[:known]
		p.pos = resume(text, at+2, d)
	}
	return p.refs, wrong
}

// resume returns the offset at which parsing continues after a mistake: after the next closing
// bracket, or at the next expression.
func resume(text string, pos int, d Dialect) int {
	next, _ := nextMark(text, pos, d)
	closed := strings.IndexByte(text[pos:], '}')
	if closed < 0 || pos+closed >= next {
		return next
	}
	return pos + closed + 1
}

// loosen finds the references in a text that does not parse as a whole.
func (p *parsed) loosen() {
	if p.err == nil || !p.isText {
		return
	}
	written, isMarked := strings.CutPrefix(p.text, brokenMark)
	d := Canonical
	if isMarked {
		d = Mixed
	}
	refs, wrong := faults(written, d)
	if len(wrong) > 0 {
		p.err, p.rest = wrong[0], &remains{wrong, refs}
	}
}

// resolveLoose resolves the references in broken texts, which Resolve has left unchanged.
// References such as steps[0] are left out, because the order of the steps is no longer known.
func (c *checker) resolveLoose(texts []parsed) {
	r := &resolver{flow: c.flow, free: map[string]bool{}}
	for i := range texts {
		if rest := texts[i].rest; rest != nil {
			rest.loose = slices.DeleteFunc(rest.loose, isNumbered)
			r.texts = append(r.texts, texts[i])
		}
	}
	if len(r.texts) > 0 {
		r.resolveAll()
	}
}

func isNumbered(r *Ref) bool {
	return r.Kind == Unresolved && len(r.Path) > 1 && r.Path[0].Name == "steps" && r.Path[1].IsIndex
}

// broken reports the mistakes in a text that does not parse, and the unknown names in the rest of
// it. It does not report whether the names have a value here, because the edges that the text
// would have created are missing.
func (c *checker) broken(p *parsed) {
	wrong := []*SyntaxError{p.err}
	if p.rest != nil {
		wrong = p.rest.wrong
	}
	for i, e := range wrong {
		c.findings = append(c.findings, &finding{text: p, number: i, problem: &Problem{Kind: Syntax, Summary: e.Summary, Detail: e.Detail}})
	}
	for i, ref := range p.refs() {
		f := &finding{text: p, ref: ref, number: i}
		c.reference(f)
		f.asked = nil
		if f.problem != nil && f.problem.Kind.isAboutNames() {
			c.findings = append(c.findings, f)
		}
	}
}

func (k ProblemKind) isAboutNames() bool {
	switch k {
	case UnknownName, UnknownNode, UnknownGroup, UnknownField, BadItem, BadFailure:
		return true
	case Syntax, Forward, Self, NotUpstream, MaybeUndefined, QuotedRef, BareWord, UnknownStatus:
	}
	return false
}
