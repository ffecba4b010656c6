package xsd

import (
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/internal/xmltext"
)

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

// named finds the type that an attribute names.
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
		return nil, fmt.Errorf("line %d: unknown type %s", at.Pos().Line, written)
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
