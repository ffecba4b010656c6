package expr

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Env provides the values of references.
type Env interface {
	// Lookup returns the value of the reference without its Path, which is applied afterwards. If
	// ok is false, there is no value, and null is used. It is not called for unresolved
	// references.
	Lookup(ref *Ref) (value any, ok bool)
}

// Eval returns the value of the expression. It fails if an operator cannot be applied to its
// operands, such as < to a number and a list.
func (e *Expr) Eval(env Env) (any, error) { return e.root.eval(env) }

// IsRef reports whether the expression is only a reference without a path, so that its value is
// what Env returns.
func (e *Expr) IsRef() bool { return isRef(e.root) }

func isRef(n node) bool {
	r, ok := n.(*Ref)
	return ok && len(r.Path) == 0
}

// Bool returns the truthiness of the expression's value.
func (e *Expr) Bool(env Env) (bool, error) {
	v, err := e.root.eval(env)
	return Truthy(v), err
}

// Truthy reports whether a value counts as true. Null, false, zero, and empty lists and objects
// do not, nor do the texts "", "false", "no" and "0", whatever their case and surrounding space:
// agents use them to say no.
func Truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case json.Number:
		return compareNumbers(v, "0") != 0
	case string:
		v = strings.TrimSpace(v)
		return v != "" && v != "0" && !strings.EqualFold(v, "false") && !strings.EqualFold(v, "no")
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

// node is a part of an expression: one of the types below, or *Ref.
//
//sumtype:decl
type node interface {
	eval(env Env) (any, error)
	print(b *strings.Builder, level level)
}

type (
	literalNode struct {
		value    any
		from, to int
	}
	listNode []node
	notNode  struct{ of node }
	orNode   []node
	andNode  []node
	elseNode []node

	compareNode struct {
		op          string
		left, right node
		pattern     *pattern // of matches, if it is a literal
	}
)

func (n *literalNode) eval(Env) (any, error) { return n.value, nil }

func (r *Ref) eval(env Env) (any, error) {
	if r.Kind == Unresolved {
		return nil, nil
	}
	v, ok := env.Lookup(r)
	if !ok {
		return nil, nil
	}
	return walk(v, r.Path), nil
}

func (n listNode) eval(env Env) (any, error) {
	list := make([]any, len(n))
	for i, item := range n {
		v, err := item.eval(env)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

func (n *notNode) eval(env Env) (any, error) {
	v, err := n.of.eval(env)
	return !Truthy(v), err
}

func (n orNode) eval(env Env) (any, error) {
	for _, operand := range n {
		v, err := operand.eval(env)
		if err != nil || Truthy(v) {
			return err == nil, err
		}
	}
	return false, nil
}

func (n andNode) eval(env Env) (any, error) {
	for _, operand := range n {
		v, err := operand.eval(env)
		if err != nil || !Truthy(v) {
			return false, err
		}
	}
	return true, nil
}

func (n elseNode) eval(env Env) (any, error) {
	for _, operand := range n {
		v, err := operand.eval(env)
		if err != nil || v != nil {
			return v, err
		}
	}
	return nil, nil
}

func (n *compareNode) eval(env Env) (any, error) {
	left, err := n.left.eval(env)
	if err != nil {
		return nil, err
	}
	right, err := n.right.eval(env)
	if err != nil {
		return nil, err
	}
	switch n.op {
	case "==":
		return equal(left, right), nil
	case "!=":
		return !equal(left, right), nil
	case "contains":
		return contains(left, right)
	case "in":
		return contains(right, left)
	case "matches":
		return n.matches(left, right)
	}
	return ordered(n.op, left, right)
}

func (n *compareNode) matches(left, right any) (bool, error) {
	p := n.pattern
	if p == nil {
		var err error
		if p, err = compilePattern(right); err != nil {
			return false, fmt.Errorf("expr: %w", err)
		}
	}
	switch left.(type) {
	case nil:
		return false, nil
	case []any, map[string]any:
		return false, fmt.Errorf("expr: cannot use matches on %s", describe(left))
	}
	return p.match(workflow.FormatText(left))
}
