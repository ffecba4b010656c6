package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// A value is one of nil, bool, json.Number, string, []any and map[string]any. Numbers keep their
// text, so that an id of 20 digits is not changed.

// ParseJSON parses one JSON value; anything after it is an error.
func ParseJSON(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("unexpected text after the JSON value at byte %d", dec.InputOffset())
	}
	return v, nil
}

// FormatJSON returns a value as compact JSON with sorted keys, without escaping <, > and &.
func FormatJSON(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return strconv.Quote(err.Error()) // not a value; only a bug can cause this
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// FormatText returns a value in the form used in running text: a string unchanged, null as
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

// Normalize converts what Go programs and decoders produce (int, float64, typed slices and maps)
// to a value. It returns an error if that is not possible.
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
		for _, k := range sorted.Keys(v) {
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

// At returns the value at a path of keys and indexes, or nil if there is none.
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

// unmarshal is like json.Unmarshal, but keeps numbers as they are written.
func unmarshal(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(into)
}
