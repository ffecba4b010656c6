package hocket

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// NodeChange is what a new plan changes about a step of a workflow.
type NodeChange struct {
	Workflow string
	Node     string
	Kind     StepChangeKind
	Diff     string // of a changed step: the lines of its definition that differ, marked with - and +, and not too many
}

// StepChangeKind is how a new plan changes the definition of a step.
type StepChangeKind string

// The kinds of changes.
const (
	StepKept    StepChangeKind = "kept" // its definition is the same
	StepChanged StepChangeKind = "changed"
	StepAdded   StepChangeKind = "added"
	StepRemoved StepChangeKind = "removed"
)

// Comparison is what a new plan would change in a run.
type Comparison struct {
	// Same means that the run would go on as it is: the definitions are the same, and no step would run
	// again.
	Same  bool
	Nodes []NodeChange // the steps of the new plan in their order, and then those that are removed
	Head  string       // how the workflow itself differs apart from its steps, as NodeChange.Diff
	// What would happen to the steps of the run, by address. Each is in one of these lists.
	Kept      []string // have a result, which stays
	GoesOn    []string // in progress, and go on
	Again     []string // have a result, in this plan or an earlier one, or are in progress, and run again
	Later     []string // have a result, which they keep if they are given the same again by steps that run again
	Cancelled []string // in progress, and are not part of the new plan
	Dropped   []string // have a result, and are not part of the new plan
	// Effects are those of these steps, except of Kept, whose effect must happen once and has happened.
	// Before it would happen again, a person is asked; a step that is dropped or cancelled cannot be
	// recognized if the new plan has it under another name.
	Effects []string
	Unsure  []string // likewise, but it is not known whether the effect has happened
	// MayRepeat are steps that are new, by their places, with an address at which a step with the same id
	// had an effect that must happen once, and which the new plan does not have. Whether they would repeat it
	// depends on what they are given; if so, a person is asked.
	MayRepeat map[string]string
}

// Compare returns what a new plan would change. It records nothing. The errors are those of
// [Run.Replan], except that nobody has to approve anything.
func (r *Run) Compare(ctx context.Context, w *Workflow) (*Comparison, error) {
	replies, err := r.Replies(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.checkPlan(ctx, w, replies); err != nil {
		return nil, err
	}
	old, err := r.pinned(ctx)
	if err != nil {
		return nil, err
	}
	first, err := r.d.FirstPin(ctx, r.id)
	if err != nil {
		return nil, err
	}
	run, err := driver.Replay(r.id, first.Bundle, r.load(ctx), r.d.Events(ctx, r.id, 0, false), nil)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Nodes: compareNodes(old.Bundle, w.Bundle()), Head: diff(headOf(old.Bundle), headOf(w.Bundle()))}
	before := run.Result()
	e := engine.Envelope{Time: run.Time(), Unattended: true, Event: &engine.Replanned{Bundle: w.Bundle(), Tasks: taskFacts(*w.Bundle(), w.l.Agents(), replies)}}
	if err := run.Admit(e); err != nil {
		return nil, &RefusedError{Run: r.id, Reason: err.Error()}
	}
	if _, err := driver.Step(run, r.id, e); err != nil {
		return nil, err
	}
	after := run.Result()
	c.compareSteps(before.Steps, run, w.Bundle())
	c.Same = sameDefinitions(old.Bundle, w.Bundle()) && bytes.Equal(old.Agents, w.l.Agents().Encode()) && goesOnAlike(before, after)
	return c, nil
}

func sameDefinitions(a, b *workflow.Bundle) bool {
	same := func(a, b *workflow.Workflow) bool { return workflow.Print(a) == workflow.Print(b) }
	return same(a.Root, b.Root) && maps.EqualFunc(a.Called, b.Called, same)
}

// goesOnAlike reports whether a run is in the same state with a new plan.
func goesOnAlike(before, after engine.Result) bool {
	return before.Status == after.Status && slices.EqualFunc(before.Steps, after.Steps, func(a, b engine.StepResult) bool {
		return a.Address == b.Address && a.Status == b.Status && a.Attempts == b.Attempts
	})
}

// newState is the state of a run that has got a new plan.
type newState struct {
	plan   *workflow.Bundle
	status engine.Status
	steps  map[string]engine.StepResult // by address
	asks   map[string]bool              // addresses that ask before an effect is repeated
	pasts  map[string]engine.Past
}

func newStateOf(run *engine.Run, plan *workflow.Bundle) *newState {
	res := run.Result()
	now := &newState{plan, res.Status, map[string]engine.StepResult{}, map[string]bool{}, run.Pasts()}
	for _, s := range res.Steps {
		now.steps[s.Address] = s
	}
	for _, q := range run.Questions() {
		if q.Kind == engine.LostQuestion {
			now.asks[q.Address] = true
		}
	}
	return now
}

// has reports whether the plan has, or may still get, a step at an address: it has its place, and neither
// the run nor the call or the for_each around it is over.
func (now *newState) has(address string) bool {
	if _, exists := now.steps[address]; exists || now.pasts[address].Gone {
		return exists
	}
	for _, end := range []int{strings.LastIndexByte(address, '/'), strings.LastIndexByte(address, '[')} {
		if end > 0 && now.steps[address[:end]].Status.Done() {
			return false
		}
	}
	return !now.status.Done() && now.plan.At(PlaceOf(address)) != nil
}

// compareSteps says what becomes of the steps of a run, which has got the new plan.
func (c *Comparison) compareSteps(before []engine.StepResult, run *engine.Run, plan *workflow.Bundle) {
	now, seen, pending := newStateOf(run, plan), map[string]bool{}, map[string]bool{}
	for _, was := range before {
		if was.Unsent { // it has not begun, so only what earlier plans left matters
			pending[was.Address] = true
			continue
		}
		seen[was.Address] = true
		c.compareStep(was, now)
	}
	for _, address := range sorted.Keys(now.pasts) { // of plans before that
		switch {
		case seen[address]:
		case now.steps[address].Status == engine.Success:
			c.Kept = append(c.Kept, address)
		case pending[address]:
			c.compareStep(engine.StepResult{Address: address, Status: engine.Skipped}, now)
		default:
			c.compareStep(engine.StepResult{Address: address}, now)
		}
		seen[address] = true
	}
	for _, address := range sorted.Keys(now.asks) { // which do what was done elsewhere
		if !seen[address] {
			c.Again, c.Effects = append(c.Again, address), append(c.Effects, address)
		}
		seen[address] = true
	}
	c.compareMoved(now, seen)
}

// compareStep says what becomes of a step. It has no status if only earlier plans have it.
func (c *Comparison) compareStep(was engine.StepResult, now *newState) {
	s, exists := now.steps[was.Address]
	past, asks, planned := now.pasts[was.Address], now.asks[was.Address], now.has(was.Address)
	same := s.Attempts == was.Attempts && s.Started.Equal(was.Started)
	done := was.Status == engine.Success
	started := was.Status == engine.Running || was.Status == engine.Waiting
	ended := done || was.Status == engine.Failed || was.Status == engine.TimedOut
	effect := (past.Once || isOnce(now.plan, was.Address)) && (past.Done || past.Unsure)
	earlier := was.Status == "" && planned // no step of the present plan
	list := &c.Again
	switch {
	case done && exists && same && s.Status == was.Status:
		list, effect = &c.Kept, false
	case started && was.Attempts > 0 && exists && same:
		list, effect = &c.GoesOn, asks
	case asks:
		effect = true
	case exists && s.Status == engine.Skipped && done:
		list = &c.Dropped
	case exists && s.Status == engine.Skipped && started:
		list = &c.Cancelled
	case exists && s.Status == engine.Skipped:
		return
	case exists && (ended || started) && was.Attempts > 0, exists && earlier:
		effect = false
	case started && !exists && !(planned && effect && past.Done):
		list = &c.Cancelled
	case !exists && planned && effect && past.Again:
	case !exists && planned && (done || effect):
		list = &c.Later
	case !exists && was.Status != "" && (done || effect):
		list = &c.Dropped
	default:
		return
	}
	*list = append(*list, was.Address)
	switch {
	case !effect:
	case past.Unsure:
		c.Unsure = append(c.Unsure, was.Address)
	default:
		c.Effects = append(c.Effects, was.Address)
	}
}

// compareMoved finds steps that are new at their places and may repeat the effect of a step that the plan no
// longer has. seen are the addresses of which it is known what becomes of them.
func (c *Comparison) compareMoved(now *newState, seen map[string]bool) {
	gone, known := map[string]string{}, map[string]bool{}
	for _, address := range sorted.Keys(now.pasts) {
		if now.pasts[address].Once && !now.has(address) {
			place := PlaceOf(address)
			gone[place[strings.LastIndexByte(place, '/')+1:]] = address
		}
	}
	for address := range seen {
		known[PlaceOf(address)] = true
	}
	c.MayRepeat = map[string]string{}
	var visit func(w *workflow.Workflow, calls string)
	visit = func(w *workflow.Workflow, calls string) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			if call, ok := n.Step.(*workflow.Call); ok {
				visit(now.plan.Called[call.Workflow], calls+n.ID+"/")
			}
			if address := gone[n.ID]; n.Once && address != "" && !known[calls+n.ID] {
				c.MayRepeat[calls+n.ID] = address
			}
		})
	}
	visit(now.plan.Root, "")
}

// compareNodes compares the definitions of steps.
func compareNodes(old, plan *workflow.Bundle) []NodeChange {
	var list []NodeChange
	was := definitions(old)
	for i := range was {
		if was[i].at[0] == old.Root.Name { // it may have another name now
			was[i].at[0] = plan.Root.Name
		}
	}
	seen := map[[2]string]bool{}
	for _, d := range definitions(plan) {
		i := slices.IndexFunc(was, func(o definition) bool { return o.at == d.at })
		seen[d.at] = true
		change := NodeChange{Workflow: d.at[0], Node: d.at[1], Kind: StepChanged}
		switch {
		case i < 0:
			change.Kind = StepAdded
		case was[i].text == d.text:
			change.Kind = StepKept
		default:
			change.Diff = diff(was[i].text, d.text)
		}
		list = append(list, change)
	}
	for _, d := range was {
		if !seen[d.at] {
			list = append(list, NodeChange{Workflow: d.at[0], Node: d.at[1], Kind: StepRemoved})
		}
	}
	return list
}

// definition is the definition of a step, with the edges that lead to it. A for_each and the step that it
// repeats have the same id, and are one.
type definition struct {
	at   [2]string // workflow and node
	text string
}

func definitions(b *workflow.Bundle) []definition {
	var list []definition
	for _, w := range check.Workflows(*b) {
		w.Body.Walk(func(g *workflow.Graph, n *workflow.Node) {
			alone := *n
			switch s := n.Step.(type) {
			case *workflow.Loop:
				alone.Step = &workflow.Loop{Max: s.Max}
			case *workflow.Each:
				each := *s
				each.Body = workflow.Graph{}
				alone.Step = &each
			case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine:
			}
			edges := slices.DeleteFunc(slices.Clone(g.Edges), func(e workflow.Edge) bool { return e.To != n.ID })
			d := definition{[2]string{w.Name, n.ID}, workflow.Print(&workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{alone}, Edges: edges}})}
			if last := len(list) - 1; last >= 0 && list[last].at == d.at { // what a for_each repeats
				list[last].text += d.text
				return
			}
			list = append(list, d)
		})
	}
	return list
}

// headOf describes everything about the workflow of a plan that is not a step. Its name and its limits do
// not matter: a run keeps its own.
func headOf(b *workflow.Bundle) string {
	w := *b.Root
	w.Name, w.Limits, w.Body = "", workflow.Limits{}, workflow.Graph{}
	return workflow.Print(&w)
}

// Limits of what a person is shown of a change.
const (
	diffLines = 16
	diffWidth = 100
)

// diff returns the lines in which two definitions differ.
func diff(before, after string) string {
	lines := trust.DiffLines(wrapped(before), wrapped(after))
	if more := len(lines) - diffLines; more > 1 {
		lines = append(lines[:diffLines], fmt.Sprintf("… and %d more lines", more))
	}
	return strings.Join(lines, "\n")
}

// wrapped breaks the lines of a definition where its texts have line breaks, and long lines into pieces, so
// that what is shown of a long text is where it differs.
func wrapped(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indent := line[:min(len(line)-len(strings.TrimLeft(line, " ")), diffWidth/2)]
		for i, part := range strings.Split(line, `\n`) {
			if i > 0 {
				part = indent + "  " + part
			}
			for r := []rune(part); ; r = append([]rune(indent+"  "), r[diffWidth:]...) {
				if len(r) <= diffWidth {
					b.WriteString(string(r) + "\n")
					break
				}
				b.WriteString(string(r[:diffWidth]) + "\n")
			}
		}
	}
	return b.String()
}
