package xsd

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
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

// typ is the type of an element. One with text has no content model.
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
	not  bool // all but space, and none
	all  bool
	skip bool // what is in the element is not looked at
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

// allowed lists the attributes and children that are understood. The names of elements are
// without their prefix.
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
	patterns int // how large they are, compiled
}

// definition is a global component with the form of the document that it is in.
type definition struct {
	at        xmltext.Element
	qualified bool
}

// Compile reads a schema. It asks include for the documents that the schema includes, by
// the location that is written there.
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
		return errors.New("it is not an XML schema")
	}
	if err := understood(root); err != nil {
		return err
	}
	target := root.Attr("targetNamespace")
	switch {
	case outermost && target.Exists():
		c.schema.target = target.Value()
	case target.Exists() && target.Value() != c.schema.target:
		return fmt.Errorf("it includes a schema for another namespace, %s", target.Value())
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

// understood refuses what a schema says that this package would overlook.
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

// resolve finds the namespace of a name that is written in or at an element.
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

// typeOf compiles the type of an element declaration.
func (c *compiler) typeOf(d definition) (*typ, error) {
	if a := d.at.Attr("type"); a.Exists() {
		return c.named(d.at, a.Value())
	}
	for inner := range d.at.Children() {
		switch localName(inner) {
		case "complexType":
			return c.complex(definition{inner, d.qualified})
		case "simpleType":
			s, err := c.simple(inner, "")
			return &typ{text: s}, err
		}
	}
	return nil, fmt.Errorf("line %d: the element has no type", d.at.Pos().Line)
}

// named finds a type by the name that an attribute has.
func (c *compiler) named(at xmltext.Element, written string) (*typ, error) {
	space, local := resolve(at, written)
	if space == namespace {
		s, err := c.namedSimple(at, written)
		return &typ{text: s}, err
	}
	if t, ok := c.compiled[local]; ok {
		return t, nil
	}
	d, ok := c.types[local]
	if !ok || space != "" && space != c.schema.target {
		return nil, fmt.Errorf("line %d: there is no type %s", at.Pos().Line, written)
	}
	if localName(d.at) == "simpleType" {
		s, err := c.namedSimple(at, written)
		return &typ{text: s}, err
	}
	t := &typ{}
	c.compiled[local] = t // it may contain itself
	made, err := c.complex(d)
	if err != nil {
		return nil, err
	}
	*t = *made
	return t, nil
}

func (c *compiler) complex(d definition) (*typ, error) {
	t := &typ{attributes: map[Name]attribute{}}
	for inner := range d.at.Children() {
		var err error
		switch localName(inner) {
		case "sequence", "choice":
			m := &model{}
			var p part
			if p, err = c.particle(m, definition{inner, d.qualified}); err == nil {
				t.model = m.finish(p)
			}
		case "all":
			t.all, err = c.allOf(definition{inner, d.qualified})
		case "simpleContent":
			err = c.simpleContent(t, inner)
		case "attribute", "anyAttribute":
			err = c.attribute(t, inner)
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (c *compiler) simpleContent(t *typ, at xmltext.Element) error {
	for extension := range at.Children() {
		if localName(extension) != "extension" {
			continue
		}
		base := extension.Attr("base")
		if !base.Exists() {
			return fmt.Errorf("line %d: the extension has no base", extension.Pos().Line)
		}
		s, err := c.namedSimple(extension, base.Value())
		if err != nil {
			return err
		}
		t.text = s
		for inner := range extension.Children() {
			if err := c.attribute(t, inner); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *compiler) attribute(t *typ, at xmltext.Element) error {
	if err := c.count(at); err != nil {
		return err
	}
	switch localName(at) {
	case "anyAttribute":
		w, err := c.wildcard(at)
		t.any = w
		return err
	case "attribute":
		var a attribute
		var err error
		if written := at.Attr("type"); written.Exists() {
			a.typ, err = c.namedSimple(at, written.Value())
		} else {
			for inner := range at.Children() {
				if localName(inner) == "simpleType" {
					a.typ, err = c.simple(inner, "")
				}
			}
		}
		if err != nil {
			return err
		}
		if a.typ == nil {
			a.typ = builtin["string"]
		}
		if use := at.Attr("use"); use.Exists() {
			switch use.Value() {
			case "required":
				a.required = true
			case "optional":
			default:
				return fmt.Errorf("line %d: use=%q is not supported", at.Pos().Line, use.Value())
			}
		}
		if !at.Attr("name").Exists() {
			return fmt.Errorf("line %d: the attribute has no name", at.Pos().Line)
		}
		t.attributes[Name{"", at.Attr("name").Value()}] = a
	}
	return nil
}

func (c *compiler) wildcard(at xmltext.Element) (*wildcard, error) {
	process := at.Attr("processContents").Value()
	if process != "lax" && process != "skip" {
		return nil, fmt.Errorf(`line %d: %s needs processContents="lax" or "skip"`, at.Pos().Line, at.Name())
	}
	spaces := "##any"
	if a := at.Attr("namespace"); a.Exists() {
		spaces = a.Value()
	}
	w := &wildcard{skip: process == "skip"}
	switch spaces {
	case "##any":
		w.all = true
		return w, nil
	case "##other":
		w.not, w.list = true, []string{c.schema.target}
		return w, nil
	}
	for _, space := range strings.Fields(spaces) {
		switch space {
		case "##local":
			space = ""
		case "##targetNamespace":
			space = c.schema.target
		}
		w.list = append(w.list, space)
	}
	return w, nil
}

// These bound a schema, which may be one of an untrusted project. Each occurrence of a part
// counts: it becomes a state of a content model.
const (
	maxCopies   = 100    // minOccurs and maxOccurs
	maxParts    = 5000   // elements, groups, attributes and facets
	maxLinks    = 200000 // between the states of a content model
	maxPatterns = 20000  // instructions of all patterns
	maxDeclared = 100    // namespaces that an element declares
)

func tooLarge(at xmltext.Element) error {
	return fmt.Errorf("line %d: the schema is too large", at.Pos().Line)
}

// count counts a part of the schema.
func (c *compiler) count(at xmltext.Element) error {
	if c.parts++; c.parts >= maxParts {
		return tooLarge(at)
	}
	return nil
}

// particle adds an element, a group or a wildcard to a content model, as often as it occurs.
func (c *compiler) particle(m *model, d definition) (part, error) {
	least, most, err := occurs(d.at)
	if err != nil {
		return part{}, err
	}
	whole := part{optional: true}
	for i := 0; i < max(least, 1) || most > 0 && i < most; i++ {
		p, err := c.once(m, d)
		if err != nil {
			return part{}, err
		}
		if most == 0 {
			return part{optional: true}, nil
		}
		if most < 0 && i+1 >= max(least, 1) {
			p = m.repeated(p)
		}
		if i >= least {
			p.optional = true
		}
		if whole = m.then(whole, p); m.links > maxLinks {
			return part{}, tooLarge(d.at)
		}
	}
	return whole, nil
}

func occurs(e xmltext.Element) (least, most int, err error) {
	least, most = 1, 1
	if a := e.Attr("minOccurs"); a.Exists() {
		if least, err = strconv.Atoi(a.Value()); err != nil || least < 0 || least > maxCopies {
			return 0, 0, fmt.Errorf("line %d: minOccurs=%q is not supported", e.Pos().Line, a.Value())
		}
	}
	if a := e.Attr("maxOccurs"); a.Exists() {
		if a.Value() == "unbounded" {
			return least, -1, nil
		}
		if most, err = strconv.Atoi(a.Value()); err != nil || most < least || most > maxCopies {
			return 0, 0, fmt.Errorf("line %d: maxOccurs=%q is not supported", e.Pos().Line, a.Value())
		}
	}
	return least, max(most, least), nil
}

func (c *compiler) once(m *model, d definition) (part, error) {
	if err := c.count(d.at); err != nil {
		return part{}, err
	}
	switch localName(d.at) {
	case "element":
		e, err := c.local(d)
		return m.one(term{element: e}), err
	case "any":
		w, err := c.wildcard(d.at)
		return m.one(term{any: w}), err
	}
	sequence := localName(d.at) == "sequence"
	whole, empty := part{optional: sequence}, true
	for inner := range d.at.Children() {
		if localName(inner) == "annotation" {
			continue
		}
		p, err := c.particle(m, definition{inner, d.qualified})
		switch {
		case err != nil:
			return part{}, err
		case sequence:
			whole = m.then(whole, p)
		case empty:
			whole = p
		default:
			whole = m.or(whole, p)
		}
		empty = false
	}
	return whole, nil
}

// local compiles an element in a group.
func (c *compiler) local(d definition) (*element, error) {
	if ref := d.at.Attr("ref"); ref.Exists() {
		_, local := resolve(d.at, ref.Value())
		global, ok := c.globals[local]
		if !ok {
			return nil, fmt.Errorf("line %d: there is no element %s", d.at.Pos().Line, ref.Value())
		}
		if c.open[local] {
			return nil, fmt.Errorf("line %d: %s contains itself", d.at.Pos().Line, ref.Value())
		}
		c.open[local] = true
		defer delete(c.open, local)
		t, err := c.typeOf(global)
		return &element{Name{c.schema.target, local}, t}, err
	}
	t, err := c.typeOf(d)
	if err != nil {
		return nil, err
	}
	n := Name{Local: d.at.Attr("name").Value()}
	if n.Local == "" {
		return nil, fmt.Errorf("line %d: the element has no name", d.at.Pos().Line)
	}
	if d.qualified {
		n.Space = c.schema.target
	}
	return &element{n, t}, nil
}

func (c *compiler) allOf(d definition) ([]allOf, error) {
	least, _, err := occurs(d.at)
	if err != nil {
		return nil, err
	}
	list := []allOf{}
	for inner := range d.at.Children() {
		if localName(inner) != "element" {
			continue
		}
		if err := c.count(inner); err != nil {
			return nil, err
		}
		e, err := c.local(definition{inner, d.qualified})
		if err != nil {
			return nil, err
		}
		min, most, err := occurs(inner)
		if err != nil || most != 1 || least != 1 {
			return nil, fmt.Errorf("line %d: in xs:all, an element occurs at most once", inner.Pos().Line)
		}
		list = append(list, allOf{e, min > 0})
	}
	return list, nil
}

func (c *compiler) namedSimple(at xmltext.Element, written string) (*simple, error) {
	space, local := resolve(at, written)
	if space == namespace {
		if s, ok := builtin[local]; ok {
			return s, nil
		}
		return nil, fmt.Errorf("line %d: the type %s is not supported", at.Pos().Line, written)
	}
	if s, ok := c.simples[local]; ok {
		return s, nil
	}
	d, ok := c.types[local]
	if !ok || localName(d.at) != "simpleType" || c.open[local] {
		return nil, fmt.Errorf("line %d: there is no simple type %s", at.Pos().Line, written)
	}
	c.open[local] = true
	defer delete(c.open, local)
	s, err := c.simple(d.at, local)
	c.simples[local] = s
	return s, err
}

// simple compiles a simple type, which is always a restriction of another.
func (c *compiler) simple(at xmltext.Element, called string) (*simple, error) {
	for restriction := range at.Children() {
		if localName(restriction) != "restriction" {
			continue
		}
		var base *simple
		var err error
		if a := restriction.Attr("base"); a.Exists() {
			base, err = c.namedSimple(restriction, a.Value())
		} else {
			for inner := range restriction.Children() {
				if localName(inner) == "simpleType" {
					base, err = c.simple(inner, "")
				}
			}
		}
		if err != nil {
			return nil, err
		}
		if base == nil {
			return nil, fmt.Errorf("line %d: the restriction has no base", restriction.Pos().Line)
		}
		return c.restrict(base, restriction, called)
	}
	return nil, fmt.Errorf("line %d: the simple type has no restriction", at.Pos().Line)
}

func (c *compiler) restrict(base *simple, at xmltext.Element, called string) (*simple, error) {
	s := *base
	s.name, s.patterns = called, slices.Clone(base.patterns)
	var values, patterns []string
	for facet := range at.Children() {
		if err := c.count(facet); err != nil {
			return nil, err
		}
		value := facet.Attr("value").Value()
		kind := localName(facet)
		switch kind {
		case "enumeration":
			values = append(values, value)
		case "pattern":
			patterns = append(patterns, value)
		case "whiteSpace":
			if value == "replace" {
				return nil, fmt.Errorf("line %d: whiteSpace=\"replace\" is not supported", facet.Pos().Line)
			}
			s.collapse = s.collapse || value == "collapse"
		case "minLength", "maxLength", "length":
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 || n > math.MaxInt32 {
				return nil, fmt.Errorf("line %d: %s is not a length", facet.Pos().Line, value)
			}
			if kind != "maxLength" {
				s.min = n
			}
			if kind != "minLength" {
				s.max = n
			}
		}
	}
	if values != nil {
		s.values = values
	}
	if patterns != nil {
		re, size, err := compilePattern(patterns)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", at.Pos().Line, err)
		}
		if c.patterns += size; c.patterns > maxPatterns {
			return nil, tooLarge(at)
		}
		s.patterns = append(s.patterns, re)
	}
	return &s, nil
}
