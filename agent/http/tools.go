package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	nethttp "net/http"
	"net/url"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/outbound"
)

// exact reports whether the settings of a task say which request to make. Otherwise a model
// with the tools works from its prompt.
func exact(task *agent.Task) bool {
	_, address := task.Settings["url"]
	return address
}

// toolOutput limits how much of a response a model sees, in bytes.
const toolOutput = 64 << 10

// tools returns what a model needs to make requests. The agent's permissions say which; by
// default reading is allowed and changing asks. Only public addresses can be reached, and
// secrets of the environment cannot be used.
func (h *HTTP) tools(task *agent.Task) ([]agent.Tool, func(), error) {
	permitted, err := task.Permitted()
	if err != nil {
		return nil, nil, err
	}
	transport := h.transport
	done := func() {}
	if transport == nil {
		own := outside(h.network)
		transport, done = own, own.CloseIdleConnections
	}
	if permitted.Never(agent.MayReach) {
		return nil, done, nil
	}
	caller := &caller{http: &HTTP{transport: transport, getenv: h.getenv}, permitted: permitted}
	text := func(about string) map[string]any { return map[string]any{"type": "string", "description": about} }
	named := func(about string) map[string]any {
		return map[string]any{"type": "object", "description": about, "additionalProperties": map[string]any{"type": "string"}}
	}
	return []agent.Tool{{
		Name:        "http_request",
		Description: "Makes an HTTP request and returns the status, the relevant headers and the body of the response.",
		Input: map[string]any{
			"type": "object", "additionalProperties": false, "required": []any{"url"},
			"properties": map[string]any{
				"url":     text("http:// or https:// address."),
				"method":  map[string]any{"enum": []any{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, "description": "Default: GET, or POST if there is a body."},
				"query":   named("Parameters to add to the url, escaped."),
				"headers": named("Headers."),
				"body":    text("Text to send."),
				"json":    map[string]any{"description": "A value to send as JSON, instead of body."},
			},
		},
		Call: caller.request,
	}}, done, nil
}

// caller makes the requests of a model.
type caller struct {
	http      *HTTP
	permitted agent.Permissions
}

type asked struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Query   map[string]string `json:"query"`
	Headers map[string]string `json:"headers"`
	Body    *agent.Text       `json:"body"`
	JSON    json.RawMessage   `json:"json"`
}

func (c *caller) request(ctx context.Context, args map[string]any, task *agent.Task, log agent.Log) (string, error) {
	var in asked
	if err := agent.DecodeArguments(args, &in); err != nil {
		return "", err
	}
	if in.Body != nil && in.JSON != nil {
		return "", errors.New("give body or json, not both")
	}
	set := &settings{URL: in.URL, Method: in.Method, Query: map[string]any{}, Headers: map[string]header{}, Body: in.Body, JSON: in.JSON}
	for name, value := range in.Query {
		set.Query[name] = value
	}
	for name, value := range in.Headers {
		set.Headers[name] = header{Text: agent.Text(value)}
	}
	// No idempotency key: what a model requests twice may be meant twice.
	req, _, err := c.http.request(ctx, &agent.Task{}, set)
	if err != nil {
		return "", err
	}
	if req.Host != req.URL.Host {
		return "", errors.New("remove the header Host: it is set from the url")
	}
	if err := c.permit(ctx, req, &in, task); err != nil {
		return "", err
	}
	within, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	return c.answer(req.WithContext(within), log)
}

// what returns the name of a request for permissions.
func what(method string, u *url.URL) string {
	if method == nethttp.MethodGet || method == nethttp.MethodHead {
		return u.String()
	}
	return method + " " + u.String()
}

func (c *caller) permit(ctx context.Context, req *nethttp.Request, in *asked, task *agent.Task) error {
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" || req.URL.Host == "" {
		return fmt.Errorf("url %q must begin with http:// or https://", in.URL)
	}
	detail := req.Method + " " + req.URL.String()
	if in.Body != nil {
		detail += "\n\n" + string(*in.Body)
	}
	if in.JSON != nil {
		detail += "\n\n" + string(in.JSON)
	}
	return task.Permit(ctx, c.permitted.For(agent.MayReach, what(req.Method, req.URL)), agent.MayReach, detail)
}

// answer makes the request. The target of a redirect needs permission too, and nobody is
// asked in the middle of a request.
func (c *caller) answer(req *nethttp.Request, log agent.Log) (string, error) {
	client := nethttp.Client{Transport: c.http.transport, CheckRedirect: func(next *nethttp.Request, before []*nethttp.Request) error {
		if len(before) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if c.permitted.For(agent.MayReach, what(next.Method, next.URL)) != agent.Allow {
			return fmt.Errorf("it redirects to %s, which needs permission; request that URL directly", next.URL.Redacted())
		}
		return nil
	}}
	where := place(req.Method, req.URL)
	resp, err := client.Do(req)
	if err != nil {
		var refused *outbound.RefusedError
		var withURL *url.Error
		if errors.As(err, &refused) {
			return "", fmt.Errorf("%s: %w", where, refused)
		}
		if errors.As(err, &withURL) {
			err = withURL.Err
		}
		return "", fmt.Errorf("%s: %w", where, err)
	}
	defer resp.Body.Close()
	log([]byte(where + ": " + resp.Status + "\n"))
	return told(resp)
}

// told returns what a model sees of a response. An error status is a response like any
// other.
func told(resp *nethttp.Response) (string, error) {
	var out strings.Builder
	out.WriteString(resp.Status + "\n")
	for _, name := range []string{"Content-Type", "Location", "Retry-After", "Link", "ETag", "Last-Modified"} {
		if value := resp.Header.Get(name); value != "" {
			fmt.Fprintf(&out, "%s: %.1000s\n", name, value) // a server may send megabytes
		}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, toolOutput+1))
	if err != nil {
		return "", fmt.Errorf("the response is incomplete: %w", err)
	}
	more := ""
	if len(body) > toolOutput {
		body, more = body[:toolOutput], fmt.Sprintf("\n(cut off after %d KiB)", toolOutput>>10)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	text := strings.ToValidUTF8(string(body), "\uFFFD")
	if binary := strings.Count(text, "\uFFFD") + strings.Count(text, "\x00"); binary > len(text)/20+2 {
		return out.String() + fmt.Sprintf("\n(%d bytes of binary data%s)", len(body), kindOf(kind)), nil
	}
	if text != "" {
		out.WriteString("\n" + text + more)
	}
	return out.String(), nil
}

func kindOf(kind string) string {
	if kind == "" {
		return ""
	}
	return ", but " + kind
}
