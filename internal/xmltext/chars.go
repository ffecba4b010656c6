package xmltext

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Chars is all character data of the element itself, with its layout: what a validator
// compares with a simple type.
func (e Element) Chars() string {
	var b strings.Builder
	for at := e.data().text; at >= 0; at = e.doc.pieces[at].next {
		p := e.doc.pieces[at]
		raw := normal(e.doc.text[p.from:p.to])
		if !p.cdata {
			raw = decode(raw)
		}
		b.WriteString(raw)
	}
	return b.String()
}

// HasCDATA reports whether the element itself has a CDATA section, even an empty one.
func (e Element) HasCDATA() bool {
	for at := e.data().text; at >= 0; at = e.doc.pieces[at].next {
		if e.doc.pieces[at].cdata {
			return true
		}
	}
	return false
}

// HasDoctype reports whether the text declares a document type, which [Read] rejects and
// [Recover] skips.
func (d *Document) HasDoctype() bool {
	return slices.ContainsFunc(d.found, func(f workflow.Diagnostic) bool { return f.Code == codeDoctype })
}
