package extract

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// noLoader prevents schemas from reading files and URLs: by default, a reference to
// file:///etc/passwd would be followed.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("a schema must be self-contained; external references are not followed")
}

// schemaURL is the URL of the schema while it is compiled. It is absolute, because a relative one
// would depend on the current directory.
const schemaURL = "hocket:///schema"

func compileSchema(schema any) (*jsonschema.Schema, error) {
	if err := tooLarge(schema); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.AssertFormat()
	if err := c.AddResource(schemaURL, schema); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, schemaError(err)
	}
	return compiled, nil
}

// schemaError describes a mistake in a schema, without the URL under which it was compiled.
func schemaError(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var wrong *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &wrong) {
		lines := findings(wrong, nil)
		slices.Sort(lines)
		return fmt.Errorf("schema: %s", strings.Join(lines, "; "))
	}
	return fmt.Errorf("schema: %s", strings.ReplaceAll(err.Error(), schemaURL, ""))
}

// checked validates a value. A text that does not match the schema is tried as JSON: a regular
// expression can only return text, but the schema may require the number 8.
func (x *Extractor) checked(v any) (any, error) {
	err := validate(x.schema, v)
	if err == nil {
		return v, nil
	}
	if text, ok := v.(string); ok {
		if parsed, bad := workflow.ParseJSON([]byte(text)); bad == nil && validate(x.schema, parsed) == nil {
			return parsed, nil
		}
	}
	var wrong *jsonschema.ValidationError
	if !errors.As(err, &wrong) {
		return nil, fmt.Errorf("the output cannot be checked against its schema: %w", err)
	}
	lines := findings(wrong, v)
	slices.Sort(lines) // the validator visits properties in random order
	return nil, fmt.Errorf("the output does not match its schema:\n%s", bullets(lines))
}

// validate checks a value against a schema.
func validate(schema *jsonschema.Schema, v any) error {
	if !handy(v) {
		return errors.New("it contains a number that is too large or too small; write it as a string")
	}
	return schema.Validate(v)
}

// handy reports whether the exponents of all numbers in a value are of a reasonable size.
// Checking 1e999999 against a schema takes seconds, and a list may contain many such numbers.
func handy(v any) bool {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return err == nil && len(v) <= 400 && (f != 0 || !strings.ContainsAny(v.String(), "eE"))
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !handy(item) })
	case map[string]any:
		for _, item := range v {
			if !handy(item) {
				return false
			}
		}
	}
	return true
}

const maxFindings = 10

func bullets(lines []string) string {
	more := len(lines) - maxFindings
	if more > 0 {
		lines = append(lines[:maxFindings:maxFindings], fmt.Sprintf("and %d more", more))
	}
	return "- " + strings.Join(lines, "\n- ")
}

// findings returns the mistakes at the leaves of a validation error, without duplicates.
func findings(wrong *jsonschema.ValidationError, whole any) []string {
	if len(wrong.Causes) == 0 {
		at := "/" + strings.Join(wrong.InstanceLocation, "/")
		return []string{at + ": " + explain(wrong, whole)}
	}
	var lines []string
	for _, cause := range wrong.Causes {
		for _, line := range findings(cause, whole) {
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// explain says what was expected at a place and what was found there.
func explain(wrong *jsonschema.ValidationError, whole any) string {
	found := outline(workflow.At(whole, wrong.InstanceLocation))
	switch k := wrong.ErrorKind.(type) {
	case *kind.Type:
		if whole == nil {
			return fmt.Sprintf("expected %s, found %s", strings.Join(k.Want, " or "), k.Got)
		}
		return fmt.Sprintf("expected %s, found %s", strings.Join(k.Want, " or "), found)
	case *kind.Required:
		return fmt.Sprintf("expected the property %s, found %s", strings.Join(k.Missing, ", "), found)
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties) // the validator visits them in random order
	case *kind.Enum:
		return fmt.Sprintf("expected one of %s, found %s", formatAll(k.Want), outline(k.Got))
	}
	return wrong.BasicOutput().Error.String()
}

func formatAll(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = workflow.FormatJSON(v)
	}
	return strings.Join(texts, ", ")
}

// outline describes a value briefly: an object by its keys, a list by its length.
func outline(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "the number " + v.String()
	case string:
		return "the text " + excerpt(v)
	case []any:
		return fmt.Sprintf("a list of length %d", len(v))
	case map[string]any:
		if len(v) == 0 {
			return "an empty object"
		}
		keys := sorted.Keys(v)
		if len(keys) > maxFindings {
			keys = append(keys[:maxFindings:maxFindings], "…")
		}
		return "an object with " + strings.Join(keys, ", ")
	}
	return fmt.Sprintf("%T", v)
}
