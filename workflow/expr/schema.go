package expr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// settleSchemas looks at paths into values whose schema is known. A value that
// several nodes may have written has several schemas: one that allows the path is
// enough.
func (c *checker) settleSchemas() {
	for _, f := range c.findings {
		if f.problem != nil || f.ref == nil || len(f.ref.Path) == 0 || !c.hasSchemas(f.ref) {
			continue
		}
		at, wrong, detail := f.ref.Name, "", ""
		if f.ref.Kind == Nodes {
			at += ".output"
		}
		for _, i := range f.forms {
			if wrong, detail = astray(c.schemaOf(i), at, f.ref.Path); wrong == "" {
				break
			}
		}
		switch {
		case wrong == "":
		case f.ref.guarded: // it may be missing, but it may as well be a slip
			f.report(MaybeUndefined, f.ref.Name, wrong, detail)
		default:
			f.report(UnknownField, f.ref.Name, wrong, detail)
		}
	}
}

// hasSchemas says whether nodes alone give what a reference leads into.
func (c *checker) hasSchemas(r *Ref) bool {
	_, isState := c.w.State[r.Name]
	return r.Kind == Vars && !isState || r.Kind == Nodes && r.Field == "output"
}

// schemaOf is the schema of what a node gives; nil: none is declared.
func (c *checker) schemaOf(place int) any {
	n := c.places[place].node
	each, isEach := n.Step.(*workflow.Each)
	if !isEach || n.Output.Schema != nil {
		return n.Output.Schema
	}
	if len(each.Body.Nodes) == 1 {
		if items := each.Body.Nodes[0].Output.Schema; items != nil {
			return map[string]any{"type": "array", "items": items}
		}
	}
	return nil
}

// astray says why no value of a schema has anything at a path. Where the schema does
// not tell, it says nothing.
func astray(schema any, at string, path []Key) (wrong, detail string) {
	for _, k := range path {
		object, _ := schema.(map[string]any)
		kind, _ := object["type"].(string)
		properties, _ := object["properties"].(map[string]any)
		field, isField := properties[k.Name]
		switch {
		case kind == "array" && k.IsIndex:
			schema = object["items"]
		case kind == "array":
			return fmt.Sprintf("%s is a list, by its schema", at), fmt.Sprintf("a list has entries: %s[0].%s", at, k.Name)
		case scalarTypes[kind] != "":
			return fmt.Sprintf("%s is %s, by its schema", at, scalarTypes[kind]), "it has no parts"
		case kind == "object" && k.IsIndex:
			return fmt.Sprintf("%s is an object, by its schema", at), "name one of its fields: " + fieldsOf(properties)
		case kind == "object" && isField:
			schema = field
		case kind == "object" && isClosed(object):
			if detail = workflow.DidYouMean(k.Name, slices.Sorted(maps.Keys(properties))); detail == "" {
				detail = "it has " + fieldsOf(properties)
			}
			detail += "; with `additionalProperties: true` in its schema it may have others"
			return fmt.Sprintf("%s has no field %q, by its schema", at, k.Name), detail
		default:
			return "", ""
		}
		var b strings.Builder
		k.print(&b)
		at += b.String()
	}
	return "", ""
}

func fieldsOf(properties map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(properties)), ", ")
}

var scalarTypes = map[string]string{"string": "a text", "number": "a number", "integer": "a number", "boolean": "true or false", "null": "null"}

// isClosed says whether an object has the fields that its schema lists and no others.
// JSON Schema allows others, but who lists some and says nothing about others means
// those.
func isClosed(schema map[string]any) bool {
	for key, value := range schema {
		switch key {
		case "type", "properties", "required", "title", "description":
		case "additionalProperties":
			if value != false {
				return false
			}
		default:
			return false // such as allOf or patternProperties
		}
	}
	return schema["properties"] != nil
}
