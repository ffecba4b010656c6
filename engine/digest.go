package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// digest is the digest of what an instance was asked to do: equal digests mean equal requests,
// whatever the run keeps in memory.
type digest [16]byte

// digester computes digests.
type digester struct{ hash.Hash }

func newDigester() digester { return digester{sha256.New()} }

func (d digester) text(parts ...string) {
	var size [8]byte
	for _, p := range parts {
		d.Write(binary.LittleEndian.AppendUint64(size[:0], uint64(len(p))))
		d.Write([]byte(p))
	}
}

func (d digester) value(v any) {
	if s, ok := v.(string); ok {
		d.text("text", s)
	} else {
		d.text("value", workflow.FormatJSON(v))
	}
}

func (d digester) digest() (sum digest) {
	copy(sum[:], d.Sum(nil))
	return sum
}

// digest records what the command of an instance asks for, without what differs between attempts.
// If values are long, this is left to asksFor: loading them here would cost every run what only a
// few need.
func (in *inst) digest() {
	fixed := newDigester()
	var values []any
	long := false
	add := func(v any) {
		if l, ok := v.(*Long); ok {
			v = l.of
		}
		if long = long || standsIn(v); !standsIn(v) {
			v = digestOf(v)
		}
		values = append(values, v)
	}
	fixed.text(in.cmd.Prompt)
	for _, i := range in.cmd.Inputs {
		fixed.text(i.Name)
		add(i.Value)
	}
	fixed.text("received")
	for _, r := range in.cmd.Received {
		fixed.text(r.Step, r.Decision, r.Reason)
		add(r.Output)
	}
	fixed.value(in.cmd.Settings)
	in.sum, in.parts = fixed.digest(), values
	if !long {
		in.sum, in.parts = in.asksFor(), nil
	}
}

func digestOf(v any) string {
	d := newDigester()
	d.value(v)
	return string(d.Sum(nil))
}

// asksFor returns the digest of everything that an instance was asked to do. It may load values.
func (in *inst) asksFor() digest {
	if len(in.parts) == 0 {
		return in.sum
	}
	d := newDigester()
	d.Write(in.sum[:])
	for _, v := range in.parts {
		if standsIn(v) {
			v = digestOf(whole(v))
		}
		d.text(v.(string))
	}
	return d.digest()
}

// work returns the digest of what a node does: its definition, without what only decides when it
// runs, how often it is tried, and what happens after a failure.
func (n *node) work() digest {
	if n.worksAs == (digest{}) {
		only := workflow.Node{ID: n.def.ID, Step: n.does, Output: n.def.Output, Once: n.def.Once}
		d := newDigester()
		d.text(workflow.Print(&workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{only}}}))
		d.text(n.place.Decide...)
		n.worksAs = d.digest()
	}
	return n.worksAs
}

// sees reports whether the texts of a node show the result of another: then the same texts mean the
// same result.
func (n *node) sees(of *inst) bool {
	if n.receives {
		return true
	}
	for _, ref := range n.refs() {
		switch ref.Kind {
		case expr.Nodes:
			if ref.Name == of.n.def.ID {
				return true
			}
		case expr.Vars:
			if ref.Name == of.n.def.Output.Var {
				return true
			}
		case expr.Groups:
			if ref.Name == of.n.def.Group {
				return true
			}
		case expr.Previous, expr.Failure:
			return true
		case expr.Unresolved, expr.Inputs, expr.Item, expr.Index, expr.Iteration, expr.Repeats:
		}
	}
	return false
}

// refs returns what the texts of a node refer to.
func (n *node) refs() []*expr.Ref {
	var refs []*expr.Ref
	if n.prompt != nil {
		refs = append(refs, n.prompt.Refs()...)
	}
	for _, in := range n.inputs {
		refs = append(refs, in.value.Refs()...)
	}
	if n.settings != nil {
		refs = append(refs, n.settings.Refs()...)
	}
	if n.on != nil {
		refs = append(refs, n.on.Refs()...)
	}
	return refs
}
