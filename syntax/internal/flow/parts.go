package flow

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// parts numbers the nodes and the frames of a drawing: first the nodes, then the frames, both in
// the order of their declaration.
type parts struct {
	*Drawing
	report func(workflow.Diagnostic)

	byID   map[string]int
	kind   []kind
	around []int // the innermost frame around a part, or none
	home   []int // the innermost loop or for_each around it, or none
	levels []int // of a frame: number of frames around it, including itself
	rank   []int // the first node in a part

	first, next []int // the direct contents of a frame, as a linked list
}

type kind uint8

const (
	node kind = iota
	plain
	loop
	each
)

// Targets of edges that are not parts.
const (
	none    = -1 - iota // as a frame: the whole drawing
	toEnd               // the path ends
	toAgain             // the next round
)

func newParts(d *Drawing, report func(workflow.Diagnostic)) *parts {
	n := len(d.Nodes)
	size := n + len(d.Frames)
	p := &parts{Drawing: d, report: report, byID: make(map[string]int, size)}
	p.kind = make([]kind, size)
	all := make([]int, 6*size+1)
	for _, list := range []*[]int{&p.around, &p.home, &p.levels, &p.rank, &p.next} {
		*list, all = all[:size:size], all[size:]
	}
	p.first = all
	for i := range size {
		id := p.node(i).ID
		if _, taken := p.byID[id]; !taken {
			p.byID[id] = i
		}
	}
	p.place()
	return p
}

// find returns the part with an id. It first tries a likely part and the one after it, because most
// edges lead to the node that is declared next.
func (p *parts) find(id string, likely int) (part int, known bool) {
	for part := max(likely, 0); part < min(likely+2, len(p.Nodes)); part++ {
		if p.Nodes[part].ID == id {
			return part, true
		}
	}
	part, known = p.byID[id]
	return part, known
}

// node returns the node of a part in the model; nil for a plain frame.
func (p *parts) node(part int) *workflow.Node {
	if n := len(p.Nodes); part >= n {
		return &p.Frames[part-n].Node
	}
	return &p.Nodes[part].Node
}

func (p *parts) id(part int) string { return p.node(part).ID }

// place determines which frame each part is in.
func (p *parts) place() {
	for i := range p.Nodes {
		p.around[i] = p.frame(p.Nodes[i].Frame)
	}
	for i := range p.Frames {
		part := len(p.Nodes) + i
		p.around[part] = p.frame(p.Frames[i].Frame)
		switch p.Frames[i].Step.(type) {
		case *workflow.Loop:
			p.kind[part] = loop
		case *workflow.Each:
			p.kind[part] = each
		default:
			p.kind[part] = plain
		}
	}
	deep := p.levelFrames()
	p.rankParts()
	p.dropEmpty(deep == none)
	p.listInner()
	for i := range p.around {
		p.home[i] = p.around[i]
		for p.home[i] != none && !p.isBody(p.home[i]) {
			p.home[i] = p.around[p.home[i]]
		}
	}
	if deep != none {
		p.report(workflow.Errorf(p.node(deep).Pos, codeNested, "draw some of them as separate workflows and call them",
			"frames are nested more than %d levels deep", maxNesting))
	}
}

func (p *parts) frame(id string) int {
	if part, ok := p.byID[id]; ok && part >= len(p.Nodes) && id != "" {
		return part
	}
	return none
}

// levelFrames counts the frames around every frame. A frame that contains itself, or is nested too
// deeply, is moved to the top level. It returns the first frame that is nested too deeply.
func (p *parts) levelFrames() (deep int) {
	const visiting = -1
	deep = none
	var path []int
	for part := len(p.Nodes); part < len(p.around); part++ {
		f := part
		for path = path[:0]; f != none && p.levels[f] == 0; f = p.around[f] {
			p.levels[f] = visiting
			path = append(path, f)
		}
		if f != none && p.levels[f] == visiting {
			p.around[path[len(path)-1]], f = none, none
		}
		for level := p.level(f); len(path) > 0; path = path[:len(path)-1] {
			f, level = path[len(path)-1], level+1
			if level > maxNesting {
				p.around[f], level = none, 1
				if deep == none {
					deep = f
				}
			}
			p.levels[f] = level
		}
	}
	return deep
}

// rankParts finds the first node in every frame. An empty frame comes after all nodes.
func (p *parts) rankParts() {
	for f := len(p.Nodes); f < len(p.rank); f++ {
		p.rank[f] = len(p.rank)
	}
	for i := range p.Nodes {
		p.rank[i] = i
		for f := p.around[i]; f != none && p.rank[f] > i; f = p.around[f] {
			p.rank[f] = i
		}
	}
}

// dropEmpty turns loops and for_eachs without steps into plain frames.
func (p *parts) dropEmpty(tell bool) {
	for f := len(p.Nodes); f < len(p.kind); f++ {
		if !p.isBody(f) || p.rank[f] < len(p.Nodes) {
			continue
		}
		code, word := codeEmptyEach, "for_each"
		if p.kind[f] == loop {
			code, word = codeEmptyLoop, "loop"
		}
		p.kind[f] = plain
		if tell {
			p.report(workflow.Errorf(p.node(f).Pos, code, "put the steps to repeat into its frame", "the %s %q has no steps", word, p.id(f)))
		}
	}
}

func (p *parts) listInner() {
	for i := range p.first {
		p.first[i] = none
	}
	for i := len(p.around) - 1; i >= 0; i-- {
		f := p.around[i] + 1 // none comes first
		p.next[i], p.first[f] = p.first[f], i
	}
}

func (p *parts) level(frame int) int {
	if frame == none {
		return 0
	}
	return p.levels[frame]
}

// isBody reports whether a frame stands for a loop or a for_each.
func (p *parts) isBody(part int) bool { return p.kind[part] == loop || p.kind[part] == each }

// meet returns the innermost frame around two frames, which may be one of them.
func (p *parts) meet(a, b int) int {
	for a != b {
		if p.level(a) >= p.level(b) {
			a = p.around[a]
		} else {
			b = p.around[b]
		}
	}
	return a
}

// within reports whether a part is in a frame, or is the frame itself.
func (p *parts) within(part, frame int) bool {
	for part != none && part != frame {
		part = p.around[part]
	}
	return part == frame
}

// items returns the nodes, loops and for_eachs of a frame, including those in plain frames inside
// it, in the order of their declaration.
func (p *parts) items(frame int) []int {
	var list []int
	if frame == none {
		list = make([]int, 0, len(p.Nodes))
	}
	var look func(frame int)
	look = func(frame int) {
		for i := p.first[frame+1]; i != none; i = p.next[i] {
			if p.kind[i] == plain {
				look(i)
			} else {
				list = append(list, i)
			}
		}
	}
	look(frame)
	if len(p.Frames) > 0 {
		slices.SortStableFunc(list, func(a, b int) int { return p.rank[a] - p.rank[b] })
	}
	return list
}
