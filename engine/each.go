package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// each is the progress of a for_each.
type each struct {
	items   []any
	next    int      // first item that has not started
	open    int      // number of items that are running
	scopes  []*scope // by item; nil before and after it runs
	outputs []any
	trees   [][]Tree // what the items have left; nil if they left none
	failed  string   // the error of the first failed item
	stopped bool     // no further item starts
}

func (r *Run) startEach(in *inst, s *workflow.Each) {
	value, err := in.view().eval(in.n.on)
	items, ok := itemsOf(value)
	started := in.fact(StepStarted, "")
	started.Items = len(items)
	r.note(started)
	switch {
	case err != nil:
		err = fmt.Errorf("for_each: %w", err)
	case !ok:
		err = fmt.Errorf("for_each needs a list, and %s is %s", s.Items.Text, workflow.KindOf(whole(value)))
	}
	if err != nil {
		r.list(in) // without items, nothing else lists it
		r.fail(in, &Fault{Kind: FaultError, Message: err.Error(), Permanent: true})
		return
	}
	in.phase = nested
	in.each = &each{items: items, scopes: make([]*scope, len(items)), outputs: make([]any, len(items))}
	r.moreItems(in)
}

// itemsOf returns the items of a list, some of which may not be loaded.
func itemsOf(v any) (items []any, ok bool) {
	if items, ok := v.(list); ok {
		return items, true
	}
	items, ok = whole(v).([]any)
	return items, ok
}

// moreItems starts as many items as may run at the same time, and ends the node when none is
// left.
func (r *Run) moreItems(in *inst) {
	x := in.each
	most := in.n.does.(*workflow.Each).Parallel
	for !x.stopped && x.next < len(x.items) && (most == 0 || x.open < most) {
		r.startItem(in, x.next)
		x.next++
		x.open++
	}
	if x.open == 0 {
		r.endEach(in)
	}
}

func (r *Run) startItem(in *inst, i int) {
	s := in.newItem(i)
	in.each.scopes[i] = s
	at := in.env
	if in.n.item >= 0 {
		r.seq++
		at = at.set(in.reg.levels(), in.n.item, &write{r.seq, in.each.items[i]})
	}
	r.begin(s, at)
}

// newItem returns a new scope for an item.
func (in *inst) newItem(i int) *scope {
	s := newScope(in.scope(), in, in.n.body, in.scope().frame)
	s.item = int32(i)
	return s
}

func (r *Run) itemEnded(s *scope, status Status, output any, reason string) {
	in := s.owner
	x := in.each
	x.scopes[s.item], x.open = nil, x.open-1
	switch status {
	case Success, Partial:
		x.outputs[s.item] = output
		x.keepItem(in, s)
		in.scope().tolerate(reason) // "" if nothing failed
	case Failed, TimedOut, Cancelled, Running, Waiting, Skipped:
		r.itemFailed(in, int(s.item), reason)
	}
	r.moreItems(in)
}

func (r *Run) itemFailed(in *inst, item int, reason string) {
	x := in.each
	if x.failed == "" {
		x.failed = fmt.Sprintf("item %d: %s", item, reason)
	}
	switch in.n.def.OnError {
	case workflow.Continue:
		in.scope().tolerate(in.address + ": " + x.failed)
	case workflow.SkipDependents:
	case workflow.Stop, workflow.Replan:
		if x.stopped {
			return
		}
		x.stopped = true
		for _, other := range x.scopes {
			if other != nil {
				r.end(other, Cancelled, "another item failed")
			}
		}
	}
}

func (r *Run) endEach(in *inst) {
	x := in.each
	for ; x.next < len(x.items); x.next++ {
		s := in.newItem(x.next)
		for _, n := range in.n.body.nodes {
			r.noteSkipped(&s.body, n)
		}
	}
	if x.failed != "" && in.n.def.OnError != workflow.Continue {
		r.fail(in, &Fault{Kind: FaultError, Message: x.failed})
		return
	}
	outputs := listOf(x.outputs)
	in.settleIn(x.left(), func() { r.endWith(in, outputs, composed(outputs)) })
}

// eaches calls f with every for_each in the region that is in progress, the outer ones first.
func (reg *region) eaches(f func(*inst)) {
	for i := range reg.nodes {
		in := reg.nodes[i].inst
		switch {
		case in == nil || in.phase != nested:
		case in.body != nil:
			in.body.eaches(f)
		case in.child != nil:
			in.child.body.eaches(f)
		case in.each != nil:
			f(in)
			for _, item := range in.each.scopes {
				if item != nil {
					item.body.eaches(f)
				}
			}
		}
	}
}

// itemOf returns the index of the item of a for_each that an address is in, or -1 if it is in none. The for_each
// need not have that item.
func (g *graph) itemOf(each *inst, address string) int {
	suffix := string(each.reg.appendSuffix(nil, each.reg.repeated())) + "["
	for _, n := range g.nodes {
		if rest, ok := strings.CutPrefix(address, each.scope().frame.prefix+n.def.ID+suffix); ok {
			number, _, _ := strings.Cut(rest, "]")
			if item, err := strconv.Atoi(number); err == nil {
				return item
			}
		}
		if n.isLoop() {
			if item := n.body.itemOf(each, address); item >= 0 {
				return item
			}
		}
	}
	return -1
}
