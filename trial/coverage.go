package trial

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/trial/cassette"
	"github.com/hocket-dev/hocket/workflow"
)

// Covered is what happened in a run, or in several of the same project. It observes runs.
type Covered struct {
	bundle *workflow.Bundle
	ends   func(address string) // is called when a step has ended; nil: nobody wants to know

	mu      sync.Mutex
	nodes   map[point]bool                   // that began
	ended   map[point]map[engine.Status]bool // how they ended
	decided map[point]map[engine.Branch]bool
	texts   map[string]string
}

// point is a node of a workflow.
type point struct{ workflow, node string }

func newCovered() *Covered {
	return &Covered{
		nodes: map[point]bool{}, ended: map[point]map[engine.Status]bool{}, decided: map[point]map[engine.Branch]bool{},
		texts: map[string]string{},
	}
}

// Fact notes what happened.
func (c *Covered) Fact(f engine.Fact) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := point{f.Workflow, f.Node}
	switch f.Kind {
	case engine.StepStarted, engine.AttemptStarted:
		c.nodes[at] = true
	case engine.StepEnded:
		if c.ends != nil {
			c.ends(f.Address)
		}
		c.nodes[at] = true
		if c.ended[at] == nil {
			c.ended[at] = map[engine.Status]bool{}
		}
		c.ended[at][f.Status] = true
	case engine.Decided:
		c.nodes[at] = true
		if c.decided[at] == nil {
			c.decided[at] = map[engine.Branch]bool{}
		}
		c.decided[at][*f.Branch] = true
		c.texts[f.Address] = f.Branch.Case
	case engine.Iterated, engine.AttemptFailed, engine.Retrying, engine.StepSkipped, engine.QuestionAsked, engine.AnswerGiven, engine.AnswerUnused, engine.Paused, engine.Raised, engine.Warned, engine.PlanChanged, engine.RunEnded:
	}
}

// Log ignores what attempts print.
func (*Covered) Log(string, int, []byte) {}

// decisions adds what steps decided to their recordings.
func (c *Covered) decisions(to *cassette.Cassette) {
	last := map[string]int{}
	for i, made := range to.Interactions {
		last[made.Address] = i
	}
	for address, text := range c.texts {
		if i, ok := last[address]; ok {
			to.Interactions[i].Reply.Decision = text
		}
	}
}

// names returns the ids of all nodes of the run's workflows.
func (c *Covered) names() []string {
	var all []string
	for _, w := range check.Workflows(*c.bundle) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { all = append(all, n.ID) })
	}
	return all
}

// ran reports whether a node began in any workflow of the run.
func (c *Covered) ran(node string) bool {
	for at := range c.nodes {
		if at.node == node {
			return true
		}
	}
	return false
}

// took reports whether an edge was taken, and whether there is one.
func (c *Covered) took(from, to string) (took, exists bool) {
	for _, w := range check.Workflows(*c.bundle) {
		for _, e := range edgesOf(w) {
			if e.From == from && strings.TrimPrefix(e.To, "@") == to {
				exists = true
				took = took || c.takes(w, e)
			}
		}
	}
	return took, exists
}

// edge is an edge with the graph that it is in.
type edge struct {
	workflow.Edge
	in *workflow.Graph
}

func edgesOf(w *workflow.Workflow) []edge {
	var all []edge
	var walk func(g *workflow.Graph)
	walk = func(g *workflow.Graph) {
		for _, e := range g.Edges {
			all = append(all, edge{e, g})
		}
		for i := range g.Nodes {
			if body := g.Nodes[i].Body(); body != nil {
				walk(body)
			}
		}
	}
	walk(&w.Body)
	return all
}

// takes reports whether an edge was taken.
func (c *Covered) takes(w *workflow.Workflow, e edge) bool {
	at := point{w.Name, e.From}
	chooses, times := false, false
	for _, other := range e.in.Edges {
		if other.From == e.From {
			chooses = chooses || other.On == workflow.OnLabel || other.On == workflow.OnWhen
			times = times || other.On == workflow.OnTimeout
		}
	}
	ended := c.ended[at]
	switch e.On {
	case workflow.OnFailure:
		return ended[engine.Failed] || ended[engine.TimedOut] && !times
	case workflow.OnTimeout:
		return ended[engine.TimedOut]
	case workflow.OnLabel:
		return c.decided[at][engine.Branch{On: e.On, Case: e.Label}]
	case workflow.OnWhen:
		return c.decided[at][engine.Branch{On: e.On, Case: e.When.Text}]
	case workflow.OnSuccess, workflow.OnElse:
	}
	if chooses {
		return c.decided[at][engine.Branch{On: workflow.OnElse}]
	}
	return ended[engine.Success] || ended[engine.Partial]
}

// Coverage is how much of a project's workflows its tests use.
type Coverage struct {
	Workflows []*WorkflowCoverage `json:"workflows"` // by name
	Covered   int                 `json:"covered"`
	Total     int                 `json:"total"`
}

// WorkflowCoverage is the coverage of one workflow.
type WorkflowCoverage struct {
	Name    string `json:"name"`
	Covered int    `json:"covered"`
	Total   int    `json:"total"`
	Parts   []Part `json:"parts"` // in the order of the workflow

	Model *workflow.Workflow `json:"-"`
}

// Part is something that a test can use: a node, or an edge that is not always taken.
type Part struct {
	Kind    PartKind     `json:"kind"`
	Node    string       `json:"node"`             // of an edge: where it begins
	Target  string       `json:"target,omitempty"` // of an edge
	On      workflow.On  `json:"on,omitempty"`     // when it is taken
	Case    string       `json:"case,omitempty"`   // its label or condition
	Covered bool         `json:"covered"`
	Pos     workflow.Pos `json:"-"`
}

// PartKind is the kind of a part.
type PartKind string

// The kinds of parts.
const (
	NodePart    PartKind = "node"
	LabelPart   PartKind = "label" // an edge with a label or a condition
	ElsePart    PartKind = "else"
	ErrorPart   PartKind = "error"
	TimeoutPart PartKind = "timeout"
	BackPart    PartKind = "back" // an edge that repeats a loop, whatever it depends on
)

// String returns a part for people.
func (p Part) String() string {
	if p.Kind == NodePart {
		return p.Node
	}
	text := p.Node + " -> " + p.Target
	switch p.On {
	case workflow.OnSuccess:
		return text
	case workflow.OnLabel:
		return fmt.Sprintf("%s (%s)", text, p.Case)
	case workflow.OnWhen:
		return fmt.Sprintf("%s (when %s)", text, p.Case)
	case workflow.OnElse, workflow.OnFailure, workflow.OnTimeout:
	}
	return fmt.Sprintf("%s (%s)", text, p.On)
}

// Percent returns how much is covered; all of nothing is 100.
func (c *Coverage) Percent() float64 { return percent(c.Covered, c.Total) }

// Percent returns how much of the workflow is covered.
func (c *WorkflowCoverage) Percent() float64 { return percent(c.Covered, c.Total) }

func percent(covered, total int) float64 {
	if total == 0 {
		return 100
	}
	return 100 * float64(covered) / float64(total)
}

// CoverageOf returns what cases cover together, of all workflows that they run. Failed cases count, too: what they reach is
// reached.
func CoverageOf(outcomes []*Outcome) *Coverage {
	all := &Coverage{}
	models, observed := map[string]*workflow.Workflow{}, map[string][]*Covered{}
	for _, o := range outcomes {
		if o.covered == nil || o.covered.bundle == nil {
			continue
		}
		for _, w := range check.Workflows(*o.covered.bundle) {
			models[w.Name] = w
			observed[w.Name] = append(observed[w.Name], o.covered)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		one := &WorkflowCoverage{Name: name, Model: models[name]}
		one.Parts = partsOf(models[name], observed[name])
		for _, p := range one.Parts {
			one.Total++
			if p.Covered {
				one.Covered++
			}
		}
		all.Workflows = append(all.Workflows, one)
		all.Covered, all.Total = all.Covered+one.Covered, all.Total+one.Total
	}
	return all
}

// partsOf returns the parts of a workflow.
func partsOf(w *workflow.Workflow, runs []*Covered) []Part {
	any := func(has func(*Covered) bool) bool { return slices.ContainsFunc(runs, has) }
	var parts []Part
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		at := point{w.Name, n.ID}
		if _, loop := n.Step.(*workflow.Loop); loop { // its body has the nodes
			return
		}
		if len(parts) > 0 && parts[len(parts)-1].Node == n.ID && parts[len(parts)-1].Kind == NodePart { // the body of a for_each with one node
			return
		}
		parts = append(parts, Part{Kind: NodePart, Node: n.ID, Pos: n.Pos, Covered: any(func(c *Covered) bool { return c.nodes[at] })})
	})
	for _, e := range edgesOf(w) {
		kind, ok := edgeKinds[e.On]
		if e.To == workflow.Again {
			kind, ok = BackPart, true
		}
		if !ok {
			continue
		}
		parts = append(parts, Part{
			Kind: kind, Node: e.From, Target: strings.TrimPrefix(e.To, "@"), On: e.On, Case: cmp.Or(e.Label, e.When.Text), Pos: e.Pos,
			Covered: any(func(c *Covered) bool { return c.takes(w, e) }),
		})
	}
	return parts
}

// edgeKinds are the edges that are not always taken.
var edgeKinds = map[workflow.On]PartKind{
	workflow.OnLabel: LabelPart, workflow.OnWhen: LabelPart, workflow.OnElse: ElsePart, workflow.OnFailure: ErrorPart, workflow.OnTimeout: TimeoutPart,
}

// Marks say what no case uses, for a drawing of the workflow.
func (c *WorkflowCoverage) Marks() draw.Marks {
	missed := func(has func(Part) bool) bool {
		return slices.ContainsFunc(c.Parts, func(p Part) bool { return !p.Covered && has(p) })
	}
	return draw.Marks{
		Text: "not tested",
		Node: func(id string) bool { return missed(func(p Part) bool { return p.Kind == NodePart && p.Node == id }) },
		Edge: func(from string, on workflow.On, detail, to string) bool {
			return missed(func(p Part) bool {
				return p.Kind != NodePart && p.Node == from && p.On == on && p.Case == detail && p.Target == strings.TrimPrefix(to, "@")
			})
		},
	}
}
