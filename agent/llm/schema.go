package llm

import (
	"encoding/json"
	"slices"
)

// What the APIs support of JSON Schema. Unsupported parts are removed: the answer is
// checked against the whole schema in any case.
var (
	anthropicKeywords = []string{"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "allOf", "$ref", "$defs", "title", "description", "default"}
	openAIKeywords    = []string{"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs", "title", "description", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"}
	geminiKeywords    = []string{"type", "properties", "required", "additionalProperties", "items", "prefixItems", "enum", "anyOf", "oneOf", "$ref", "$defs", "title", "description", "format", "minimum", "maximum", "minItems", "maxItems"}
)

// onlyWith returns a schema with only some keywords.
func onlyWith(keywords []string, schema map[string]any) map[string]any {
	out := make(map[string]any, len(schema))
	for key, value := range schema {
		if key == "oneOf" && schema["anyOf"] == nil && !slices.Contains(keywords, key) {
			key = "anyOf"
		}
		if key == "const" && schema["enum"] == nil && !slices.Contains(keywords, key) {
			key, value = "enum", []any{value}
		}
		if !slices.Contains(keywords, key) {
			continue
		}
		switch key {
		case "properties", "$defs":
			value = eachWith(keywords, value)
		case "anyOf", "oneOf", "allOf", "prefixItems", "items", "additionalProperties":
			value = subWith(keywords, value)
		default:
			value = plain(value)
		}
		out[key] = value
	}
	return out
}

// eachWith applies onlyWith to the values of an object of schemas.
func eachWith(keywords []string, v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return plain(v)
	}
	out := make(map[string]any, len(object))
	for name, schema := range object {
		out[name] = subWith(keywords, schema)
	}
	return out
}

// subWith applies onlyWith to a schema or a list of schemas.
func subWith(keywords []string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		return onlyWith(keywords, v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = subWith(keywords, item)
		}
		return out
	}
	return plain(v)
}

// open reports whether some object of a schema may have properties that are not named in
// the same place. An API that supports only closed objects would exclude them.
func open(v any) bool {
	found := false
	walk(v, func(schema map[string]any) {
		found = found || schema["allOf"] != nil || isObject(schema) && (leavesRoom(schema) || isComposed(schema))
	})
	return found
}

func isObject(schema map[string]any) bool {
	types, _ := schema["type"].([]any)
	return schema["type"] == "object" || slices.Contains(types, any("object")) || schema["properties"] != nil
}

// leavesRoom reports whether a single object is open.
func leavesRoom(schema map[string]any) bool {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	unnamed := func(name any) bool { text, ok := name.(string); return !ok || properties[text] == nil }
	more, given := schema["additionalProperties"]
	return given && more != false || !given && len(properties) == 0 || schema["patternProperties"] != nil || slices.ContainsFunc(required, unnamed)
}

// isComposed reports whether a schema is combined with others that may name more
// properties.
func isComposed(schema map[string]any) bool {
	return slices.ContainsFunc([]string{"allOf", "anyOf", "oneOf", "$ref", "then", "else", "dependentSchemas"}, func(key string) bool { return schema[key] != nil })
}

// closed adds additionalProperties: false to every object of a schema that is not open. An
// answer that satisfies the result satisfies the schema.
func closed(v any) {
	walk(v, func(schema map[string]any) {
		if schema["properties"] != nil || schema["type"] == "object" && schema["additionalProperties"] == nil {
			schema["additionalProperties"] = false
		}
	})
}

// strict reports whether every object of a closed schema requires all of its properties,
// and allows no others.
func strict(v any) bool {
	ok := true
	walk(v, func(schema map[string]any) {
		if schema["type"] != "object" {
			return
		}
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for name := range properties {
			ok = ok && slices.Contains(required, any(name))
		}
		ok = ok && schema["additionalProperties"] == false
	})
	return ok
}

// walk visits a schema and all schemas in it.
func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	case map[string]any:
		visit(v)
		for key, value := range v {
			switch key {
			case "properties", "$defs", "definitions":
				schemas, _ := value.(map[string]any)
				for _, schema := range schemas {
					walk(schema, visit)
				}
			case "anyOf", "oneOf", "allOf", "prefixItems", "items", "additionalProperties":
				walk(value, visit)
			}
		}
	}
}

// plain converts numbers to Go's types: the clients of the providers would write
// json.Number in quotes.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plain(item)
		}
		return out
	case map[string]any:
		return plainObject(v)
	}
	return v
}

func plainObject(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for key, item := range object {
		out[key] = plain(item)
	}
	return out
}

// inputSchema returns the schema of a tool's arguments in a form that all APIs accept: an
// object, even without arguments, no alternatives at the top level, and lists with an item
// type. The arguments are checked against the whole schema.
func inputSchema(schema map[string]any) map[string]any {
	out := plainObject(schema)
	for _, key := range []string{"oneOf", "anyOf", "allOf", "not", "enum"} {
		delete(out, key)
	}
	out["type"] = "object"
	if out["properties"] == nil {
		out["properties"] = map[string]any{}
	}
	walk(out, func(schema map[string]any) {
		types, _ := schema["type"].([]any)
		if (schema["type"] == "array" || slices.Contains(types, any("array"))) && schema["items"] == nil {
			schema["items"] = map[string]any{}
		}
	})
	return out
}
