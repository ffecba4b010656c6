package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// digest is the digest of what an instance was asked to do: equal digests mean equal requests,
// whatever the run keeps in memory.
type digest [16]byte

// digester computes digests. Its memory is used again.
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
		d.text("text", hashed(v))
	default:
		d.text("value", workflow.FormatJSON(v))
	}
}

// take returns the digest of what was added, and removes it.
func (d *digester) take() (sum digest) {
	full := sha256.Sum256(d.buf)
	d.buf = d.buf[:0]
	return digest(full[:len(sum)])
}

// digestOf returns the digest of some texts.
func digestOf(texts ...string) digest {
	var d digester
	d.text(texts...)
	return d.take()
}

// printed returns the definition of a node as text.
func printed(n workflow.Node) string {
	return workflow.Print(&workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{n}}})
}

// hashed returns a text, or the digest of a long one.
func hashed(text string) string {
	if len(text) <= 256 {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return string(sum[:])
}

// digest records what the command of an instance asks for, without what differs between attempts. As
// few runs get a new plan, this must cost almost nothing: values are kept as they are, because the run
// keeps most of them anyway, and texts that do not differ from those of the node are left out.
func (d *digester) digest(in *inst) {
	in.sum, in.with = digest{}, in.cmd.Received
	if in.n.prompt != nil || in.n.settings != nil {
		d.text(in.cmd.Prompt, workflow.FormatJSON(in.cmd.Settings))
		in.sum = d.take()
	}
	if in.cmd.Workspace != "" { // with the values, because few steps have one
		in.with = append(in.with[:len(in.with):len(in.with)], Received{Step: "workspace", Decision: in.cmd.Workspace})
		for _, t := range in.cmd.Trees {
			in.with = append(in.with, Received{Step: "branch", Decision: t.Workspace})
		}
	}
	if len(in.cmd.Inputs) == 0 {
		return
	}
	others := in.with
	in.with = nil
	for _, input := range in.cmd.Inputs {
		shown := Received{Step: "input " + input.Name, Output: input.Value}
		if text, ok := input.Value.(string); ok && len(text) > 256 { // it may have been put together for this
			shown.Output, shown.Decision = nil, hashed(text)
		}
		in.with = append(in.with, shown)
	}
	in.with = append(in.with, others...)
}

// asksFor returns the digest of everything that an instance was asked to do. It may load values.
func (in *inst) asksFor() digest {
	d := digester{buf: slices.Clone(in.sum[:])}
	for _, s := range in.with {
		v := s.Output
		if l, ok := v.(*Long); ok {
			v = whole(l.of)
		}
		if strings.HasPrefix(s.Step, "input ") && s.Decision != "" {
			d.text(s.Step, "", s.Reason)
			d.text("text", s.Decision)
			continue
		}
		d.text(s.Step, s.Decision, s.Reason)
		d.value(v)
	}
	return d.take()
}

// work returns the digest of what a node does: its definition, without what only decides when it
// runs, how often it is tried, and what happens after a failure.
func (n *node) work() digest {
	if n.worksAs == (digest{}) {
		only := workflow.Node{ID: n.def.ID, Step: n.does, Output: n.def.Output, Once: n.def.Once}
		n.worksAs = digestOf(append([]string{printed(only)}, n.place.Decide...)...)
	}
	return n.worksAs
}

// acts returns the digest of what a node does to the world: like work, whatever becomes of its output, and
// whether or not it says that its effect must happen once.
func (n *node) acts() digest {
	if n.actsAs == (digest{}) {
		n.actsAs = digestOf(printed(workflow.Node{ID: n.def.ID, Step: n.does}))
	}
	return n.actsAs
}

// reads returns the digest of how a node gets its value from an output. Nodes with the same digest have
// the same value for an output.
func (n *node) reads() digest {
	if n.readsAs == (digest{}) {
		only := workflow.Node{ID: "n", Step: &workflow.Task{}, Output: n.def.Output}
		only.Output.Var = ""
		n.readsAs = digestOf(fmt.Sprintf("%T", n.does), printed(only))
	}
	return n.readsAs
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
