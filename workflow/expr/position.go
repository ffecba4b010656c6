package expr

import (
	"slices"
	"strings"
)

// locate finds where the author wrote what a problem is about: the reference, else
// the text, else what holds the text.
func (f *finding) locate() {
	src := f.text.src
	if src == nil || src.Pos.Line == 0 {
		f.problem.Pos = *f.text.pos
		return
	}
	from, to, ok := f.span(src.Text)
	if !ok {
		f.problem.Pos = src.Pos
		return
	}
	f.problem.Pos = src.At(from, to)
	if f.is(Syntax) {
		f.change(src.Text, from, to)
	}
}

// span finds the finding in the text as it was written. The dialect is not
// known any more: it is the one in which the text has as many references as in
// canonical form, or in which it does not parse either.
func (f *finding) span(written string) (from, to int, ok bool) {
	original := f.text.site
	original.text = written
	if f.text.err != nil && f.text.isText {
		return f.brokenSpan(written)
	}
	for _, d := range []Dialect{Mixed, PlantUML, Canonical} {
		p := parse(original, d)
		switch {
		case f.is(Syntax) && p.err != nil:
			return p.err.From, p.err.To, true
		case f.is(QuotedRef) && p.err == nil:
			if list := quotedRefs(&p); f.number < len(list) {
				return list[f.number].from, list[f.number].to, true
			}
		case f.ref != nil && p.err == nil && len(p.refs()) == len(f.text.refs()):
			r := p.refs()[f.number]
			return r.From, r.To, true
		}
	}
	return 0, 0, false
}

// brokenSpan finds the finding in a text that does not parse.
func (f *finding) brokenSpan(written string) (from, to int, ok bool) {
	refs, wrong := faults(written, Mixed)
	switch {
	case f.ref == nil && f.number < len(wrong):
		return wrong[f.number].From, wrong[f.number].To, true
	case f.ref != nil:
		refs = slices.DeleteFunc(refs, isNumbered)
		if len(refs) == len(f.text.refs()) {
			return refs[f.number].From, refs[f.number].To, true
		}
	}
	return 0, 0, false
}

func (f *finding) is(kind ProblemKind) bool { return f.problem != nil && f.problem.Kind == kind }

// isBare says whether the author wrote a reference to an input as a bare name,
// which may have been meant to be something else.
func (f *finding) isBare() bool {
	if f.text.src == nil {
		return false
	}
	from, to, ok := f.span(f.text.src.Text)
	if !ok {
		return false
	}
	written := strings.TrimLeft(f.text.src.Text[from:to], "${ \t")
	return strings.HasPrefix(written, f.ref.Name)
}

// quoted warns of references inside quotes of an expression: they are plain
// text, which is seldom meant.
func (c *checker) quoted(p *parsed) {
	for i, l := range quotedRefs(p) {
		text, _ := l.value.(string)
		c.findings = append(c.findings, &finding{text: p, number: i, problem: &Problem{
			Kind: QuotedRef, Name: text, Summary: "a reference inside quotes is plain text", Detail: "leave the quotes out",
		}})
	}
}

func quotedRefs(p *parsed) []*literalNode {
	if p.isText {
		return nil // "${" in a template is how a literal ${ may be written
	}
	var list []*literalNode
	eachLiteral(p.expr.root, func(l *literalNode) {
		text, ok := l.value.(string)
		if ok && (strings.Contains(text, "${") || strings.Contains(text, "{{")) {
			list = append(list, l)
		}
	})
	return list
}

func eachLiteral(n node, visit func(*literalNode)) {
	switch n := n.(type) {
	case *literalNode:
		visit(n)
	case *Ref:
	case *notNode:
		eachLiteral(n.of, visit)
	case *compareNode:
		eachLiteral(n.left, visit)
		eachLiteral(n.right, visit)
	case listNode:
		eachLiteralOf(n, visit)
	case orNode:
		eachLiteralOf(n, visit)
	case andNode:
		eachLiteralOf(n, visit)
	case elseNode:
		eachLiteralOf(n, visit)
	}
}

func eachLiteralOf(nodes []node, visit func(*literalNode)) {
	for _, n := range nodes {
		eachLiteral(n, visit)
	}
}
