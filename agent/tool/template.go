package tool

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// A template is text with {name} for the value of an input. {{name}} stands for the literal
// text {name}; any other brace is literal.

// piece is a part of a template: text, or the name of an input.
type piece struct {
	text string
	name string
}

// pieces splits a template.
func pieces(template string) []piece {
	var list []piece
	text := func(s string) {
		if n := len(list); n > 0 && list[n-1].name == "" {
			list[n-1].text += s
		} else if s != "" {
			list = append(list, piece{text: s})
		}
	}
	for template != "" {
		open := strings.IndexByte(template, '{')
		if open < 0 {
			text(template)
			break
		}
		text(template[:open])
		template = template[open:]
		doubled := strings.HasPrefix(template, "{{")
		body := strings.TrimPrefix(template[1:], "{")
		name := nameAt(body)
		switch rest := body[len(name):]; {
		case name != "" && doubled && strings.HasPrefix(rest, "}}"):
			text("{" + name + "}")
			template = rest[2:]
		case name != "" && !doubled && strings.HasPrefix(rest, "}"):
			list = append(list, piece{name: name})
			template = rest[1:]
		default:
			text("{")
			template = template[1:]
		}
	}
	return list
}

// nameAt returns the name at the beginning of a text.
func nameAt(s string) string {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return s[:i]
		}
	}
	return s
}

// references returns the inputs that a value refers to, each once.
func references(v any) []string {
	var names []string
	add := func(list []string) {
		for _, name := range list {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	switch v := v.(type) {
	case string:
		for _, p := range pieces(v) {
			if p.name != "" {
				add([]string{p.name})
			}
		}
	case []any:
		for _, item := range v {
			add(references(item))
		}
	case map[string]any:
		for _, item := range v {
			add(references(item))
		}
	}
	slices.Sort(names)
	return names
}

// whole returns the name of the input that a template consists of; "" if there is more.
func whole(template string) string {
	if list := pieces(template); len(list) == 1 {
		return list[0].name
	}
	return ""
}

// fill puts inputs into a value. A text that is a single reference becomes the value of the
// input; if the input was not given, it is omitted.
func fill(v any, args map[string]any) (filled any, given bool) {
	switch v := v.(type) {
	case string:
		if name := whole(v); name != "" {
			value, ok := args[name]
			return value, ok
		}
		return fillText(v, args), true
	case []any:
		out := []any{}
		for _, item := range v {
			if f, ok := fill(item, args); ok {
				out = append(out, f)
			}
		}
		return out, true
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			if f, ok := fill(item, args); ok {
				out[key] = f
			}
		}
		return out, true
	}
	return v, true
}

// fillText puts inputs into running text, unchanged.
func fillText(template string, args map[string]any) string {
	var b strings.Builder
	for _, p := range pieces(template) {
		b.WriteString(p.text)
		if p.name != "" {
			b.WriteString(textOf(args, p.name))
		}
	}
	return b.String()
}

func textOf(args map[string]any, name string) string {
	if v, ok := args[name]; ok {
		return workflow.FormatText(v)
	}
	return ""
}

// fillURL puts inputs into a URL, each escaped for its part. A template that is a single
// reference is a complete URL.
func fillURL(template string, args map[string]any) (*url.URL, error) {
	if name := whole(template); name != "" {
		return address(textOf(args, name))
	}
	var b strings.Builder
	for _, p := range pieces(template) {
		b.WriteString(p.text)
		if p.name == "" {
			continue
		}
		value := textOf(args, p.name)
		switch part(b.String()) {
		case inHost:
			if strings.ContainsFunc(value, notInHost) {
				return nil, agent.Permanentf("input %q is part of a host and may contain only letters, digits, dots and dashes, not %q", p.name, value)
			}
			b.WriteString(value)
		case inPath:
			b.WriteString(url.PathEscape(value))
		case inQuery:
			b.WriteString(url.QueryEscape(value))
		}
	}
	u, err := address(b.String())
	if err != nil {
		return nil, err
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "." || segment == ".." {
			return nil, agent.Permanentf("the url has the path %s; an input must not contain %q there", shorten(u.EscapedPath()), segment)
		}
	}
	return u, nil
}

// address parses an http or https URL.
func address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, agent.Permanentf("%q does not begin with http:// or https://", shorten(text))
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func shorten(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// The parts of a URL.
const (
	inHost = iota
	inPath
	inQuery
)

// part returns the part of a URL that the text after a prefix belongs to.
func part(before string) int {
	_, rest, _ := strings.Cut(before, "://")
	switch {
	case strings.Contains(before, "?"):
		return inQuery
	case strings.Contains(rest, "/"):
		return inPath
	}
	return inHost
}

func notInHost(r rune) bool {
	return r != '.' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// hostOf returns the host of a URL as its template has it, with the port if there is one.
func hostOf(template string) (string, error) {
	scheme, rest, ok := strings.Cut(template, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return "", fmt.Errorf("it does not begin with http:// or https://")
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	switch {
	case rest == "":
		return "", fmt.Errorf("it does not name a host")
	case strings.Contains(rest, "@"):
		return "", fmt.Errorf("it contains a user or a password; send them as a secret header")
	}
	return rest, nil
}
