package engine

import (
	"strconv"
	"strings"
)

// around is the region of the same workflow that this one lies in, nil for the
// workflow's own.
func (reg *region) around() *region {
	switch {
	case reg.loop != nil:
		return reg.loop.in.reg
	case reg.scope.each() != nil:
		return reg.scope.owner.reg
	default:
		return nil
	}
}

// repeated says whether a loop around the region is past its first iteration.
func (reg *region) repeated() bool {
	for ; reg != nil; reg = reg.around() {
		if reg.loop != nil && reg.loop.iteration > 1 {
			return true
		}
	}
	return false
}

// appendSuffix adds what follows a node's id in its address: its items, and the
// iterations of all loops around it unless they are all the first.
func (reg *region) appendSuffix(text []byte, iterations bool) []byte {
	outer := reg.around()
	if outer == nil {
		return text
	}
	text = outer.appendSuffix(text, iterations)
	switch {
	case reg.loop == nil:
		text = strconv.AppendInt(append(text, '['), int64(reg.scope.item), 10)
		return append(text, ']')
	case iterations:
		return strconv.AppendInt(append(text, '#'), int64(reg.loop.iteration), 10)
	}
	return text
}

func (reg *region) appendAddress(text []byte, n *node) []byte {
	text = append(append(text, reg.scope.frame.prefix...), n.place.Node...)
	if reg.around() == nil {
		return text
	}
	return reg.appendSuffix(text, reg.repeated())
}

func (reg *region) address(n *node) string { return string(reg.appendAddress(nil, n)) }

// address is the address of an instance that is about to be made. Most are the id
// of the node.
func (r *Run) address(reg *region, n *node) string {
	if reg.scope.frame.prefix == "" && reg.around() == nil {
		return n.place.Node
	}
	r.scratch = reg.appendAddress(r.scratch[:0], n)
	return r.texts.keep(r.scratch)
}

// texts holds many short texts that live as long as the run, in few pieces.
type texts struct{ piece strings.Builder }

// keep gives a text as a string that nothing else writes to: a Builder only ever
// appends, and a piece that is full is left to its strings.
func (t *texts) keep(text []byte) string {
	const size = 4 << 10
	if t.piece.Cap()-t.piece.Len() < len(text) {
		t.piece.Reset()
		t.piece.Grow(max(size, len(text)))
	}
	from := t.piece.Len()
	t.piece.Write(text)
	return t.piece.String()[from:]
}
