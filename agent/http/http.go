package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/outbound"
	"github.com/hocket-dev/hocket/workflow"
)

const (
	maxRedirects = 5
	maxErrorBody = 500
)

// Options configure how requests are made. The zero value is the default.
type Options struct {
	Transport nethttp.RoundTripper                      // nil: net/http's own
	Getenv    func(name string) (value string, ok bool) // source of secrets; nil: this process's environment
	Network   outbound.Policy                           // what requests to servers that are not named literally may reach in addition to public addresses; ignored with a Transport
}

// HTTP makes requests. It is safe for concurrent use.
type HTTP struct {
	transport nethttp.RoundTripper
	getenv    func(string) (string, bool)
	network   outbound.Policy
	schema    *agent.Schema
}

var _ agent.Executor = (*HTTP)(nil)

// New returns the executor.
func New(o Options) *HTTP {
	h := &HTTP{transport: o.Transport, getenv: o.Getenv, network: o.Network}
	if h.getenv == nil {
		h.getenv = os.LookupEnv
	}
	h.schema = agent.NewSchema(schema())
	return h
}

// Traits describes the executor.
func (h *HTTP) Traits() agent.Traits {
	return agent.Traits{About: "Makes HTTP requests", Settings: h.schema, Exact: exact, Tools: h.tools, Powers: powers, Does: does}
}

// Run makes the request that the settings describe, and reads the response.
func (h *HTTP) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	var set settings
	if err := h.schema.Decode(task.Settings, &set); err != nil {
		return agent.Result{}, err
	}
	patience, err := set.timeout()
	if err != nil {
		return agent.Result{}, err
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	output, err := h.exchange(within, task, &set, log)
	switch {
	case err == nil:
		return agent.Result{Output: output}, nil
	case ctx.Err() != nil:
		return agent.Result{}, agent.Interrupted(ctx)
	case within.Err() != nil:
		return agent.Result{}, &agent.Error{Kind: agent.TimedOut, Message: fmt.Sprintf("no complete response within %s", workflow.FormatDuration(patience))}
	}
	return agent.Result{}, err
}

func (h *HTTP) exchange(ctx context.Context, task *agent.Task, set *settings, log agent.Log) (string, error) {
	req, secret, err := h.request(ctx, task, set)
	if err != nil {
		return "", err
	}
	where := place(req.Method, req.URL)
	policy := h.network.Or(set.Private)
	way := &way{named: named(task.Written), transport: h.transport, policy: policy, outside: outside(policy)}
	defer way.outside.CloseIdleConnections()
	client := nethttp.Client{Transport: way, CheckRedirect: redirect(secret)}
	if set.Expect.redirects() {
		client.CheckRedirect = func(*nethttp.Request, []*nethttp.Request) error { return nethttp.ErrUseLastResponse }
	}
	resp, err := client.Do(req)
	if err != nil {
		var withURL *url.Error // its text contains the whole url with the query
		if errors.As(err, &withURL) {
			err = withURL.Err
		}
		if errors.Is(err, outbound.ErrRefused) {
			return "", agent.Permanentf("%s: %v; name the server literally in url, or allow it with private_network", where, err)
		}
		return "", agent.Errorf("%s: %v", where, err)
	}
	defer resp.Body.Close()
	log([]byte(where + ": " + resp.Status + "\n"))
	if !set.Expect.match(resp.StatusCode) {
		return "", unexpected(where, resp, time.Now())
	}
	return read(where, resp.Body, int64(task.Agent.OutputLimit(set.MaxOutputKB, defaultOutputKB)))
}

// way decides how requests reach servers. A server that the author of the workflow has
// named may be anywhere. One that a value or a redirect names must be public or allowed.
type way struct {
	named     string // "host:port"; "": none is named
	transport nethttp.RoundTripper
	policy    outbound.Policy
	outside   *nethttp.Transport
}

// RoundTrip makes one request.
func (w *way) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	switch {
	case w.transport != nil:
		return w.transport.RoundTrip(r)
	case hostPort(r.URL) == w.named:
		return nethttp.DefaultTransport.RoundTrip(r)
	}
	if proxy, err := nethttp.ProxyFromEnvironment(r); err != nil || proxy != nil {
		if err := w.policy.Permit(r.Context(), r.URL.Hostname(), r.URL.Port()); err != nil {
			return nil, err
		}
		return nethttp.DefaultTransport.RoundTrip(r)
	}
	return w.outside.RoundTrip(r)
}

// outside reaches public servers, and others that are allowed.
func outside(policy outbound.Policy) *nethttp.Transport {
	return &nethttp.Transport{DialContext: policy.Dial, ForceAttemptHTTP2: true, TLSHandshakeTimeout: defaultTimeout}
}

// named returns the server that the settings name; "" if it depends on a reference.
func named(written map[string]any) string {
	text, _ := written["url"].(string)
	u, err := url.Parse(server(text))
	if err != nil || strings.Contains(u.Host, "$") {
		return ""
	}
	return hostPort(u)
}

// hostPort returns the server of a URL in canonical form. The default ports of http and
// https count as the same: many servers redirect from one to the other.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		port = ""
	}
	return strings.ToLower(net.JoinHostPort(u.Hostname(), port))
}

// request returns the request to send, and which of its headers are secret.
func (h *HTTP) request(ctx context.Context, task *agent.Task, set *settings) (*nethttp.Request, []string, error) {
	u, err := set.address()
	if err != nil {
		return nil, nil, err
	}
	getenv := h.getenv
	if task.Untrusted { // sending a variable has not been approved
		getenv = func(name string) (string, bool) { return "", false }
	}
	headers, secret, err := set.headers(getenv)
	if err != nil {
		return nil, nil, err
	}
	body, contentType := set.payload()
	req, err := nethttp.NewRequestWithContext(ctx, set.method(), u.String(), body)
	if err != nil {
		return nil, nil, agent.Permanentf("invalid url %q", set.URL)
	}
	req.Header.Set("User-Agent", "hocket")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if task.Key != "" && (req.Method == nethttp.MethodPost || req.Method == nethttp.MethodPatch) {
		req.Header.Set("Idempotency-Key", strconv.QuoteToASCII(task.Key))
	}
	for name, value := range headers {
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	return req, secret, nil
}

// redirect follows a few redirects, and does not send secrets to other servers. Package
// net/http does that only for the headers that it knows.
func redirect(secret []string) func(*nethttp.Request, []*nethttp.Request) error {
	return func(next *nethttp.Request, before []*nethttp.Request) error {
		if len(before) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		first := before[0].URL
		if next.URL.Scheme != first.Scheme || next.URL.Host != first.Host {
			for _, name := range secret {
				next.Header.Del(name)
			}
		}
		return nil
	}
}

// read returns the body as text.
func read(where string, body io.Reader, limit int64) (string, error) {
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return "", agent.Errorf("%s: the response is incomplete: %v", where, err)
	}
	if int64(len(data)) > limit {
		return "", agent.Permanentf("%s: the response exceeds %d KiB; raise max_output_kb", where, limit>>10)
	}
	if at := agent.NotText(data); at > 0 {
		return "", agent.Permanentf("%s: the response is not UTF-8 text at byte %d; use a shell step to write it to a file, for example with curl -o", where, at)
	}
	return string(data), nil
}
