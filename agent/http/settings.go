package http

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/outbound"
	"github.com/hocket-dev/hocket/workflow"
)

const (
	defaultOutputKB = 1024
	defaultTimeout  = 60 * time.Second
)

type settings struct {
	Method      string            `json:"method"`
	URL         string            `json:"url"`
	Query       map[string]any    `json:"query"`
	Headers     map[string]header `json:"headers"`
	Body        *agent.Text       `json:"body"`
	JSON        json.RawMessage   `json:"json"`
	Expect      statuses          `json:"expect"`
	Timeout     string            `json:"timeout"`
	MaxOutputKB int               `json:"max_output_kb"`
	Private     outbound.Policy   `json:"private_network"`
}

// header is a value, or the variable that holds it.
type header struct {
	Text   agent.Text `json:"-"`
	Env    string     `json:"env"`
	Prefix string     `json:"prefix"`
}

func (h *header) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		return h.Text.UnmarshalJSON(data)
	}
	type fields header // avoids recursion
	return json.Unmarshal(data, (*fields)(h))
}

// statuses are patterns of three characters: 200, 2xx.
type statuses []agent.Text

func (s *statuses) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, (*[]agent.Text)(s))
	}
	*s = make(statuses, 1)
	return (*s)[0].UnmarshalJSON(data)
}

func (s statuses) match(code int) bool {
	text := strconv.Itoa(code)
	if len(s) == 0 {
		return text[0] == '2'
	}
	return slices.ContainsFunc(s, func(want agent.Text) bool {
		return string(want) == text || strings.HasSuffix(string(want), "xx") && want[0] == text[0]
	})
}

// redirects reports whether a redirect counts as success, and so is not followed.
func (s statuses) redirects() bool {
	return slices.ContainsFunc(s, func(want agent.Text) bool { return want[0] == '3' })
}

// schema describes the settings in the package comment.
func schema() map[string]any {
	scalar := []any{"string", "number", "boolean"}
	status := map[string]any{"type": []any{"integer", "string"}, "minimum": 100, "maximum": 599, "pattern": "^[1-5](xx|[0-9][0-9])$"}
	return map[string]any{
		"type":                 "object",
		"additionalProperties": false,
		"required":             []any{"url"},
		"properties": map[string]any{
			"url":    map[string]any{"description": "http or https address of the request.", "type": "string", "pattern": "^https?://."},
			"method": map[string]any{"description": "Default: GET, or POST if there is a body.", "enum": []any{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}},
			"query": map[string]any{
				"description": "Parameters to add to the url, escaped.", "type": "object",
				"additionalProperties": map[string]any{"type": append([]any{"array", "null"}, scalar...), "items": map[string]any{"type": scalar}},
			},
			"headers": map[string]any{
				"description":   "Headers. A secret is taken from the environment: {env: NAME, prefix: \"Bearer \"}.",
				"type":          "object",
				"propertyNames": map[string]any{"pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"},
				"additionalProperties": map[string]any{
					"type":       append([]any{"object"}, scalar...),
					"properties": map[string]any{"env": map[string]any{"type": "string", "minLength": 1}, "prefix": map[string]any{"type": "string"}},
					"required":   []any{"env"}, "additionalProperties": false,
				},
			},
			"body":    map[string]any{"description": "Text to send."},
			"json":    map[string]any{"description": "A value to send as JSON."},
			"expect":  map[string]any{"description": "Status that counts as success, such as 200 or 2xx, or a list. Default: 2xx.", "type": []any{"integer", "string", "array"}, "minimum": 100, "maximum": 599, "pattern": status["pattern"], "items": status, "minItems": 1},
			"timeout": map[string]any{"description": "Duration for the whole exchange, such as 30s. Default: 60s.", "type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`},
			"private_network": map[string]any{
				"description": "Whether a server named by a value or a redirect may be in a private network: true, or a list of hosts.",
				"type":        []any{"boolean", "array"}, "items": map[string]any{"type": "string", "minLength": 1},
			},
			"max_output_kb": map[string]any{"description": "Maximum size of the response, in KiB. Default: 1024.", "type": "integer", "minimum": 1, "maximum": 1 << 20},
		},
		"if":   map[string]any{"required": []any{"body"}},
		"then": map[string]any{"properties": map[string]any{"json": false}},
	}
}

// address returns the url with the query added.
func (s *settings) address() (*url.URL, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" {
		return nil, agent.Permanentf("invalid url %q", s.URL)
	}
	added := url.Values{}
	for name, value := range s.Query {
		switch v := value.(type) {
		case nil:
		case []any:
			for _, item := range v {
				added.Add(name, workflow.FormatText(item))
			}
		default:
			added.Set(name, workflow.FormatText(v))
		}
	}
	if len(added) > 0 {
		u.RawQuery = strings.Trim(u.RawQuery+"&"+added.Encode(), "&")
	}
	return u, nil
}

// payload returns the body and its content type; nil if there is none.
func (s *settings) payload() (body io.Reader, contentType string) {
	switch {
	case s.JSON != nil:
		return bytes.NewReader(s.JSON), "application/json"
	case s.Body != nil:
		return strings.NewReader(string(*s.Body)), "text/plain; charset=utf-8"
	}
	return nil, ""
}

func (s *settings) method() string {
	switch {
	case s.Method != "":
		return s.Method
	case s.JSON != nil || s.Body != nil:
		return "POST"
	}
	return "GET"
}

// headers returns the headers to send, and the names of those that hold a secret.
func (s *settings) headers(getenv func(string) (string, bool)) (map[string]string, []string, error) {
	values := make(map[string]string, len(s.Headers))
	var secret []string
	for name, h := range s.Headers {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if h.Env == "" {
			values[name] = string(h.Text)
			continue
		}
		value, ok := getenv(h.Env)
		if !ok || value == "" {
			return nil, nil, agent.Permanentf("header %s: the environment variable %s is not set", name, h.Env)
		}
		values[name] = h.Prefix + value
		secret = append(secret, name)
	}
	return values, secret, nil
}

func (s *settings) timeout() (time.Duration, error) {
	if s.Timeout == "" {
		return defaultTimeout, nil
	}
	d, err := time.ParseDuration(s.Timeout)
	if err != nil || d <= 0 {
		return 0, agent.Permanentf("timeout %q is not a duration", s.Timeout)
	}
	return d, nil
}

// place describes the request in messages. It omits the query, which may be long and
// private.
func place(method string, u *url.URL) string {
	return fmt.Sprintf("%s %s://%s%s", method, u.Scheme, u.Host, u.EscapedPath())
}
