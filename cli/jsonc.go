package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Settings of other programs are JSON that people edit: with comments and trailing commas. They are
// changed in place, so that everything else stays as it was written.

// setJSONC sets a key in nested objects, which it makes if they do not exist.
func setJSONC(text []byte, path []string, value any) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	p, err := findJSONC(text, path)
	if err != nil {
		return nil, err
	}
	for i := len(p.rest) - 1; i > 0; i-- { // the objects that are missing
		value = map[string]any{p.rest[i]: value}
	}
	indent := func(depth int) string { return strings.Repeat("  ", depth) }
	depth := len(path) - len(p.rest) // of what exists
	if len(p.rest) == 0 {
		data, err := json.MarshalIndent(value, indent(depth), "  ")
		return bytes.Join([][]byte{text[:p.from], data, text[p.to:]}, nil), err
	}
	data, err := json.MarshalIndent(value, indent(depth+1), "  ")
	after := ","
	if p.empty {
		after = "\n" + indent(depth)
	}
	member := fmt.Appendf(nil, "\n%s%q: %s%s", indent(depth+1), p.rest[0], data, after)
	return bytes.Join([][]byte{text[:p.from], member, text[p.from:]}, nil), err
}

// removeJSONC removes a key from nested objects. Without such a key it changes nothing.
func removeJSONC(text []byte, path []string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return text, nil
	}
	p, err := findJSONC(text, path)
	if err != nil || len(p.rest) > 0 {
		return text, err
	}
	plain := blankJSONC(text)
	from, to := len(bytes.TrimRight(plain[:p.key], " \t\r\n")), p.to
	if after := bytes.TrimLeft(plain[to:], " \t\r\n"); after[0] == ',' {
		to = len(plain) - len(after) + 1
	} else if plain[from-1] == ',' {
		from--
	}
	if len(bytes.TrimSpace(text[from:p.key])) > len(",") { // a comment stays, and the end of its line
		from = p.key
	}
	return append(bytes.Clone(text[:from]), text[to:]...), nil
}

// place is where a key is in nested objects.
type place struct {
	key, from, to int      // its beginning, and that of its value with its end
	rest          []string // the keys that do not exist; then from is where to add the first of them,
	empty         bool     // in an object without members
}

var errNotJSONC = errors.New("it is not a JSON object")

func findJSONC(text []byte, path []string) (p place, err error) {
	plain := blankJSONC(text)
	if !json.Valid(plain) {
		return p, errNotJSONC
	}
	for i, key := range path {
		at := p.from
		in := json.NewDecoder(bytes.NewReader(plain[at:]))
		offset := func() int { return at + int(in.InputOffset()) }
		if brace, _ := in.Token(); brace != json.Delim('{') {
			return p, errNotJSONC
		}
		p = place{from: offset(), rest: path[i:], empty: true}
		for in.More() { // the last of several members of that name counts
			p.empty = false
			before := offset()
			name, _ := in.Token() // it is valid
			var value json.RawMessage
			if err := in.Decode(&value); err != nil {
				return p, err
			}
			if name == key {
				p = place{key: before + bytes.IndexByte(plain[before:], '"'), from: offset() - len(value), to: offset(), rest: path[i+1:]}
			}
		}
		if len(p.rest) == len(path)-i {
			return p, nil
		}
	}
	return p, nil
}

// blankJSONC returns a text of the same length, with spaces for comments and trailing commas.
func blankJSONC(text []byte) []byte {
	blank := func(token []byte) []byte {
		if token[0] == '"' {
			return token
		}
		end := token[len(token)-1:]
		if token[0] == '/' {
			end = []byte(" ")
		}
		return append(bytes.Repeat([]byte(" "), len(token)-1), end...)
	}
	comments := regexp.MustCompile(`"(?:\\.|[^"\\])*"|//[^\n]*|(?s:/\*.*?\*/)`)
	commas := regexp.MustCompile(`"(?:\\.|[^"\\])*"|,\s*[}\]]`)
	return commas.ReplaceAllFunc(comments.ReplaceAllFunc(text, blank), blank)
}
