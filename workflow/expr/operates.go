package expr

// Operates says whether the expression does more than to name one value: it
// compares, combines or negates. A question that people read may be a name too;
// it is never an operation.
func (e *Expr) Operates() bool {
	switch e.root.(type) {
	case *Ref, *literalNode, listNode:
		return false
	case *compareNode, *notNode, andNode, orNode, elseNode:
	}
	return true
}

// Tests says whether the value of the expression is true or false, whatever the
// values in it are.
func (e *Expr) Tests() bool {
	switch e.root.(type) {
	case *compareNode, *notNode, andNode, orNode:
		return true
	case *Ref, *literalNode, listNode, elseNode:
	}
	return false
}
