package engine

import "strconv"

// around returns the enclosing region in the same workflow, or nil for the workflow's own region.
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

// repeated reports whether a loop around the region is past its first iteration.
func (reg *region) repeated() bool {
	for ; reg != nil; reg = reg.around() {
		if reg.loop != nil && reg.loop.iteration > 1 {
			return true
		}
	}
	return false
}

// appendSuffix appends what follows a node's id in its address: its items, and the iterations of
// all loops around it, unless all of them are the first.
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

// address returns the address of an instance of the node. For most it is the id of the node.
func (reg *region) address(n *node) string {
	prefix := reg.scope.frame.prefix
	if prefix == "" && reg.around() == nil {
		return n.place.Node
	}
	return string(reg.appendSuffix([]byte(prefix+n.place.Node), reg.repeated()))
}
