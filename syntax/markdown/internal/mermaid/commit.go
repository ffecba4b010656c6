package mermaid

import (
	"slices"
	"strings"
)

// commit adds a statement to the chart.
func (r *reader) commit(v *view, s *statement) {
	switch s.form {
	case noForm:
		return
	case chainForm:
		r.chain(v, s)
		r.misreadChain(v, s)
	case subgraphForm:
		r.open(v, s)
		r.misreadSubgraph(v, s)
	case endForm:
		r.close(v.span(s.from, s.to))
	case decorForm:
		r.decor(v, s)
		r.misreadDecor(v, s)
	}
	r.chart.Statements = append(grown(r.builder, r.chart.Statements), v.span(s.from, s.to))
}

// chain adds the nodes and edges of a chain.
func (r *reader) chain(v *view, s *statement) {
	var buffer [8]member
	ids := buffer[:0]
	joint, left := 0, 0
	for i := range s.nodes {
		m := &s.nodes[i]
		ids = append(ids, r.mention(v, m, r.meta(v, m)))
		if i+1 < len(s.nodes) && (joint >= len(s.joints) || s.joints[joint] != i+1) {
			continue
		}
		// A group of nodes is complete.
		if right := r.start(s, joint-1); joint > 0 {
			if !r.connect(ids[left:right], ids[right:], v, &s.links[joint-1]) {
				r.tooManyEdges(v, s)
			}
			left = right
		}
		joint++
	}
	r.inside(s, ids)
}

// start returns the index of the first node after a link.
func (r *reader) start(s *statement, link int) int {
	if link < 0 {
		return 0
	}
	return s.joints[link]
}

// inside adds the nodes of a chain to the subgraph around it, in the order of Mermaid: the last
// ones first.
func (r *reader) inside(s *statement, ids []member) {
	if len(r.frames) == 0 {
		return
	}
	f := &r.frames[len(r.frames)-1]
	end := len(ids)
	for _, joint := range slices.Backward(s.joints) {
		f.ids = append(f.ids, ids[joint:end]...)
		end = joint
	}
	f.ids = append(f.ids, ids[:end]...)
}

// decor applies a decoration to nodes and edges.
func (r *reader) decor(v *view, s *statement) {
	names := v.text[s.names[0]:s.names[1]]
	switch s.decor {
	case Direction:
		if inner := r.inner(); inner >= 0 {
			r.chart.Subgraphs[inner].Direction = s.dir
		}
	case Style:
		r.node(names, v.span(s.names[0], s.names[1]))
	case Class:
		r.classify(names, v.text[s.value[0]:max(s.value[0], s.value[1])])
	case LinkStyle:
		if names != "" {
			r.linkNumbers(v, s, strings.Split(names, ","))
		}
	case ClassDef, Click, AccTitle, AccDescr:
	}
}

// linkNumbers looks for a linkStyle for edges that do not exist yet: Mermaid crashes on them.
func (r *reader) linkNumbers(v *view, s *statement, numbers []string) {
	for _, n := range numbers {
		k := 0
		for i := range len(n) {
			k = min(k*10+int(n[i]-'0'), 1<<30)
		}
		if n == "default" || k < len(r.chart.Edges) && (len(n) == 1 || n[0] != '0') {
			continue
		}
		f := finding{code: codeStyle, from: s.names[0], to: s.names[1], summary: "there is no edge " + short(n) + " above this line",
			remedy: "edges are numbered from 0, and a linkStyle must come after its edges", edits: []edit{{s.from, s.from, "%% "}}}
		if line, _ := v.line(s.from); strings.TrimSpace(v.text[line:s.from]) != "" {
			f.edits = []edit{{s.from, s.to, ""}}
		}
		r.wrong(v, f)
		return
	}
}

func (r *reader) tooManyEdges(v *view, s *statement) {
	if len(r.found) > 0 && r.found[len(r.found)-1].Code == codeEdges {
		return
	}
	r.wrong(v, finding{code: codeEdges, from: s.from, to: s.to, summary: "the chart has too many edges", remedy: "use fewer nodes joined by &"})
}
