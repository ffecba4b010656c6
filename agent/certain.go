package agent

import (
	"regexp"
	"slices"
	"unicode/utf8"
)

// certain is a fast path for schema validation: it accepts values that certainly satisfy a
// schema. It knows the keywords that settings schemas use and leaves everything else to the
// library. Nearly all settings are valid, and the library needs thirty allocations to find
// that out.
type certain struct {
	holds func(v any) bool
	// exact means that a value that fails this check is certainly invalid. Only then can
	// the check be negated.
	exact bool
}

var unsure = certain{holds: func(any) bool { return false }}

// certainOf builds the check for a schema.
func certainOf(schema any) certain {
	keywords, ok := schema.(map[string]any)
	if !ok {
		return unsure
	}
	var parts []certain
	for keyword, arg := range keywords {
		if keyword != "description" && keyword != "title" {
			parts = append(parts, certainKeyword(keyword, arg, keywords))
		}
	}
	return certain{
		holds: func(v any) bool {
			return !slices.ContainsFunc(parts, func(p certain) bool { return !p.holds(v) })
		},
		exact: !slices.ContainsFunc(parts, func(p certain) bool { return !p.exact }),
	}
}

func certainKeyword(keyword string, arg any, beside map[string]any) certain {
	switch keyword {
	case "type":
		return certainType(arg)
	case "properties":
		return certainProperties(arg)
	case "additionalProperties":
		return certainRest(arg, beside["properties"])
	case "propertyNames":
		name := certainOf(arg)
		return ofObject(name.exact, func(object map[string]any) bool {
			for key := range object {
				if !name.holds(key) {
					return false
				}
			}
			return true
		})
	case "required":
		return certainRequired(arg)
	case "items":
		item := certainOf(arg)
		return certain{exact: item.exact, holds: func(v any) bool {
			list, isList := v.([]any)
			return !isList || !slices.ContainsFunc(list, func(e any) bool { return !item.holds(e) })
		}}
	case "oneOf":
		return certainOneOf(arg)
	case "not":
		if inner := certainOf(arg); inner.exact {
			return certain{exact: true, holds: func(v any) bool { return !inner.holds(v) }}
		}
	case "minLength":
		if least, ok := arg.(int); ok {
			return ofText(func(text string) bool { return utf8.RuneCountInString(text) >= least })
		}
	case "pattern":
		if text, ok := arg.(string); ok {
			if pattern, err := regexp.Compile(text); err == nil {
				return ofText(pattern.MatchString)
			}
		}
	case "minItems":
		if least, ok := arg.(int); ok {
			return certain{exact: true, holds: func(v any) bool {
				list, isList := v.([]any)
				return !isList || len(list) >= least
			}}
		}
	case "enum":
		return certainEnum(arg)
	}
	return unsure
}

// ofText and ofObject return constraints that apply only to strings, or only to objects.
func ofText(holds func(text string) bool) certain {
	return certain{exact: true, holds: func(v any) bool {
		text, isText := v.(string)
		return !isText || holds(text)
	}}
}

func ofObject(exact bool, holds func(object map[string]any) bool) certain {
	return certain{exact: exact, holds: func(v any) bool {
		object, isObject := v.(map[string]any)
		return !isObject || holds(object)
	}}
}

// certainType leaves numbers to the library, which knows that 1.0 is an integer.
func certainType(arg any) certain {
	names, isList := arg.([]any)
	if !isList {
		names = []any{arg}
	}
	return certain{
		exact: !slices.Contains(names, any("number")) && !slices.Contains(names, any("integer")),
		holds: func(v any) bool { return slices.Contains(names, typeName(v)) },
	}
}

func typeName(v any) any {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return nil
}

func certainProperties(arg any) certain {
	properties, ok := arg.(map[string]any)
	if !ok {
		return unsure
	}
	exact, known := true, make(map[string]certain, len(properties))
	for name, schema := range properties {
		known[name] = certainOf(schema)
		exact = exact && known[name].exact
	}
	return ofObject(exact, func(object map[string]any) bool {
		for name, value := range object {
			if property, ok := known[name]; ok && !property.holds(value) {
				return false
			}
		}
		return true
	})
}

// certainRest handles additionalProperties.
func certainRest(arg, properties any) certain {
	named, _ := properties.(map[string]any)
	rest := certainOf(arg)
	if arg == false {
		rest = certain{exact: true, holds: unsure.holds}
	}
	return ofObject(rest.exact, func(object map[string]any) bool {
		for name, value := range object {
			if _, ok := named[name]; !ok && !rest.holds(value) {
				return false
			}
		}
		return true
	})
}

func certainRequired(arg any) certain {
	names, ok := arg.([]any)
	if !ok {
		return unsure
	}
	return ofObject(true, func(object map[string]any) bool {
		return !slices.ContainsFunc(names, func(name any) bool {
			key, _ := name.(string)
			_, given := object[key]
			return !given
		})
	})
}

func certainOneOf(arg any) certain {
	schemas, ok := arg.([]any)
	if !ok {
		return unsure
	}
	branches := make([]certain, len(schemas))
	for i, schema := range schemas {
		if branches[i] = certainOf(schema); !branches[i].exact {
			return unsure
		}
	}
	return certain{exact: true, holds: func(v any) bool {
		count := 0
		for _, branch := range branches {
			if branch.holds(v) {
				count++
			}
		}
		return count == 1
	}}
}

// certainEnum handles strings only.
func certainEnum(arg any) certain {
	values, ok := arg.([]any)
	if !ok || slices.ContainsFunc(values, func(v any) bool { _, isText := v.(string); return !isText }) {
		return unsure
	}
	return certain{exact: true, holds: func(v any) bool {
		text, isText := v.(string)
		return isText && slices.Contains(values, any(text))
	}}
}
