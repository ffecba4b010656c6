package workflow

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// Sequence returns a workflow of steps that run one after the other. Adjacent steps with the same
// [Job.Group] run in parallel. A step that says with Then, OnLabel, When or Else what follows
// continues only there, and a step that another one names in this way runs only if that edge is
// taken. Steps in a body are a sequence too.
//
// Everything else that belongs to the workflow is a field of the result: Inputs, State, Limits,
// Output and so on.
func Sequence(name string, jobs ...*Job) *Workflow { return build(name, jobs, true) }

// Steps returns a workflow of steps that run as soon as the steps that lead to them, or that they
// depend on, have succeeded. Steps in a body are ordered in the same way.
func Steps(name string, jobs ...*Job) *Workflow { return build(name, jobs, false) }

func build(name string, jobs []*Job, sequential bool) *Workflow {
	where := "the builder"
	if name != "" {
		where = name + ": " + where
	}
	b := &builder{w: &Workflow{Name: name, Pos: Pos{Part: where}}, sequential: sequential, named: map[string]bool{}}
	b.w.Body = b.graph(b.number(jobs), nil, false)
	return b.w
}

// builder builds a graph from jobs. It does not change them, so that a program can use them
// again.
type builder struct {
	w          *Workflow
	sequential bool
	count      int             // number of steps
	named      map[string]bool // ids that a way leads to
}

// placed is a job with its place in the workflow.
type placed struct {
	*Job
	node   Node // a copy, with its id and position
	parts  int  // number of its parts that have their own position
	body   []*placed
	after  []string // steps that depend on it
	follow []string // where its success leads, in addition to Then
	isLoop bool
	again  bool // an earlier step has the same id
}

// number gives every job an id and a position, in the order of the program.
func (b *builder) number(jobs []*Job) []*placed {
	list := make([]*placed, len(jobs))
	for i, j := range jobs {
		b.count++
		list[i] = b.place(j, strconv.Itoa(b.count))
	}
	return list
}

func (b *builder) place(j *Job, id string) *placed {
	if j == nil {
		j = Agent("", "")
		j.wrong = append(j.wrong, problem{"step-key", "the step is nil", "leave it out, or create it with Agent, Ask or a similar function"})
	}
	p := &placed{Job: j, node: j.node}
	if p.node.ID == "" {
		p.node.ID = id
	}
	where := "step " + strconv.Itoa(b.count) + " of the builder"
	if b.w.Name != "" {
		where = b.w.Name + ": " + where
	}
	p.node.Pos = Pos{Part: where, Line: b.count, EndLine: b.count}
	p.copyStep()
	for _, w := range j.wrong {
		b.w.Mistakes = append(b.w.Mistakes, Errorf(p.node.Pos, w.code, w.detail, "%s", w.summary))
	}
	for _, w := range j.ways {
		for _, to := range w.to {
			b.named[to] = true
		}
	}
	if _, isEach := p.node.Step.(*Each); isEach && len(j.body) == 1 && j.body[0] != nil && j.body[0].node.ID == "" {
		p.body = []*placed{b.place(j.body[0], p.node.ID)}
		return p
	}
	p.body = b.number(j.body)
	return p
}

// part returns the position of a part of the step. Each part has its own column, so that no two
// have the same position.
func (p *placed) part(name string) Pos {
	p.parts++
	pos := p.node.Pos
	pos.Column, pos.EndColumn = p.parts, p.parts
	if name != "" {
		pos.Part += ", " + name
	}
	return pos
}

func (p *placed) expr(text, name string) Expr {
	return Expr{Text: text, Src: Source{Text: text, Pos: p.part(name)}}
}

// copyStep copies the contents of a step, and sets the positions of its parts.
func (p *placed) copyStep() {
	p.node.Labels = maps.Clone(p.node.Labels)
	switch s := p.node.Step.(type) {
	case *Task:
		p.node.Step = p.task(s)
	case *Call:
		c := *s
		c.Inputs = p.inputs(s.Inputs)
		p.node.Step = &c
	case *Human:
		c := *s
		c.Options = slices.Clone(s.Options)
		p.node.Step = &c
	case *Choice:
		c := *s
		if s.Ask != nil {
			c.Ask = p.task(s.Ask)
		} else {
			c.On = p.expr(s.On.Text, "its decision")
		}
		p.node.Step = &c
	case *Combine:
		c := *s
		c.Inputs = slices.Clone(s.Inputs)
		for i, in := range c.Inputs {
			c.Inputs[i] = p.expr(in.Text, "")
		}
		p.node.Step = &c
	case *Loop:
		c := *s
		p.node.Step, p.isLoop = &c, true
	case *Each:
		c := *s
		c.Items = p.expr(s.Items.Text, "its items")
		p.node.Step = &c
	}
}

func (p *placed) task(t *Task) *Task {
	c := *t
	c.Inputs = p.inputs(t.Inputs)
	c.Settings = maps.Clone(t.Settings)
	c.SettingsPos = make(map[string]Pos, len(t.Settings))
	for _, name := range sorted.Keys(t.Settings) {
		c.SettingsPos[name] = p.part("setting " + strconv.Quote(name))
	}
	if t.Handoffs != nil {
		h := *t.Handoffs
		h.Pos = slices.Repeat([]Pos{p.part("handoffs")}, len(h.To))
		c.Handoffs = &h
	}
	return &c
}

func (p *placed) inputs(list []Binding) []Binding {
	list = slices.Clone(list)
	for i := range list {
		list[i].Pos = p.part("input " + strconv.Quote(list[i].Name))
	}
	return list
}

// graph connects the steps of a body. behind is where the flow continues after them.
func (b *builder) graph(list []*placed, behind []string, inLoop bool) Graph {
	broken := depend(list)
	b.order(list, behind)
	g := Graph{Nodes: make([]Node, 0, len(list))}
	for _, p := range list {
		switch s := p.node.Step.(type) {
		case *Loop:
			s.Body = b.graph(p.body, p.exits(), true)
		case *Each:
			s.Body = b.graph(p.body, nil, false)
		case *Task, *Human, *Call, *Choice, *Combine:
		}
		g.Nodes = append(g.Nodes, p.node)
		if !p.isLoop {
			g.Edges = append(g.Edges, p.edges(inLoop)...)
		}
	}
	g.Edges = append(g.Edges, broken...)
	return g
}

// depend finds the steps that depend on each step, and those with duplicate ids. A dependency on
// a step that is not in the list becomes an edge from nowhere, which a check reports.
func depend(list []*placed) (broken []Edge) {
	byID := make(map[string]*placed, len(list))
	for _, p := range list {
		p.again = byID[p.node.ID] != nil
		byID[p.node.ID] = p
	}
	for _, p := range list {
		for _, id := range p.depends {
			if from := byID[id]; from != nil {
				from.after = append(from.after, p.node.ID)
			} else {
				broken = append(broken, Edge{From: id, To: p.node.ID, Pos: p.node.Pos})
			}
		}
	}
	return broken
}

// order finds where the success of every step leads. Steps with duplicate ids are skipped: they
// are reported already, and their edges would create cycles, which would be reported too.
func (b *builder) order(list []*placed, behind []string) {
	next := behind
	for i := len(list) - 1; i >= 0; i-- {
		p := list[i]
		var to []string
		if b.sequential && !p.branches() && !p.again {
			to = next
		}
		p.follow = distinct(slices.Concat(to, p.after), p.plain())
		if len(p.follow) == 0 && !p.branches() && !b.sequential {
			p.follow = behind
		}
		if b.starts(list, i) {
			next = b.position(list, i)
		}
	}
}

// starts reports whether a position of the sequence starts at a step: no other step names it, and
// it is not in the group of the step before it.
func (b *builder) starts(list []*placed, i int) bool {
	if b.named[list[i].node.ID] || list[i].again {
		return false
	}
	for _, p := range slices.Backward(list[:i]) {
		if !b.named[p.node.ID] {
			return p.node.Group == "" || p.node.Group != list[i].node.Group
		}
	}
	return true
}

// position returns the steps of the position that starts at a step.
func (b *builder) position(list []*placed, i int) []string {
	ids := []string{list[i].node.ID}
	for _, p := range list[i+1:] {
		if b.named[p.node.ID] {
			continue
		}
		if p.node.Group == "" || p.node.Group != list[i].node.Group {
			break
		}
		ids = append(ids, p.node.ID)
	}
	return ids
}

// plain returns the targets of Then.
func (p *placed) plain() (ids []string) {
	for _, w := range p.ways {
		if w.on == OnSuccess {
			ids = append(ids, w.to...)
		}
	}
	return ids
}

// exits returns where the flow continues after a loop.
func (p *placed) exits() []string {
	if to := slices.Concat(p.follow, p.plain()); len(to) > 0 {
		return to
	}
	return []string{End}
}

// distinct returns every id once, without the others.
func distinct(ids, others []string) []string {
	seen := make(map[string]bool, len(ids)+len(others))
	for _, id := range others {
		seen[id] = true
	}
	var kept []string
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			kept = append(kept, id)
		}
	}
	return kept
}

// edges returns the edges of a step: where the sequence continues, then the ones that the step
// sets itself. A single plain edge to the end is left out, unless it leaves a loop.
func (p *placed) edges(inLoop bool) []Edge {
	var edges []Edge
	for _, w := range append([]way{{to: p.follow}}, p.ways...) {
		e := Edge{From: p.node.ID, On: w.on, Label: w.label, Pos: p.node.Pos}
		if w.when != "" {
			e.When = p.expr(w.when, "when")
			e.Pos = e.When.Src.Pos
		}
		for _, e.To = range w.to {
			edges = append(edges, e)
		}
	}
	plain := func(e Edge) bool { return e.On == OnSuccess }
	i := slices.IndexFunc(edges, plain)
	if i >= 0 && edges[i].To == End && !inLoop && !slices.ContainsFunc(edges[i+1:], plain) {
		edges = slices.Delete(edges, i, i+1)
	}
	return edges
}
