package expr

import (
	"fmt"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// settle answers all queries about the flow and turns the answers into problems. Each pass
// queries only what the previous one left open.
func (c *checker) settle() {
	c.flow.ask(c.queries)
	late, doubtful := c.split()
	c.settleLate(late)
	c.settleDoubtful(doubtful)
	c.settleSchemas()
}

// split returns the findings that need more queries: references to values that may not be known
// at their place, and references to values that may be.
func (c *checker) split() (late, doubtful []*finding) {
	for _, f := range c.findings {
		if len(f.asked) == 0 || f.problem != nil {
			continue
		}
		switch known := c.known(f); {
		case !known:
			late = append(late, f)
		case c.matters(f) && !c.certain(f):
			doubtful = append(doubtful, f)
		}
	}
	return late, doubtful
}

// matters reports whether a reference to a possibly missing value is a problem. It is not if the
// reference has a default, refers to how a node ended, or is an input of a combine, which leaves
// out missing values.
func (c *checker) matters(f *finding) bool {
	_, combines := c.places[f.text.at.place].node.Step.(*workflow.Combine)
	asksHow := f.ref.Kind == Nodes && f.ref.Field != "output"
	return !f.ref.guarded && f.ref.Kind != Groups && !asksHow && (!combines || f.text.at.behind)
}

// certain reports, without more queries, whether the value of a reference is known at its place
// in the common case: one node defines it, and that node has certainly run.
func (c *checker) certain(f *finding) bool {
	if c.lazy == nil {
		c.lazy = newActivity(c.flow)
	}
	return len(f.forms) == 1 && len(c.raceList()) == 0 && c.lazy.implies(c.lazy.at(f.text.at), c.defines(f.ref.Kind, f.forms[0]))
}

// known reports whether the value of a reference may be known at its place. A group is known if
// all its members are.
func (c *checker) known(f *finding) bool {
	holds := func(q *query) bool { return q.holds }
	if f.ref.Kind == Groups {
		return !slices.ContainsFunc(f.asked, func(q *query) bool { return !q.holds })
	}
	return slices.ContainsFunc(f.asked, holds)
}

// settleLate finds out why a value is not known: its node runs later, runs in parallel, or
// failed.
func (c *checker) settleLate(late []*finding) {
	later, before := make([]*query, len(late)), make([]*query, len(late))
	for i, f := range late {
		node := c.missing(f)
		later[i] = &query{at: point{place: node}, node: f.text.at.place}
		before[i] = &query{at: f.text.at, node: node}
	}
	c.flow.ask(slices.Concat(later, before))
	for i, f := range late {
		c.reportLate(f, c.missing(f), later[i].holds, before[i].holds)
	}
}

// missing returns the node that should be known at the finding's place but is not.
func (c *checker) missing(f *finding) int {
	for i, q := range f.asked {
		if !q.holds {
			return f.forms[i]
		}
	}
	return f.forms[0]
}

func (c *checker) reportLate(f *finding, node int, later, before bool) {
	id, at := c.places[node].node.ID, f.text.at.place
	what := fmt.Sprintf("%q", id)
	if f.ref.Kind == Vars {
		what = fmt.Sprintf("%q, written by %q,", f.ref.Name, id)
	}
	name := f.ref.Name
	switch {
	case f.ref.Kind == Nodes && (later || node == at) && c.sharedLoop(node, at):
		// The value from the previous iteration, which is null in the first one.
	case node == at:
		f.report(Self, name, fmt.Sprintf("%q refers to its own result", id), "a step has no result before it has finished")
	case c.inside(at, node):
		f.report(Self, name, fmt.Sprintf("%s is not known inside %q", what, id), "it has no result before all of its steps have finished")
	case !c.visible(node, at):
		f.report(NotUpstream, name, what+" is not known here", fmt.Sprintf("results for one item of %q are not visible outside of it", c.places[c.places[node].each].node.ID))
	case before:
		f.report(NotUpstream, name, what+" is not known here", fmt.Sprintf("this step runs only if %q fails", id))
	case later:
		f.report(Forward, name, what+" is not known yet", fmt.Sprintf("%q runs after this step", id))
	default:
		f.report(NotUpstream, name, what+" is not known here", fmt.Sprintf("%q does not always run before this step; add an edge", id))
	}
}

// settleDoubtful warns about values that only some paths define. A value from a later node of the
// same loop is always missing in the first iteration, which is not worth a warning.
func (c *checker) settleDoubtful(doubtful []*finding) {
	var open []*finding
	asked := map[*finding][]*query{}
	var queries []*query
	for _, f := range doubtful {
		if len(f.forms) > maxMembers || c.isItem(f) {
			continue
		}
		open = append(open, f)
		for _, i := range f.forms {
			q := &query{at: f.text.at, node: i, forward: true}
			asked[f] = append(asked[f], q)
			queries = append(queries, q)
		}
	}
	c.flow.ask(queries)
	for _, f := range open {
		if c.onSomePaths(f, asked[f]) {
			c.reportDoubt(f)
		}
	}
}

// isItem reports whether a variable is the item of an Each around its place.
func (c *checker) isItem(f *finding) bool {
	return f.ref.Kind == Vars && slices.ContainsFunc(f.forms, func(i int) bool {
		return asOf(c.places[i].node) == f.ref.Name && c.inside(f.text.at.place, i)
	})
}

// onSomePaths reports whether a place can be reached without running any of the nodes that define
// a reference there.
func (c *checker) onSomePaths(f *finding, before []*query) bool {
	at := f.text.at.place
	var under []int
	for i, q := range before {
		switch {
		case q.holds:
			under = append(under, c.defines(f.ref.Kind, f.forms[i]))
		case c.sharedLoop(f.forms[i], at):
			return false
		}
	}
	if len(under) == 0 { // only repeating a loop leads from there to here
		return true
	}
	return !c.lazy.implies(c.lazy.at(f.text.at), c.lazy.any(under)) || c.racing(f, before)
}

// defines returns the condition under which a node defines a reference of a kind: its result
// always, its variable if it succeeds.
func (c *checker) defines(kind Kind, node int) int {
	return c.lazy.at(point{place: node, behind: kind == Vars})
}

func (c *checker) reportDoubt(f *finding) {
	r := f.ref
	summary := fmt.Sprintf("%q does not run on every path that leads here", r.Name)
	if r.Kind == Vars {
		summary = fmt.Sprintf("%q is not written on every path that leads here", r.Name)
	}
	f.report(MaybeUndefined, r.Name, summary, fmt.Sprintf(`give it a default: %s ?? "…"`, r))
}
