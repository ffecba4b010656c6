package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/hocket-dev/hocket/workflow"
)

// Problem describes what is wrong with a setting.
type Problem struct {
	Path    []string // path of the setting; empty: the settings as a whole
	Unknown bool     // the setting does not exist; Path names it
	Note    bool     // a note only: the setting has no effect
	Missing []string // the settings of which at least one is required
	Summary string
	Detail  string // what to do about it; "": nothing to add

	leadsOut bool // see PathInside
}

func (p Problem) String() string {
	s := p.Summary
	if p.Detail != "" {
		s += "; " + p.Detail
	}
	return s
}

func join(problems []Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "; ")
}

// Schema is the JSON Schema of an executor's settings. It is compiled on first use and safe
// for concurrent use. A nil Schema accepts everything.
type Schema struct {
	source  map[string]any
	certain func() certain
	compile func() *jsonschema.Schema
}

// NewSchema returns a Schema for a decoded JSON document. A schema that does not compile is
// a bug of the executor and panics on first use.
func NewSchema(source map[string]any) *Schema {
	certain := sync.OnceValue(func() certain { return certainOf(source) })
	return &Schema{source: source, certain: certain, compile: sync.OnceValue(func() *jsonschema.Schema {
		const name = "settings.json"
		doc, err := workflow.Normalize(source)
		c := jsonschema.NewCompiler()
		c.UseLoader(jsonschema.SchemeURLLoader{}) // schemas refer to nothing outside themselves
		if err = errors.Join(err, c.AddResource(name, doc)); err != nil {
			panic(fmt.Sprintf("agent: settings schema: %v", err))
		}
		return c.MustCompile(name)
	})}
}

// Properties returns the schemas of the individual settings, by name.
func (s *Schema) Properties() map[string]any {
	if s == nil {
		return nil
	}
	properties, _ := s.source["properties"].(map[string]any)
	return properties
}

// Check reports what is wrong with rendered settings. Paths are left to the executor, which
// checks them when it opens the files.
func (s *Schema) Check(settings map[string]any) []Problem {
	return slices.DeleteFunc(s.check(settings), func(p Problem) bool { return p.leadsOut })
}

func (s *Schema) check(settings map[string]any) []Problem {
	if s == nil || s.certain().holds(settings) {
		return nil
	}
	var failed *jsonschema.ValidationError
	if !errors.As(s.compile().Validate(settings), &failed) {
		return nil
	}
	var found []Problem
	s.collect(failed, settings, &found)
	found = withoutMisspelt(found)
	sort.SliceStable(found, func(i, j int) bool { return found[i].Summary < found[j].Summary })
	return found
}

// CheckTemplates reports what is wrong with settings as written: a string with a reference
// in it may become anything.
func (s *Schema) CheckTemplates(settings map[string]any) []Problem {
	return slices.DeleteFunc(s.check(settings), func(p Problem) bool {
		text, ok := workflow.At(settings, p.Path).(string)
		return ok && hasReference(text)
	})
}

// Decode checks rendered settings and decodes them into a struct, by its JSON tags. The
// error is permanent and names every problem.
func (s *Schema) Decode(settings map[string]any, into any) error {
	if found := s.Check(settings); len(found) > 0 {
		return Permanentf("settings: %s", join(found))
	}
	dec := json.NewDecoder(strings.NewReader(workflow.FormatJSON(settings)))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return Permanentf("settings: %v", err)
	}
	return nil
}

// collect turns the leaves of a validation error into problems.
func (s *Schema) collect(e *jsonschema.ValidationError, settings map[string]any, found *[]Problem) {
	switch e.ErrorKind.(type) {
	case *kind.OneOf, *kind.PropertyNames, *kind.Not:
	default:
		for _, cause := range e.Causes {
			s.collect(cause, settings, found)
		}
		if len(e.Causes) > 0 {
			return
		}
	}
	*found = append(*found, s.problems(e, settings)...)
}

// hasReference reports whether a canonical template contains a reference: a ${ that is not
// escaped as $${.
func hasReference(text string) bool {
	for {
		at := strings.Index(text, "${")
		if at < 0 {
			return false
		}
		if at == 0 || text[at-1] != '$' {
			return true
		}
		text = text[at+2:]
	}
}

// Text is a setting that accepts any scalar as text: 3 is "3".
type Text string

// UnmarshalJSON accepts any JSON value and formats it as in running text.
func (t *Text) UnmarshalJSON(data []byte) error {
	v, err := workflow.ParseJSON(data)
	if err != nil {
		return err
	}
	*t = Text(workflow.FormatText(v))
	return nil
}
