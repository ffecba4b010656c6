package yaml

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// readOutput reads `output: name` or its long form. A path implies the mode jsonpath, a pattern
// the mode regex, and a schema the mode json.
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
		n.Key().Errorf(codeOutputMode, "use either `path` with jsonpath or `pattern` with regex", "%s cannot be used with the mode %s", n.Label(), orElse(string(o.Mode), "full"))
	}
}

// readSchema returns a JSON Schema unchanged, or creates one from an example: every key of an
// object is required, and a word such as "number" means the type.
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

// misspeltType returns the hint for a text that is not a type, and for an object that would be a
// schema except for its type. An example may also have a key called type: it is an example only
// if it has other keys and the word is not similar to a type.
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

// checkWords checks the words in an example. A word that looks like a type but is not one would
// make every answer invalid, so it is an error; any other word may be an example.
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
			n.Warningf(codeSchemaWord, "write string if any text is valid; the types are "+strings.Join(schemaTypes, ", ")+" and any", "%q is not a type, so it means any text", word)
		}
	}
}

func isType(word string) bool { return word == "any" || slices.Contains(schemaTypes, word) }

// isWord reports whether a text is a single word, as types are.
func isWord(text string) bool {
	return text != "" && strings.IndexFunc(text, func(c rune) bool { return !unicode.IsLetter(c) }) < 0
}

// otherTypes maps the names of types in other languages to those of JSON Schema.
var otherTypes = map[string]string{
	"int": "integer", "float": "number", "double": "number", "decimal": "number", "bool": "boolean",
	"str": "string", "list": "array", "dict": "object", "map": "object", "nil": "null",
}

// shortestSlip is the minimum length of a word for which a missing or extra letter is treated as a
// typing mistake.
const shortestSlip = 5

// insteadOf adds the change to a diagnostic, if its hint is one word.
func insteadOf(n strictyaml.Node, meant string, d workflow.Diagnostic) workflow.Diagnostic {
	if word, ok := strings.CutPrefix(meant, "write "); ok && isType(word) {
		return d.Instead(n.Written(), word)
	}
	return d
}

// meantType returns the hint for a word, or for words such as string[] and number|null, that is
// meant as a type, or "" if it does not look like one.
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

// schemaKeys are the keywords of JSON Schema (draft 2020-12, and older keywords that are still in
// use).
var schemaKeys = strings.Fields(`type properties required items prefixItems additionalItems additionalProperties
	patternProperties propertyNames unevaluatedItems unevaluatedProperties dependentRequired dependentSchemas
	dependencies contains minContains maxContains minItems maxItems uniqueItems minProperties maxProperties
	minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf enum const
	allOf anyOf oneOf not if then else contentEncoding contentMediaType contentSchema definitions id title
	description default examples deprecated readOnly writeOnly`)

// isSchema reports whether a value is a JSON Schema, not an example. A schema is true, false or
// an object of schema keywords of which at least one restricts the value; an object with only the
// keys title and description is an example.
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

// tellsType reports whether a key with its value can only be meant as a schema.
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
	for _, key := range sorted.Keys(example) {
		properties[key] = schemaOf(example[key])
		required = append(required, key)
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}
