package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/trial/cassette"
	"github.com/hocket-dev/hocket/workflow"
)

// Covered is what happened in a run, or in several of the same project. It observes runs.
type Covered struct {
	bundle *workflow.Bundle
	ends   func(address string) // is called when a step has ended; nil: nobody wants to know

	mu      sync.Mutex
	around  map[point][]*workflow.Node       // the nodes whose bodies a node is in, outermost first
	repeats map[point]bool                   // whether a node repeats a body for items
	nodes   map[point]bool                   // that began
	began   map[string]string                // the ids of all that began, by address
	lists   []engine.Fact                    // the ends of those that repeat a body for items
	ended   map[point]map[engine.Status]bool // how they ended
	decided map[point]map[engine.Branch]bool
	joined  map[point]map[string]bool // of merges: that somebody resolved a conflict, as ""; of picks: what led to them, and whether it was picked
	texts   map[string]string
	faults  map[string]string // why steps failed, by address
}

// point is a node of a workflow.
type point struct{ workflow, node string }

func newCovered() *Covered {
	return &Covered{
		nodes: map[point]bool{}, began: map[string]string{}, ended: map[point]map[engine.Status]bool{}, decided: map[point]map[engine.Branch]bool{},
		joined: map[point]map[string]bool{},
		texts:  map[string]string{}, faults: map[string]string{},
	}
}

// failure says why a step failed, "" if it did not.
func (c *Covered) failure(address string) string {
	if c.faults[address] == "" {
		return ""
	}
	return ", because the step failed: " + c.faults[address]
}

// Fact notes what happened.
func (c *Covered) Fact(f engine.Fact) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := point{f.Workflow, f.Node}
	switch f.Kind {
	case engine.StepStarted, engine.AttemptStarted:
		c.begin(at, f.Address)
	case engine.StepEnded:
		if c.ends != nil {
			c.ends(f.Address)
		}
		c.begin(at, f.Address)
		if _, repeats := c.nesting(at); repeats && f.Agent == "" && f.Attempt == 0 { // not one of its items, which may have its id
			c.lists = append(c.lists, f)
		}
		if c.ended[at] == nil {
			c.ended[at] = map[engine.Status]bool{}
		}
		c.ended[at][f.Status] = true
		if f.Status == engine.Failed {
			c.faults[f.Address] = f.Text
		}
	case engine.Decided:
		c.begin(at, f.Address)
		if c.decided[at] == nil {
			c.decided[at] = map[engine.Branch]bool{}
		}
		c.decided[at][*f.Branch] = true
		c.texts[f.Address] = f.Branch.Case
	case engine.Iterated, engine.AttemptFailed, engine.Retrying, engine.StepSkipped, engine.QuestionAsked, engine.AnswerGiven, engine.AnswerUnused, engine.Paused, engine.Raised, engine.Warned, engine.PlanChanged, engine.RunEnded:
	}
}

// join notes what a merge or a pick of workspaces did. Instances of a step count as one.
func (c *Covered) join(task *engine.StartTask, picked string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := point{task.Place.Workflow, task.Place.Node}
	if c.joined[at] == nil {
		c.joined[at] = map[string]bool{}
	}
	for _, t := range task.Trees {
		if name := marks().ReplaceAllString(t.Step, ""); picked != "" && !c.joined[at][name] {
			c.joined[at][name] = false
		}
	}
	c.joined[at][marks().ReplaceAllString(picked, "")] = true
}

// begin notes that a node began, and so did the loops that it is in.
func (c *Covered) begin(at point, address string) {
	c.nodes[at], c.began[address] = true, at.node
	for loop, id := range c.loopsAround(at, address) {
		c.nodes[point{at.workflow, id}], c.began[loop] = true, id
	}
}

// loopsAround returns the loops that an instance of a node is in: their ids, by address.
func (c *Covered) loopsAround(at point, address string) map[string]string {
	outer, _ := c.nesting(at)
	if len(outer) == 0 {
		return nil
	}
	start := strings.LastIndexByte(address, '/') + 1
	marks := marks().FindAllString(address[start:], -1) // outermost first
	inRound := slices.ContainsFunc(marks, isRound)
	loops, own := map[string]string{}, []string(nil)
	for _, n := range outer {
		_, isLoop := n.Step.(*workflow.Loop)
		if isLoop {
			if !slices.ContainsFunc(own, func(m string) bool { return isRound(m) && m != "#1" }) {
				own = slices.DeleteFunc(slices.Clone(own), isRound) // they are left out if all are 1
			}
			loops[address[:start]+n.ID+strings.Join(own, "")] = n.ID
		}
		if len(marks) > 0 && (inRound || !isLoop) {
			own, marks = append(own, marks[0]), marks[1:]
		}
	}
	return loops
}

func isRound(mark string) bool { return mark[0] == '#' }

// nesting returns the nodes whose bodies a node is in, outermost first, and whether it repeats a body for items.
func (c *Covered) nesting(at point) (around []*workflow.Node, repeats bool) {
	if c.around == nil && c.bundle != nil {
		c.around, c.repeats = map[point][]*workflow.Node{}, map[point]bool{}
		for _, w := range check.Workflows(*c.bundle) {
			c.index(w.Name, &w.Body, nil)
		}
	}
	return c.around[at], c.repeats[at]
}

func (c *Covered) index(name string, g *workflow.Graph, around []*workflow.Node) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		at := point{name, n.ID}
		if _, ok := c.around[at]; !ok { // otherwise it is the body of a for_each with one node
			c.around[at] = around
			_, c.repeats[at] = n.Step.(*workflow.Each)
		}
		if body := n.Body(); body != nil {
			c.index(name, body, append(slices.Clip(around), n))
		}
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

// node returns the node that an address, or the end of one, or an id means.
func (c *Covered) node(name string) *workflow.Node {
	for _, w := range check.Workflows(*c.bundle) {
		from := workflow.Bundle{Root: w, Called: c.bundle.Called}
		if n := from.At(marks().ReplaceAllString(name, "")); n != nil {
			return n
		}
	}
	return nil
}

// marks match the iterations and items in an address.
var marks = lazy.Regexp(`#\d+|\[\d+\]`)

// isNamed reports whether an address, the end of one, or the id of a node names an instance.
func isNamed(name, address, node string) bool {
	return address == name || node == name || strings.HasSuffix(address, "/"+name)
}

// ran reports whether an instance with this name began in any workflow of the run.
func (c *Covered) ran(name string) bool {
	for address, node := range c.began {
		if isNamed(name, address, node) {
			return true
		}
	}
	return false
}

// list returns the end of the for_each with this name, the last one if it ran several times; nil if none ran.
func (c *Covered) list(name string) *engine.Fact {
	for i := len(c.lists) - 1; i >= 0; i-- {
		if f := &c.lists[i]; isNamed(name, f.Address, f.Node) {
			return f
		}
	}
	return nil
}

// took reports whether an edge was taken, and whether there is one.
func (c *Covered) took(from, to string) (took, exists bool) {
	for _, e := range c.edges() {
		if e.from.node == from && e.target == to {
			exists = true
			took = took || c.takes(e)
		}
	}
	return took, exists
}

// targets returns where the edges from a node lead.
func (c *Covered) targets(from string) (all []string) {
	for _, e := range c.edges() {
		if e.from.node == from && !slices.Contains(all, e.target) {
			all = append(all, e.target)
		}
	}
	return all
}

// edges returns the edges of all workflows of the run.
func (c *Covered) edges() (all []edge) {
	for _, w := range check.Workflows(*c.bundle) {
		all = append(all, edgesOf(w)...)
	}
	return all
}

// edge is an edge with what its being taken depends on.
type edge struct {
	workflow.Edge
	from           point
	target         string // without the @ of one that is no node
	detail         string // its label or condition
	chooses, times bool   // whether others from its node have a label or a condition, or are for timeouts
}

func edgesOf(w *workflow.Workflow) (all []edge) {
	add := func(g *workflow.Graph) {
		chooses, times := map[string]bool{}, map[string]bool{}
		for _, e := range g.Edges {
			chooses[e.From] = chooses[e.From] || e.On == workflow.OnLabel || e.On == workflow.OnWhen
			times[e.From] = times[e.From] || e.On == workflow.OnTimeout
		}
		for _, e := range g.Edges {
			all = append(all, edge{e, point{w.Name, e.From}, strings.TrimPrefix(e.To, "@"), cmp.Or(e.Label, e.When.Text), chooses[e.From], times[e.From]})
		}
	}
	add(&w.Body)
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if body := n.Body(); body != nil {
			add(body)
		}
	})
	return all
}

// takes reports whether an edge was taken.
func (c *Covered) takes(e edge) bool {
	ended, decided := c.ended[e.from], c.decided[e.from]
	switch e.On {
	case workflow.OnFailure:
		return ended[engine.Failed] || ended[engine.TimedOut] && !e.times
	case workflow.OnTimeout:
		return ended[engine.TimedOut]
	case workflow.OnLabel, workflow.OnWhen:
		return decided[engine.Branch{On: e.On, Case: e.detail}]
	case workflow.OnSuccess, workflow.OnElse:
	}
	if e.chooses {
		return decided[engine.Branch{On: workflow.OnElse}]
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

	ran   map[string]bool   // nodes, loops too
	taken map[edgeName]bool // edges, also those that are always taken
}

// edgeName is what a drawing knows about an edge.
type edgeName struct {
	from   string
	on     workflow.On
	detail string
	to     string // without the @ of a target that is no node
}

// Part is something that a test can use: a node, an edge that is not always taken, or what a merge or pick of workspaces
// does only sometimes.
type Part struct {
	Kind    PartKind     `json:"kind"`
	Node    string       `json:"node"`             // of an edge: where it begins
	Target  string       `json:"target,omitempty"` // of an edge; of a pick, the step whose workspace is taken
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

	ResolverPart PartKind = "resolver" // who resolves the conflicts of a merge
	PickPart     PartKind = "pick"     // one of the workspaces that a pick has the choice of
)

// String returns a part for people.
func (p Part) String() string {
	if p.Target == "" {
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
	for _, name := range sorted.Keys(models) {
		one := &WorkflowCoverage{Name: name, Model: models[name]}
		one.Parts = partsOf(models[name], observed[name])
		one.watch(observed[name])
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
		if len(parts) == 0 || parts[len(parts)-1].Node != n.ID { // otherwise it is the body of a for_each with one node
			parts = append(parts, Part{Kind: NodePart, Node: n.ID, Pos: n.Pos, Covered: any(func(c *Covered) bool { return c.nodes[at] })})
		}
		parts = append(parts, joinsOf(n, at, runs)...)
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
			Kind: kind, Node: e.From, Target: e.target, On: e.On, Case: e.detail, Pos: e.Pos,
			Covered: any(func(c *Covered) bool { return c.takes(e) }),
		})
	}
	return parts
}

// joinsOf returns what a merge or pick of workspaces does only sometimes. What a pick has the choice of is known from its runs.
func joinsOf(n *workflow.Node, at point, runs []*Covered) (parts []Part) {
	t, ok := n.Step.(*workflow.Task)
	if !ok || t.Branches == workflow.OneBranch {
		return nil
	}
	did := map[string]bool{}
	for _, c := range runs {
		for name, covered := range c.joined[at] {
			did[name] = did[name] || covered
		}
	}
	if t.Branches == workflow.MergeBranches {
		if t.Agent == workflow.MergeAgent && t.Settings["by"] != "human" { // a conflict is a failure
			return nil
		}
		return []Part{{Kind: ResolverPart, Node: n.ID, Pos: n.Pos, Covered: did[""]}}
	}
	for _, name := range sorted.Keys(did) {
		if len(did) > 1 {
			parts = append(parts, Part{Kind: PickPart, Node: n.ID, Target: name, Pos: n.Pos, Covered: did[name]})
		}
	}
	return parts
}

// edgeKinds are the edges that are not always taken.
var edgeKinds = map[workflow.On]PartKind{
	workflow.OnLabel: LabelPart, workflow.OnWhen: LabelPart, workflow.OnElse: ElsePart, workflow.OnFailure: ErrorPart, workflow.OnTimeout: TimeoutPart,
}

// watch notes which nodes and edges were used, also those that are no parts: they are drawn, too.
func (c *WorkflowCoverage) watch(runs []*Covered) {
	c.ran, c.taken = map[string]bool{}, map[edgeName]bool{}
	for _, r := range runs {
		for at := range r.nodes {
			if at.workflow == c.Name {
				c.ran[at.node] = true
			}
		}
		for _, e := range edgesOf(c.Model) {
			name := edgeName{e.From, e.On, e.detail, e.target}
			c.taken[name] = c.taken[name] || r.takes(e)
		}
	}
}

// Marks say what no case uses, for a drawing of the workflow.
func (c *WorkflowCoverage) Marks() draw.Marks {
	return draw.Marks{
		Text: "not tested",
		Node: func(id string) bool { return !c.ran[id] },
		Edge: func(from string, on workflow.On, detail, to string) bool {
			taken, known := c.taken[edgeName{from, on, detail, strings.TrimPrefix(to, "@")}]
			return !taken && (known || from != "" && !c.ran[from]) // a drawing has more edges: from the start, and to the end
		},
	}
}
