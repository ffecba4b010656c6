package extract

import (
	"fmt"
	"math"
	"net/url"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// A schema comes from a workflow, a tool or a server, and a short schema can keep a validator
// busy for hours. These constants limit its size.
const (
	// mostParts is the maximum number of schemas in a schema. Compiling takes time quadratic in
	// that number.
	mostParts = 3000
	// mostLooks is the maximum number of schemas that may be applied to one value. Each reference
	// to a schema that refers twice to another one doubles it.
	mostLooks = 10000
)

// tooLarge returns an error if a schema would take too long.
func tooLarge(schema any) error {
	m := measure{root: schema, looks: map[string]int{}}
	m.look("", schema)
	if m.strange != "" {
		return fmt.Errorf("schema: unsupported reference %q; use #/$defs/NAME or another place in the schema; external references are not followed", m.strange)
	}
	if m.parts > mostParts {
		return fmt.Errorf("schema: it contains more than %d schemas; make it smaller", mostParts)
	}
	if m.most > mostLooks {
		return fmt.Errorf("schema: more than %d schemas apply to one value, through references and allOf, anyOf or oneOf; refer to each schema once", mostLooks)
	}
	return nil
}

// measure visits a schema once.
type measure struct {
	root    any
	parts   int
	looks   map[string]int // by the location of a schema; zero while it is being counted
	most    int
	strange string // a reference that does not point into the schema
}

// look returns how many schemas are applied to a value to which the schema at a location is
// applied.
func (m *measure) look(at string, v any) int {
	if n, known := m.looks[at]; known {
		return n
	}
	m.parts++
	m.looks[at] = 0 // ends a cycle, which the validator itself rejects
	schema, ok := v.(map[string]any)
	if !ok || m.parts > mostParts {
		return 1
	}
	n := 1
	for keyword, value := range schema {
		below := at + "/" + escapePointer(keyword)
		switch keyword {
		case "$ref", "$dynamicRef":
			if target, place, ok := m.target(value); ok {
				n = sum(n, m.look(place, target))
			}
		case "allOf", "anyOf", "oneOf":
			list, _ := value.([]any)
			for i, item := range list {
				n = sum(n, m.look(fmt.Sprintf("%s/%d", below, i), item))
			}
		case "not", "if", "then", "else":
			n = sum(n, m.look(below, value))
		case "dependentSchemas", "dependencies":
			m.each(below, value, func(looks int) { n = sum(n, looks) })
		case "properties", "patternProperties", "$defs", "definitions":
			m.each(below, value, func(int) {})
		case "prefixItems":
			list, _ := value.([]any)
			for i, item := range list {
				m.look(fmt.Sprintf("%s/%d", below, i), item)
			}
		case "items", "contains", "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "propertyNames", "contentSchema":
			m.look(below, value)
		}
	}
	m.looks[at], m.most = n, max(m.most, n)
	return n
}

func (m *measure) each(at string, v any, then func(looks int)) {
	schemas, _ := v.(map[string]any)
	for name, schema := range schemas {
		then(m.look(at+"/"+escapePointer(name), schema))
	}
}

// target returns what a reference within the schema points to.
func (m *measure) target(ref any) (v any, place string, ok bool) {
	text, _ := ref.(string)
	place, ok = strings.CutPrefix(text, "#")
	if plain, err := url.PathUnescape(place); err == nil {
		place = plain
	}
	if !ok || place != "" && place[0] != '/' {
		if !strings.HasPrefix(text, "https://json-schema.org/") && !strings.HasPrefix(text, "http://json-schema.org/") { // known to the validator
			m.strange = text
		}
		return nil, "", false
	}
	if place == "" {
		return m.root, "", true
	}
	keys := strings.Split(place[1:], "/")
	for i, key := range keys {
		keys[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
	}
	v = workflow.At(m.root, keys)
	return v, place, v != nil
}

func escapePointer(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// sum adds without overflow.
func sum(a, b int) int {
	if a > math.MaxInt32-b {
		return math.MaxInt32
	}
	return a + b
}
