package expr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// settleSchemas checks paths into values whose schema is known. A value that several nodes may
// have written has several schemas; it is enough if one of them allows the path.
func (c *checker) settleSchemas() {
	lists := c.lists()
	for _, f := range c.findings {
		if f.problem != nil || f.ref == nil || len(f.ref.Path) == 0 {
			continue
		}
		at := f.ref.Name
		switch f.ref.Kind {
		case Nodes:
			at += ".output"
		case Item:
			at = "item"
		}
		var found astray
		for i, schema := range c.schemasOf(f, lists) {
			_, one := descend(schema, at, f.ref.Path)
			if i == 0 || one.summary == "" || one.maybe {
				found = one
			}
			if found.summary == "" {
				break
			}
		}
		switch {
		case found.summary == "" || found.maybe && f.ref.guarded:
		case found.maybe || f.ref.guarded: // it may or may not exist, and may be a typing mistake
			f.report(MaybeUndefined, cmp.Or(f.ref.Name, at), found.summary, found.detail)
		default:
			f.report(UnknownField, cmp.Or(f.ref.Name, at), found.summary, found.detail)
		}
	}
}

// lists returns the references to the lists that Eaches iterate over, by their places. An
// expression that is more than a reference has no schema.
func (c *checker) lists() map[int]*finding {
	lists := map[int]*finding{}
	for _, f := range c.findings {
		if f.ref == nil || f.text.isText {
			continue
		}
		each, isEach := c.places[f.text.at.place].node.Step.(*workflow.Each)
		if isEach && f.text.slot.field == &each.Items.Text && f.text.text == f.ref.String() {
			lists[f.text.at.place] = f
		}
	}
	return lists
}

// schemasOf returns the schemas of what the reference of a finding refers to, without its path.
// One of them is nil if not all are known.
func (c *checker) schemasOf(f *finding, lists map[int]*finding) []any {
	switch _, isState := c.w.State[f.ref.Name]; {
	case f.ref.Kind == Item:
		return c.itemsOf(c.places[f.text.at.place].each, lists)
	case f.ref.Kind == Vars && isState, f.ref.Kind != Vars && (f.ref.Kind != Nodes || f.ref.Field != "output"):
		return nil
	}
	var all []any
	for _, i := range f.forms {
		if f.ref.Kind == Vars && asOf(c.places[i].node) == f.ref.Name && c.inside(f.text.at.place, i) {
			all = append(all, c.itemsOf(i, lists)...)
		} else {
			all = append(all, c.schemaOf(i))
		}
	}
	return all
}

// itemsOf returns the schemas of an item of an Each.
func (c *checker) itemsOf(each int, lists map[int]*finding) []any {
	list := lists[each]
	if list == nil || list.problem != nil {
		return []any{nil}
	}
	var all []any
	for _, schema := range c.schemasOf(list, lists) {
		entries, _ := descend(schema, "", append(slices.Clone(list.ref.Path), Key{IsIndex: true}))
		all = append(all, entries)
	}
	return all
}

// schemaOf returns the schema of a node's output, or nil if none is declared.
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

// astray says why a value that matches a schema has nothing at a path.
type astray struct {
	summary, detail string // "" if it has something there, or the schema does not say
	maybe           bool   // the schema neither lists nor excludes it
}

// descend returns the schema of the value at a path, or nil if it is not known.
func descend(schema any, at string, path []Key) (any, astray) {
	for _, k := range path {
		object, _ := schema.(map[string]any)
		kind, _ := object["type"].(string)
		properties, _ := object["properties"].(map[string]any)
		field, isField := properties[k.Name]
		switch {
		case kind == "array" && k.IsIndex:
			schema = object["items"]
		case kind == "array":
			return nil, astray{summary: fmt.Sprintf("according to its schema, %s is a list", at), detail: fmt.Sprintf("use an index, such as %s[0].%s", at, k.Name)}
		case scalarTypes[kind] != "":
			return nil, astray{summary: fmt.Sprintf("according to its schema, %s is %s", at, scalarTypes[kind]), detail: "it has no fields or entries"}
		case kind == "object" && k.IsIndex:
			return nil, astray{summary: fmt.Sprintf("according to its schema, %s is an object", at), detail: "name one of its fields: " + fieldsOf(properties)}
		case kind == "object" && isField:
			schema = field
		case kind == "object" && listsFields(object):
			return nil, unlisted(object, properties, at, k.Name)
		default:
			return nil, astray{}
		}
		var b strings.Builder
		k.print(&b)
		at += b.String()
	}
	return schema, astray{}
}

// unlisted returns the problem with a field that the schema of an object does not list.
func unlisted(object, properties map[string]any, at, name string) astray {
	detail := workflow.DidYouMean(name, sorted.Keys(properties))
	if detail == "" {
		detail = "it has: " + fieldsOf(properties)
	}
	detail += "; add `additionalProperties: true` to its schema if it may have others"
	if isClosed(object, properties) {
		return astray{summary: fmt.Sprintf("according to its schema, %s has no field %q", at, name), detail: detail}
	}
	return astray{summary: fmt.Sprintf("the schema of %s does not list the field %q", at, name), detail: detail, maybe: true}
}

func fieldsOf(properties map[string]any) string {
	return strings.Join(sorted.Keys(properties), ", ")
}

var scalarTypes = map[string]string{"string": "a text", "number": "a number", "integer": "a number", "boolean": "true or false", "null": "null"}

// listsFields reports whether a schema lists the fields of an object and contains nothing that
// allows others.
func listsFields(schema map[string]any) bool {
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

// isClosed reports whether an object with listed fields has no others. JSON Schema allows others
// unless the schema forbids them. A schema that was derived from an example does not: it requires
// every field and says nothing else.
func isClosed(schema, properties map[string]any) bool {
	required, _ := schema["required"].([]any)
	return schema["additionalProperties"] == false || len(schema) == 3 && len(required) == len(properties)
}
