package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// own reports whether an instance works in a workspace of its own, or what it calls does.
func own(in *minst) bool {
	for at := in; at != nil; {
		switch at.n.Workspace {
		case workflow.WorkspaceOwn:
			return true
		case workflow.WorkspaceProject:
			return false
		}
		switch reg := at.reg; {
		case reg.loop != nil:
			at = reg.loop
		case reg.scope.frame.handoff != nil:
			return false
		default:
			at = reg.scope.owner
		}
	}
	return false
}

// folderOf returns the address of the task in whose folder an instance works, because that handed its
// work off, or "".
func folderOf(in *minst) string {
	for at := in; at.handedOffBy() != nil && at.n.Workspace == "" && !at.reg.scope.frame.handoff.detached; {
		if at = at.handedOffBy(); own(at) || merges(at) {
			return at.address
		}
	}
	return ""
}

func merges(in *minst) bool {
	t, ok := in.n.Step.(*workflow.Task)
	return ok && t.Branches != ""
}

// reaching returns the workspaces that reach an instance.
func (m *Model) reaching(in *minst) []engine.Tree {
	s := in.reg.scope
	if in.reg.loop == nil && !s.isItem() && len(edgesTo(in.reg.g, in.n.ID)) == 0 {
		if s.owner == nil {
			return nil
		}
		return m.keeps(s.owner)
	}
	var list []engine.Tree
	for _, p := range in.from {
		list = add(list, m.trees(p.by)...)
	}
	return list
}

// keeps returns the workspace that an instance has received: a task in the project and a merge have
// none, nor does a node at which several meet.
func (m *Model) keeps(in *minst) []engine.Tree {
	if _, task := in.n.Step.(*workflow.Task); task && !own(in) || merges(in) || m.meets(in) != "" {
		return nil
	}
	return m.reaching(in)
}

// trees returns the workspaces that an instance leaves.
func (m *Model) trees(in *minst) []engine.Tree {
	ended := in.status == engine.Success || in.atLimit
	switch {
	case in.made != nil:
		return in.made
	case in.child != nil && ended:
		return m.leftByCall(in)
	case in.each != nil && ended:
		var list []engine.Tree
		for _, item := range in.each.left {
			list = add(list, item...)
		}
		return list
	}
	return m.keeps(in)
}

// leftBy returns what the last steps of a scope have left.
func (m *Model) leftBy(s *mscope) []engine.Tree {
	var sinks []*minst // a later round replaces an earlier one
	for _, in := range s.sinks {
		if in.status == engine.Success && !in.continued {
			sinks = append(slices.DeleteFunc(sinks, func(o *minst) bool { return o.n == in.n }), in)
		}
	}
	var list []engine.Tree
	for _, in := range sinks {
		list = add(list, m.trees(in)...)
	}
	return list
}

// leftByCall returns what a call leaves, named by the call unless it came from before it.
func (m *Model) leftByCall(in *minst) []engine.Tree {
	var made []int
	left, before := m.leftBy(in.child), m.keeps(in)
	for i, t := range left {
		if len(add(before, t)) > len(before) {
			made = append(made, i)
		}
	}
	for _, i := range made {
		name := in.n.ID
		if len(made) > 1 {
			name += "/" + left[i].Step
		}
		left[i].Step = name
	}
	return left
}

func (m *Model) keepItem(in *minst, s *mscope) {
	left := m.leftBy(s)
	for i, t := range left {
		name := fmt.Sprintf("%s[%d]", in.n.ID, s.item)
		if len(left) > 1 {
			name += "/" + t.Step
		}
		left[i] = engine.Tree{Step: name, Workspace: t.Workspace}
	}
	in.each.left[s.item] = left
}

func add(list []engine.Tree, more ...engine.Tree) []engine.Tree {
	list = slices.Clone(list)
	for _, t := range more {
		if !slices.ContainsFunc(list, func(o engine.Tree) bool { return o.Workspace == t.Workspace }) {
			list = append(list, t)
		}
	}
	return list
}

// meets returns why an instance cannot run with the workspaces that reach it, or "".
func (m *Model) meets(in *minst) string {
	reached := m.reaching(in)
	switch {
	case merges(in) && len(reached) == 0:
		return fmt.Sprintf("there is nothing to %s: no step before it has a workspace of its own", in.n.Task().Branches)
	case merges(in) || len(reached) <= 1:
		return ""
	}
	var steps []string
	for _, t := range reached {
		steps = append(steps, t.Step)
	}
	return fmt.Sprintf("the workspaces of %s meet here; they have to be merged first", strings.Join(steps, ", "))
}

// places returns where an attempt works.
func (m *Model) places(in *minst) string {
	switch host := folderOf(in); {
	case merges(in):
		return fmt.Sprintf("merge %v", m.reaching(in))
	case host != "":
		return "within " + host
	case !own(in):
		return "in the project"
	}
	if reached := m.reaching(in); len(reached) == 1 {
		return "from " + reached[0].Workspace
	}
	return "from " + m.base
}

// placed returns the same for an attempt of the engine.
func placed(c *engine.StartTask) string {
	switch {
	case len(c.Trees) > 0:
		return fmt.Sprintf("merge %v", c.Trees)
	case c.Within != "":
		return "within " + c.Within
	case c.Workspace != "":
		return "from " + c.Workspace
	}
	return "in the project"
}

// workspace returns the value of nodes.id.workspace.
func (m *Model) workspace(in *minst) any {
	var values []any
	for _, t := range m.trees(in) {
		values = append(values, t.Workspace)
	}
	switch len(values) {
	case 0:
		return nil
	case 1:
		return values[0]
	}
	return values
}

// makes records what an attempt that succeeded has made.
func (m *Model) makes(in *minst, workspace string) {
	switch _, task := in.n.Step.(*workflow.Task); {
	case !task || !own(in) && !merges(in):
	case workspace != "":
		in.made = []engine.Tree{{Step: in.n.ID, Workspace: workspace}}
	case merges(in):
		in.made = m.reaching(in)[:1]
	default:
		in.made = m.reaching(in)
	}
}
