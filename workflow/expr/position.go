package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// locate finds the position in the author's text that a problem is about, and what to write
// instead.
func (f *finding) locate() {
	f.problem.Pos = f.place()
	if src := f.text.src; src != nil && src.Pos.Line > 0 && f.is(Syntax) {
		if from, to, ok := f.span(src.Text); ok {
			f.change(src.Text, from, to)
		}
	}
}

// place returns the position of the reference in the author's file, otherwise that of the text,
// otherwise that of the node with the text.
func (f *finding) place() workflow.Pos {
	src := f.text.src
	if src == nil || src.Pos.Line == 0 {
		return *f.text.pos
	}
	if from, to, ok := f.span(src.Text); ok {
		return src.At(from, to)
	}
	return src.Pos
}

// span finds the range of the finding in the text as it was written. The dialect is no longer
// known: it is the one in which the text has as many references as in canonical form, or in which
// it does not parse either.
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
		case f.is(BareWord) && p.err == nil:
			if list := bareWords(f.text, &p); f.number < len(list) {
				return list[f.number].From, list[f.number].To, true
			}
		case f.is(UnknownStatus) && p.err == nil:
			if list := comparisons(p.expr.root); f.number < len(list) {
				return extent(list[f.number].right)
			}
		case f.ref != nil && p.err == nil:
			words := bareWords(f.text, &p)
			refs := slices.DeleteFunc(slices.Clone(p.refs()), func(r *Ref) bool { return slices.Contains(words, r) })
			if len(refs) == len(f.text.refs()) {
				return refs[f.number].From, refs[f.number].To, true
			}
		}
	}
	return 0, 0, false
}

// brokenSpan finds the range of the finding in a text that does not parse.
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

// isBare reports whether the author wrote a reference to an input as a bare name, and so may have
// meant something else.
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

// extent returns the range of a word in an expression.
func extent(n node) (from, to int, ok bool) {
	switch n := n.(type) {
	case *literalNode:
		return n.from, n.to, true
	case *Ref:
		return n.From, n.To, true
	}
	return 0, 0, false
}

// bare reports names in a condition that nothing defines, so that they are text, unless they have
// been reported already.
func (c *checker) bare(p *parsed, reported []string) {
	if p.isText || p.src == nil || p.src.Text == "" {
		return
	}
	original := p.site
	original.text = p.src.Text
	for _, d := range []Dialect{Mixed, PlantUML} {
		written := parse(original, d)
		if written.err != nil {
			continue
		}
		for i, r := range bareWords(p, &written) {
			name := r.Path[0].Name
			if slices.Contains(reported, name) {
				continue
			}
			c.findings = append(c.findings, &finding{text: p, number: i, problem: &Problem{
				Kind: BareWord, Name: name, Summary: fmt.Sprintf("%q is read as text", name),
				Detail: fmt.Sprintf("nothing defines it; write %q in quotes, or $%s for a reference", name, name),
			}})
		}
		return
	}
}

// bareWords returns the references in a text as it was written that are plain text in its
// canonical form.
func bareWords(canonical, written *parsed) []*Ref {
	if canonical.expr == nil || written.expr == nil {
		return nil
	}
	texts, all := comparisons(canonical.expr.root), comparisons(written.expr.root)
	var words []*Ref
	for i := range min(len(texts), len(all)) {
		r, isRef := all[i].right.(*Ref)
		text, isText := texts[i].right.(*literalNode)
		if isRef && isText && r.compare && text.value == r.Path[0].Name {
			words = append(words, r)
		}
	}
	return words
}

// quoted warns about references inside quotes in an expression: they are plain text, which is
// rarely intended.
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
		return nil // in a template, "${" is a way to write a literal ${
	}
	var list []*literalNode
	eachNode(p.expr.root, func(n node) {
		l, isLiteral := n.(*literalNode)
		if !isLiteral {
			return
		}
		text, ok := l.value.(string)
		if ok && (strings.Contains(text, "${") || strings.Contains(text, "{{")) {
			list = append(list, l)
		}
	})
	return list
}

// eachNode visits the parts of an expression, each before its children.
func eachNode(n node, visit func(node)) {
	visit(n)
	var parts []node
	switch n := n.(type) {
	case *literalNode, *Ref:
	case *notNode:
		parts = []node{n.of}
	case *compareNode:
		parts = []node{n.left, n.right}
	case listNode:
		parts = n
	case orNode:
		parts = n
	case andNode:
		parts = n
	case elseNode:
		parts = n
	}
	for _, part := range parts {
		eachNode(part, visit)
	}
}
