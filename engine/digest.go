package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// digest is the digest of what an instance was asked to do: equal digests mean equal requests,
// whatever the run keeps in memory.
type digest [16]byte

// digester computes digests. Every task needs one, so its memory is used again.
type digester struct{ buf []byte }

// text adds texts.
func (d *digester) text(parts ...string) {
	for _, p := range parts {
		d.buf = binary.LittleEndian.AppendUint64(d.buf, uint64(len(p)))
		d.buf = append(d.buf, p...)
	}
}

// value adds a value, of which nothing is left out.
func (d *digester) value(v any) {
	switch v := v.(type) {
	case nil:
		d.text("none")
	case string:
		d.text("text", v)
	default:
		d.text("value", workflow.FormatJSON(v))
	}
}

// take returns the digest of what was added since a position, and removes it.
func (d *digester) take(from int) (sum digest) {
	full := sha256.Sum256(d.buf[from:])
	d.buf = d.buf[:from]
	return digest(full[:len(sum)])
}

// digest records what the command of an instance asks for, without what differs between attempts.
// If values are long, this is left to asksFor: loading them here would cost every run what only a
// few need.
func (d *digester) digest(in *inst) {
	d.buf = d.buf[:0]
	long := false
	d.text(in.cmd.Prompt)
	for i := range in.cmd.Inputs {
		d.text(in.cmd.Inputs[i].Name)
		long = long || standsIn(unshown(in.cmd.Inputs[i].Value))
	}
	d.text("received")
	for i := range in.cmd.Received {
		r := &in.cmd.Received[i]
		d.text(r.Step, r.Decision, r.Reason)
		long = long || standsIn(unshown(r.Output))
	}
	if len(in.cmd.Settings) > 0 {
		d.value(in.cmd.Settings)
	}
	in.sum, in.parts = d.take(0), nil
	if len(in.cmd.Inputs)+len(in.cmd.Received) == 0 {
		return
	}
	d.buf = append(d.buf, in.sum[:]...)
	for i := range in.cmd.Inputs {
		d.part(in, long, in.cmd.Inputs[i].Value)
	}
	for i := range in.cmd.Received {
		d.part(in, long, in.cmd.Received[i].Output)
	}
	if sum := d.take(0); !long {
		in.sum = sum
	}
}

// part adds the digest of a value, or makes the value a part of what an instance was asked for.
func (d *digester) part(in *inst, long bool, v any) {
	v = unshown(v)
	if standsIn(v) {
		in.parts = append(in.parts, v)
		return
	}
	from := len(d.buf)
	d.value(v)
	sum := d.take(from)
	if d.buf = append(d.buf, sum[:]...); long {
		in.parts = append(in.parts, string(sum[:]))
	}
}

// unshown returns a value that was shown as the run keeps it.
func unshown(v any) any {
	if l, ok := v.(*Long); ok {
		return l.of
	}
	return v
}

// asksFor returns the digest of everything that an instance was asked to do. It may load values.
func (in *inst) asksFor() digest {
	if len(in.parts) == 0 {
		return in.sum
	}
	d := digester{buf: slices.Clone(in.sum[:])}
	for _, v := range in.parts {
		if text, ok := v.(string); ok {
			d.buf = append(d.buf, text...)
			continue
		}
		from := len(d.buf)
		d.value(whole(v))
		sum := d.take(from)
		d.buf = append(d.buf, sum[:]...)
	}
	return d.take(0)
}

// work returns the digest of what a node does: its definition, without what only decides when it
// runs, how often it is tried, and what happens after a failure.
func (n *node) work() digest {
	if n.worksAs == (digest{}) {
		only := workflow.Node{ID: n.def.ID, Step: n.does, Output: n.def.Output, Once: n.def.Once}
		var d digester
		d.text(workflow.Print(&workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{only}}}))
		d.text(n.place.Decide...)
		n.worksAs = d.take(0)
	}
	return n.worksAs
}

// texts is what the texts of a node show: if they are the same, so is that.
type texts struct {
	refs     []*expr.Ref
	receives bool // the outputs that reach it
	asks     bool // also the item and, without a step before it, the inputs
}

func (n *node) texts() texts {
	t := texts{receives: n.receives, asks: n.place.Asks}
	if n.prompt != nil {
		t.refs = append(t.refs, n.prompt.Refs()...)
	}
	for _, in := range n.inputs {
		t.refs = append(t.refs, in.value.Refs()...)
	}
	if n.settings != nil {
		t.refs = append(t.refs, n.settings.Refs()...)
	}
	if n.on != nil {
		t.refs = append(t.refs, n.on.Refs()...)
	}
	return t
}

// show reports whether the texts show the result of a step.
func (t texts) show(of *inst) bool {
	return t.receives || slices.ContainsFunc(t.refs, func(ref *expr.Ref) bool {
		switch ref.Kind {
		case expr.Nodes:
			return ref.Name == of.n.def.ID
		case expr.Vars:
			return ref.Name == of.n.def.Output.Var
		case expr.Groups:
			return ref.Name == of.n.def.Group
		case expr.Previous, expr.Failure:
			return true
		case expr.Unresolved, expr.Inputs, expr.Item, expr.Index, expr.Iteration, expr.Repeats:
		}
		return false
	})
}

// showItem reports whether the texts of a node in a for_each show the item.
func (t texts) showItem(each *node) bool {
	as := each.does.(*workflow.Each).As
	return t.asks || slices.ContainsFunc(t.refs, func(ref *expr.Ref) bool {
		return ref.Kind == expr.Item || ref.Kind == expr.Vars && ref.Name == as
	})
}

// showInputs reports whether the texts of a node in a called workflow show an input.
func (t texts) showInputs() bool {
	return t.asks || slices.ContainsFunc(t.refs, func(ref *expr.Ref) bool { return ref.Kind == expr.Inputs })
}
