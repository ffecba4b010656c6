package tool

import (
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow/extract"
)

// readInputs reads the inputs of a call: an object.
func (r *reader) readInputs(n strictyaml.Node) {
	r.Inputs = object(nil, nil)
	if n.Exists() {
		m := n.Map() // reports anything but a map
		if n.IsMap() && isSchema(n.Value()) {
			r.Inputs = r.objectSchema(n)
		} else {
			r.Inputs = r.byName(m)
			r.Inputs["additionalProperties"] = false
		}
	} else {
		r.Inputs["additionalProperties"] = false
	}
	schema, err := extract.Compile(r.Inputs)
	if err != nil {
		n.Errorf(CodeDefinition, "", "invalid inputs: %v", err)
		return
	}
	r.inputs = schema
	r.defaults(n)
}

func object(properties map[string]any, required []any) map[string]any {
	s := map[string]any{"type": "object", "properties": properties}
	if properties == nil {
		s["properties"] = map[string]any{}
	}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// objectSchema reads a JSON Schema for inputs, which must be that of an object.
func (r *reader) objectSchema(n strictyaml.Node) map[string]any {
	schema, _ := n.Value().(map[string]any)
	if kind, given := schema["type"]; given && kind != "object" {
		n.Errorf(CodeDefinition, "write `type: object`; for an input named type, write `type: {type: string}`", "the inputs of a tool must be an object")
		return object(nil, nil)
	}
	schema["type"] = "object"
	if _, given := schema["properties"]; !given {
		schema["properties"] = map[string]any{}
	}
	return schema
}

// readOutputs reads what a call returns, if that is not text.
func (r *reader) readOutputs(n strictyaml.Node) {
	if !n.Exists() || n.IsNull() {
		return
	}
	if isSchema(n.Value()) {
		r.Outputs = n.Value()
	} else {
		r.Outputs = r.byName(n.Map())
	}
	schema, err := extract.Compile(r.Outputs)
	if err != nil {
		n.Errorf(CodeDefinition, "", "invalid outputs: %v", err)
		return
	}
	r.outputs = schema
}

// byName reads the short form: a type or a schema for each name. Inputs with a default or
// `required: false` are optional.
func (r *reader) byName(m *strictyaml.Map) map[string]any {
	properties := map[string]any{}
	var required []any
	for _, e := range m.Entries() {
		needed := true
		switch {
		case e.Value.IsMap():
			schema, _ := e.Value.Value().(map[string]any)
			if given, ok := schema["required"]; ok {
				if is, isBool := given.(bool); isBool {
					needed = is
					delete(schema, "required")
				}
			}
			if _, has := schema["default"]; has {
				needed = false
			}
			properties[e.Name] = schema
		default:
			properties[e.Name] = map[string]any{}
			if word := e.Value.Word(types...); word != "" {
				properties[e.Name] = map[string]any{"type": word}
			}
		}
		if needed {
			required = append(required, e.Name)
		}
	}
	return object(properties, required)
}

var types = []string{"string", "number", "integer", "boolean", "array", "object"}

// defaults checks that the defaults of inputs match their types.
func (r *reader) defaults(n strictyaml.Node) {
	properties, _ := r.Inputs["properties"].(map[string]any)
	for _, name := range propertyNames(properties) {
		property, _ := properties[name].(map[string]any)
		value, has := property["default"]
		if !has {
			continue
		}
		schema, err := extract.Compile(property)
		if err != nil {
			continue // it refers to a part of the whole, which has been compiled
		}
		for _, line := range schema.Mistakes(value) {
			n.Errorf(CodeDefinition, "fix the default or the type", "the default of input %q does not match its type: %s", name, line)
		}
	}
}

func propertyNames(properties map[string]any) []string {
	return sorted.Keys(properties)
}

// withDefaults returns the arguments of a call with defaults for the missing ones.
func (m *Manifest) withDefaults(args map[string]any) map[string]any {
	all := make(map[string]any, len(args))
	maps.Copy(all, args)
	properties, _ := m.Inputs["properties"].(map[string]any)
	for name, p := range properties {
		property, _ := p.(map[string]any)
		if value, has := property["default"]; has {
			if _, given := all[name]; !given {
				all[name] = value
			}
		}
	}
	return all
}

// isSchema reports whether a value is a JSON Schema and not the short form: it has a
// keyword that no input would be named after, or a type and only keywords.
func isSchema(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		_, isBool := v.(bool)
		return isBool
	}
	for key, value := range m {
		_, isMap := value.(map[string]any)
		_, isList := value.([]any)
		switch key {
		case "$schema", "$ref", "$defs", "definitions":
			return true
		case "properties":
			if isMap {
				return true
			}
		case "oneOf", "anyOf", "allOf", "enum":
			if isList {
				return true
			}
		}
	}
	switch kind := m["type"].(type) {
	case string:
		if !slices.Contains(types, kind) && kind != "null" {
			return false
		}
	case []any:
	default:
		return false
	}
	for key := range m {
		if !slices.Contains(keywords, key) {
			return false
		}
	}
	return true
}

var keywords = strings.Fields(`type title description default examples const enum format pattern minLength maxLength
	minimum maximum exclusiveMinimum exclusiveMaximum multipleOf items prefixItems minItems maxItems uniqueItems contains
	properties required additionalProperties patternProperties propertyNames minProperties maxProperties oneOf anyOf allOf not
	if then else $comment`)
