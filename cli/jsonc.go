package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Settings of other programs are JSON that people edit: with comments and trailing commas. They are
// changed in place, so that everything else stays as it was written.

// jsonc is a text with its reading position.
type jsonc struct {
	text []byte
	at   int
}

var errNotJSONC = errors.New("it is not a JSON object")

// setJSONC sets a key in nested objects, which it makes if they do not exist.
func setJSONC(text []byte, path []string, value any) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	indent := strings.Repeat("  ", len(path))
	data, err := json.MarshalIndent(value, indent, "  ")
	if err != nil {
		return nil, err
	}
	found, rest, at, empty, err := findJSONC(text, path)
	switch {
	case err != nil:
		return nil, err
	case len(rest) == 0:
		return bytes.Join([][]byte{text[:found.from], data, text[found.to:]}, nil), nil
	}
	for i := len(rest) - 1; i > 0; i-- { // the objects that are missing
		data = fmt.Appendf(nil, "{\n%s%q: %s\n%s}", strings.Repeat("  ", len(path)-len(rest)+i+1), rest[i], data, strings.Repeat("  ", len(path)-len(rest)+i))
	}
	member := fmt.Sprintf("\n%s%q: %s,", strings.Repeat("  ", len(path)-len(rest)+1), rest[0], data)
	if empty {
		member = strings.TrimSuffix(member, ",") + "\n" + strings.Repeat("  ", len(path)-len(rest))
	}
	return bytes.Join([][]byte{text[:at], []byte(member), text[at:]}, nil), nil
}

// removeJSONC removes a key from nested objects. Without such a key it changes nothing.
func removeJSONC(text []byte, path []string) ([]byte, error) {
	found, rest, _, _, err := findJSONC(text, path)
	if err != nil || len(rest) > 0 {
		return text, err
	}
	from, to := found.key, found.to
	r := jsonc{text, to}
	r.skip()
	if r.next() == ',' {
		to = r.at + 1
	} else if before := bytes.TrimRight(text[:from], " \t\r\n"); bytes.HasSuffix(before, []byte(",")) {
		from = len(before) - 1
	}
	from = len(bytes.TrimRight(text[:from], " \t\r\n"))
	return append(bytes.Clone(text[:from]), text[to:]...), nil
}

// member is where a key and its value are.
type member struct{ key, from, to int }

// findJSONC finds a key in nested objects. rest are the keys that do not exist; then at is where to
// add the first of them, in an object that may be empty.
func findJSONC(text []byte, path []string) (m member, rest []string, at int, empty bool, err error) {
	r := &jsonc{text, 0}
	for i, key := range path {
		at, empty, m = 0, true, member{}
		end, err := r.object(func(name string, one member) {
			empty = false
			if name == key {
				m = one
			}
		})
		if err != nil {
			return m, nil, 0, false, err
		}
		if i == 0 {
			tail := jsonc{text, end}
			if tail.skip(); tail.at < len(text) {
				return m, nil, 0, false, errNotJSONC
			}
		}
		if m.to == 0 {
			return m, path[i:], r.at + 1, empty, nil
		}
		r = &jsonc{text, m.from}
	}
	return m, nil, 0, false, nil
}

// object reads an object, and returns its end. The position stays at its beginning.
func (r *jsonc) object(each func(name string, m member)) (end int, err error) {
	r.skip()
	in := jsonc{r.text, r.at}
	if in.next() != '{' {
		return 0, errNotJSONC
	}
	in.at++
	for {
		in.skip()
		if in.next() == '}' {
			return in.at + 1, nil
		}
		var m member
		m.key = in.at
		if err := in.value(); err != nil {
			return 0, err
		}
		var name string
		if json.Unmarshal(in.text[m.key:in.at], &name) != nil {
			return 0, errNotJSONC
		}
		if in.skip(); in.next() != ':' {
			return 0, errNotJSONC
		}
		in.at++
		in.skip()
		m.from = in.at
		if err := in.value(); err != nil {
			return 0, err
		}
		m.to = in.at
		each(name, m)
		if in.skip(); in.next() == ',' {
			in.at++
		} else if in.next() != '}' {
			return 0, errNotJSONC
		}
	}
}

// value reads over a value.
func (r *jsonc) value() error {
	depth := 0
	for {
		r.skip()
		switch c := r.next(); {
		case c == 0:
			return errNotJSONC
		case c == '"':
			if err := r.quoted(); err != nil {
				return err
			}
		case c == '{' || c == '[':
			depth++
			r.at++
		case c == '}' || c == ']':
			depth--
			r.at++
		case c == ',' || c == ':':
			if depth == 0 {
				return errNotJSONC
			}
			r.at++
		default:
			for r.next() != 0 && !bytes.ContainsRune([]byte(",:{}[]\"/ \t\r\n"), rune(r.next())) {
				r.at++
			}
		}
		if depth == 0 {
			return nil
		}
	}
}

func (r *jsonc) quoted() error {
	for r.at++; r.at < len(r.text); r.at++ {
		switch r.text[r.at] {
		case '\\':
			r.at++
		case '"':
			r.at++
			return nil
		}
	}
	return errNotJSONC
}

// skip reads over spaces and comments.
func (r *jsonc) skip() {
	for r.at < len(r.text) {
		rest := r.text[r.at:]
		switch {
		case bytes.ContainsRune([]byte(" \t\r\n"), rune(rest[0])):
			r.at++
		case bytes.HasPrefix(rest, []byte("//")):
			if end := bytes.IndexByte(rest, '\n'); end >= 0 {
				r.at += end
			} else {
				r.at = len(r.text)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			if end := bytes.Index(rest, []byte("*/")); end >= 0 {
				r.at += end + 2
			} else {
				r.at = len(r.text)
			}
		default:
			return
		}
	}
}

// next returns the next byte, 0 at the end.
func (r *jsonc) next() byte {
	if r.at >= len(r.text) {
		return 0
	}
	return r.text[r.at]
}
