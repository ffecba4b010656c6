package yaml

import (
	"cmp"
	"fmt"
	"time"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// block is a list of steps: those of the workflow, of a loop or of a for_each.
type block struct {
	steps []*step
	owner *step // nil for the workflow
}

// step is a step as it is written, before its edges are known.
type step struct {
	node workflow.Node // without edges; its body, if it has one, is in body
	base string        // base name for a generated id

	group string
	when  workflow.Expr // condition of the choice before it
	needs *[]target
	next  *[]target // nil if the mode determines what follows
	ways  []way     // route, else, error, on_timeout, in this order

	body  *block        // of a loop, or of a for_each over several steps
	until workflow.Expr // at most one of until and while is set
	while workflow.Expr

	given        bool // for Format: its id must be written
	onErrorGiven bool
	guard, test  string // ids of the choices for `when` and for until or while
	pos          workflow.Pos
	outer        *step    // the step that contains it; nil if that is the workflow
	index        int      // among its siblings
	want         []target // for Format: where its plain edges must lead

	flow
}

// way is one kind of edges that leave a step, with their targets.
type way struct {
	on    workflow.On
	label string
	when  workflow.Expr
	pos   workflow.Pos // of the label; zero if that is the position of the targets
	to    []target
}

// target is the name of a step, with its position.
type target struct {
	name string
	pos  workflow.Pos
}

func (r *reader) block(nodes []strictyaml.Node, owner *step) block {
	b := block{owner: owner, steps: make([]*step, len(nodes))}
	steps := make([]step, len(nodes))
	for i, n := range nodes {
		if n.IsNull() {
			n.Errorf(codeStepKind, "add one of "+kindNames+", or remove the dash", "this step is empty")
		}
		s := &steps[i]
		r.step(n, s)
		s.outer, s.index = owner, i
		b.steps[i] = s
	}
	return b
}

// step reads one step. All keys are read for every kind, so that a key that does not apply to the
// kind can be reported.
func (r *reader) step(n strictyaml.Node, s *step) {
	m := n.Map()
	s.pos = n.Pos()
	id := m.Get("id")
	if id.IsText() && id.Written() == "" {
		id.WrongType("a name")
	}
	s.node.ID, s.node.Title = id.Name(), m.String("title")
	kind := r.kind(m, s)
	s.node.Pos = s.place(id, kind)
	r.words(m, s)
	r.forEach(m, s)
	r.checkKeys(m, s)
	m.Refuse("type", codeNotYAMLType, sayKind, "\"type\" is not a key of a step")
	if unknown := m.Done(); s.node.Step == nil {
		r.nothing(m, s, unknown > 0)
	}
}

// words reads the keys that every kind of step may have.
func (r *reader) words(m *strictyaml.Map, s *step) {
	s.group = m.Name("parallel_group")
	s.node.Group = s.group
	s.when = condition(m.Get("when"))
	s.needs, s.next = readNames(m.Get("needs")), readNames(m.Get("next"))
	s.ways = readWays(m)
	s.node.Output = readOutput(m.Get("output"))
	s.node.Retry = readRetry(m.Get("retry"))
	s.node.Timeout = readTime(m, "timeout", "timeout_mins")
	if onError := m.Get("on_error"); onError.Exists() {
		s.onErrorGiven, s.node.OnError = true, readOnError(onError)
	}
	s.node.Join = readJoin(m.Get("join"), m.Get("rest"))
	s.node.Once = m.Word("effect", "once") == "once"
	s.node.Labels = readLabels(m.Get("labels"))
	s.workspace(m.Get("workspace"))
}

// nothing completes a step that does nothing, and reports it, unless one of its keys is misspelt,
// which is already reported.
func (r *reader) nothing(m *strictyaml.Map, s *step, misspelt bool) {
	if s.body != nil {
		s.node.Step = &workflow.Each{}
		return
	}
	s.node.Step = &workflow.Task{}
	if m.Node().IsMap() && !misspelt {
		m.Node().Errorf(codeStepKind, "add one of "+kindNames, "this step does nothing")
	}
}

var sayKind = "the kind of a step is set by one of the keys " + kindNames

// place returns the position for diagnostics about a step: that of its id, otherwise that of its
// kind.
func (s *step) place(id, kind strictyaml.Node) workflow.Pos {
	switch {
	case id.Exists():
		return id.Pos()
	case kind.IsText():
		return kind.Pos()
	case kind.Exists():
		return kind.Key().Pos()
	}
	return s.pos
}

// readNames reads one name or a list of names. It returns nil if the key is missing.
func readNames(n strictyaml.Node) *[]target {
	if !n.Exists() {
		return nil
	}
	targets := readTargets(n)
	return &targets
}

func readTargets(n strictyaml.Node) []target {
	list := n.OneOrMany()
	targets := make([]target, 0, len(list))
	for _, one := range list {
		if name := one.Name(); name != "" {
			targets = append(targets, target{name, one.Pos()})
		}
	}
	return targets
}

// readWays reads the edges of a step that have a condition.
func readWays(m *strictyaml.Map) []way {
	ways := readRoute(m.Get("route"))
	for _, key := range []struct {
		name string
		on   workflow.On
	}{{"else", workflow.OnElse}, {"error", workflow.OnFailure}, {"on_timeout", workflow.OnTimeout}} {
		if n := m.Get(key.name); n.Exists() {
			ways = append(ways, way{on: key.on, to: readTargets(n)})
		}
	}
	return ways
}

// readRoute reads `label: target` or a list of entries with their conditions.
func readRoute(n strictyaml.Node) []way {
	if !n.Exists() {
		return nil
	}
	var ways []way
	if n.IsList() {
		for _, entry := range n.List() {
			ways = append(ways, readEntry(entry))
		}
		return ways
	}
	for _, e := range n.Map().Entries() {
		ways = append(ways, way{on: workflow.OnLabel, label: e.Name, pos: e.Key.Pos(), to: readTargets(e.Value)})
	}
	return ways
}

// routeWords are the values of `on` in an entry.
var routeWords = []string{"success", "else", "error", "timeout"}

func readEntry(n strictyaml.Node) way {
	m := n.Map()
	label, when, on := m.Get("label"), m.Get("when"), m.Get("on")
	w := way{to: readTargets(m.Get("to"))}
	said := 0
	if label.Exists() {
		w.on, w.label, w.pos = workflow.OnLabel, label.Name(), label.Pos()
		said++
	}
	if when.Exists() {
		w.on, w.when = workflow.OnWhen, condition(when)
		said++
	}
	if on.Exists() {
		if word := on.Word(routeWords...); word != "success" {
			w.on = workflow.On(word)
		}
		said++
	}
	if n.IsMap() && said != 1 {
		n.Errorf(codeRoute, "write one of `label:`, `when:` and `on:`, and `to:`", "an entry of \"route\" must have exactly one condition")
	}
	if n.IsMap() && len(w.to) == 0 && !m.Get("to").Exists() {
		n.Errorf(codeRoute, "add `to:` with the id of a step, end or again", "an entry of \"route\" has no target")
	}
	m.Done()
	return w
}

func readRetry(n strictyaml.Node) workflow.Retry {
	if !n.IsMap() {
		return workflow.Retry{Attempts: int(n.Int(1))}
	}
	m := n.Map()
	r := workflow.Retry{
		Attempts: m.Int("attempts", 1),
		Delay:    m.Duration("delay"),
		MaxDelay: m.Duration("max_delay"),
	}
	if word := m.Word("backoff", "fixed", "linear", "exponential"); word != "fixed" {
		r.Backoff = workflow.Backoff(word)
	}
	m.Done()
	return r
}

func readJoin(join, rest strictyaml.Node) workflow.Join {
	var j workflow.Join
	switch {
	case !join.IsText():
		j.Need = int(join.Int(1))
	case join.Written() == "any":
		j.Need = 1
	case join.Written() != "all":
		join.Errorf(codeWord, "write all, any or the number of edges, such as 2", "\"join\" cannot be %q", join.Written())
	}
	j.Keep = rest.Word("keep", "cancel") == "keep"
	return j
}

func readLabels(n strictyaml.Node) map[string]string {
	if !n.Exists() {
		return nil
	}
	labels := map[string]string{}
	for _, e := range n.Map().Entries() {
		labels[e.Name] = e.Value.Name()
	}
	return labels
}

// forEach turns the step into one that runs for every item. Settings for an item stay with the
// item; settings for the whole list go to the list.
func (r *reader) forEach(m *strictyaml.Map, s *step) {
	items, as, width := m.Get("for_each"), m.Get("as"), m.Get("max_parallel")
	if !items.Exists() {
		for _, n := range []strictyaml.Node{as, width} {
			if n.Exists() {
				n.Key().Errorf(codeStepKey, "add `for_each:` with a list", "%s can only be used with for_each", n.Label())
			}
		}
		return
	}
	list, item := readItems(items)
	each := &workflow.Each{Items: list, As: cmp.Or(as.Name(), item), Parallel: int(width.Int(1))}
	switch s.node.Step.(type) {
	case *workflow.Task, *workflow.Call:
		s.node = *repeat(s.node, each)
	case *workflow.Human, *workflow.Choice, *workflow.Combine, *workflow.Loop, *workflow.Each:
		items.Key().Errorf(codeStepKey, "put the step into `steps:` under a step with for_each", "for_each cannot repeat a %s directly", kindWord(s.node.Kind()))
	case nil:
		if s.body != nil {
			s.node.Step = each
		}
	}
}

// kindWord returns the word for a kind of node in the file.
func kindWord(kind string) string {
	if kind == "each" {
		return "for_each"
	}
	return kind
}

// readItems reads the list of for_each. If it is not a reference, it becomes an empty list, so
// that the rest of the step can be checked. If the author also names the item, as in other
// languages, that is reported and the name is returned.
func readItems(n strictyaml.Node) (list workflow.Expr, item string) {
	list = workflow.Expr{Text: "[]", Src: workflow.Source{Pos: n.Pos()}}
	switch {
	case n.IsList():
		n.Errorf(codeStepKey, `put the list in quotes: "[1, 2, 3]"; or use a reference to a list`, "for_each takes a reference, not a list")
		return list, ""
	case n.IsMap() && !n.IsBraces():
		n.Errorf(codeStepKey, "write `for_each: LIST`, and `as: NAME` below it to name the item", "for_each takes a reference, not a map")
		return list, ""
	}
	if m := itemInList().FindStringSubmatch(n.Written()); m != nil {
		list.Text, item = m[2], m[1]
	} else if m := listAsItem().FindStringSubmatch(n.Written()); m != nil {
		list.Text, item = m[1], m[2]
	} else {
		if given := condition(n); given.Text != "" {
			list = given
		}
		return list, ""
	}
	n.Errorf(codeStepKey, fmt.Sprintf("write `for_each: %s`, and `as: %s` below it", list.Text, item), "for_each takes only the list")
	return list, item
}

// The ways in which other languages name the items of a list.
var (
	itemInList = lazy.Regexp(`^(?:for )?(?:each )?([A-Za-z_]\w*) (?:in|of) (.+)$`)
	listAsItem = lazy.Regexp(`^(.+) as ([A-Za-z_]\w*)$`)
)

// repeat wraps a node: its work goes inside, its place in the graph stays outside.
func repeat(n workflow.Node, each *workflow.Each) *workflow.Node {
	inner, outer := n, n
	inner.Join, inner.Group, inner.OnError = workflow.Join{}, "", workflow.Stop
	inner.Output.Var = ""
	outer.Retry, outer.Timeout, outer.Once, outer.Labels = workflow.Retry{}, time.Duration(0), false, nil
	outer.Workspace = workflow.WorkspaceAround
	outer.Output = workflow.Output{Var: n.Output.Var, Pos: n.Output.Pos}
	each.Body.Nodes = []workflow.Node{inner}
	outer.Step = each
	return &outer
}

// checkKeys reports keys that do not apply to this kind of step.
func (r *reader) checkKeys(m *strictyaml.Map, s *step) {
	work := s.work()
	if work == "merge" {
		misplaced(m, "write it below on_conflict or pick, next to the agent", "inputs", "context", "handoffs", "config")
	} else if work != "task" && work != "none" {
		if work != "call" {
			misplaced(m, "only agents and workflows take inputs", "inputs")
		}
		misplaced(m, "only agents receive the outputs of earlier steps", "context")
		misplaced(m, "only agents hand work off", "handoffs")
	}
	if m.Peek("land").Exists() {
		misplaced(m, "a landing has only a branch and a message", "config")
	} else {
		misplaced(m, "only a step with `land` has it", branchSetting, messageSetting)
	}
	if s.isLoop() {
		misplaced(m, "write the exits of a loop at the steps in it", "route", "else", "error", "on_timeout")
	}
	if s.body != nil && s.node.Step == nil {
		misplaced(m, "add `for_each:` with a list, or `loop:` around the steps", "steps")
	}
}

func misplaced(m *strictyaml.Map, detail string, keys ...string) {
	for _, key := range keys {
		if n := m.Peek(key); n.Exists() {
			n.Key().Errorf(codeStepKey, detail, "%q cannot be used here", key)
		}
	}
}

// work returns the kind of work that a step does, for each item if it has for_each.
func (s *step) work() string {
	if each, ok := s.node.Step.(*workflow.Each); ok && len(each.Body.Nodes) == 1 {
		return Kind(&each.Body.Nodes[0])
	}
	return Kind(&s.node)
}

func (s *step) isLoop() bool {
	_, ok := s.node.Step.(*workflow.Loop)
	return ok
}
