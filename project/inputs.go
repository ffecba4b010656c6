package project

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// The codes of mistakes in the inputs of a run.
const (
	codeInputUnknown = "input-unknown"
	codeInputMissing = "input-missing"
	codeInputType    = "input-type"
)

// Inputs returns the inputs of a run: given, overridden by pairs of the form name=value.
// The value of a pair is text if the input has the type string or none, else JSON. The
// diagnostics report every input that is unknown, missing or of the wrong type.
func (l *Loaded) Inputs(given map[string]any, pairs []string) (map[string]any, workflow.Diagnostics) {
	required := l.Required()
	r := &inputReader{root: l.Bundle.Root, params: l.Bundle.Root.Inputs, inputs: maps.Clone(given)}
	if len(r.params) == 0 {
		r.params = required // as declared by the called workflows
	}
	if r.inputs == nil {
		r.inputs = make(map[string]any)
	}
	for _, pair := range pairs {
		r.pair(pair)
	}
	for _, name := range sorted.Keys(r.inputs) {
		if r.plain(name) {
			r.fit(name)
		}
	}
	for _, in := range required {
		if _, ok := r.inputs[in.Name]; !ok && !r.wrong[in.Name] {
			r.missing(in)
		}
	}
	return r.inputs, r.found
}

type inputReader struct {
	root   *workflow.Workflow
	params []workflow.Param
	inputs map[string]any
	wrong  map[string]bool // reported already
	found  workflow.Diagnostics
}

func (r *inputReader) errorf(code, detail, summary string, args ...any) {
	r.found = append(r.found, workflow.Errorf(workflow.Pos{Part: "inputs"}, code, detail, summary, args...))
}

// plain replaces a value of a Go program, such as an int or a struct, by what its JSON says.
func (r *inputReader) plain(name string) (ok bool) {
	switch r.inputs[name].(type) {
	case nil, string, bool, json.Number:
		return true
	}
	text, err := json.Marshal(r.inputs[name])
	if err == nil {
		r.inputs[name], err = workflow.ParseJSON(text)
	}
	if err != nil {
		delete(r.inputs, name)
		r.errorf(codeInputType, "give a value that JSON can represent", "input %q: %v", name, err)
	}
	return err == nil
}

// missing reports a missing input: if the workflow does not declare it, at the position
// where it is used.
func (r *inputReader) missing(in workflow.Param) {
	r.errorf(codeInputMissing, "set it", "missing input %q", in.Name)
	if d := &r.found[len(r.found)-1]; len(r.root.Inputs) == 0 && in.Pos.Line > 0 {
		d.Pos = in.Pos
		d.Summary += ", which the workflow uses but does not define"
	}
}

// pair parses one name=value.
func (r *inputReader) pair(pair string) {
	name, text, ok := strings.Cut(pair, "=")
	if !ok || name == "" {
		r.errorf(codeInputType, "write NAME=VALUE", "invalid input %q: no value", pair)
		return
	}
	value, err := parseInput(r.declared(name), text)
	if err != nil {
		r.mistyped(name, text)
		return
	}
	r.inputs[name] = value
}

// parseInput parses a value as its declared type.
func parseInput(in *workflow.Param, text string) (any, error) {
	if in == nil || in.Type == workflow.StringType || in.Type == workflow.AnyType {
		return text, nil
	}
	return workflow.ParseJSON([]byte(text))
}

// fit compares an input with its declaration.
func (r *inputReader) fit(name string) {
	in := r.declared(name)
	switch {
	case in == nil && len(r.root.Inputs) > 0:
		r.errorf(codeInputUnknown, r.suggest(name), "unknown input %[2]q for workflow %[1]q", r.root.Name, name)
	case in != nil && !check.Fits(in.Type, r.inputs[name]):
		r.mistyped(name, workflow.FormatJSON(r.inputs[name]))
	}
}

func (r *inputReader) mistyped(name, written string) {
	if r.wrong == nil {
		r.wrong = make(map[string]bool)
	}
	r.wrong[name] = true
	delete(r.inputs, name)
	t := r.declared(name).Type
	r.errorf(codeInputType, "write "+example(t), "input %q: expected type %s, found %s", name, t, written)
}

// example returns an example of a value of a type.
func example(t workflow.ParamType) string {
	switch t {
	case workflow.NumberType:
		return "a number such as 1.5"
	case workflow.IntegerType:
		return "an integer such as 3"
	case workflow.BooleanType:
		return "true or false"
	case workflow.ArrayType:
		return `JSON such as ["a", "b"]`
	case workflow.ObjectType:
		return `JSON such as {"a": 1}`
	case workflow.AnyType, workflow.StringType:
	}
	return "text"
}

func (r *inputReader) declared(name string) *workflow.Param {
	for i := range r.params {
		if r.params[i].Name == name {
			return &r.params[i]
		}
	}
	return nil
}

func (r *inputReader) suggest(name string) string {
	var names []string
	for _, in := range r.root.Inputs {
		names = append(names, in.Name)
	}
	if near := workflow.DidYouMean(name, names); near != "" {
		return near
	}
	return "expected one of: " + strings.Join(names, ", ")
}
