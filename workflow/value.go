package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A value is one of nil, bool, json.Number, string, []any and map[string]any.
// Numbers keep their text, so that an id of 20 digits comes out as it went in.

// ParseJSON reads one JSON value; anything behind it is an error.
func ParseJSON(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more text follows the JSON value at byte %d", dec.InputOffset())
	}
	return v, nil
}

// FormatJSON writes a value as compact JSON with sorted keys, and with <, > and
// & as they are.
func FormatJSON(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return strconv.Quote(err.Error()) // not a value; only a bug gets here
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// FormatText is how a value stands in running text: a string as it is, null as
// nothing, everything else as JSON.
func FormatText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	default:
		return FormatJSON(v)
	}
}

// Normalize turns what Go programs and decoders give (int, float64, typed
// slices and maps) into a value. What is none is an error.
func Normalize(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, json.Number:
		return v, nil
	case int:
		return json.Number(strconv.Itoa(v)), nil
	case int64:
		return json.Number(strconv.FormatInt(v, 10)), nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			n, err := Normalize(e)
			if err != nil {
				return nil, err
			}
			out[i] = n
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			n, err := Normalize(v[k])
			if err != nil {
				return nil, err
			}
			out[k] = n
		}
		return out, nil
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("workflow: not a value: %w", err)
		}
		return ParseJSON(text)
	}
}

// At is what a path of keys and indexes leads to in a value, nil if that is nothing.
func At(v any, path []string) any {
	for _, key := range path {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(parent) {
				return nil
			}
			v = parent[i]
		default:
			return nil
		}
	}
	return v
}

// unmarshal is json.Unmarshal that keeps numbers as they are written.
func unmarshal(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(into)
}
