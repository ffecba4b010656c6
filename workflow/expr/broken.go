package expr

import (
	"errors"
	"slices"
	"strings"
)

// brokenMark stands before a text that did not parse in the dialect of its
// author: such a text might be plain text in the canonical dialect. What follows
// is the text as it was written. ${? is never right.
const brokenMark = "${?"

// AsWritten is a text that does not parse as its author wrote it. Resolve keeps
// such a text with a mark before it.
func AsWritten(text string) string { return strings.TrimPrefix(text, brokenMark) }

// maxFaults bounds how many mistakes of one text are told apart.
const maxFaults = 20

// faults reads a text that does not parse as far as it can: all that is wrong
// with it, and the references of the expressions that are right.
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

// resume is where reading goes on after a mistake: behind the next bracket that
// closes, or at the next expression.
func resume(text string, pos int, d Dialect) int {
	next, _ := nextMark(text, pos, d)
	closed := strings.IndexByte(text[pos:], '}')
	if closed < 0 || pos+closed >= next {
		return next
	}
	return pos + closed + 1
}

// loosen finds the references of a text that does not parse as a whole.
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

// resolveLoose resolves the references of broken texts, which Resolve has left
// as they were. What steps[0] means is not known any more, so those are left
// out.
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

// broken reports what is wrong with a text that does not parse, and which names
// in the rest of it nothing has. When each of them is known is not said: the
// edges that the text would have made are missing.
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
