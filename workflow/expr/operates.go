package expr

// Operates reports whether the expression does more than name a value: it compares, combines or
// negates. A question to a person may look like a name, but never like an operation.
func (e *Expr) Operates() bool {
	switch e.root.(type) {
	case *Ref, *literalNode, listNode:
		return false
	case *compareNode, *notNode, andNode, orNode, elseNode:
	}
	return true
}

// Tests reports whether the value of the expression is always true or false, whatever the values
// in it are.
func (e *Expr) Tests() bool {
	switch e.root.(type) {
	case *compareNode, *notNode, andNode, orNode:
		return true
	case *Ref, *literalNode, listNode, elseNode:
	}
	return false
}
