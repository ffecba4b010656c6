package xsd

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hocket-dev/hocket/internal/xmltext"
)

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
		return nil, fmt.Errorf("line %d: unknown simple type %s", at.Pos().Line, written)
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
				return nil, fmt.Errorf("line %d: invalid length %s", facet.Pos().Line, value)
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
