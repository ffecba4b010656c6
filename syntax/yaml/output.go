package yaml

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// readOutput reads `output: name` or its long form. A path asks for the mode
// jsonpath by itself, a pattern for regex, a schema for json.
func readOutput(n strictyaml.Node) workflow.Output {
	if !n.Exists() {
		return workflow.Output{}
	}
	if !n.IsMap() {
		return workflow.Output{Var: n.Name(), Pos: n.Pos()}
	}
	return readOutputMap(n.Map())
}

func readOutputMap(m *strictyaml.Map) workflow.Output {
	name := m.Get("var")
	o := workflow.Output{Var: name.Name(), Pos: m.Node().Pos(), At: &workflow.OutputPos{}}
	if name.Exists() {
		o.Pos = name.Pos()
	}
	mode := m.Get("mode")
	o.At.Mode = mode.Pos()
	if word := mode.Word("full", "json", "jsonpath", "regex", "first_line"); word != "full" {
		o.Mode = workflow.OutputMode(word)
	}
	for _, p := range []struct {
		key  string
		mode workflow.OutputMode
	}{{"path", workflow.JSONPath}, {"pattern", workflow.Regex}} {
		readPattern(m.Get(p.key), p.mode, mode.Exists(), &o)
	}
	if schema := m.Get("schema"); schema.Exists() {
		o.Schema, o.At.Schema = readSchema(schema), schema.Pos()
		if o.Mode == workflow.Full && !mode.Exists() {
			o.Mode = workflow.JSON
		}
	}
	m.Done()
	return o
}

func readPattern(n strictyaml.Node, mode workflow.OutputMode, given bool, o *workflow.Output) {
	if !n.Exists() {
		return
	}
	o.At.Pattern = n.Pos()
	if o.Pattern = n.Text(); !given && o.Mode == workflow.Full {
		o.Mode = mode
	}
	if o.Mode != mode {
		n.Key().Errorf(codeOutputMode, "use `path` with jsonpath and `pattern` with regex, one of them", "%s does not go with the mode %s", n.Label(), orElse(string(o.Mode), "full"))
	}
}

// readSchema takes a JSON Schema as it is, and makes one of an example: every
// key of an object is required, and a word like "number" stands for the type.
func readSchema(n strictyaml.Node) any {
	v := n.Value()
	if isSchema(v) {
		return v
	}
	if detail := misspeltType(v); detail != "" {
		n.Errorf(codeSchema, detail, "this is neither a JSON Schema nor an example")
		return nil
	}
	checkWords(n)
	return schemaOf(v)
}

// misspeltType says what to do about text that names no type, and about an
// object that is a schema but for its type. An example may have a key called
// type too; only beside others and with a word that is like no type is it one.
func misspeltType(v any) string {
	object, _ := v.(map[string]any)
	word, isText := v.(string)
	if kind, ok := object["type"].(string); ok {
		word, isText = kind, true
	}
	meant := meantType(word)
	switch {
	case !isText || isType(word) || len(object) > 1 && meant == "":
		return ""
	case meant != "":
		return meant
	}
	return "write one of the types " + strings.Join(schemaTypes, ", ") + ", a JSON Schema as a map, or an example"
}

// checkWords looks at the words in an example. One that looks like a type and is none
// would make every answer wrong, so it is an error; another may be an example.
func checkWords(n strictyaml.Node) {
	switch {
	case n.IsMap():
		for e := range n.Map().All() {
			checkWords(e.Value)
		}
	case n.IsList():
		for _, e := range n.List() {
			checkWords(e)
		}
	case n.IsText() && !isType(n.Text()):
		word := n.Text()
		if meant := meantType(word); meant != "" {
			n.Report(insteadOf(n, meant, workflow.Errorf(n.Pos(), codeSchema, meant, "%q is not a type", word)))
		} else if isWord(word) {
			n.Warningf(codeSchemaWord, "write string if any text will do; the types are "+strings.Join(schemaTypes, ", ")+" and any", "%q is not a type, so it stands for any text", word)
		}
	}
}

func isType(word string) bool { return word == "any" || slices.Contains(schemaTypes, word) }

// isWord says whether a text is a single word, as types are.
func isWord(text string) bool {
	return text != "" && strings.IndexFunc(text, func(c rune) bool { return !unicode.IsLetter(c) }) < 0
}

// otherTypes are what types are called elsewhere.
var otherTypes = map[string]string{
	"int": "integer", "float": "number", "double": "number", "decimal": "number", "bool": "boolean",
	"str": "string", "list": "array", "dict": "object", "map": "object", "nil": "null",
}

// shortestSlip is how long a word must be, so that a letter more or less makes it no other word.
const shortestSlip = 5

// insteadOf adds to a diagnostic the change that its advice is, if that is one word.
func insteadOf(n strictyaml.Node, meant string, d workflow.Diagnostic) workflow.Diagnostic {
	if word, ok := strings.CutPrefix(meant, "write "); ok && isType(word) {
		return d.Instead(n.Written(), word)
	}
	return d
}

// meantType says what to write instead of a word, or of words such as string[] and
// number|null, that are meant as a type; "" if nothing looks like it.
func meantType(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) })
	for i, word := range words {
		if right, ok := otherTypes[word]; ok {
			words[i] = right
		} else if !isType(word) {
			if meant := workflow.Meant(text, schemaTypes); len(words) == 1 && isWord(text) && len(text) >= shortestSlip && meant != "" {
				return `did you mean "` + meant + `"?`
			}
			return ""
		}
	}
	switch {
	case len(words) == 0:
		return ""
	case isWord(text):
		return "write " + words[0]
	}
	return "write a list as [" + words[0] + "], and other types in JSON Schema, such as {type: [string, \"null\"]}"
}

// schemaTypes are the types of JSON Schema.
var schemaTypes = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// schemaKeys are the words of JSON Schema (draft 2020-12, and the older words
// that are still in use).
var schemaKeys = strings.Fields(`type properties required items prefixItems additionalItems additionalProperties
	patternProperties propertyNames unevaluatedItems unevaluatedProperties dependentRequired dependentSchemas
	dependencies contains minContains maxContains minItems maxItems uniqueItems minProperties maxProperties
	minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf enum const
	allOf anyOf oneOf not if then else contentEncoding contentMediaType contentSchema definitions id title
	description default examples deprecated readOnly writeOnly`)

// isSchema tells a JSON Schema from an example. A schema is true, false or an
// object of schema words of which at least one says something about the value;
// an object with the keys title and description alone is an example.
func isSchema(v any) bool {
	object, ok := v.(map[string]any)
	if !ok {
		_, isBool := v.(bool)
		return isBool
	}
	tells := len(object) == 0
	for key, value := range object {
		if !slices.Contains(schemaKeys, key) && !strings.HasPrefix(key, "$") && !strings.HasPrefix(key, "x-") {
			return false
		}
		tells = tells || tellsType(key, value)
	}
	return tells
}

// tellsType says whether a key with its value can only be meant as schema.
func tellsType(key string, value any) bool {
	switch value := value.(type) {
	case string:
		return key == "type" && slices.Contains(schemaTypes, value) || strings.HasPrefix(key, "$") || key == "const"
	case []any:
		return slices.Contains([]string{"type", "enum", "allOf", "anyOf", "oneOf", "required", "prefixItems"}, key)
	case map[string]any:
		return slices.Contains(schemaKeys, key) && key != "default"
	case json.Number, bool:
		return slices.Contains(schemaKeys, key)
	}
	return key == "const"
}

// schemaOf makes a schema from an example.
func schemaOf(example any) any {
	switch v := example.(type) {
	case nil:
		return map[string]any{}
	case bool:
		return map[string]any{"type": "boolean"}
	case json.Number:
		return map[string]any{"type": "number"}
	case string:
		return schemaOfWord(v)
	case []any:
		schema := map[string]any{"type": "array"}
		if len(v) > 0 {
			schema["items"] = schemaOf(v[0])
		}
		return schema
	case map[string]any:
		return schemaOfObject(v)
	}
	return map[string]any{}
}

func schemaOfWord(word string) any {
	switch {
	case word == "any":
		return map[string]any{}
	case isType(word):
		return map[string]any{"type": word}
	case meantType(word) != "": // reported as invalid
		return map[string]any{}
	}
	return map[string]any{"type": "string"}
}

func schemaOfObject(example map[string]any) any {
	properties := make(map[string]any, len(example))
	required := make([]any, 0, len(example))
	for _, key := range slices.Sorted(maps.Keys(example)) {
		properties[key] = schemaOf(example[key])
		required = append(required, key)
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}
