package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Workspaces follow the edges, like values. An instance leaves the workspaces that reached it, unless
// it changes them: a task in a workspace of its own leaves what it made, a task in the project leaves
// none, a call and a for_each leave what the steps in them left. Nothing stands for the base of the
// run: what the project was when the run began.

// Tree is a workspace that a step has left: an immutable state of the project's files.
type Tree struct {
	Step      string `json:"step"` // that made it; for an item, with its index
	Workspace string `json:"workspace"`
}

// isOwn reports whether the attempts of an instance, or of what it calls, work in workspaces of their own.
func (in *inst) isOwn() bool {
	switch s := in.scope().frame.scope; {
	case in.n.workspace != workflow.WorkspaceAround:
		return in.n.workspace == workflow.WorkspaceOwn
	case s.owner == nil || s.frame.handoff != nil:
		return false
	default:
		return s.owner.isOwn()
	}
}

// host returns the instance in whose workspace the attempts of an instance work because it handed the
// work off, or nil if there is none.
func (r *Run) host(in *inst) *inst {
	s := in.scope().frame.scope
	switch {
	case s.owner == nil || in.n.workspace != workflow.WorkspaceAround:
		return nil
	case s.frame.handoff != nil && s.frame.handoff.detached && r.version >= 8:
		return nil
	case s.frame.handoff != nil && (s.owner.isOwn() || s.owner.makes() && r.version >= 8):
		return s.owner
	default:
		return r.host(s.owner)
	}
}

// makes reports whether the instance leaves a workspace that its attempt made.
func (in *inst) makes() bool {
	_, works := in.n.does.(*workflow.Task)
	return works && (in.isOwn() || in.n.place.Branches != workflow.OneBranch)
}

// reached returns the workspaces that reach an instance, each once, in the order of the edges.
func (in *inst) reached() []Tree {
	if owner := in.scope().owner; owner != nil && len(in.n.in) == 0 && in.reg.loop == nil && owner.each == nil {
		return owner.trees
	}
	var list []Tree
	for _, p := range in.from() {
		list = union(list, p.by.trees)
	}
	return list
}

// union adds the trees that a list does not contain.
func union(list, more []Tree) []Tree {
	for _, t := range more {
		if !slices.ContainsFunc(list, func(o Tree) bool { return o.Workspace == t.Workspace }) {
			list = append(list[:len(list):len(list)], t)
		}
	}
	return list
}

// receive gives an instance the workspaces that reach it. Only a merge can receive several.
func (r *Run) receive(in *inst) *Fault {
	reached := in.reached()
	_, works := in.n.does.(*workflow.Task)
	merges := in.n.place.Branches != workflow.OneBranch
	why := ""
	switch {
	case merges && len(reached) == 0:
		why = fmt.Sprintf("there is nothing to %s: no step before it has a workspace of its own", in.n.place.Branches)
	case merges:
	case len(reached) > 1:
		var steps []string
		for _, t := range reached {
			steps = append(steps, t.Step)
		}
		why = fmt.Sprintf("the workspaces of %s meet here; they have to be merged first", strings.Join(steps, ", "))
	case in.isOwn() && r.base == "":
		why = "it needs a workspace of its own, but nobody recorded what the project was when the run began"
	case !works || in.isOwn():
		in.trees = reached
	}
	if why != "" {
		return &Fault{Kind: FaultError, Message: why, Permanent: true}
	}
	return nil
}

// place tells an attempt where it works.
func (r *Run) place(in *inst, cmd *StartTask) {
	switch host := r.host(in); {
	case in.n.place.Branches != workflow.OneBranch:
		cmd.Workspace, cmd.Trees = r.base, in.reached()
	case host != nil:
		cmd.Within = host.address
	case !in.isOwn():
	case len(in.trees) > 0:
		cmd.Workspace = in.trees[0].Workspace
	default:
		cmd.Workspace = r.base
	}
}

// settleIn ends an instance in a way that may fail. Only if it succeeds, it leaves other workspaces than
// those that it received.
func (in *inst) settleIn(trees []Tree, end func()) {
	received := in.trees
	in.trees = trees
	if end(); in.status != Success {
		in.trees = received
	}
}

// made returns the workspaces that an instance leaves after an attempt that ended with the given one.
func (in *inst) made(workspace string) []Tree {
	switch {
	case !in.makes():
		return in.trees
	case workspace == "" && len(in.cmd.Trees) > 0:
		return in.cmd.Trees[:1]
	case workspace == "":
		return in.trees
	}
	return []Tree{{in.n.def.ID, workspace}}
}

// left returns the workspaces that the steps of a scope have left.
func (s *scope) left() (list []Tree) {
	for _, in := range slices.Backward(successfulSinks(s.sinks)) {
		list = union(list, in.trees)
	}
	return list
}

// leftByCall returns what a call leaves: what the last steps of the called workflow have left, named
// by the call, and what has only passed through it.
func (in *inst) leftByCall(s *scope) (list []Tree) {
	passes := func(t Tree) bool {
		return slices.ContainsFunc(in.trees, func(o Tree) bool { return o.Workspace == t.Workspace })
	}
	left, made := s.left(), 0
	for _, t := range left {
		if !passes(t) {
			made++
		}
	}
	for _, t := range left {
		if !passes(t) {
			name := in.n.def.ID
			if made > 1 {
				name += "/" + t.Step
			}
			t.Step = name
		}
		list = append(list, t)
	}
	return list
}

// keepItem records what an item has left.
func (x *each) keepItem(in *inst, s *scope) {
	left := s.left()
	if len(left) == 0 {
		return
	}
	if x.trees == nil {
		x.trees = make([][]Tree, len(x.items))
	}
	for _, t := range left {
		name := fmt.Sprintf("%s[%d]", in.n.def.ID, s.item)
		if len(left) > 1 {
			name += "/" + t.Step
		}
		x.trees[s.item] = append(x.trees[s.item], Tree{name, t.Workspace})
	}
}

// left returns what all items have left.
func (x *each) left() (list []Tree) {
	for _, trees := range x.trees {
		list = union(list, trees)
	}
	return list
}

// workspace returns the value of nodes.id.workspace.
func (in *inst) workspace() any {
	switch len(in.trees) {
	case 0:
		return nil
	case 1:
		return in.trees[0].Workspace
	}
	values := make([]any, len(in.trees))
	for i, t := range in.trees {
		values[i] = t.Workspace
	}
	return values
}
