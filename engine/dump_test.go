package engine

import (
	"bytes"
	"fmt"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// Dump prints the whole state, equal for equal states.
func (r *Run) Dump() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "run %s %s at %s, clock %s, active %s\n", r.id, r.Status(), r.now.UTC().Format("15:04:05.000"), r.elapsed, r.clock.active)
	if r.root != nil {
		r.printScope(&b, r.root, "")
	}
	for _, in := range r.steps {
		fmt.Fprintf(&b, "step %s %s attempts=%d-%d seq=%d begun=%d done=%d asked %x output=%s error=%q\n", in.address, in.status, in.base, in.attempt, in.seq, in.begun, in.done, in.asksFor(), workflow.FormatJSON(whole(in.output)), in.err)
	}
	for _, address := range sorted.Keys(r.replans.memo) {
		p := r.replans.memo[address]
		fmt.Fprintf(&b, "past %s %s begun=%d done=%d does %x asked %x, handed off %d\n", address, p.in.status, p.in.begun, p.in.done, p.work, p.in.sum, len(p.below))
	}
	for _, address := range sorted.Keys(r.replans.tally) {
		fmt.Fprintf(&b, "used %s %+v\n", address, r.replans.tally[address])
	}
	for _, in := range r.replans.behind {
		fmt.Fprintf(&b, "behind %s %d\n", in.address, in.phase)
	}
	for _, c := range r.Pending() {
		fmt.Fprintf(&b, "pending %s\n", describe(c))
	}
	for _, w := range r.warnings {
		fmt.Fprintf(&b, "warning %v\n", w)
	}
	return b.Bytes()
}

func (r *Run) printScope(b *bytes.Buffer, s *scope, indent string) {
	f := s.frame
	fmt.Fprintf(b, "%sscope %s%d outstanding=%d ending=%q tolerated=%q sinks=%d ledger steps=%d running=%d spent=%v reserved=%g/%d\n",
		indent, f.prefix, s.item, s.outstanding, s.ending, s.tolerated, len(s.sinks), f.steps, f.running, f.spent, f.reserved.CostUSD, f.reserved.TokensOut)
	r.printRegion(b, &s.body, indent+"  ")
	for _, h := range s.handed {
		fmt.Fprintf(b, "%shanded %s spawned=%t awaited=%t away=%t\n", indent, h.id(), h.spawned, h.awaited, h.scope.owner.away)
		r.printScope(b, h.scope, indent+"  ")
	}
}

func (r *Run) printRegion(b *bytes.Buffer, reg *region, indent string) {
	for i := range reg.nodes {
		st, n := &reg.nodes[i], reg.g.nodes[i]
		fmt.Fprintf(b, "%s%s left=%d live=%d poisoned=%t decided=%t settled=%t\n", indent, reg.address(n), st.left, st.live, st.poisoned, st.decided, st.settled)
		if st.inst == nil || st.inst.phase == finished {
			continue
		}
		switch in := st.inst; {
		case in.body != nil:
			fmt.Fprintf(b, "%s  iteration %d\n", indent, in.body.loop.iteration)
			r.printRegion(b, in.body, indent+"  ")
		case in.child != nil:
			r.printScope(b, in.child, indent+"  ")
		case in.each != nil:
			for _, item := range in.each.scopes {
				if item != nil {
					r.printScope(b, item, indent+"  ")
				}
			}
		}
	}
}

// describe returns a command in a few words.
func describe(c Command) string {
	switch c := c.(type) {
	case *StartTask:
		return fmt.Sprintf("start %s attempt=%d", c.Address, c.Attempt)
	case *CancelTask:
		return fmt.Sprintf("cancel %s attempt=%d", c.Address, c.Attempt)
	case *SetTimer:
		if c.At.IsZero() {
			return fmt.Sprintf("timer %s clock=%s", c.ID, c.Clock)
		}
		return fmt.Sprintf("timer %s at=%s", c.ID, c.At.UTC().Format("15:04:05.000"))
	case *CancelTimer:
		return "clear " + c.ID
	case *Ask:
		return fmt.Sprintf("ask %s %s attempt=%d orphaned=%t", c.ID, c.Digest, c.Attempt, c.Orphaned)
	case *Withdraw:
		return "withdraw " + c.ID
	case *Reply:
		return "reply " + c.ID + " " + c.Value
	case *Return:
		return fmt.Sprintf("return %s %s", c.ID, c.Status)
	case *Finish:
		return fmt.Sprintf("finish %s output=%s error=%q", c.Status, workflow.FormatJSON(c.Output), c.Error)
	}
	panic(fmt.Sprintf("engine: %T is no command", c))
}
