package xmltext

import "strings"

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

