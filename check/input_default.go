package check

import (
	"encoding/json"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var inputDefault = rule{
	code:     "input-default",
	severity: workflow.Error,
	summary:  "the default of an input has the wrong type",
	workflow: func(p *pass) {
		for _, in := range p.w.Inputs {
			if in.HasDefault && in.Default != nil && !Fits(in.Type, in.Default) {
				p.errorf(placeOr(in.DefaultPos, in.Pos), "write a default of that type, or change the type",
					"default %s of input %q is not %s", workflow.FormatJSON(in.Default), in.Name, article(in.Type))
			}
		}
	},
}

// Fits reports whether a value has a type.
func Fits(t workflow.ParamType, v any) bool {
	switch t {
	case workflow.AnyType:
		return true
	case workflow.StringType:
		_, ok := v.(string)
		return ok
	case workflow.NumberType:
		_, ok := v.(json.Number)
		return ok
	case workflow.IntegerType:
		n, ok := v.(json.Number)
		return ok && isInteger(n.String())
	case workflow.BooleanType:
		_, ok := v.(bool)
		return ok
	case workflow.ArrayType:
		_, ok := v.([]any)
		return ok
	case workflow.ObjectType:
		_, ok := v.(map[string]any)
		return ok
	}
	return false
}

func isInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// article returns the type with its indefinite article, for sentences.
func article(t workflow.ParamType) string {
	switch t {
	case workflow.IntegerType, workflow.ArrayType, workflow.ObjectType:
		return "an " + string(t)
	case workflow.AnyType, workflow.StringType, workflow.NumberType, workflow.BooleanType:
	}
	return "a " + string(t)
}
