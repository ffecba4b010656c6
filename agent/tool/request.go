package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/jsonpath"
)

const (
	maxRedirects = 5
	maxErrorBody = 500
)

// permit checks the permissions of the agent, and asks a person if they say so, if the
// agent chooses the address. If the tool itself determines it, having the tool is enough.
func (c *call) permit(ctx context.Context, task *agent.Task) error {
	r, ok := c.Work.(*Request)
	if !ok || task == nil || whole(r.URL) == "" {
		return nil
	}
	permissions, err := task.Permitted()
	if err != nil {
		return err
	}
	req, _, err := c.build(ctx, r)
	if err != nil {
		return c.masked(err)
	}
	c.allowed = &permissions
	what := reached(req)
	detail := what
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return c.masked(err)
		}
		detail += "\n\n" + string(body)
	}
	if err := task.Permit(ctx, permissions.For(agent.MayReach, what), agent.MayReach, detail); err != nil {
		return c.masked(err)
	}
	return nil
}

// reached returns a request in terms of permissions.
func reached(req *http.Request) string {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return req.URL.String()
	}
	return req.Method + " " + req.URL.String()
}

// request makes the request of an http tool and returns the body of the response.
func (c *call) request(ctx context.Context, r *Request) (string, error) {
	req, secret, err := c.build(ctx, r)
	if err != nil {
		return "", err
	}
	where := fmt.Sprintf("%s %s://%s%s", req.Method, req.URL.Scheme, req.URL.Host, req.URL.EscapedPath())
	client := http.Client{
		Transport:     &guard{network: c.Permissions.Network, redact: c.hide.Mask},
		CheckRedirect: c.redirect(secret),
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", c.failed(where, err)
	}
	defer resp.Body.Close()
	c.log([]byte(where + ": " + resp.Status + "\n"))
	if r.Full {
		return c.full(where, resp)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		start, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // as much as arrived
		return "", agent.Errorf("%s: %s", where, strings.TrimSpace(resp.Status+" "+strings.ToValidUTF8(string(start), "")))
	}
	data, err := c.body(where, resp)
	if err == nil && len(data) > c.limit() {
		err = c.tooMuch()
	}
	if err != nil || r.Pick == nil {
		return string(data), err
	}
	answer, err := workflow.ParseJSON(data)
	if err != nil {
		return "", agent.Errorf("the response is not valid JSON: %s", shorten(string(data)))
	}
	picked, err := r.Pick.pick(answer)
	return workflow.FormatJSON(picked), err
}

// failed explains why there is no response, without the query, which may be private.
func (c *call) failed(where string, err error) error {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		err = withURL.Err
	}
	var ours *agent.Error
	if errors.As(err, &ours) {
		return ours
	}
	return agent.Errorf("%s: %v", where, err)
}

// body reads a text response, up to one byte more than allowed.
func (c *call) body(where string, resp *http.Response) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, int64(c.limit())+1))
	if err != nil {
		return nil, agent.Errorf("%s: the response is incomplete: %v", where, err)
	}
	at := agent.NotText(data)
	if at > 0 && len(data) > c.limit() && at > c.limit()-4 {
		at = 0 // a character was cut off
	}
	if at > 0 {
		return nil, agent.Errorf("%s: the response (%s) is not text", where, resp.Header.Get("Content-Type"))
	}
	return data, nil
}

// full returns the complete response for a model. If it is too long, it is cut and marked.
func (c *call) full(where string, resp *http.Response) (string, error) {
	data, err := c.body(where, resp)
	if err != nil {
		return "", err
	}
	answer := map[string]any{"status": resp.Status, "type": resp.Header.Get("Content-Type")}
	if to := resp.Header.Get("Location"); to != "" {
		answer["location"] = to
	}
	if len(data) > c.limit() {
		data = data[:c.limit()]
		answer["cut_off"] = fmt.Sprintf("the body is longer than the first %d KiB shown", c.MaxOutputKB)
	}
	answer["body"] = strings.ToValidUTF8(string(data), "")
	return workflow.FormatJSON(answer), nil
}

// build creates the request, and returns which headers hold a secret.
func (c *call) build(ctx context.Context, r *Request) (*http.Request, []string, error) {
	u, err := fillURL(r.URL, c.args)
	if err != nil {
		return nil, nil, err
	}
	c.addQuery(u, r.Query)
	body, contentType := c.payload(r)
	method := fillText(r.Method, c.args)
	if method == "" {
		method = map[bool]string{true: http.MethodPost, false: http.MethodGet}[body != nil]
	}
	req, err := http.NewRequestWithContext(ctx, strings.ToUpper(method), u.String(), body)
	if err != nil {
		return nil, nil, agent.Permanentf("invalid method %q or address", method)
	}
	req.Header.Set("User-Agent", "hocket")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	secret, err := c.addHeaders(req, r)
	return req, secret, err
}

// addQuery adds parameters to a URL, escaped. A list repeats a parameter; an input that was
// not given is omitted.
func (c *call) addQuery(u *url.URL, fields []field) {
	added := url.Values{}
	for _, f := range fields {
		if f.secret != "" {
			added.Set(f.name, f.prefix+c.secrets[f.secret])
			continue
		}
		value, given := fill(f.value, c.args)
		if list, ok := value.([]any); ok {
			for _, item := range list {
				added.Add(f.name, workflow.FormatText(item))
			}
		} else if given && value != nil {
			added.Set(f.name, workflow.FormatText(value))
		}
	}
	if len(added) > 0 {
		u.RawQuery = strings.Trim(u.RawQuery+"&"+added.Encode(), "&")
	}
}

func (c *call) addHeaders(req *http.Request, r *Request) (secret []string, err error) {
	set := func(name, value string) {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if name == "Host" {
			req.Host = value
			return
		}
		req.Header.Set(name, value)
	}
	for _, f := range r.Headers {
		if f.secret != "" {
			set(f.name, f.prefix+c.secrets[f.secret])
			secret = append(secret, f.name)
		} else if value, given := fill(f.value, c.args); given && value != nil {
			set(f.name, workflow.FormatText(value))
		}
	}
	if r.HeadersOf == "" {
		return secret, nil
	}
	more, _ := c.args[r.HeadersOf].(map[string]any)
	for name, value := range more {
		if !isHeader(name) {
			return nil, agent.Permanentf("invalid header name %q", shorten(name))
		}
		if !strings.EqualFold(name, "Host") { // it would reach a different site than the permissions allow
			set(name, workflow.FormatText(value))
		}
	}
	return secret, nil
}

// payload returns the body and its content type; nil if there is none.
func (c *call) payload(r *Request) (io.Reader, string) {
	if !r.HasBody {
		return nil, ""
	}
	value, given := fill(r.Body, c.args)
	if !given {
		return nil, ""
	}
	if text, ok := value.(string); ok {
		return strings.NewReader(text), "text/plain; charset=utf-8"
	}
	return bytes.NewReader([]byte(workflow.FormatJSON(value))), "application/json"
}

// redirect follows a few redirects, and does not send secrets to other servers. Package
// net/http does that only for the headers that it knows.
func (c *call) redirect(secret []string) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, before []*http.Request) error {
		if len(before) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if c.allowed != nil && c.allowed.For(agent.MayReach, reached(next)) != agent.Allow {
			return agent.Permanentf("it redirects to %s, which the permissions of the agent do not allow", shorten(next.URL.String()))
		}
		first := before[0].URL
		if next.URL.Scheme != first.Scheme || next.URL.Host != first.Host {
			for _, name := range secret {
				next.Header.Del(name)
			}
			next.Header.Del("Referer") // the query of the first may hold a secret
		}
		return nil
	}
}

// search queries a search engine and returns its results as a JSON list.
func (c *call) search(ctx context.Context, s *Search) (string, error) {
	answer, err := c.request(ctx, &s.Request)
	if err != nil {
		return "", err
	}
	doc, err := workflow.ParseJSON([]byte(answer))
	if err != nil {
		return "", agent.Errorf("the response is not valid JSON: %s", shorten(answer))
	}
	found, err := s.Results.Select(doc)
	if err != nil {
		return "", agent.Errorf("results: %v", err)
	}
	if len(found) == 1 {
		if list, ok := found[0].([]any); ok {
			found = list // the path selects the list itself
		}
	}
	if n := wantedCount(c.args); len(found) > n {
		found = found[:n]
	}
	list := make([]any, len(found))
	for i, item := range found {
		list[i] = map[string]any{"title": first(s.Title, item), "url": first(s.Link, item), "snippet": first(s.Snippet, item)}
	}
	return workflow.FormatJSON(list), nil
}

func wantedCount(args map[string]any) int {
	n := 0
	_, _ = fmt.Sscan(workflow.FormatText(args["count"]), &n) // guaranteed by the schema
	return n
}

// first returns the text of the first match of a path; "" if there is none.
func first(p *jsonpath.Path, v any) string {
	if found, err := p.Select(v); err == nil && len(found) > 0 && found[0] != nil {
		return workflow.FormatText(found[0])
	}
	return ""
}
