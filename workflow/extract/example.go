package extract

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// SchemaOf gives the JSON Schema that an author means: a JSON Schema is given
// back as it is, and an example of the value becomes one.
//
// In an example a string that names a type stands for that type, any other
// scalar for its own type and null for anything. An object has at least the
// properties of the example; a list holds elements like those of the example,
// anything if it is empty:
//
//	{"summary": "string", "issues": [{"severity": "string"}], "score": "number"}
//
// What can be read both ways is a JSON Schema.
func SchemaOf(v any) any {
	if isSchema(v) {
		return v
	}
	return byExample(v)
}

// typeNames are the words for types in an example.
var typeNames = map[string]string{
	"string": "string", "number": "number", "integer": "integer", "boolean": "boolean", "object": "object", "array": "array", "null": "null",
	"int": "integer", "float": "number", "bool": "boolean", "list": "array",
}

func byExample(v any) any {
	switch v := v.(type) {
	case bool:
		return ofType("boolean")
	case json.Number:
		return ofType("number")
	case string:
		return named(v)
	case []any:
		return listLike(v)
	case map[string]any:
		return objectLike(v)
	}
	return map[string]any{}
}

func ofType(name string) map[string]any { return map[string]any{"type": name} }

func named(word string) any {
	if word == "any" {
		return map[string]any{}
	}
	if name := typeNames[word]; name != "" {
		return ofType(name)
	}
	return ofType("string")
}

func listLike(items []any) any {
	schema := ofType("array")
	var kinds []any
	for _, item := range items {
		one := byExample(item)
		if !slices.ContainsFunc(kinds, func(k any) bool { return reflect.DeepEqual(k, one) }) {
			kinds = append(kinds, one)
		}
	}
	switch len(kinds) {
	case 0:
	case 1:
		schema["items"] = kinds[0]
	default:
		schema["items"] = map[string]any{"anyOf": kinds}
	}
	return schema
}

func objectLike(example map[string]any) any {
	schema := ofType("object")
	if len(example) == 0 {
		return schema
	}
	properties, required := map[string]any{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(example)) {
		properties[name] = byExample(example[name])
		required = append(required, name)
	}
	schema["properties"], schema["required"] = properties, required
	return schema
}

// shape says what the value of a keyword looks like in a schema. An example may
// have a property of the same name; its value will hardly look like that too.
type shape func(v any) bool

// assertions are the keywords that make an object a schema.
var assertions = map[string]shape{
	"type": isType, "properties": isSchemas, "patternProperties": isSchemas, "required": isTexts, "enum": isList,
	"const": isAnything, "items": isSubschema, "prefixItems": isSchemaList, "contains": isSubschema,
	"anyOf": isSchemaList, "oneOf": isSchemaList, "allOf": isSchemaList, "not": isSubschema, "if": isSubschema,
	"additionalProperties": isSubschema, "propertyNames": isSubschema, "$ref": isText, "$schema": isText,
}

// companions are further keywords that may stand beside them.
var companions = []string{
	"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "then", "else", "format", "pattern",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems",
	"uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
	"unevaluatedItems", "unevaluatedProperties", "contentEncoding", "contentMediaType", "contentSchema", "definitions", "dependencies", "additionalItems",
}

// isSchema says whether a value is a JSON Schema: all its keys are keywords, and
// at least one asserts something in the form that a schema has.
func isSchema(v any) bool {
	object, ok := v.(map[string]any)
	if !ok {
		_, isBool := v.(bool)
		return isBool
	}
	asserts := len(object) == 0
	for key, value := range object {
		looks, isAssertion := assertions[key]
		switch {
		case isAssertion && looks(value):
			asserts = true
		case isAssertion:
			return false
		case !slices.Contains(companions, key) && !strings.HasPrefix(key, "$") && !strings.HasPrefix(key, "x-"):
			return false
		}
	}
	return asserts
}

func isAnything(any) bool { return true }

func isText(v any) bool {
	_, ok := v.(string)
	return ok
}

func isList(v any) bool {
	_, ok := v.([]any)
	return ok
}

func isTexts(v any) bool { return isListOf(v, isText) }

func isSchemaList(v any) bool { return isListOf(v, isSubschema) }

func isListOf(v any, each shape) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(item any) bool { return !each(item) })
}

// isSubschema is less strict than isSchema: the schema around it has decided.
func isSubschema(v any) bool {
	switch v.(type) {
	case bool, map[string]any:
		return true
	}
	return false
}

func isSchemas(v any) bool {
	object, ok := v.(map[string]any)
	return ok && !slices.ContainsFunc(slices.Collect(maps.Values(object)), func(item any) bool { return !isSubschema(item) })
}

func isType(v any) bool {
	names := []string{"string", "number", "integer", "boolean", "object", "array", "null"}
	word, ok := v.(string)
	if ok {
		return slices.Contains(names, word)
	}
	return isListOf(v, func(item any) bool { return isText(item) && isType(item) })
}
