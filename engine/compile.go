package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
	"github.com/hocket-dev/hocket/workflow/extract"
)

// program is a compiled workflow: names are resolved to indexes, and texts are parsed.
type program struct {
	w      *workflow.Workflow
	index  int    // in the run
	digest string // of the whole bundle, computed when needed; only set in the root
	body   *graph
	vars   map[string]int   // index of each variable
	depth  int              // of the environments, see levels
	nodes  map[string]*node // by id; the Each, if it repeats a node with the same id
	all    []*node
	groups map[string][]*node
	refers []string // inputs that its texts refer to
	inputs []string // names that the workflow accepts, see takes
	output *expr.Template
	facts  *TaskFacts // of the only task, if it was handed off
}

// graph is a compiled workflow.Graph.
type graph struct {
	owner   *node // the loop or each that has this body; nil for a workflow's graph
	nodes   []*node
	entries []*node
	scope   *graph // the graph that has the scope in which this one runs: itself, for the graph of a workflow and the body of an Each
	count   int    // for a scope: number of nodes that run in it, including those in loops
	exits   []*edge
	parcels int // number of in-edges of all its nodes
}

// node is a compiled workflow.Node.
//
// When a step of a run starts, its node is usually not in the processor's cache, so the fields
// that every step needs are kept together here instead of being read from def.
type node struct {
	g     *graph
	does  workflow.Step
	local int // index in its graph
	index int // in its program
	home  *program
	slot  int // index in its scope's newest instances

	in    []*edge // forward edges that lead here, in edge order
	out   []*edge
	rest  []*node // the nodes that a join cancels when it runs
	first int     // index of its first parcel in a region
	need  int32   // number of live in-edges that a join waits for; 0 means all

	conditional bool // has label or when edges
	receives    bool // a task or a question that receives the outputs that reach it
	answers     bool // a human who answers the question of the choice after it
	onFailure   bool // has error edges
	onTimeout   bool // has timeout edges

	place    Place
	text     string         // the prompt, if it has no references
	prompt   *expr.Template // otherwise
	inputs   []input
	settings *expr.Value
	extract  *extract.Extractor
	timeout  time.Duration
	// workspace is where it works, if that does not depend on the caller of its workflow.
	workspace workflow.Workspace
	write     int    // variable that success writes; -1 if none
	factsKey  string // "workflow/node", as in Started.Tasks

	def     *workflow.Node
	worksAs digest // see work
	readsAs digest // see reads
	actsAs  digest // see acts
	step    int    // index among the steps of the workflow, shown to people
	body    *graph
	item    int               // variable for the item of an Each; -1 if none
	options []workflow.Option // of a human
	on      *expr.Expr        // choice: decision; each: items
	from    []*expr.Expr
}

type input struct {
	name  string
	value *expr.Value
}

// edge is a compiled workflow.Edge.
type edge struct {
	def      *workflow.Edge
	on       workflow.On
	from, to *node // to is nil for @end and @again
	again    bool
	when     *expr.Expr
	slot     int    // index among the in-edges of to
	leaves   []int  // index in graph.exits of each loop it leaves, innermost first
	told     string // the decision if only this edge is taken, as shown to people
}

// ends reports whether the path ends with this edge.
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
	for _, name := range sorted.Keys(w.State) {
		c.variable(name)
	}
	c.depth = levels(len(c.vars))
	c.output = c.template(w.Output.Text)
	return c.program, c.err
}

// initial returns the initial environment: the workflow's state.
func (p *program) initial() *env {
	var at *env
	for _, name := range sorted.Keys(p.w.State) {
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
	nodes := make([]node, len(def.Nodes))
	g.nodes = make([]*node, 0, len(nodes))
	for i := range nodes {
		c.node(g, &nodes[i], &def.Nodes[i])
	}
	return g
}

func (c *compiler) node(g *graph, n *node, def *workflow.Node) {
	*n = node{
		def: def, does: def.Step, g: g, local: len(g.nodes), slot: g.scope.count, step: c.steps,
		item: -1, need: int32(def.Join.Need), timeout: def.Timeout,
	}
	n.place = Place{Workflow: c.w.Name, Node: def.ID, Output: &def.Output, Labels: def.Labels}
	if n.workspace = def.Workspace; n.workspace == workflow.WorkspaceAround && g.owner != nil {
		n.workspace = g.owner.workspace
	}
	g.scope.count++
	g.nodes = append(g.nodes, n)
	n.index, n.home = len(c.all), c.program
	c.all = append(c.all, n)
	n.write = c.variable(def.Output.Var)
	n.factsKey = c.w.Name + "/" + def.ID
	// A step in a loop or a for_each has the index of the outermost one.
	if g.owner != nil {
		n.step = g.owner.step
	} else if choice, ok := def.Step.(*workflow.Choice); !ok || choice.Ask != nil {
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
	switch s := n.does.(type) {
	case *workflow.Task:
		c.task(n, s)
	case *workflow.Human:
		c.prompt(n, s.Question.Text)
	case *workflow.Call:
		n.inputs, n.place.Agent = c.bindings(s.Inputs), s.Workflow
	case *workflow.Choice:
		n.on, n.write = c.expr(s.On.Text), -1
		if s.Ask != nil {
			c.task(n, s.Ask)
			n.place.Asks, n.receives = true, true
		}
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
			c.fail("for_each %q has no steps", n.def.ID)
		}
	}
}

func (c *compiler) task(n *node, t *workflow.Task) {
	c.prompt(n, t.Prompt.Text)
	n.inputs, n.place.Agent, n.place.Written, n.place.Handoffs = c.bindings(t.Inputs), t.Agent, t.Settings, t.Handoffs
	n.place.Branches = t.Branches
	if len(t.Settings) > 0 {
		n.settings = c.value(t.Settings)
	}
	n.receives = t.Context == workflow.PreviousContext || t.Context == workflow.AutoContext && len(t.Inputs) == 0 && !refersBack(n.prompt)
}

// refersBack reports whether a prompt refers to an earlier result or to an item.
func refersBack(t *expr.Template) bool {
	return t != nil && slices.ContainsFunc(t.Refs(), func(r *expr.Ref) bool {
		return !slices.Contains([]expr.Kind{expr.Inputs, expr.Index, expr.Iteration, expr.Repeats}, r.Kind)
	})
}

// prompt compiles the prompt or question of a node.
func (c *compiler) prompt(n *node, text string) {
	n.prompt = c.template(text)
	if !strings.Contains(text, "${") {
		n.text, n.prompt = text, nil
	}
}

// extractor compiles how a node's value is extracted from its output; nil means that the output
// is used unchanged.
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

func (n *node) isChoice() bool {
	_, ok := n.does.(*workflow.Choice)
	return ok
}

func (n *node) isLoop() bool {
	_, ok := n.does.(*workflow.Loop)
	return ok
}

// parsed parses a text, and records the inputs that it refers to.
func parsed[From any, To interface{ Refs() []*expr.Ref }](c *compiler, text From, parse func(From, expr.Dialect) (To, error)) (x To) {
	x, err := parse(text, expr.Canonical)
	if err != nil {
		c.fail("%v", err)
		return x
	}
	for _, r := range x.Refs() {
		if r.Kind == expr.Inputs && r.Name != "" && !c.noted[r.Name] {
			c.noted[r.Name] = true
			c.refers = append(c.refers, r.Name)
		}
	}
	return x
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
	return parsed(c, text, expr.ParseTemplate)
}

func (c *compiler) expr(text string) *expr.Expr {
	if text == "" {
		return nil
	}
	return parsed(c, text, expr.ParseExpr)
}

func (c *compiler) value(v any) *expr.Value { return parsed(c, v, expr.ParseValue) }

func (c *compiler) bindings(bs []workflow.Binding) []input {
	out := make([]input, len(bs))
	for i, b := range bs {
		out[i] = input{b.Name, c.value(b.Value)}
	}
	return out
}
