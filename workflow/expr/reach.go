package expr

import "slices"

// point is where a text is evaluated: before a node, or after it on its edges, where the node's
// own result is visible.
type point struct {
	place  int
	behind bool
}

// query asks whether a fact may hold at a point: a node has finished, or a variable was written,
// on some path that leads there. Exactly one of node and variable is set.
type query struct {
	at       point
	node     int    // or none
	variable string // or ""
	forward  bool   // ignore back links: only this iteration counts
	holds    bool   // the answer

	writers []int  // of the variable; nil if not looked up yet
	same    *query // another query about the same fact
}

// batch is the number of 64-bit words of facts that are propagated through the flow at the same
// time. Propagating all facts of a large workflow together would take memory quadratic in its
// size.
const batch = 16

// ask answers all queries, 1024 different facts at a time. Each batch visits only the part of the
// flow between its facts and the places of their queries.
func (f *flow) ask(queries []*query) {
	var back, forward []*query
	for _, q := range queries {
		if q.variable != "" && q.writers == nil {
			q.writers = f.writers.of(q.variable)
		}
		switch {
		case q.variable != "" && q.writers == nil: // no node writes it, so it holds nowhere
		case q.forward:
			forward = append(forward, q)
		default:
			back = append(back, q)
		}
	}
	f.askFacts(back, true)
	f.askFacts(forward, false)
}

func (f *flow) askFacts(queries []*query, round bool) {
	facts := f.number(queries)
	if facts.count == 0 {
		return
	}
	s := &spread{flow: f, facts: facts, round: round}
	for first := 0; first < facts.count; first += batch * 64 {
		asked := facts.queries[first:min(first+batch*64, facts.count)]
		s.first, s.width = first, min(batch, (len(asked)+63)/64)
		s.within = s.stretch(asked)
		s.run()
		for _, q := range asked {
			for ; q != nil; q = q.same {
				q.holds = s.holds(q)
			}
		}
	}
}

// facts numbers the facts of a batch.
type facts struct {
	*flow
	count   int
	queries []*query // by number
	// By place, the number of the fact that the node has finished, that it has written its
	// variable and, in its body, that its item is defined; or none.
	nodes, writes, items []int
}

func (f *flow) number(queries []*query) *facts {
	places := len(f.places)
	all := slices.Repeat([]int{none}, 3*places)
	n := &facts{flow: f, nodes: all[:places], writes: all[places : 2*places], items: all[2*places:]}
	for _, q := range queries {
		k := n.of(q)
		if k == none {
			k = n.add(q)
		}
		q.same, n.queries[k] = n.queries[k], q
	}
	return n
}

func (n *facts) add(q *query) int {
	k := n.count
	n.count++
	n.queries = append(n.queries, nil)
	if q.variable == "" {
		n.nodes[q.node] = k
		return k
	}
	for _, i := range q.writers {
		if n.places[i].node.Output.Var == q.variable {
			n.writes[i] = k
		}
		if asOf(n.places[i].node) == q.variable {
			n.items[i] = k
		}
	}
	return k
}

// of returns the number of a fact, or none. All nodes that write a variable share its number.
func (n *facts) of(q *query) int {
	if q.variable == "" {
		return n.nodes[q.node]
	}
	writer := q.writers[0]
	if n.places[writer].node.Output.Var == q.variable {
		return n.writes[writer]
	}
	return n.items[writer]
}

// spread propagates one batch of facts through the flow until nothing changes.
type spread struct {
	*flow
	facts  *facts
	first  int
	width  int
	round  bool     // follow back links
	within interval // the relevant positions

	before []uint64 // by position, width words each: the facts that may hold before the place there
	dirty  []bool   // by position
}

// stretch returns the positions of all places where a fact may become true, of those after them
// where it is queried, and of all loops that begin or end in between.
func (s *spread) stretch(asked []*query) interval {
	in := interval{len(s.places), none}
	for _, q := range asked {
		sources := q.writers
		if q.variable == "" {
			sources = s.numbers[q.node : q.node+1]
		}
		for _, i := range sources {
			in = interval{min(in.from, s.position[i]), max(in.to, s.position[i])}
		}
		for ; q != nil; q = q.same {
			if q.at.place != s.end {
				in.to = max(in.to, s.position[q.at.place])
			}
		}
	}
	for grows := s.round; grows; {
		grows = false
		for _, r := range s.rounds {
			if r.from <= in.to && r.to >= in.from && (r.from < in.from || r.to > in.to) {
				in = interval{min(in.from, r.from), max(in.to, r.to)}
				grows = true
			}
		}
	}
	return in
}

func (s *spread) run() {
	if s.before == nil {
		s.before, s.dirty = make([]uint64, len(s.places)*s.width), make([]bool, len(s.places))
	}
	for at := s.within.from; at <= s.within.to; at++ {
		i := s.order[at]
		clear(s.at(i))
		s.dirty[at] = s.asked(s.facts.nodes[i]) || s.asked(s.facts.writes[i]) || s.asked(s.facts.items[i]) || s.places[i].exits
	}
	passed := make([]uint64, s.width)
	for again := true; again; {
		again = false
		for at := s.within.from; at <= s.within.to; at++ {
			if s.dirty[at] {
				s.dirty[at] = false
				again = s.pass(s.order[at], passed) || again
			}
		}
	}
}

// pass propagates the facts of a place along its links. It reports whether that changed an
// earlier place, which must then be visited again.
func (s *spread) pass(i int, passed []uint64) (again bool) {
	for _, l := range s.places[i].links {
		if l.back && !s.round {
			continue
		}
		copy(passed, s.at(i))
		s.add(passed, i, l.kind)
		for loop, left := s.places[i].up, l.left; left > 0; loop, left = s.places[loop].up, left-1 {
			s.put(passed, s.facts.nodes[loop])
		}
		if to := s.position[l.to]; to <= s.within.to && s.merge(l.to, passed) {
			s.dirty[to] = true
			again = again || to <= s.position[i]
		}
	}
	return again
}

// at returns the set of facts before a place.
func (s *spread) at(i int) []uint64 {
	at := s.position[i]
	return s.before[at*s.width : (at+1)*s.width]
}

// add adds the facts that become true along a link of the given kind.
func (s *spread) add(set []uint64, i int, kind linkKind) {
	switch kind {
	case enter:
		s.put(set, s.facts.items[i])
	case taken:
		s.put(set, s.facts.writes[i])
		s.put(set, s.facts.nodes[i])
	case failed:
		s.put(set, s.facts.nodes[i])
	}
}

func (s *spread) put(set []uint64, fact int) {
	if s.asked(fact) {
		k := fact - s.first
		set[k/64] |= 1 << (k % 64)
	}
}

// asked reports whether a fact belongs to this batch.
func (s *spread) asked(fact int) bool {
	return fact != none && fact >= s.first && fact < s.first+s.width*64
}

func (s *spread) merge(to int, from []uint64) (changed bool) {
	set := s.at(to)
	for i, word := range from {
		if word&^set[i] != 0 {
			set[i] |= word
			changed = true
		}
	}
	return changed
}

func (s *spread) holds(q *query) bool {
	if q.at.place == s.end {
		return s.atEnd(q)
	}
	fact, at := s.facts.of(q), q.at.place
	if q.at.behind && (fact == s.facts.nodes[at] || fact == s.facts.writes[at]) {
		return true
	}
	if s.position[at] < s.within.from {
		return false
	}
	k := fact - s.first
	return s.at(at)[k/64]&(1<<(k%64)) != 0
}

// atEnd answers a query at the end of the workflow, where everything is visible except what is
// repeated for each item.
func (s *spread) atEnd(q *query) bool {
	if q.variable == "" {
		return s.places[q.node].each == none
	}
	return slices.ContainsFunc(q.writers, func(i int) bool {
		return s.places[i].each == none && s.places[i].node.Output.Var == q.variable
	})
}
