package complete

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/schema"
)

// node is a part of the schema of a workflow in YAML, which also has the keys of Markdown and PlantUML.
type node struct {
	Ref         string           `json:"$ref"`
	Description string           `json:"description"`
	Properties  map[string]*node `json:"properties"`
	Additional  json.RawMessage  `json:"additionalProperties"` // a schema or a boolean
	Items       *node            `json:"items"`
	Enum        []any            `json:"enum"`
	AnyOf       []*node          `json:"anyOf"`
	OneOf       []*node          `json:"oneOf"`
	AllOf       []*node          `json:"allOf"`
	Definitions map[string]*node `json:"definitions"`
}

// whole returns the schema of a workflow.
var whole = sync.OnceValue(func() *node {
	root := &node{}
	text, err := schema.JSON("workflow")
	if err == nil {
		err = json.Unmarshal(text, root)
	}
	if err != nil { // it is embedded, and a test reads it
		panic("complete: " + err.Error())
	}
	return root
})

// step returns the schema of a step.
func step() *node { return whole().Definitions["step"] }

// alternatives calls visit for the schema and everything that it consists of.
func (n *node) alternatives(visit func(*node)) {
	if n == nil {
		return
	}
	visit(n)
	if name, ok := strings.CutPrefix(n.Ref, "#/definitions/"); ok {
		whole().Definitions[name].alternatives(visit)
	}
	for _, all := range [][]*node{n.AnyOf, n.OneOf, n.AllOf} {
		for _, one := range all {
			one.alternatives(visit)
		}
	}
}

// child returns the schema of the value of a key; of an item of a list, if the key is empty; nil if there is
// none.
func (n *node) child(key string) (found *node) {
	n.alternatives(func(a *node) {
		if found != nil {
			return
		}
		var more node
		switch {
		case key == "":
			found = a.Items
		case a.Properties[key] != nil:
			found = a.Properties[key]
		case json.Unmarshal(a.Additional, &more) == nil: // not a boolean
			found = &more
		}
	})
	return found
}

// keys returns the keys of a map, with what they mean.
func (n *node) keys() []Suggestion {
	var all []Suggestion
	n.alternatives(func(a *node) {
		for key, of := range a.Properties {
			s := Suggestion{key, "key", ""}
			of.alternatives(func(d *node) {
				if s.Note == "" {
					s.Note = d.Description
				}
			})
			all = append(all, s)
		}
	})
	sort.Slice(all, func(i, j int) bool { return all[i].Text < all[j].Text })
	return slices.CompactFunc(all, func(a, b Suggestion) bool { return a.Text == b.Text })
}

// words returns the texts that a value can be.
func (n *node) words() []string {
	var all []string
	n.alternatives(func(a *node) {
		for _, v := range a.Enum {
			if text, ok := v.(string); ok && !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	})
	return all
}

var (
	yamlLine  = lazy.Regexp(`^(\s*(?:- +)*)([\w$-]+):(?:\s|$)`)
	yamlItem  = lazy.Regexp(`^(\s*)- `)
	yamlWord  = lazy.Regexp(`^(\s*(?:- +)*)([\w-]*)$`)
	yamlValue = lazy.Regexp(`^(\s*(?:- +)*)([\w-]+):\s+(?:\[?(?:[^\]#]*[,\[]\s*)?)([\w./-]*)$`)
	textBegin = lazy.Regexp(`:\s*[|>][+-]?\d*\s*(#.*)?$`)
)

// inYAML completes keys and values. above are the lines above the place; path is where the first of them is
// in a workflow.
func (c *completer) inYAML(above, path []string) (string, []Suggestion) {
	at := whole()
	for _, key := range path {
		at = at.child(key)
	}
	if m := yamlValue().FindStringSubmatch(c.head); m != nil {
		for _, key := range pathOf(above, len(m[1])) {
			at = at.child(key)
		}
		return m[3], c.values(m[2], func() *node { return at })
	}
	m := yamlWord().FindStringSubmatch(c.head)
	if m == nil {
		return "", nil
	}
	keys := pathOf(above, len(m[1]))
	if strings.Contains(m[1], "-") {
		keys = append(pathOf(above, strings.Index(m[1], "-")+1), "")
	}
	for i, key := range keys {
		if i == len(keys)-1 && key == "" && slices.Contains([]string{"needs", "next", "to"}, lastOf(keys[:i])) {
			return m[2], c.steps()
		}
		at = at.child(key)
	}
	return m[2], at.keys()
}

func lastOf(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[len(keys)-1]
}

// pathOf returns the keys that a line with an indentation is below, "" for an item of a list. If the line
// continues a text, it returns a key that no schema has.
func pathOf(above []string, indent int) []string {
	var path []string
	for i := len(above) - 1; i >= 0 && indent > 0; i-- {
		line := above[i]
		m := yamlLine().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		dash := yamlItem().FindStringSubmatch(line)
		switch {
		case len(m[1]) < indent:
			if textBegin().MatchString(line) {
				return []string{"\x00"}
			}
			path = append(path, m[2])
			indent = len(m[1])
			if dash != nil { // the key is the first of an item
				path = append(path, "")
				indent = len(dash[1]) + 1
			}
		case dash != nil && len(dash[1]) < indent && len(m[1]) == indent: // a key of the same item
			path = append(path, "")
			indent = len(dash[1]) + 1
		}
	}
	slices.Reverse(path)
	return path
}
