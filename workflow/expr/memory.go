package expr

// memory is what Resolve leaves at a workflow: its texts in canonical form and
// what they mean, in the order of the sites. Checks follow a reader at once, and
// parsing is most of what both do.
//
// A text means the same wherever it stands, so an entry is right whatever has
// become of the workflow, as long as its text is the one that is asked for. It is
// only read, by any number of goroutines.
type memory []memorized

type memorized struct {
	text     string
	template *Template // one of template and expr is set
	expr     *Expr
}

// with remembers a text that was resolved. One that is plain by now will not be
// asked for; one that is broken keeps its place, and is parsed again.
func (m memory) with(p *parsed) memory {
	if p.isText && isPlain(p.text, Canonical) {
		return m
	}
	return append(m, memorized{p.text, p.template, p.expr})
}

// parsed is what is known of the text of a site, and the memory of those that
// follow it.
func (m memory) parsed(s site) (p parsed, rest memory, ok bool) {
	if len(m) == 0 {
		return p, nil, false
	}
	known := &m[0]
	if known.text != s.text || s.isText && known.template == nil || !s.isText && known.expr == nil {
		return p, m[1:], false
	}
	return parsed{site: s, template: known.template, expr: known.expr}, m[1:], true
}
