package expr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// ProblemKind is the kind of a problem with a text.
type ProblemKind string

// The kinds of problems.
const (
	Syntax         ProblemKind = "syntax"
	UnknownName    ProblemKind = "unknown_name" // no input or variable of that name
	UnknownNode    ProblemKind = "unknown_node"
	UnknownGroup   ProblemKind = "unknown_group"
	UnknownField   ProblemKind = "unknown_field"
	Forward        ProblemKind = "forward"      // the node runs later
	Self           ProblemKind = "self"         // it is the node itself, or contains it
	NotUpstream    ProblemKind = "not_upstream" // the node runs in parallel, or its result is not visible here
	BadItem        ProblemKind = "bad_item"     // item, index, iteration or previous is used where it has no value
	BadFailure     ProblemKind = "bad_failure"  // failure is used where it has no value
	MaybeUndefined ProblemKind = "maybe_undefined"
	QuotedRef      ProblemKind = "quoted_reference" // a reference inside quotes is plain text
	BareWord       ProblemKind = "bare_word"        // a name that nothing defines is read as text
	UnknownStatus  ProblemKind = "unknown_status"   // a status is compared with a word that is not a status
)

// Problem is something wrong with a text of a workflow.
type Problem struct {
	Pos     workflow.Pos
	Kind    ProblemKind
	Name    string // of the input, variable, node, group or field
	Summary string
	Detail  string // how to fix it; may be ""
	Change  workflow.Change
}

// Severity reports how severe the problem is.
func (p Problem) Severity() workflow.Severity {
	switch p.Kind {
	case MaybeUndefined, QuotedRef, UnknownStatus:
		return workflow.Warning
	case BareWord:
		return workflow.Note
	case Syntax, UnknownName, UnknownNode, UnknownGroup, UnknownField, Forward, Self, NotUpstream, BadItem, BadFailure:
	}
	return workflow.Error
}

// Problems returns all problems of the texts of a resolved workflow, in the order of the texts;
// in a text that does not parse, syntax errors come first. It finds syntax errors, names that
// nothing defines, references to values that are not known yet, and values that only some paths
// define. If the workflow declares no inputs, any name may be an input.
func Problems(w *workflow.Workflow) []Problem {
	c := newChecker(newFlow(w))
	texts := c.texts(Canonical, false)
	for i := range texts {
		texts[i].loosen()
	}
	c.resolveLoose(texts)
	for i := range texts {
		c.text(&texts[i])
	}
	c.settle()
	var all []Problem
	for _, f := range c.findings {
		if f.problem != nil {
			f.locate()
			all = append(all, *f.problem)
		}
	}
	return all
}

// checker works in two passes: it looks at every reference and collects queries about the flow,
// which are then answered together.
type checker struct {
	*flow
	findings []*finding
	queries  []*query
	spare    slab
	lazy     *activity
	entered  []bool  // by place: whether an error edge leads there; nil if not computed yet
	races    []*race // nil if not computed yet

	names, ids, groupNames *suggester // of inputs and variables, of nodes, of groups
}

func newChecker(f *flow) *checker {
	return &checker{
		flow: f, names: newSuggester(f.names),
		ids:        newSuggester(f.byID.names),
		groupNames: newSuggester(f.groups.names),
	}
}

// names returns the names of variables and inputs.
func (f *flow) names() []string {
	names := slices.Concat(f.writers.names(), sorted.Keys(f.w.State))
	for _, in := range f.w.Inputs {
		names = append(names, in.Name)
	}
	return names
}

// slab allocates findings and queries in blocks: a large workflow has one of each for every
// reference.
type slab struct {
	findings []finding
	queries  []query
}

const slabSize = 256

func (s *slab) finding(f finding) *finding {
	if len(s.findings) == 0 {
		s.findings = make([]finding, slabSize)
	}
	one := &s.findings[0]
	s.findings = s.findings[1:]
	*one = f
	return one
}

func (s *slab) query(q query) *query {
	if len(s.queries) == 0 {
		s.queries = make([]query, slabSize)
	}
	one := &s.queries[0]
	s.queries = s.queries[1:]
	*one = q
	return one
}

// finding is a reference, or a text, with the problem found in it.
type finding struct {
	text    *parsed
	ref     *Ref
	number  int      // index of the reference in its text
	problem *Problem // nil if there is none

	// asked are the queries about the flow: may the variable, or one of the nodes, be known here?
	// forms are the nodes that define the meaning of the reference.
	asked []*query
	forms []int
}

func (c *checker) text(p *parsed) {
	if p.err != nil {
		c.broken(p)
		return
	}
	c.quoted(p)
	c.bare(p, c.statusWords(p))
	for i, ref := range p.refs() {
		f := c.spare.finding(finding{text: p, ref: ref, number: i})
		c.findings = append(c.findings, f)
		c.reference(f)
	}
}

// reference checks one reference, and adds queries about the flow if necessary.
func (c *checker) reference(f *finding) {
	r := f.ref
	switch r.Kind {
	case Inputs:
		c.input(f)
	case Vars:
		c.variable(f)
	case Nodes:
		c.node(f)
	case Groups:
		c.group(f)
	case Previous:
		c.previous(f)
	case Failure:
		c.failure(f)
	case Item, Index:
		if c.places[f.text.at.place].each == none {
			f.report(BadItem, r.String(), fmt.Sprintf("%s is used outside for_each", r), "only steps inside a for_each have an item")
		}
	case Iteration, Repeats:
		if c.places[f.text.at.place].loop == none {
			f.report(BadItem, r.String(), r.String()+" is used outside a loop", "only steps inside a loop have iterations")
		}
	case Unresolved:
		c.unresolved(f)
	}
}

func (f *finding) report(kind ProblemKind, name, summary, detail string) {
	f.problem = &Problem{Kind: kind, Name: name, Summary: summary, Detail: detail}
}

func (c *checker) unresolved(f *finding) {
	path := f.ref.Path
	if path[0].Name == "steps" && len(path) > 1 && path[1].IsIndex {
		f.report(UnknownNode, f.ref.String(), fmt.Sprintf("there is no step %d", path[1].Index), "steps count from 0")
		return
	}
	f.report(UnknownName, path[0].Name, fmt.Sprintf("unknown name %q", path[0].Name), cmp.Or(c.meantOutput(f.ref), c.names.nearest(path[0].Name)))
}

func (c *checker) input(f *finding) {
	name := f.ref.Name
	switch {
	case name == "" || c.inputs[name]:
	case len(c.w.Inputs) > 0:
		f.report(UnknownName, name, fmt.Sprintf("unknown name %q", name), c.unknownDetail(f.ref))
	case len(c.writers.of(name)) > 0 && !f.ref.guarded && f.isBare():
		f.report(MaybeUndefined, name, fmt.Sprintf("%q refers to an input here", name), c.unknownDetail(f.ref))
	}
}

// unknownDetail suggests what an unknown name may have been meant to be.
func (c *checker) unknownDetail(r *Ref) string {
	if writers := c.writers.of(r.Name); len(writers) > 0 {
		return fmt.Sprintf("%q writes it, but does not run before this step", c.places[writers[0]].node.ID)
	}
	return cmp.Or(c.meantOutput(r), c.names.nearest(r.Name), "there is no input and no variable with this name")
}

// meantOutput suggests the output of a node whose id was written as the name of something else, or after a word
// that means nothing, as in step.a.output.
func (c *checker) meantOutput(r *Ref) string {
	words := r.Path
	if r.Name != "" {
		words = append([]Key{{Name: r.Name}}, words...)
	}
	for _, word := range words[:min(len(words), 2)] {
		if c.byID.of(word.Name) != nil {
			return fmt.Sprintf("to refer to the output of the node, write %s", &Ref{Kind: Nodes, Name: word.Name, Field: "output"})
		}
	}
	return ""
}

func (c *checker) variable(f *finding) {
	name := f.ref.Name
	if name == "" {
		f.report(UnknownField, "vars", "vars needs the name of a variable", "write vars.NAME")
		return
	}
	if _, ok := c.w.State[name]; ok {
		return
	}
	if f.forms = c.writers.of(name); f.forms == nil {
		f.report(UnknownName, name, fmt.Sprintf("no node writes the variable %q", name), cmp.Or(c.meantOutput(f.ref), c.names.nearest(name)))
		return
	}
	c.ask(f, query{at: f.text.at, node: none, variable: name, writers: f.forms})
}

func (c *checker) node(f *finding) {
	id := f.ref.Name
	if id == "" {
		f.report(UnknownField, "nodes", "nodes needs the id of a node", "write nodes.ID.output")
		return
	}
	if c.byID.of(id) == nil {
		f.report(UnknownNode, id, fmt.Sprintf("there is no node %q", id), c.knownNodes(id))
		return
	}
	if !c.field(f, "a node", NodeFields()) {
		return
	}
	c.nodes(f, c.byID.of(id))
}

// fewNodes is the maximum number of nodes that a hint lists.
const fewNodes = 12

// knownNodes suggests the node that may have been meant. A number is never a misspelling of
// another number.
func (c *checker) knownNodes(written string) string {
	if strings.Trim(written, "0123456789") != "" {
		if hint := c.ids.nearest(written); hint != "" {
			return hint
		}
	}
	if ids := c.ids.names(); len(ids) > 0 && len(ids) <= fewNodes {
		return "available: " + strings.Join(ids, ", ")
	}
	return ""
}

// nodes adds queries about the nodes that a reference may mean, as far as they are visible from
// its place.
func (c *checker) nodes(f *finding, nodes []int) {
	if len(nodes) == 1 {
		f.forms = nodes[:0] // shares the list if all nodes are visible
	}
	for _, i := range nodes {
		if _, isLoop := c.places[i].node.Step.(*workflow.Loop); isLoop && c.inside(f.text.at.place, i) {
			f.asked = nil
			f.report(Self, f.ref.Name, fmt.Sprintf("loop %q has no output while it is running", c.places[i].node.ID), "refer to a step of the loop instead; its output is null in the first iteration")
			return
		}
		if c.visible(i, f.text.at.place) {
			f.forms = append(f.forms, i)
			c.ask(f, query{at: f.text.at, node: i})
		}
	}
	if len(f.forms) == 0 {
		each := c.places[c.places[nodes[0]].each].node.ID
		f.report(NotUpstream, f.ref.Name, fmt.Sprintf("%q runs once for each item of %q", f.ref.Name, each), fmt.Sprintf("the list of its outputs is %s", (&Ref{Kind: Nodes, Name: each, Field: "output"})))
	}
}

func (c *checker) group(f *finding) {
	name := f.ref.Name
	if name == "" {
		f.report(UnknownField, "groups", "groups needs the name of a group", "write groups.NAME.outputs")
		return
	}
	if c.groups.of(name) == nil {
		f.report(UnknownGroup, name, fmt.Sprintf("there is no parallel group %q", name), c.groupNames.nearest(name))
		return
	}
	if !c.field(f, "a group", GroupFields()) {
		return
	}
	c.nodes(f, c.groups.of(name))
}

// field reports whether the field of a reference exists.
func (c *checker) field(f *finding, of string, fields []string) bool {
	if slices.Contains(fields, f.ref.Field) {
		return true
	}
	detail := workflow.DidYouMean(f.ref.Field, fields)
	if detail == "" {
		detail = "it has: " + strings.Join(fields, ", ")
	}
	f.report(UnknownField, f.ref.Field, fmt.Sprintf("%s has no field %q", of, f.ref.Field), detail)
	return false
}

func (c *checker) previous(f *finding) {
	at := f.text.at
	switch {
	case !c.field(f, "previous", PreviousFields()):
	case at.place == c.end:
		f.report(BadItem, "previous", "previous is used in the output of the workflow", "name the node whose output you mean")
	case !at.behind && c.places[at.place].in == 0 && !f.ref.guarded:
		f.report(MaybeUndefined, "previous", "no step comes before this one", "previous.output is null here; give it a default with ??")
	}
}

func (c *checker) failure(f *finding) {
	if !c.field(f, "a failure", FailureFields()) || c.enteredByError(f.text.at.place) {
		return
	}
	f.report(BadFailure, "failure", "failure is used without an error edge", "only a step that an error edge leads to has a failure")
}

// enteredByError reports whether an error edge leads to a place, through choices
// or directly.
func (c *checker) enteredByError(at int) bool {
	if c.entered == nil {
		c.entered = make([]bool, len(c.places))
		for _, i := range c.order {
			_, isChoice := c.places[i].node.Step.(*workflow.Choice)
			for _, l := range c.places[i].links {
				if l.kind == failed || isChoice && c.entered[i] {
					c.entered[l.to] = true
				}
			}
		}
	}
	return c.entered[at]
}

// ask adds a query. The queries of a finding are adjacent in the list of all, and f.asked is a
// slice of it.
func (c *checker) ask(f *finding, q query) {
	c.queries = append(c.queries, c.spare.query(q))
	all := len(c.queries)
	f.asked = c.queries[all-len(f.asked)-1 : all : all]
}
