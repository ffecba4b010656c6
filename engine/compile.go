package engine

import (
	"fmt"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
	"github.com/hocket-dev/hocket/workflow/extract"
)

// program is a workflow made ready to run: names are indexes, texts are parsed.
type program struct {
	w      *workflow.Workflow
	body   *graph
	vars   map[string]int   // index of each variable
	depth  int              // of the environments, see levels
	nodes  map[string]*node // by id; of an Each over one node, the Each
	groups map[string][]*node
	refers []string // inputs that its texts refer to
	inputs []string // names that the workflow takes, see takes
	output *expr.Template
}

// graph is a compiled workflow.Graph.
type graph struct {
	owner   *node // the loop or each whose body this is; nil for a workflow's
	nodes   []*node
	entries []*node
	scope   *graph // the graph whose scope this one runs in: itself for a workflow's and an Each's body
	count   int    // for a scope: how many nodes run in it, over all loops
	exits   []*edge
	parcels int // in-edges of all its nodes
}

// node is a compiled workflow.Node.
type node struct {
	def   *workflow.Node
	g     *graph
	local int // index in its graph
	slot  int // index in its scope's newest instances
	step  int // index among the steps of the workflow, for people

	in  []*edge // forward edges that lead here, in edge order
	out []*edge

	conditional bool     // has label or when edges
	hasElse     bool     // has else edges
	onFailure   bool     // has error edges
	onTimeout   bool     // has timeout edges
	labels      []string // of its label edges, in order, once each
	rest        []*node  // what a join cancels when it runs

	body     *graph
	write    int               // variable that success writes; -1 none
	item     int               // variable that holds the item of an Each; -1 none
	options  []workflow.Option // of a human
	prompt   *expr.Template
	inputs   []input
	settings *expr.Value
	on       *expr.Expr // choice: decision; each: items
	from     []*expr.Expr
	extract  *extract.Extractor
	factsKey string // "workflow/node", as in Started.Tasks
	agent    string
}

type input struct {
	name  string
	value *expr.Value
}

// edge is a compiled workflow.Edge.
type edge struct {
	def      *workflow.Edge
	from, to *node // to is nil for @end and @again
	again    bool
	when     *expr.Expr
	slot     int    // index among the in-edges of to
	leaves   []int  // index in graph.exits of each loop it leaves, innermost first
	told     string // the decision to take it alone, for people
}

// ends says whether the path ends with this edge.
func (e *edge) ends() bool { return e.to == nil && !e.again }

type compiler struct {
	*program
	noted map[string]bool // names in refers
	steps int
	err   error
}

func compile(w *workflow.Workflow) (*program, error) {
	c := &compiler{program: &program{w: w, vars: map[string]int{}, nodes: map[string]*node{}, groups: map[string][]*node{}}, noted: map[string]bool{}}
	c.body = c.graph(&w.Body, nil)
	c.edges(c.body, &w.Body)
	c.finish(c.body)
	for _, name := range sortedKeys(w.State) {
		c.variable(name)
	}
	c.depth = levels(len(c.vars))
	c.output = c.template(w.Output.Text)
	return c.program, c.err
}

// initial is the environment at the beginning: the workflow's state.
func (p *program) initial() *env {
	var at *env
	for _, name := range sortedKeys(p.w.State) {
		at = at.set(p.depth, p.vars[name], &write{value: p.w.State[name]})
	}
	return at
}

func (c *compiler) variable(name string) int {
	if name == "" {
		return -1
	}
	i, ok := c.vars[name]
	if !ok {
		i = len(c.vars)
		c.vars[name] = i
	}
	return i
}

// graph compiles the nodes of a graph and of the bodies in it.
func (c *compiler) graph(def *workflow.Graph, owner *node) *graph {
	g := &graph{owner: owner}
	g.scope = g
	if owner != nil && owner.isLoop() {
		g.scope = owner.g.scope
	}
	for i := range def.Nodes {
		c.node(g, &def.Nodes[i])
	}
	return g
}

func (c *compiler) node(g *graph, def *workflow.Node) {
	n := &node{def: def, g: g, local: len(g.nodes), slot: g.scope.count, step: c.steps, item: -1}
	g.scope.count++
	g.nodes = append(g.nodes, n)
	n.write = c.variable(def.Output.Var)
	n.factsKey = c.w.Name + "/" + def.ID
	// What is in a loop or a for_each has the index of the whole.
	if g.owner != nil {
		n.step = g.owner.step
	} else if !n.isChoice() {
		c.steps++
	}
	if repeated := g.owner != nil && g.owner.def.ID == def.ID; !repeated {
		if c.nodes[def.ID] != nil {
			c.fail("two nodes have the id %q", def.ID)
		}
		c.nodes[def.ID] = n
		if def.Group != "" {
			c.groups[def.Group] = append(c.groups[def.Group], n)
		}
	}
	c.step(n)
	c.extractor(n)
}

func (c *compiler) step(n *node) {
	switch s := n.def.Step.(type) {
	case *workflow.Task:
		n.prompt, n.inputs, n.agent = c.template(s.Prompt.Text), c.bindings(s.Inputs), s.Agent
		if len(s.Settings) > 0 {
			n.settings = c.value(s.Settings)
		}
	case *workflow.Human:
		n.prompt = c.template(s.Question.Text)
	case *workflow.Call:
		n.inputs, n.agent = c.bindings(s.Inputs), s.Workflow
	case *workflow.Choice:
		n.on, n.write = c.expr(s.On.Text), -1
	case *workflow.Combine:
		for _, in := range s.Inputs {
			n.from = append(n.from, c.expr(in.Text))
		}
	case *workflow.Loop:
		n.write = -1
		n.body = c.graph(&s.Body, n)
	case *workflow.Each:
		n.on, n.item = c.expr(s.Items.Text), c.variable(s.As)
		n.body = c.graph(&s.Body, n)
		if len(s.Body.Nodes) == 0 {
			c.fail("for_each %q repeats nothing", n.def.ID)
		}
	}
}

// extractor compiles how a node's value is taken from what it gave; nil: as it
// is.
func (c *compiler) extractor(n *node) {
	if o := n.def.Output; o.Mode == workflow.Full && o.Schema == nil {
		return
	}
	x, err := extract.New(n.def.Output)
	if err != nil {
		c.fail("node %q: %v", n.def.ID, err)
	}
	n.extract = x
}

// edges compiles the edges of a graph and of the bodies in it. It runs when all
// nodes are known, because an exit leads out of its graph.
func (c *compiler) edges(g *graph, def *workflow.Graph) {
	for _, n := range g.nodes {
		n.options = def.Offered(n.def)
	}
	local := make(map[string]*node, len(g.nodes))
	for _, n := range g.nodes {
		local[n.def.ID] = n
	}
	for i := range def.Edges {
		c.edge(g, local, &def.Edges[i])
	}
	for _, n := range g.nodes {
		if n.body != nil {
			c.edges(n.body, n.def.Body())
		}
	}
}

func (c *compiler) edge(g *graph, local map[string]*node, def *workflow.Edge) {
	from := local[def.From]
	if from == nil {
		c.fail("an edge leaves %q, which is no node of its graph", def.From)
		return
	}
	e := &edge{def: def, from: from, again: def.To == workflow.Again}
	e.told = string(def.On) + " → " + def.To
	if !e.again && def.To != workflow.End {
		if e.to = local[def.To]; e.to == nil {
			e.to = c.nodes[def.To]
		}
		if e.to == nil {
			c.fail("the edge from %q leads to %q, which does not exist", def.From, def.To)
			return
		}
	}
	if def.On == workflow.OnWhen {
		e.when = c.expr(def.When.Text)
	}
	from.out = append(from.out, e)
	c.leave(g, e)
	if e.to != nil {
		e.slot = len(e.to.in)
		e.to.in = append(e.to.in, e)
		e.to.g.parcels++
	}
}

// leave notes the edge at every loop between its source and its target. An edge
// to @end leaves the innermost loop only: it counts as a way out of it, and
// there is nothing to settle further out.
func (c *compiler) leave(g *graph, e *edge) {
	for ; g.owner != nil; g = g.owner.g {
		switch {
		case e.again && g.owner.isLoop(), e.to != nil && e.to.g == g:
			return
		case !g.owner.isLoop() && e.ends():
			return
		case !g.owner.isLoop():
			c.fail("the edge from %q to %q leaves the for_each %q", e.def.From, e.def.To, g.owner.def.ID)
			return
		}
		e.leaves = append(e.leaves, len(g.exits))
		g.exits = append(g.exits, e)
		if e.ends() {
			return
		}
	}
	if e.again {
		c.fail("the edge from %q goes round again, but is in no loop", e.def.From)
	} else if e.to != nil && e.to.g != g {
		c.fail("the edge from %q leads into the loop or for_each around %q", e.def.From, e.def.To)
	}
}

// finish derives what follows from the edges.
func (c *compiler) finish(g *graph) {
	for _, n := range g.nodes {
		if len(n.in) == 0 {
			g.entries = append(g.entries, n)
		}
		c.summarize(n)
		if n.body != nil {
			c.finish(n.body)
		}
	}
	if c.err == nil {
		c.acyclic(g)
	}
	for _, n := range g.nodes {
		if n.def.Join.Need > 0 && !n.def.Join.Keep && c.err == nil {
			n.rest = restOf(n)
		}
	}
}

func (c *compiler) summarize(n *node) {
	seen := map[string]bool{}
	for _, e := range n.out {
		switch e.def.On {
		case workflow.OnSuccess:
		case workflow.OnLabel:
			n.conditional = true
			if !seen[e.def.Label] {
				seen[e.def.Label] = true
				n.labels = append(n.labels, e.def.Label)
			}
		case workflow.OnWhen:
			n.conditional = true
		case workflow.OnElse:
			n.hasElse = true
		case workflow.OnFailure:
			n.onFailure = true
		case workflow.OnTimeout:
			n.onTimeout = true
		}
	}
	if n.conditional { // a plain edge beside conditional ones is an else
		for _, e := range n.out {
			n.hasElse = n.hasElse || e.def.On == workflow.OnSuccess
		}
	}
}

// acyclic fails if the graph has a cycle. An exit counts as an edge of the
// composite that it leaves.
func (c *compiler) acyclic(g *graph) {
	left := make([]int, len(g.nodes))
	var ready []*node
	for i, n := range g.nodes {
		if left[i] = len(n.in); left[i] == 0 {
			ready = append(ready, n)
		}
	}
	done := 0
	for ; done < len(ready); done++ {
		for _, e := range g.leaving(ready[done]) {
			if left[e.to.local]--; left[e.to.local] == 0 {
				ready = append(ready, e.to)
			}
		}
	}
	if done < len(g.nodes) {
		c.fail("the nodes wait for each other in a circle")
	}
}

// leaving are the edges from n, or from inside n, to nodes of its own graph.
func (g *graph) leaving(n *node) []*edge {
	edges := n.out
	if n.body != nil && n.isLoop() {
		edges = n.body.exits
	}
	var out []*edge
	for _, e := range edges {
		if e.to != nil && e.to.g == g {
			out = append(out, e)
		}
	}
	return out
}

// restOf are the nodes of join's graph all of whose paths lead to it. Error and
// timeout edges are no paths here: what is cancelled does not fail.
func restOf(join *node) []*node {
	g := join.g
	leads := make([]int8, len(g.nodes)) // 0 unknown, 1 yes, -1 no
	var visit func(n *node) bool
	visit = func(n *node) bool {
		if n == join {
			return true
		}
		if leads[n.local] != 0 {
			return leads[n.local] > 0
		}
		leads[n.local] = -1
		edges := n.out
		if n.isLoop() {
			edges = n.body.exits
		}
		found := false
		for _, e := range edges {
			if e.def.On == workflow.OnFailure || e.def.On == workflow.OnTimeout {
				continue
			}
			if e.to == nil || e.to.g != g || !visit(e.to) {
				return false
			}
			found = true
		}
		if found {
			leads[n.local] = 1
		}
		return found
	}
	var rest []*node
	for _, n := range g.nodes {
		if n != join && visit(n) {
			rest = append(rest, n)
		}
	}
	return rest
}

func (n *node) isChoice() bool {
	_, ok := n.def.Step.(*workflow.Choice)
	return ok
}

func (n *node) isLoop() bool {
	_, ok := n.def.Step.(*workflow.Loop)
	return ok
}

// note keeps the inputs that a text refers to.
func (c *compiler) note(refs []*expr.Ref) {
	for _, r := range refs {
		if r.Kind == expr.Inputs && r.Name != "" && !c.noted[r.Name] {
			c.noted[r.Name] = true
			c.refers = append(c.refers, r.Name)
		}
	}
}

func (c *compiler) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("engine: workflow %q: %s", c.w.Name, fmt.Sprintf(format, args...))
	}
}

func (c *compiler) template(text string) *expr.Template {
	if text == "" {
		return nil
	}
	t, err := expr.ParseTemplate(text, expr.Canonical)
	if err != nil {
		c.fail("%v", err)
		return nil
	}
	c.note(t.Refs())
	return t
}

func (c *compiler) expr(text string) *expr.Expr {
	if text == "" {
		return nil
	}
	e, err := expr.ParseExpr(text, expr.Canonical)
	if err != nil {
		c.fail("%v", err)
		return nil
	}
	c.note(e.Refs())
	return e
}

func (c *compiler) value(v any) *expr.Value {
	x, err := expr.ParseValue(v, expr.Canonical)
	if err != nil {
		c.fail("%v", err)
		return nil
	}
	c.note(x.Refs())
	return x
}

func (c *compiler) bindings(bs []workflow.Binding) []input {
	out := make([]input, len(bs))
	for i, b := range bs {
		out[i] = input{b.Name, c.value(b.Value)}
	}
	return out
}
