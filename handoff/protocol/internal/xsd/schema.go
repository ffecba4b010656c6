package xsd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/xmltext"
)

// Name is the name of an element or attribute in its namespace.
type Name struct{ Space, Local string }

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	target   string
	elements map[string]*element
}

// element is the declaration of an element.
type element struct {
	name Name
	typ  *typ
}

// typ is the type of an element. A type with text has no content model.
type typ struct {
	text       *simple
	model      *model // nil: no elements
	all        []allOf
	attributes map[Name]attribute
	any        *wildcard // further attributes
}

// allOf is an element of an unordered group.
type allOf struct {
	element  *element
	required bool
}

type attribute struct {
	typ      *simple
	required bool
}

// wildcard stands for any name of certain namespaces.
type wildcard struct {
	not  bool // matches any namespace except space, but not names without one
	all  bool
	skip bool // the content of the element is not checked
	list []string
}

func (w *wildcard) accepts(space string) bool {
	switch {
	case w.all:
		return true
	case w.not:
		return space != "" && space != w.list[0]
	}
	return slices.Contains(w.list, space)
}

const namespace = "http://www.w3.org/2001/XMLSchema"

// allowed lists the supported attributes and children of each element of a schema, without
// prefixes.
var allowed = map[string]struct{ attributes, children string }{
	"schema":        {"targetNamespace elementFormDefault attributeFormDefault version", "element complexType simpleType include annotation"},
	"include":       {"schemaLocation", "annotation"},
	"element":       {"name type ref minOccurs maxOccurs", "complexType simpleType annotation"},
	"complexType":   {"name", "sequence choice all simpleContent attribute anyAttribute annotation"},
	"sequence":      {"minOccurs maxOccurs", "element sequence choice any annotation"},
	"choice":        {"minOccurs maxOccurs", "element sequence choice any annotation"},
	"all":           {"minOccurs maxOccurs", "element annotation"},
	"any":           {"namespace processContents minOccurs maxOccurs", "annotation"},
	"simpleContent": {"", "extension annotation"},
	"extension":     {"base", "attribute anyAttribute annotation"},
	"attribute":     {"name type use default", "simpleType annotation"},
	"anyAttribute":  {"namespace processContents", "annotation"},
	"simpleType":    {"name", "restriction annotation"},
	"restriction":   {"base", "simpleType enumeration pattern minLength maxLength length whiteSpace annotation"},
	"enumeration":   {"value", "annotation"},
	"pattern":       {"value", "annotation"},
	"minLength":     {"value fixed", "annotation"},
	"maxLength":     {"value fixed", "annotation"},
	"length":        {"value fixed", "annotation"},
	"whiteSpace":    {"value fixed", "annotation"},
	"annotation":    {},
}

// compiler builds a schema from one document and those it includes.
type compiler struct {
	schema   *Schema
	include  func(location string) ([]byte, error)
	included map[string]bool
	types    map[string]definition
	globals  map[string]definition
	compiled map[string]*typ
	simples  map[string]*simple
	open     map[string]bool // types that are being compiled
	parts    int
	patterns int // their compiled size
}

// definition is a global component, with the element form of its document.
type definition struct {
	at        xmltext.Element
	qualified bool
}

// Compile reads a schema. It calls include with the location of each document that the schema
// includes.
func Compile(file string, text []byte, include func(location string) ([]byte, error)) (*Schema, error) {
	c := &compiler{
		schema: &Schema{elements: map[string]*element{}}, include: include, included: map[string]bool{},
		types: map[string]definition{}, globals: map[string]definition{}, compiled: map[string]*typ{},
		simples: map[string]*simple{}, open: map[string]bool{},
	}
	if err := c.document(file, text, true); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for local, d := range c.globals {
		t, err := c.typeOf(d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		c.schema.elements[local] = &element{Name{c.schema.target, local}, t}
	}
	return c.schema, nil
}

// document collects the global components of a document.
func (c *compiler) document(file string, text []byte, outermost bool) error {
	doc := xmltext.Read(file, text, xmltext.Rules{})
	if found := doc.Diagnostics(); doc.Broken() {
		return fmt.Errorf("line %d: %s", found[0].Line, found[0].Summary)
	}
	root := doc.Root()
	if space, local := resolve(root, root.Name()); space != namespace || local != "schema" {
		return errors.New("not an XML schema")
	}
	if err := understood(root); err != nil {
		return err
	}
	target := root.Attr("targetNamespace")
	switch {
	case outermost && target.Exists():
		c.schema.target = target.Value()
	case target.Exists() && target.Value() != c.schema.target:
		return fmt.Errorf("the schema includes a schema for another namespace, %s", target.Value())
	}
	if root.Attr("attributeFormDefault").Value() == "qualified" {
		return errors.New(`attributeFormDefault="qualified" is not supported`)
	}
	qualified := root.Attr("elementFormDefault").Value() == "qualified"
	for e := range root.Children() {
		id := e.Attr("name").Value()
		switch localName(e) {
		case "include":
			if err := c.includeAt(e); err != nil {
				return err
			}
		case "element":
			c.globals[id] = definition{e, qualified}
		case "complexType", "simpleType":
			c.types[id] = definition{e, qualified}
		}
	}
	return nil
}

func (c *compiler) includeAt(e xmltext.Element) error {
	location := e.Attr("schemaLocation")
	if !location.Exists() || c.included[location.Value()] {
		return nil
	}
	c.included[location.Value()] = true
	text, err := c.include(location.Value())
	if err == nil {
		err = c.document(location.Value(), text, false)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", location.Value(), err)
	}
	return nil
}

// understood refuses a schema that uses anything this package does not support.
func understood(e xmltext.Element) error {
	declared := 0
	for a := range e.Attrs() {
		if strings.HasPrefix(a.Name(), "xmlns") {
			declared++
		}
	}
	if declared > maxDeclared {
		return fmt.Errorf("line %d: %s declares more than %d namespaces", e.Pos().Line, e.Name(), maxDeclared)
	}
	space, local := resolve(e, e.Name())
	rules, ok := allowed[local]
	if space != namespace || !ok {
		return fmt.Errorf("line %d: %s is not supported", e.Pos().Line, e.Name())
	}
	for a := range e.Attrs() {
		if n := a.Name(); !strings.HasPrefix(n, "xmlns") && n != "id" && !slices.Contains(strings.Fields(rules.attributes), n) {
			return fmt.Errorf("line %d: %s of %s is not supported", a.NamePos().Line, n, e.Name())
		}
	}
	if local == "annotation" {
		return nil
	}
	for inner := range e.Children() {
		if _, l := resolve(inner, inner.Name()); !slices.Contains(strings.Fields(rules.children), l) {
			return fmt.Errorf("line %d: %s in %s is not supported", inner.Pos().Line, inner.Name(), e.Name())
		}
		if err := understood(inner); err != nil {
			return err
		}
	}
	return nil
}

func localName(e xmltext.Element) string {
	_, local := resolve(e, e.Name())
	return local
}

// resolve finds the namespace of a name in an element or its attributes.
func resolve(e xmltext.Element, written string) (space, local string) {
	prefix, local, ok := strings.Cut(written, ":")
	key := "xmlns"
	if ok {
		key += ":" + prefix
	} else {
		local = written
	}
	if prefix == "xml" && ok {
		return "http://www.w3.org/XML/1998/namespace", local
	}
	for ; e.Exists(); e = e.Parent() {
		if a := e.Attr(key); a.Exists() {
			return a.Value(), local
		}
	}
	return "", local
}
