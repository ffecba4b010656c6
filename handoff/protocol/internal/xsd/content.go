package xsd

import (
	"fmt"
	"strconv"

	"github.com/hocket-dev/hocket/internal/xmltext"
)

// These limit a schema, which may come from an untrusted project. Each occurrence of a part counts,
// because it becomes a state of a content model.
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

// particle adds an element, a group or a wildcard to a content model, once for each occurrence.
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
			return nil, fmt.Errorf("line %d: unknown element %s", d.at.Pos().Line, ref.Value())
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
