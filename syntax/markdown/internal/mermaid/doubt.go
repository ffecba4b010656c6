package mermaid

import (
	"strings"
)

// doubt is something that may or may not be a mistake, depending on the rest of the chart.
type doubt struct {
	kind     doubtKind
	v        *view
	from, to int
}

type doubtKind uint8

const (
	arrowLetter doubtKind = iota // ---ops is read as ---o ps
	ampID                        // A&B is one node
	styledOnly                   // a node that is only styled
	blankName                    // a space after the name of a subgraph hides it
)

// resolve decides the doubts when the whole chart is known.
func (r *reader) resolve() {
	for _, d := range r.doubts {
		switch d.kind {
		case arrowLetter:
			r.resolveArrow(d)
		case ampID:
			r.resolveAmp(d)
		case styledOnly:
			r.resolveStyled(d)
		case blankName:
			r.resolveName(d)
		}
	}
}

func (r *reader) resolveArrow(d doubt) {
	t := d.v.text
	end := words(t, d.to)
	whole, rest := t[d.from:end], t[d.to:end]
	_, known := r.nodes[whole]
	if !known && (!r.search(t) || mentions(t, rest) > 0) {
		return
	}
	r.warn(d.v, finding{code: codeArrowLetter, from: d.from, to: d.to, summary: "Mermaid reads an arrow to " + short(rest) + ", not to " + short(whole),
		remedy: `"` + t[d.from:d.to] + `" after an arrow is read as part of it; put a space between them`, edits: []edit{{d.from, d.from, " "}}})
}

// mentions counts how often a word is in a text.
func mentions(s, word string) (n int) {
	if word == "" {
		return 0
	}
	for at := 0; at < len(s); at += len(word) {
		i := strings.Index(s[at:], word)
		if i < 0 {
			break
		}
		at += i
		if wordAt(s, at, word) && (at == 0 || !is(s[at-1], isWord)) {
			n++
		}
	}
	return n
}

func (r *reader) resolveAmp(d doubt) {
	id := d.v.text[d.from:d.to]
	left, right, _ := strings.Cut(id, "&")
	_, l := r.nodes[left]
	_, n := r.nodes[right]
	if !l && !n {
		return
	}
	at := d.from + len(left)
	r.warn(d.v, finding{code: codeID, from: d.from, to: d.to, summary: short(id) + " is one node",
		remedy: "to join two nodes, put spaces around the &", edits: []edit{{at, at + 1, " & "}}})
}

func (r *reader) resolveStyled(d doubt) {
	id := d.v.text[d.from:d.to]
	i, ok := r.nodes[id]
	if !ok || r.chart.Nodes[i].Mention != d.v.span(d.from, d.to) || r.chart.Nodes[i].Group >= 0 {
		return
	}
	f := finding{code: codeUnknownNode, from: d.from, to: d.to, summary: "this style creates a node " + short(id),
		remedy: "nothing else mentions it; check the id"}
	if ids := strings.Split(id, ","); len(ids) > 1 {
		f.remedy = "a style applies to one node; write one for each"
		t := d.v.text
		start, _ := d.v.line(d.from)
		rest := strings.TrimRight(t[d.to:lineEnd(t, d.to)], "\n")
		next := rest + "\n" + t[start:skipBlanks(t, start)] + "style "
		f.edits = []edit{{d.from, d.to, strings.Join(ids, next)}}
	}
	r.warn(d.v, f)
}

func (r *reader) resolveName(d doubt) {
	t := d.v.text
	if _, ok := r.nodes[t[d.from:d.to]]; !ok {
		return
	}
	_, eol := d.v.line(d.to)
	r.warn(d.v, finding{code: codeSubgraph, from: d.to, to: eol, summary: "the space after " + short(t[d.from:d.to]) + " makes it a title, not an id",
		remedy: "remove the space", edits: []edit{{d.to, eol, ""}}})
}
