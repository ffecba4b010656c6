package agent

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// problems turns a leaf of a validation error into messages for people.
func (s *Schema) problems(e *jsonschema.ValidationError, settings map[string]any) []Problem {
	name := settingName(e.InstanceLocation)
	one := func(detail, summary string, args ...any) []Problem {
		return []Problem{{Path: e.InstanceLocation, Summary: fmt.Sprintf(summary, args...), Detail: detail}}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		return s.unknown(e.InstanceLocation, k.Properties)
	case *kind.Required:
		return missing(e.InstanceLocation, k.Missing)
	case *kind.OneOf:
		return []Problem{s.alternatives(e.InstanceLocation, len(k.Subschemas) > 0)}
	case *kind.PropertyNames:
		at := s.holder(settings, k.Property)
		return []Problem{{Path: at, Summary: fmt.Sprintf("invalid name %q in %s", k.Property, settingName(at)),
			Detail: s.naming(at)}}
	case *kind.Not:
		return []Problem{{Path: e.InstanceLocation, Summary: name + " is outside the project", Detail: "write a path inside the project, such as src/main.go", leadsOut: true}}
	case *kind.Type:
		return one("", "%s must be %s, not %s", name, strings.Join(k.Want, " or "), k.Got)
	case *kind.FalseSchema:
		return one("remove it", "%s cannot be combined with the others", name)
	case *kind.MinLength:
		return one("set a value, or remove it", "%s is %s", name, emptyOr("shorter than %d characters", k.Want))
	case *kind.MinItems:
		return one("set a value, or remove it", "%s is %s", name, emptyOr("a list of fewer than %d", k.Want))
	case *kind.Minimum:
		return one("write a larger number", "%s must be at least %s", name, decimal(k.Want))
	case *kind.Maximum:
		return one("write a smaller number", "%s must be at most %s", name, decimal(k.Want))
	case *kind.Enum:
		return one(choose(k.Got, k.Want), "%s cannot be %s", name, workflow.FormatJSON(k.Got))
	case *kind.Pattern:
		return one(s.meant(e.InstanceLocation, k.Want), "%s cannot be %q", name, k.Got)
	default:
		return one("", "%s: %s", name, k.LocalizedString(message.NewPrinter(language.English)))
	}
}

// settingName returns the name of a setting for messages.
func settingName(path []string) string {
	if len(path) == 0 {
		return "the settings"
	}
	return fmt.Sprintf("setting %q", strings.Join(path, "."))
}

func (s *Schema) unknown(at, names []string) []Problem {
	known := s.names(at)
	list := make([]Problem, len(names))
	for i, name := range names {
		detail := workflow.DidYouMean(name, known)
		if called := otherNames[name]; slices.Contains(known, called) {
			detail = fmt.Sprintf("use %q instead", called)
		}
		if detail == "" && len(known) > 0 {
			detail = "available: " + strings.Join(known, ", ")
		}
		list[i] = Problem{Path: append(slices.Clone(at), name), Unknown: true, Summary: fmt.Sprintf("unknown setting %q", name), Detail: detail}
	}
	return list
}

// otherNames maps names of settings in other tools to ours.
var otherNames = map[string]string{
	"cmd": "command", "run": "command", "cwd": "dir", "workdir": "dir", "working_dir": "dir", "working_directory": "dir",
	"environment": "env", "maxTokens": "max_tokens", "link": "url", "uri": "url",
}

func missing(at, names []string) []Problem {
	list := make([]Problem, len(names))
	for i, name := range names {
		full := strings.Join(append(slices.Clone(at), name), ".")
		list[i] = Problem{Path: at, Missing: []string{name}, Summary: fmt.Sprintf("setting %q is missing", full)}
	}
	return list
}

// withoutMisspelt drops missing settings whose names were misspelt, because the misspelling
// is already reported.
func withoutMisspelt(found []Problem) []Problem {
	return slices.DeleteFunc(found, func(lost Problem) bool {
		return slices.ContainsFunc(found, func(p Problem) bool {
			return p.Unknown && len(p.Path) == len(lost.Path)+1 && workflow.Nearest(p.Path[len(p.Path)-1], lost.Missing) != ""
		})
	})
}

// names returns the settings that the schema has at a path.
func (s *Schema) names(path []string) []string {
	properties, _ := s.at(path)["properties"].(map[string]any)
	return sorted.Keys(properties)
}

// at returns the part of the schema for a setting.
func (s *Schema) at(path []string) map[string]any {
	at := s.source
	for _, key := range path {
		properties, _ := at["properties"].(map[string]any)
		at, _ = properties[key].(map[string]any)
	}
	return at
}

// meant describes what a text must look like: the setting's description in the schema,
// otherwise the pattern.
func (s *Schema) meant(path []string, pattern string) string {
	if text, ok := s.at(path)["description"].(string); ok {
		return "it is: " + strings.TrimSuffix(text, ".")
	}
	return "write a text that matches " + pattern
}

// naming describes which names a setting allows.
func (s *Schema) naming(path []string) string {
	names, _ := s.at(path)["propertyNames"].(map[string]any)
	if text, ok := names["description"].(string); ok {
		return "a name has " + text
	}
	return fmt.Sprintf("names must match %v", names["pattern"])
}

// holder returns the path of the setting that contains an invalid name. The location in the
// library's own error may be that of another setting.
func (s *Schema) holder(settings map[string]any, property string) []string {
	for _, name := range s.names(nil) {
		held, _ := settings[name].(map[string]any)
		if _, ok := held[property]; ok && s.at([]string{name})["propertyNames"] != nil {
			return []string{name}
		}
	}
	return nil
}

// PathInside is the schema of a path inside the project. What only a run can detect, such
// as a symbolic link to the outside, is left to the executor. No other settings schema uses
// "not".
func PathInside(description string) map[string]any {
	return map[string]any{
		"description": description, "type": "string", "minLength": 1,
		"not": map[string]any{"type": "string", "pattern": `^(/|[A-Za-z]:[/\\]|\.\.(/|$))`},
	}
}

// alternatives returns the problem for a failed oneOf of the whole schema, each branch of
// which requires one setting.
func (s *Schema) alternatives(at []string, several bool) Problem {
	p := Problem{Path: at}
	var quoted []string
	branches, _ := s.source["oneOf"].([]any)
	for _, b := range branches {
		branch, _ := b.(map[string]any)
		required, _ := branch["required"].([]any)
		for _, r := range required {
			p.Missing = append(p.Missing, fmt.Sprint(r))
			quoted = append(quoted, fmt.Sprintf("%q", r))
		}
	}
	if several {
		p.Missing = nil
		p.Summary = "only one of " + strings.Join(quoted, " and ") + " may be set"
		return p
	}
	p.Summary = "setting " + strings.Join(quoted, " or ") + " is missing"
	return p
}

// emptyOr returns "empty" if the minimum is one, otherwise the phrase.
func emptyOr(phrase string, want int) string {
	if want == 1 {
		return "empty"
	}
	return fmt.Sprintf(phrase, want)
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}

// choose suggests which of the values was meant.
func choose(got any, values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = workflow.FormatText(v)
	}
	text, _ := got.(string)
	return or(workflow.DidYouMean(text, words), "write one of "+strings.Join(words, ", "))
}
