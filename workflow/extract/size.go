package extract

import (
	"fmt"
	"math"
	"net/url"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// A schema comes from a workflow, a tool or a server, and a few lines of it can keep a
// validator busy for hours. So it has a size.
const (
	// mostParts is how many schemas there may be in a schema. To prepare it takes time
	// that grows with the square of that.
	mostParts = 3000
	// mostLooks is how many schemas may look at one value. Each reference to a schema that
	// refers twice to another one doubles it.
	mostLooks = 10000
)

// tooLarge says why a schema would take too long; nil: it does not.
func tooLarge(schema any) error {
	m := measure{root: schema, looks: map[string]int{}}
	m.look("", schema)
	if m.strange != "" {
		return fmt.Errorf("schema: the reference %q is not one to #/$defs/NAME or the like; external references are not followed", m.strange)
	}
	if m.parts > mostParts {
		return fmt.Errorf("schema: it consists of more than %d schemas; split it, or check less", mostParts)
	}
	if m.most > mostLooks {
		return fmt.Errorf("schema: more than %d schemas look at one value, through references and allOf, anyOf or oneOf; refer to each schema once", mostLooks)
	}
	return nil
}

// measure goes through a schema once.
type measure struct {
	root    any
	parts   int
	looks   map[string]int // by the place of a schema; zero: it is being counted
	most    int
	strange string // a reference that is no path within the schema
}

// look gives how many schemas look at a value that the schema at a place looks at.
func (m *measure) look(at string, v any) int {
	if n, known := m.looks[at]; known {
		return n
	}
	m.parts++
	m.looks[at] = 0 // a circle ends here; the validator itself refuses it
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

// target finds what a reference within the schema leads to.
func (m *measure) target(ref any) (v any, place string, ok bool) {
	text, _ := ref.(string)
	place, ok = strings.CutPrefix(text, "#")
	if plain, err := url.PathUnescape(place); err == nil {
		place = plain
	}
	if !ok || place != "" && place[0] != '/' {
		if !strings.HasPrefix(text, "https://json-schema.org/") && !strings.HasPrefix(text, "http://json-schema.org/") { // the validator knows those
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

// sum adds without running over.
func sum(a, b int) int {
	if a > math.MaxInt32-b {
		return math.MaxInt32
	}
	return a + b
}
