package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// handoff is work that an attempt has handed off to another agent. It runs as the only task of its
// own frame, below the task that handed it off, and may outlast that task, unless it works in the
// workspace of that task.
type handoff struct {
	key      string // identifies the work
	scope    *scope // of its frame; its owner is the task that handed it off
	spawned  bool   // the task does not need the result
	awaited  bool   // an attempt of the task waits for the result
	detached bool   // it only starts a run of its own, so it needs no files
	gone     bool   // its files went with the workspace of the attempt that handed it off
}

// id returns the address of the task that was handed off.
func (h *handoff) id() string { return h.scope.body.address(h.scope.body.g.nodes[0]) }

// task returns the task that was handed off, or nil if it does not exist yet.
func (h *handoff) task() *inst { return h.scope.body.nodes[0].inst }

// isOpen reports whether the handoff has no result yet.
func (h *handoff) isOpen() bool {
	t := h.task()
	return !h.scope.closed() && (t == nil || t.phase != finished)
}

// onlyTask returns the task that is handed off.
func (ev *HandoffAsked) onlyTask() *workflow.Task {
	if ev.Definition == nil || len(ev.Definition.Body.Nodes) != 1 {
		return nil
	}
	t, _ := ev.Definition.Body.Nodes[0].Step.(*workflow.Task)
	return t
}

// Work identifies the work: it is the same text for the same work.
func (ev *HandoffAsked) Work() string {
	if ev.Key != "" {
		return ev.Key
	}
	sum := sha256.Sum256([]byte(workflow.Print(ev.Definition) + workflow.FormatJSON(ev.Inputs)))
	return hex.EncodeToString(sum[:])
}

// admitHandoff reports why an attempt cannot hand this off.
func (r *Run) admitHandoff(in *inst, ev *HandoffAsked) error {
	t, may := ev.onlyTask(), in.n.place.Handoffs
	top := in.top()
	switch {
	case ev.ID != "" && in.handoffWith(ev.ID) == nil:
		return fmt.Errorf("%q has not handed off any work with the id %q", in.address, ev.ID)
	case ev.ID != "":
		return nil
	case t == nil:
		return errors.New("a handoff needs a definition with exactly one task")
	case may == nil && top != in:
		return fmt.Errorf("%q cannot hand its work off: handoffs of %q are limited to depth %d", in.address, top.address, in.handoffDepth())
	case may == nil:
		return fmt.Errorf("%q may not hand work off; to allow it, add `handoffs: {to: [%s]}` to the task", in.address, t.Agent)
	case !slices.Contains(may.To, t.Agent):
		return fmt.Errorf("%q may not hand work off to %q, only to %s", in.address, t.Agent, strings.Join(may.To, ", "))
	case ev.Detach && !may.Detach:
		return fmt.Errorf("%q may not detach work; to allow it, add `detach: true` to the handoffs of %q", in.address, top.n.def.ID)
	case in.sameHandoff(ev.Work()) != nil:
		return nil
	}
	if err := in.unreserved(ev); err != nil {
		return err
	}
	if most, _ := top.n.place.Handoffs.Limits(); int(top.handoffs) >= most {
		return fmt.Errorf("%q cannot hand off more work: handoffs of %q are limited to %d", in.address, top.address, most)
	}
	_, err := compile(in.handoffDefinition(ev))
	return err
}

// unreserved reports detached work that names no amount to reserve although a budget applies. Other
// work would wait for a person, but here the attempt that hands it off can name an amount.
func (in *inst) unreserved(ev *HandoffAsked) error {
	if !ev.Detach {
		return nil
	}
	facts := NoFacts
	if ev.Facts != nil {
		facts = *ev.Facts
	}
	for f := in.scope().frame; f != nil; f = f.around {
		_, cost := facts.May.CostUSD.Amount()
		_, tokens := facts.May.Tokens.Amount()
		switch {
		case f.limits.CostUSD > 0 && !cost:
			return fmt.Errorf("cannot detach work without a cost limit, because workflow %q has one: add a constraint such as \"Maximum cost: $2\"", f.p.w.Name)
		case f.limits.Tokens > 0 && !tokens:
			return fmt.Errorf("cannot detach work without a token limit, because workflow %q has one: add a constraint such as \"Maximum tokens: 50k\"", f.p.w.Name)
		}
	}
	return nil
}

// top returns the instance of the workflow's own task that the work of an instance comes from,
// possibly through several handoffs.
func (in *inst) top() *inst {
	for in.scope().frame.handoff != nil {
		in = in.scope().owner
	}
	return in
}

// handoffDepth returns how many handoffs led to an instance.
func (in *inst) handoffDepth() (depth int) {
	for ; in.scope().frame.handoff != nil; depth++ {
		in = in.scope().owner
	}
	return depth
}

// sameHandoff returns an earlier handoff of the same work, or nil if there is none or it failed.
func (in *inst) sameHandoff(key string) *handoff {
	for _, h := range slices.Backward(in.handed) {
		if h.key == key && !h.gone && (h.isOpen() || h.result().Status == Success) {
			return h
		}
	}
	return nil
}

// handoffWith returns the handoff of an instance with the given id, or nil.
func (in *inst) handoffWith(id string) *handoff {
	for _, h := range in.handed {
		if h.id() == id && !h.gone {
			return h
		}
	}
	return nil
}

// handoffDefinition returns the definition of the work: its task gets an id, and may hand off work to
// the same agents, with one level less.
func (in *inst) handoffDefinition(ev *HandoffAsked) *workflow.Workflow {
	n, t := ev.Definition.Body.Nodes[0], *ev.onlyTask()
	may := *in.n.place.Handoffs
	_, may.Depth = may.Limits()
	may.Depth--
	if t.Handoffs = &may; may.Depth == 0 {
		t.Handoffs = nil
	}
	n.ID, n.Step = "handoff-"+strconv.Itoa(len(in.handed)+1), &t
	return &workflow.Workflow{Name: ev.Definition.Name, Limits: ev.Definition.Limits, Body: workflow.Graph{Nodes: []workflow.Node{n}}}
}

// handOff starts the work that an attempt hands off, or attaches the attempt to an earlier handoff: the
// one that it names, or one with the same definition.
func (r *Run) handOff(in *inst, ev *HandoffAsked) {
	h := in.handoffWith(ev.ID)
	if ev.ID == "" {
		h = in.sameHandoff(ev.Work())
	}
	if h == nil {
		h = r.openHandoff(in, ev)
	}
	h.spawned = h.spawned || !ev.Blocking
	result := h.result()
	waits := result.Status == Running // also while its own limit stops it; before version 4, no result came then
	if r.version < 4 {
		waits = h.isOpen()
	}
	h.awaited = h.awaited || ev.Blocking && waits
	r.command(result)
	r.rest(in)
}

func (r *Run) openHandoff(in *inst, ev *HandoffAsked) *handoff {
	p := r.addDefinition(definition{in.handoffDefinition(ev), ev.Facts})
	f := r.newFrame(p, in, p.w.Limits, ev.Inputs)
	h := &handoff{key: ev.Work(), scope: f.scope, detached: ev.Detach}
	f.handoff = h
	in.top().handoffs++
	in.handed = append(in.handed, h)
	in.scope().handed = append(in.scope().handed, h)
	in.scope().expect(1)
	r.begin(h.scope, nil)
	return h
}

// definition is the workflow of a task that was handed off.
type definition struct {
	Workflow *workflow.Workflow
	Facts    *TaskFacts
}

// addDefinition compiles a definition that was admitted.
func (r *Run) addDefinition(d definition) *program {
	p, _ := compile(d.Workflow) // admitHandoff has reported errors
	p.index = len(r.compiled) + len(r.handed)
	p.facts = d.Facts
	r.handed = append(r.handed, p)
	return p
}

// wasHandedOff reports whether an instance is a task that was handed off.
func (r *Run) wasHandedOff(in *inst) bool { return in.n.home.index >= len(r.compiled) }

// program returns a program by its index.
func (r *Run) program(index int) *program {
	if index < len(r.compiled) {
		return r.compiled[index]
	}
	return r.handed[index-len(r.compiled)]
}

// result returns the state of the handoff, for the current attempt of the task.
func (h *handoff) result() *Return {
	by := h.scope.owner
	c := &Return{ID: h.id(), Address: by.address, Attempt: int(by.attempt), Status: Running}
	switch t := h.task(); {
	case t != nil && t.phase == finished && t.status != Cancelled && t.status != Skipped:
		c.Status, c.Output, c.Error = t.status, shown(t.output), t.err
	case h.scope.over: // its own limit ended it, or nobody needs it any more
		c.Status, c.Error = h.scope.ending, h.scope.reason
	}
	return c
}

// results returns the work that the attempts of an instance have handed off so far, for its next attempt.
func (in *inst) results() []Handed {
	var list []Handed
	for _, h := range in.handed {
		if h.gone {
			continue
		}
		c := h.result()
		list = append(list, Handed{c.ID, h.key, h.scope.body.g.nodes[0].place.Agent, h.scope.frame.inputs, c.Status, c.Output, c.Error})
	}
	return list
}

// awaits returns how many handoffs an attempt of the instance waits for.
func (in *inst) awaits() (n int) {
	for _, h := range in.handed {
		if h.awaited {
			n++
		}
	}
	return n
}

// awaitedHandoff returns the handoff with the given id if an attempt waits for it, or nil.
func (r *Run) awaitedHandoff(id string) *handoff {
	for _, in := range r.attempts {
		for _, h := range in.handed {
			if h.awaited && h.id() == id {
				return h
			}
		}
	}
	return nil
}

// giveBack returns the result of a handoff to the attempt that waits for it. The attempt takes its
// slot back first, before anything else can take the slot of the handoff.
func (r *Run) giveBack(h *handoff) {
	if !h.awaited {
		return
	}
	h.awaited = false
	r.command(h.result())
	r.rest(h.scope.owner)
}

// unawait records that no attempt of the instance waits for handoffs any more.
func (r *Run) unawait(in *inst) {
	for _, h := range in.handed {
		h.awaited = false
	}
}

// dropHandoffs cancels handoffs of an instance that has ended: those that it was waiting for or, if
// the instance was cancelled, all of them.
func (r *Run) dropHandoffs(in *inst, all bool) {
	for _, h := range in.handed {
		if all || !h.spawned && h.isOpen() {
			r.end(h.scope, Cancelled, "")
		}
	}
}

// forgetHandoffs ends what an attempt in a workspace has handed off, and forgets the results: the files
// were in the workspace of that attempt, and the next one begins with a clean workspace. An attempt
// that succeeds has waited for all of them.
func (r *Run) forgetHandoffs(in *inst) {
	if r.version < 8 || !in.makes() {
		return
	}
	kept := int32(0)
	for _, h := range in.handed {
		switch {
		case h.gone:
			continue
		case h.detached:
			kept++
			continue
		}
		if h.gone = true; h.isOpen() {
			r.end(h.scope, Cancelled, "")
		}
	}
	if in.top() == in {
		in.handoffs = kept // the next attempt may hand off as much as this one
	}
}

// handoffEnded ends a handoff when nothing runs in its frame any more. If nobody needed its result,
// a failure is ignored.
func (r *Run) handoffEnded(h *handoff, status Status, reason string) {
	r.giveBack(h) // its own limit may have ended it
	s := h.scope.parent
	s.handed = slices.DeleteFunc(s.handed, func(o *handoff) bool { return o == h })
	switch status {
	case Failed, TimedOut:
		if h.spawned {
			s.tolerate(reason)
		}
	case Partial:
		s.tolerate(reason)
	case Success, Cancelled, Running, Waiting, Skipped:
	}
	r.release(s)
}

// lend gives up the slot of an attempt while it waits for a handoff, and takes it back afterwards.
// Otherwise the handoff might never get a slot.
func (r *Run) lend(in *inst, away bool) {
	if in.away == away {
		return
	}
	attempts := 1
	if in.away = away; away {
		attempts = -1
	}
	in.scope().frame.book(attempts, Usage{})
	r.seatWaiting(in.scope().frame)
}
