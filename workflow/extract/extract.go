// Package extract turns the raw output of an agent into a node's value: the whole text, the JSON
// in it, a part of that JSON, the match of a regular expression, or the first line. It checks the
// value against a JSON Schema, and finds the decision in it ([Decide]).
//
// Errors of [Extractor.Value] are sent to the agent that must try again, so they say what was
// expected, where, and what was found instead. The package imports the model and
// workflow/jsonpath; the engine and check import it.
package extract

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/jsonpath"
)

// Extractor extracts the value from the raw outputs of one node. It is safe for concurrent use.
type Extractor struct {
	mode    workflow.OutputMode
	pattern *regexp.Regexp
	path    *jsonpath.Path
	schema  *jsonschema.Schema
}

// plain returns the whole text. It is shared, so that nodes without an output section cost
// nothing.
var plain = &Extractor{}

// New prepares the extraction that an output section describes. An error is a mistake in that
// section: an invalid pattern, path or schema.
func New(o workflow.Output) (*Extractor, error) {
	if o.Mode == workflow.Full && o.Schema == nil {
		return plain, nil
	}
	x := &Extractor{mode: o.Mode}
	var err error
	switch o.Mode {
	case workflow.Regex:
		x.pattern, err = regexp.Compile(o.Pattern)
	case workflow.JSONPath:
		x.path, err = jsonpath.Parse(o.Pattern)
	case workflow.Full, workflow.JSON, workflow.FirstLine:
	default:
		err = fmt.Errorf("unknown output mode %q", o.Mode)
	}
	if err != nil {
		return nil, fmt.Errorf("extract: %w", err)
	}
	if o.Schema != nil {
		if x.schema, err = compileSchema(o.Schema); err != nil {
			return nil, fmt.Errorf("extract: %w", err)
		}
	}
	return x, nil
}

// Value extracts the value from a raw output.
func (x *Extractor) Value(raw string) (any, error) {
	if x == plain {
		return withoutNewline(raw), nil
	}
	v, err := x.take(raw)
	if err != nil || x.schema == nil {
		return v, err
	}
	return x.checked(v)
}

func (x *Extractor) take(raw string) (any, error) {
	switch x.mode {
	case workflow.JSON:
		return firstJSON(raw)
	case workflow.JSONPath:
		return x.selected(raw)
	case workflow.Regex:
		return x.matched(raw)
	case workflow.FirstLine:
		return beginning(raw)
	case workflow.Full:
	}
	return firstJSON(raw) // a whole output with a schema must be JSON
}

// withoutNewline removes the newline that programs print at the end of their output.
func withoutNewline(raw string) string {
	if text, ok := strings.CutSuffix(raw, "\n"); ok {
		return strings.TrimSuffix(text, "\r")
	}
	return raw
}

// selected returns the value that the path selects, or a list if it selects several.
func (x *Extractor) selected(raw string) (any, error) {
	v, err := firstJSON(raw)
	if err != nil {
		return nil, err
	}
	found, err := x.path.Select(v)
	switch {
	case err != nil:
		return nil, fmt.Errorf("extract: %w", err)
	case len(found) == 0:
		return nil, fmt.Errorf("expected a value at %s in the JSON output, found none; the output is %s", x.path, outline(v))
	case len(found) == 1:
		return found[0], nil
	}
	return found, nil
}

// matched returns the first group of the pattern, or the whole match if there are no groups.
func (x *Extractor) matched(raw string) (any, error) {
	at := x.pattern.FindStringSubmatchIndex(raw)
	switch {
	case at == nil:
		return nil, fmt.Errorf("expected text that matches the regular expression %s, found %s", x.pattern, excerpt(raw))
	case len(at) > 2 && at[2] >= 0:
		return raw[at[2]:at[3]], nil
	}
	return raw[at[0]:at[1]], nil
}

func beginning(raw string) (any, error) {
	if line := firstLine(raw); line != "" {
		return line, nil
	}
	return nil, fmt.Errorf("expected a line of text, found %s", excerpt(raw))
}
