package workflow

import (
	"fmt"
	"maps"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// Concatenated joins values as texts. An empty separator means a blank line.
func Concatenated(values []any, separator string) string {
	if separator == "" {
		separator = "\n\n"
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = FormatText(v)
	}
	return strings.Join(texts, separator)
}

// Merged merges values deeply. A text that is a JSON object or list is parsed first.
func Merged(values []any) (any, error) {
	merged := structured(values[0])
	for _, v := range values[1:] {
		var err error
		if merged, err = deepMerge("", merged, structured(v)); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

func structured(v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	parsed, err := ParseJSON([]byte(text))
	if err != nil {
		return v
	}
	switch parsed.(type) {
	case map[string]any, []any:
		return parsed
	}
	return v
}

// deepMerge merges objects key by key and appends lists. Of two other values of the same type,
// the later one wins. Null is replaced by any other value.
func deepMerge(path string, a, b any) (any, error) {
	if a == nil || b == nil {
		if a == nil {
			return b, nil
		}
		return a, nil
	}
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return mergeObjects(path, x, y)
		}
	case []any:
		if y, ok := b.([]any); ok {
			return append(append(make([]any, 0, len(x)+len(y)), x...), y...), nil
		}
	default:
		if KindOf(a) == KindOf(b) {
			return b, nil
		}
	}
	return nil, fmt.Errorf("cannot merge %s with %s at %q", KindOf(a), KindOf(b), path)
}

func mergeObjects(path string, a, b map[string]any) (any, error) {
	merged := map[string]any{}
	maps.Copy(merged, a)
	for _, k := range sorted.Keys(b) {
		v, err := deepMerge(strings.TrimPrefix(path+"."+k, "."), merged[k], b[k])
		if err != nil {
			return nil, err
		}
		merged[k] = v
	}
	return merged, nil
}

// Voted returns the index of the first value that most values are equal to, ignoring case and
// surrounding punctuation, and how it was counted. In a tie, the value that comes first wins.
func Voted(values []any) (winner int, counted string, tie bool) {
	counts := map[string]int{}
	keys := make([]string, len(values))
	for i, v := range values {
		keys[i] = strings.ToLower(strings.Trim(FormatText(v), " \t\r\n\"'.,;:!"))
		counts[keys[i]]++
	}
	for i, key := range keys {
		switch {
		case counts[key] > counts[keys[winner]]:
			winner, tie = i, false
		case counts[key] == counts[keys[winner]] && key != keys[winner]:
			tie = true
		}
	}
	return winner, keys[winner], tie
}

// KindOf returns the type of a value in words.
func KindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "a boolean"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	default:
		return "a number"
	}
}
