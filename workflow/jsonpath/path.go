// Package jsonpath selects values from a JSON value with a path as defined by RFC 9535, including
// names, wildcards, indexes, slices, descendants, filters and the functions length, count, match,
// search and value.
//
// It is a leaf. A value is one of nil, bool, json.Number, string, []any and map[string]any. The
// RFC does not define the order of an object's members; here they are ordered by name, so that a
// path always returns the same list.
//
// Paths come from workflow files and values from agents, so both are limited: a path nests at
// most 50 levels deep, and a selection that visits more than two million values, matches patterns
// for too long or finds more than a hundred thousand values ends with an error.
package jsonpath

import "fmt"

// Path is a parsed path. It is safe for concurrent use.
type Path struct {
	query query
}

// Error describes a path that does not parse. Offset counts bytes from 0.
type Error struct {
	Offset  int
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("jsonpath: %s at offset %d", e.Message, e.Offset)
}

// query selects from the root or, in a filter, from the current value.
type query struct {
	relative bool
	segments []segment
}

// singular reports whether the query selects at most one value from any root.
func (q *query) singular() bool {
	for _, s := range q.segments {
		if s.descend || len(s.selectors) != 1 {
			return false
		}
		switch s.selectors[0].(type) {
		case nameSelector, indexSelector:
		case wildcardSelector, sliceSelector, filterSelector:
			return false
		}
	}
	return true
}

// segment applies its selectors to every given value or, if it descends, also to all values
// inside them.
type segment struct {
	descend   bool
	selectors []selector
}

// selector picks children of a value.
//
//sumtype:decl
type selector interface{ selector() }

type (
	nameSelector     string
	wildcardSelector struct{}
	indexSelector    int
	sliceSelector    struct{ start, end, step *int } // nil if left out
	filterSelector   struct{ keep logical }
)

func (nameSelector) selector()     {}
func (wildcardSelector) selector() {}
func (indexSelector) selector()    {}
func (sliceSelector) selector()    {}
func (filterSelector) selector()   {}

// logical is a condition of a filter.
//
//sumtype:decl
type logical interface{ logical() }

type (
	orTest     []logical
	andTest    []logical
	notTest    struct{ of logical }
	existsTest struct{ query *query } // the query selects something
	callTest   struct{ call *call }   // match or search
	comparison struct {
		op          string
		left, right operand
	}
)

func (orTest) logical()     {}
func (andTest) logical()    {}
func (notTest) logical()    {}
func (existsTest) logical() {}
func (callTest) logical()   {}
func (comparison) logical() {}

// operand is something in a filter that has a value, or values.
//
//sumtype:decl
type operand interface{ operand() }

type literal struct{ value any }

func (literal) operand() {}
func (*query) operand()  {}
func (*call) operand()   {}

// call is a call of a function.
type call struct {
	name    string
	args    []operand
	pattern *pattern // of match and search, if it is a literal; nil if there is none or it is not valid
}

// kind is a type in the RFC's type system for functions.
type kind int

const (
	valueKind   kind = iota // one value, or nothing
	logicalKind             // true or false
	nodesKind               // the values that a query selects
)

// functions are all functions, with the kinds of their arguments and results.
var functions = map[string]struct {
	takes []kind
	gives kind
}{
	"length": {[]kind{valueKind}, valueKind},
	"count":  {[]kind{nodesKind}, valueKind},
	"match":  {[]kind{valueKind, valueKind}, logicalKind},
	"search": {[]kind{valueKind, valueKind}, logicalKind},
	"value":  {[]kind{nodesKind}, valueKind},
}
