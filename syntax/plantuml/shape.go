package plantuml

import (
	"slices"

	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// A shape says how a graph is drawn: steps one below the other, and blocks around them. The nodes
// keep their declaration order, so the blocks are guessed from where the edges lead in that
// order. A wrong guess does no harm: the result is read again, and an edge that is not drawn
// correctly is written in a note.

// block is a list of items, one below the other.
type block []item

// item is a step, or a block around steps.
type item struct {
	form     form
	node     *workflow.Node // the step, the choice, the loop or the for_each
	branches []branch
	body     block          // of a loop or a for_each
	test     *workflow.Node // the choice of a while or a repeat, or the step whose answers it shows
	back     *workflow.Node // the step on the way back of a repeat
	inverted bool           // the test fails on the way in, or on the way back
	start    bool           // there is a start mark above it
	end      ending         // what is below it
}

// branch is one way of an if, a switch or a fork.
type branch struct {
	way  way
	body block
}

type form uint8

const (
	stepForm form = iota
	ifForm
	switchForm // of a choice, or of the answers of a step
	forkForm
	whileForm
	repeatForm
	frameForm // a loop or a for_each that is drawn as a partition
)

// ending is what ends a path.
type ending uint8

const (
	goesOn ending = iota
	stops
	detaches
	breaks
)

// way is a group of edges of the same kind that leave a node after success.
type way struct {
	on    workflow.On
	label string
	when  string
	to    []string
}

// waysOf groups the edges of a node after success by their conditions, in order. other are the
// edges that a drawing never shows.
func waysOf(edges []workflow.Edge) (ways []way, other []workflow.Edge) {
	for _, e := range edges {
		if e.On == workflow.OnFailure || e.On == workflow.OnTimeout {
			other = append(other, e)
			continue
		}
		if n := len(ways); n > 0 && ways[n-1].on == e.On && ways[n-1].label == e.Label && ways[n-1].when == e.When.Text {
			ways[n-1].to = append(ways[n-1].to, e.To)
			continue
		}
		ways = append(ways, way{on: e.On, label: e.Label, when: e.When.Text, to: []string{e.To}})
	}
	return ways, other
}

// shaper draws one graph.
type shaper struct {
	g      *workflow.Graph
	owner  *workflow.Node // the loop or the for_each that has this body
	plan   *plan          // records the nodes whose edges cannot be drawn
	flat   bool           // no blocks except those of loops and for_eachs
	index  map[string]int
	ways   [][]way
	leads  []int // by node: the last node that it leads to, or itself
	led    []int // number of edges that lead to each node
	inLoop bool
	exit   string         // what follows the loop around it; @end if nothing does
	asker  *workflow.Node // the step whose answers the end of the loop shows
	tree   [][]int
}

// shape draws a graph, which is that of the workflow or the body of an owner. exit is what
// follows the loop that has this body.
func (p *plan) shape(g *workflow.Graph, owner *workflow.Node, exit string) *shaper {
	s := &shaper{g: g, owner: owner, plan: p, flat: p.flat, exit: exit, index: make(map[string]int, len(g.Nodes))}
	s.inLoop = owner != nil && owner.Kind() == "loop"
	s.ways, s.leads, s.led = make([][]way, len(g.Nodes)), make([]int, len(g.Nodes)), make([]int, len(g.Nodes))
	for i := range g.Nodes {
		s.index[g.Nodes[i].ID] = i
		s.leads[i] = i
	}
	for rest := g.Edges; len(rest) > 0; {
		end := 1
		for end < len(rest) && rest[end].From == rest[0].From {
			end++
		}
		if n, ok := s.index[rest[0].From]; ok && s.ways[n] == nil {
			s.ways[n], _ = waysOf(rest[:end])
		}
		rest = rest[end:]
	}
	for i := range g.Edges {
		s.note(s.index[g.Edges[i].From], &g.Edges[i])
	}
	for i := range g.Nodes {
		if _, isLoop := g.Nodes[i].Step.(*workflow.Loop); isLoop {
			s.noteExits(i, g.Nodes[i].Body())
		}
	}
	s.buildTree()
	return s
}

// note records where an edge of a node leads.
func (s *shaper) note(from int, e *workflow.Edge) {
	to, ok := s.index[e.To]
	if !ok {
		return
	}
	s.led[to]++
	if e.On != workflow.OnFailure && e.On != workflow.OnTimeout {
		s.leads[from] = max(s.leads[from], to)
	}
}

// noteExits records where the edges out of a loop lead.
func (s *shaper) noteExits(from int, body *workflow.Graph) {
	for i := range body.Edges {
		s.note(from, &body.Edges[i])
	}
	for i := range body.Nodes {
		if _, isLoop := body.Nodes[i].Step.(*workflow.Loop); isLoop {
			s.noteExits(from, body.Nodes[i].Body())
		}
	}
}

// buildTree prepares farthest: every level has the results for twice as many nodes as the one
// below.
func (s *shaper) buildTree() {
	s.tree = [][]int{s.leads}
	for width := 1; 2*width <= len(s.leads); width *= 2 {
		below := s.tree[len(s.tree)-1]
		level := make([]int, len(s.leads)-2*width+1)
		for i := range level {
			level[i] = max(below[i], below[i+width])
		}
		s.tree = append(s.tree, level)
	}
}

// farthest returns the last node that the nodes from lo up to hi lead to.
func (s *shaper) farthest(lo, hi int) int {
	if lo >= hi {
		return lo
	}
	k, width := 0, 1
	for 2*width <= hi-lo {
		k, width = k+1, 2*width
	}
	return max(s.tree[k][lo], s.tree[k][hi-width])
}

// whole draws the whole graph. next is what follows its last node.
func (s *shaper) whole(next string) block { return s.upTo(len(s.g.Nodes), next) }

// upTo draws the nodes before hi, from where the flow begins.
func (s *shaper) upTo(hi int, next string) block {
	var firsts []string
	for i := range hi {
		if s.led[i] == 0 {
			firsts = append(firsts, s.g.Nodes[i].ID)
		}
	}
	if len(firsts) > 1 && !s.flat {
		if it, end, ok := s.branching(-1, hi, next, forkForm, []way{{to: firsts}}); ok {
			return append(block{it}, s.block(end, hi, next)...)
		}
	}
	return s.block(0, hi, next)
}

// block draws the nodes from lo up to hi.
func (s *shaper) block(lo, hi int, next string) block {
	var b block
	for i := lo; i < hi; {
		var more []item
		more, i = s.item(i, hi, next)
		b = append(b, more...)
	}
	return b
}

// after returns what follows a node by default.
func (s *shaper) after(i, hi int, next string) string {
	if i < hi && i < len(s.g.Nodes) {
		return s.g.Nodes[i].ID
	}
	return next
}

// item draws a node with the blocks that begin at it, and returns where to continue.
func (s *shaper) item(i, hi int, next string) (items []item, end int) {
	n := &s.g.Nodes[i]
	it := item{node: n, start: s.led[i] == 0 && i > 0}
	switch step := n.Step.(type) {
	case *workflow.Loop:
		it = s.loop(it, step, s.after(i+1, hi, next))
		return []item{it}, i + 1
	case *workflow.Each:
		if !yaml.IsRepeat(n) {
			it.form = frameForm
			it.body = s.plan.shape(&step.Body, n, workflow.End).whole(workflow.End)
		}
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine:
	}
	ways := s.ways[i]
	if n == s.asker {
		return []item{it}, i + 1
	}
	if !s.flat {
		if form, ok := s.formOf(n, ways); ok {
			if branched, to, ok := s.branching(i, hi, next, form, ways); ok {
				if form == ifForm || form == switchForm && n.Kind() == "choice" {
					branched.node, branched.start = n, it.start
					return []item{branched}, to
				}
				branched.test = n
				return []item{it, branched}, to
			}
		}
	}
	behind := s.after(i+1, hi, next)
	it.end = s.ending(ways, behind, hi == len(s.g.Nodes) && i+1 == hi)
	if it.form == frameForm && it.end == detaches {
		it.end = goesOn // PlantUML only detaches steps; its note has the edges
		s.carry(n)
	}
	shown := len(ways) == 1 && ways[0].on == workflow.OnSuccess && len(ways[0].to) == 1 && (it.end != goesOn || ways[0].to[0] == behind)
	if len(ways) > 0 && !shown {
		s.carry(n)
	}
	return []item{it}, i + 1
}

// carry records that the edges of a node are written in its note.
func (s *shaper) carry(n *workflow.Node) {
	if key := keyIn(s.owner, n.ID); !s.plan.carried[key] {
		s.plan.carried[key] = true
		s.plan.noted = append(s.plan.noted, key)
	}
}

// forget discards what was recorded since a drawing was begun that is not used.
func (p *plan) forget(from int) {
	for _, key := range p.noted[from:] {
		delete(p.carried, key)
	}
	p.noted = p.noted[:from]
}

// formOf returns the kind of block that shows the ways of a node, if there is one.
func (s *shaper) formOf(n *workflow.Node, ways []way) (form, bool) {
	_, isChoice := n.Step.(*workflow.Choice)
	switch {
	case len(ways) == 1 && ways[0].on == workflow.OnSuccess:
		return forkForm, len(ways[0].to) > 1
	case len(ways) == 0 || ways[0].on == workflow.OnSuccess:
		return stepForm, false
	case isChoice && len(ways) == 2 && ways[0].on == workflow.OnWhen && ways[1].on == workflow.OnElse && n.Task() == nil, isAnswered(n, ways):
		return ifForm, true
	case isChoice || yaml.Kind(n) == "task" || n.Kind() == "human":
		return switchForm, true
	}
	return stepForm, false
}

// branching finds the branches of a node, and where they meet again: the first node that nothing
// before it leads beyond. It fails if the branches do not follow each other in the order of their
// ways.
func (s *shaper) branching(i, hi int, next string, f form, ways []way) (it item, end int, ok bool) {
	starts, last, ok := s.starts(i, hi, f, ways)
	if !ok {
		return item{}, 0, false
	}
	end = s.meeting(i, last, hi)
	if end == last && last < hi && s.led[last] == 1 && (f != ifForm || hi-last <= 2*(last-i) && !s.leaves(ways)) {
		end = hi // only the last branch leads there; but a long way on is not a branch of a test
	}
	if last > end {
		return item{}, 0, false
	}
	it = item{form: f}
	behind := s.after(end, hi, next)
	at := i + 1
	list, inverted := branchesOf(f, ways, starts)
	it.inverted = inverted
	for k := range list {
		b := &list[k]
		from := b.from
		to := end
		for _, later := range list[k+1:] {
			if later.from >= 0 && later.from < end {
				to = later.from
				break
			}
		}
		if from < 0 || from >= end {
			if b.body, ok = s.short(b.way, behind); !ok && i >= 0 {
				s.carry(&s.g.Nodes[i])
			}
		} else {
			if from != at || from >= to {
				return item{}, 0, false
			}
			b.body = s.block(from, to, behind)
			b.body[0].start = b.body[0].start && i >= 0
			at = to
		}
		it.branches = append(it.branches, b.branch)
	}
	return it, end, at == end
}

// placed is a branch with the node that it begins at, or -1.
type placed struct {
	branch
	from int
}

// branchesOf lists the branches in the order of the text. Those of a fork have one target each.
// The first branch of an if is the one whose steps come first.
func branchesOf(f form, ways []way, starts [][]int) (list []placed, inverted bool) {
	for k, w := range ways {
		if f == forkForm {
			for j, to := range w.to {
				list = append(list, placed{branch{way: way{to: []string{to}}}, starts[k][j]})
			}
			continue
		}
		list = append(list, placed{branch{way: w}, starts[k][0]})
	}
	if f == ifForm && ways[1].on == workflow.OnElse && list[0].from >= 0 && list[1].from >= 0 && list[1].from < list[0].from {
		slices.Reverse(list)
		return list, true
	}
	return list, false
}

// starts returns the nodes that the ways lead to, with -1 for anything outside the range, and the
// last of them.
func (s *shaper) starts(i, hi int, f form, ways []way) (starts [][]int, last int, ok bool) {
	last = i + 1
	for _, w := range ways {
		if f != forkForm && len(w.to) > 1 {
			return nil, 0, false
		}
		var list []int
		for _, to := range w.to {
			at, known := s.index[to]
			switch {
			case !known || at > hi:
				at = -1
			case at <= i:
				return nil, 0, false
			default:
				last = max(last, at)
			}
			list = append(list, at)
		}
		starts = append(starts, list)
	}
	return starts, last, true
}

// meeting returns the first node, at or after last, that no node in between skips.
func (s *shaper) meeting(i, last, hi int) int {
	end := last
	for range 64 { // a drawing that needs more would not be readable
		far := min(s.farthest(max(i, 0), end), hi)
		if far <= end {
			return end
		}
		end = far
	}
	return hi
}

// short returns the body of a branch without steps; ok is false if its target cannot be drawn.
func (s *shaper) short(w way, behind string) (b block, ok bool) {
	to := w.to[0]
	switch {
	case to == behind:
		return nil, true
	case to == workflow.End:
		return block{{form: stepForm, end: stops}}, true
	case s.inLoop && to == s.exit:
		return block{{form: stepForm, end: breaks}}, true
	}
	return nil, false
}

// ending returns what must follow a step for its path to end there.
func (s *shaper) ending(ways []way, behind string, last bool) ending {
	switch {
	case len(ways) == 0 && s.inLoop:
		return detaches
	case len(ways) == 0 && (behind != workflow.End || !last):
		return stops
	case len(ways) != 1 || ways[0].on != workflow.OnSuccess || len(ways[0].to) != 1 || ways[0].to[0] == behind:
		return goesOn
	case ways[0].to[0] == workflow.End:
		return stops
	case s.inLoop && ways[0].to[0] == s.exit:
		return breaks
	}
	return goesOn
}
