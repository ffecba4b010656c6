package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// kinds are the types of the fields of arguments.
var kinds = map[reflect.Kind]workflow.ParamType{
	reflect.String: workflow.StringType, reflect.Bool: workflow.BooleanType, reflect.Int: workflow.IntegerType,
	reflect.Slice: workflow.ArrayType, reflect.Map: workflow.ObjectType,
}

// expected says what a value of a type is.
var expected = map[workflow.ParamType]string{
	workflow.StringType: "a string", workflow.BooleanType: "true or false", workflow.IntegerType: "an integer",
	workflow.ArrayType: "a list of strings", workflow.ObjectType: "an object",
}

// paramsOf returns the parameters of a tool: the fields of a struct. Those with omitempty are optional.
func paramsOf(args reflect.Type) []workflow.Param {
	var all []workflow.Param
	for _, f := range reflect.VisibleFields(args) {
		if f.Anonymous {
			continue
		}
		name, optional, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, workflow.Param{Name: name, Type: kinds[f.Type.Kind()], Description: f.Tag.Get("about"), Required: optional == ""})
	}
	return all
}

// schema returns the JSON schema of parameters. items is that of the items of lists.
func schema(params []workflow.Param, items map[string]any) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, p := range params {
		field := map[string]any{}
		if p.Type != workflow.AnyType {
			field["type"] = string(p.Type)
		}
		if p.Type == workflow.ArrayType { // some models require it
			field["items"] = items
		}
		if p.Description != "" {
			field["description"] = p.Description
		}
		if p.HasDefault {
			field["default"] = p.Default
		}
		if p.Required && !p.HasDefault {
			required = append(required, p.Name)
		}
		properties[p.Name] = field
	}
	all := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 { // older versions of JSON Schema allow no empty list
		all["required"] = required
	}
	return all
}

// decode reads the arguments of a call into a struct. One that is null is not given.
func decode(data json.RawMessage, params []workflow.Param, old []rename, to any) error {
	args := map[string]json.RawMessage{}
	if len(data) > 0 && json.Unmarshal(data, &args) != nil {
		return errors.New("the arguments must be a JSON object")
	}
	maps.DeleteFunc(args, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	for _, r := range old {
		if v, ok := args[r.old]; ok {
			if _, given := args[r.now]; !given {
				args[r.now] = v
			}
			delete(args, r.old)
		}
	}
	var names []string
	for _, p := range params {
		names = append(names, p.Name)
	}
	for _, name := range sorted.Keys(args) {
		if !slices.Contains(names, name) {
			return unknown("argument", name, names)
		}
	}
	for _, p := range params {
		if _, given := args[p.Name]; p.Required && !given {
			return fmt.Errorf("missing argument %q: expected %s, %s", p.Name, expected[p.Type], p.Description)
		}
	}
	data, err := json.Marshal(args)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		name := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
		i := slices.Index(names, name)
		if i < 0 { // a value in an object
			return fmt.Errorf("argument %s: found a %s", wrong.Field, wrong.Value)
		}
		return fmt.Errorf("argument %q: expected %s, found a %s", name, expected[params[i].Type], wrong.Value)
	}
	return err
}
