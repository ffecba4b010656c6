package expr

import (
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// Value is a parsed JSON tree in which every string is a template. It is safe
// for concurrent use.
type Value struct {
	root tree
	refs []*Ref
}

// tree is one of *Template, treeList, treeObject and treeConstant.
//
//sumtype:decl
type tree interface {
	value(env Env) (any, error)
	canBe(v any) bool
}

type (
	treeConstant struct{ of any }
	treeList     []tree
	treeObject   []treeField
	treeField    struct {
		name string
		of   tree
	}
)

// maxTree limits the depth of a tree of values.
const maxTree = 1000

// ParseValue parses every string of a tree, at any depth, as a template. Keys of objects are
// plain text. An error wraps a *SyntaxError whose offsets refer to the string with the mistake.
func ParseValue(v any, d Dialect) (*Value, error) {
	value := &Value{}
	root, err := value.parse(v, d, maxTree)
	if err != nil {
		return nil, err
	}
	value.root = root
	return value, nil
}

func (x *Value) parse(v any, d Dialect, depth int) (tree, error) {
	if depth == 0 {
		return nil, &SyntaxError{Summary: "value nested too deeply", Detail: fmt.Sprintf("at most %d levels", maxTree)}
	}
	switch v := v.(type) {
	case string:
		return x.template(v, d)
	case []any:
		return x.list(v, d, depth)
	case map[string]any:
		return x.object(v, d, depth)
	}
	return treeConstant{v}, nil
}

func (x *Value) template(text string, d Dialect) (tree, error) {
	t, err := ParseTemplate(text, d)
	if err != nil {
		return nil, err
	}
	if t.constant != nil {
		return treeConstant{t.constant}, nil
	}
	x.refs = append(x.refs, t.refs...)
	return t, nil
}

func (x *Value) list(items []any, d Dialect, depth int) (tree, error) {
	list, constants := make(treeList, len(items)), make([]any, 0, len(items))
	for i, item := range items {
		t, err := x.parse(item, d, depth-1)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		list[i] = t
		if c, ok := t.(treeConstant); ok {
			constants = append(constants, c.of)
		}
	}
	if len(constants) == len(items) {
		return treeConstant{constants}, nil
	}
	return list, nil
}

func (x *Value) object(fields map[string]any, d Dialect, depth int) (tree, error) {
	object, constants := make(treeObject, 0, len(fields)), make(map[string]any, len(fields))
	for _, name := range sorted.Keys(fields) {
		t, err := x.parse(fields[name], d, depth-1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		object = append(object, treeField{name, t})
		if c, ok := t.(treeConstant); ok {
			constants[name] = c.of
		}
	}
	if len(constants) == len(fields) {
		return treeConstant{constants}, nil
	}
	return object, nil
}

// Refs returns the references of all templates in the tree: those in lists in order, those in
// objects by sorted keys.
func (x *Value) Refs() []*Ref { return x.refs }

// IsRef reports whether the tree is only a reference without a path, so that its value is what
// Env returns.
func (x *Value) IsRef() bool {
	t, ok := x.root.(*Template)
	return ok && t.IsRef()
}

// Eval returns the tree with every template evaluated. Parts without references are shared
// between all results, because values are never changed in place.
func (x *Value) Eval(env Env) (any, error) { return x.root.value(env) }

func (t *Template) value(env Env) (any, error) { return t.Eval(env) }

func (t treeConstant) value(Env) (any, error) { return t.of, nil }

func (t treeList) value(env Env) (any, error) {
	list := make([]any, len(t))
	for i, item := range t {
		v, err := item.value(env)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

func (t treeObject) value(env Env) (any, error) {
	object := make(map[string]any, len(t))
	for _, field := range t {
		v, err := field.of.value(env)
		if err != nil {
			return nil, err
		}
		object[field.name] = v
	}
	return object, nil
}

// CanBe reports whether Eval can return v, whatever the expressions in the tree stand for.
func (x *Value) CanBe(v any) bool { return x.root.canBe(v) }

func (t treeConstant) canBe(v any) bool { return workflow.FormatJSON(t.of) == workflow.FormatJSON(v) }

func (t treeList) canBe(v any) bool {
	list, ok := v.([]any)
	if !ok || len(list) != len(t) {
		return false
	}
	for i, item := range t {
		if !item.canBe(list[i]) {
			return false
		}
	}
	return true
}

func (t treeObject) canBe(v any) bool {
	object, ok := v.(map[string]any)
	if !ok || len(object) != len(t) {
		return false
	}
	for _, field := range t {
		if value, ok := object[field.name]; !ok || !field.of.canBe(value) {
			return false
		}
	}
	return true
}

// canBe compares the literal text around the expressions. The first place where a literal occurs is always the right one,
// because the rest of the text is then longest.
func (t *Template) canBe(v any) bool {
	if len(t.parts) == 1 {
		return true
	}
	text, ok := v.(string)
	for i, p := range t.parts {
		switch {
		case p.of != nil || !ok:
		case i == 0:
			text, ok = strings.CutPrefix(text, p.text)
		case i == len(t.parts)-1:
			ok = strings.HasSuffix(text, p.text)
		default:
			_, text, ok = strings.Cut(text, p.text)
		}
	}
	return ok
}
