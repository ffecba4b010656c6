package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp/login"
)

// site is a server at an address.
type site struct {
	server  agent.Server
	address *url.URL
	logins  *login.Store // nil: the server has its own key, or there are no logins
	through *http.Transport
}

// dial prepares the connection to the address of a server. It may be any address, because a
// person configured it.
func dial(server agent.Server, logins *login.Store) (*site, error) {
	u, err := url.Parse(server.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, agent.Permanentf("MCP server %q: its url must begin with http:// or https://", server.Name)
	}
	if hasKey(server) {
		logins = nil
	}
	return &site{server, u, logins, &http.Transport{Proxy: http.ProxyFromEnvironment}}, nil
}

// hasKey reports whether the settings of a server contain credentials.
func hasKey(server agent.Server) bool {
	for name := range server.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

func (s *site) transport(w way) sdk.Transport {
	client := &http.Client{Transport: s, CheckRedirect: s.redirect}
	if w == byEvents {
		return &sdk.SSEClientTransport{Endpoint: s.address.String(), HTTPClient: client, MaxEventSize: largest}
	}
	return &sdk.StreamableClientTransport{
		Endpoint: s.address.String(), HTTPClient: client,
		DisableStandaloneSSE: true, // do not wait for messages that the server initiates
		MaxEventSize:         largest,
	}
}

// redirect follows a server that only adds or removes a trailing slash. Nothing is sent to
// another place.
func (s *site) redirect(next *http.Request, via []*http.Request) error {
	if s.own(next.URL) && strings.TrimRight(next.URL.Path, "/") == strings.TrimRight(s.address.Path, "/") && next.Method == via[0].Method && len(via) == 1 {
		return nil
	}
	return agent.Permanentf("MCP server %q redirects to %s; if that is correct, set it as its url in config.yml", s.server.Name, shown(next.URL.Redacted()))
}

// own reports whether a URL belongs to this server.
func (s *site) own(u *url.URL) bool {
	return u.Host == s.address.Host && u.Scheme == s.address.Scheme
}

// RoundTrip makes a request of the library. A response that does not follow the protocol is
// an error.
func (s *site) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, token, err := s.ask(req)
	if err != nil {
		return nil, err
	}
	return s.judge(req, resp, token)
}

// ask makes a request to this server, and to no other, with the secret credentials. A
// rejected token is renewed once.
func (s *site) ask(req *http.Request) (_ *http.Response, token string, _ error) {
	if !s.own(req.URL) {
		return nil, "", agent.Permanentf("MCP server %q asks to send messages to %s, which is another server", s.server.Name, shown(req.URL.Redacted()))
	}
	token, err := s.token(req.Context(), "")
	if err != nil {
		return nil, "", err
	}
	resp, err := s.send(req, token)
	if err != nil || token == "" || resp.StatusCode != http.StatusUnauthorized || req.Body != nil && req.GetBody == nil {
		return resp, token, err
	}
	_ = resp.Body.Close() // the body is sent again
	if token, err = s.token(req.Context(), token); err != nil {
		return nil, "", err
	}
	resp, err = s.send(req, token)
	return resp, token, err
}

// token returns that of a login, other than a rejected one; "" if nobody has logged in.
func (s *site) token(ctx context.Context, refused string) (token string, err error) {
	if s.logins == nil {
		return "", nil
	}
	if refused == "" {
		token, err = s.logins.Token(ctx, s.server.URL)
	} else {
		token, err = s.logins.Renew(ctx, s.server.URL, refused)
	}
	var ended *login.EndedError
	switch {
	case err == nil:
		return token, nil
	case errors.As(err, &ended):
		return "", agent.Permanentf("the login at MCP server %q has ended (%s); log in again with `hocket mcp login %s`", s.server.Name, ended.Reason, s.server.Name)
	}
	return "", agent.Errorf("MCP server %q: %v", s.server.Name, err)
}

// send makes one request with all credentials.
func (s *site) send(req *http.Request, token string) (*http.Response, error) {
	next := req.Clone(req.Context())
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		next.Body = body
	}
	for name, value := range s.server.Headers {
		next.Header.Set(name, value)
	}
	if token != "" {
		next.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.through.RoundTrip(next)
	if err == nil && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &limited{resp.Body, largest}
	}
	return resp, err
}

// limited ends the body of a response that is too long. A stream has a limit for each of
// its messages instead.
type limited struct {
	io.ReadCloser
	left int
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, agent.Permanentf("the response exceeds %d MiB", largest>>20)
	}
	n, err := l.ReadCloser.Read(b[:min(len(b), l.left)])
	l.left -= n
	return n, err
}

func (s *site) close() { s.through.CloseIdleConnections() }

func (*site) gone() bool { return false }

func (*site) said() string { return "" }

// statusError is a response that is not a message.
type statusError struct {
	code   int
	status string
	page   bool   // it is a web page
	text   string // that it holds
}

func (e *statusError) Error() string { return e.status }

// session is the header that names a session.
const session = "Mcp-Session-Id"

// judge passes on what the library can handle: messages, and that a session no longer
// exists.
func (s *site) judge(req *http.Request, resp *http.Response, token string) (*http.Response, error) {
	page := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html")
	if resp.StatusCode < 300 && !(page && req.Method == http.MethodPost) || resp.StatusCode/100 == 3 || req.Method == http.MethodDelete {
		return resp, nil
	}
	const most = 64 << 10 // of the body of an error
	body, _ := io.ReadAll(io.LimitReader(resp.Body, most))
	_ = resp.Body.Close() // there is nothing more to learn from it
	resp.Body = io.NopCloser(bytes.NewReader(body))
	message, _ := jsonrpc.DecodeMessage(body)
	answer, isMessage := message.(*jsonrpc.Response)
	began := req.Header.Get(session) != ""
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, s.turnedAway(resp, token)
	case resp.StatusCode == http.StatusNotFound && began:
		return resp, nil
	case resp.StatusCode == http.StatusBadRequest && began && strings.Contains(strings.ToLower(string(body)), "session"):
		resp.StatusCode = http.StatusNotFound // which is what the protocol specifies
		resp.Body = http.NoBody
		return resp, nil
	case isMessage && answer.Error != nil && resp.StatusCode < 500:
		return resp, nil
	}
	return nil, &statusError{resp.StatusCode, shown(resp.Status), page, shown(string(body))}
}

// turnedAway explains why a server denies access, and what to do.
func (s *site) turnedAway(resp *http.Response, token string) error {
	name := s.server.Name
	challenges, _ := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate")) // it may be missing
	for _, c := range challenges {
		if scope := c.Params["scope"]; c.Params["error"] == "insufficient_scope" && token != "" {
			return agent.Permanentf("the login at MCP server %q does not allow this; set the required scopes (%s) as `login: {scopes: […]}` in config.yml, and log in again with `hocket mcp login %s`", name, shown(scope), name)
		}
	}
	switch {
	case hasKey(s.server):
		return agent.Permanentf("MCP server %q rejected the Authorization header of config.yml (%s); check that the key is correct and has not expired", name, shown(resp.Status))
	case token != "":
		return agent.Permanentf("MCP server %q rejected the login (%s); log in again with `hocket mcp login %s`, or ask its operator", name, shown(resp.Status), name)
	case resp.StatusCode == http.StatusUnauthorized && len(s.server.Headers) > 0:
		return agent.Permanentf("MCP server %q requires authentication, and the headers of config.yml do not provide it (%s); fix them, or log in with `hocket mcp login %s`", name, shown(resp.Status), name)
	case resp.StatusCode == http.StatusUnauthorized:
		return agent.Permanentf("MCP server %q requires a login; log in with `hocket mcp login %s`, or set a key under headers in config.yml", name, name)
	}
	return agent.Permanentf("MCP server %q denied access (%s); ask its operator", name, shown(resp.Status))
}

// trouble explains a response, or a missing one.
func (s *site) trouble(err error, begun bool) *agent.Error {
	name, at := s.server.Name, s.address.Redacted()
	var status *statusError
	var unknown *net.DNSError
	var failed *url.Error
	switch {
	case errors.As(err, &status):
		return s.unexpected(status)
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return agent.Errorf("cannot reach MCP server %q: unknown host %s; check its url", name, s.address.Hostname())
	case errors.Is(err, syscall.ECONNREFUSED):
		return agent.Errorf("cannot reach MCP server %q: nothing responds at %s; is it running?", name, s.address.Host)
	case errors.As(err, &failed):
		return agent.Errorf("cannot reach MCP server %q at %s: %s", name, at, shown(login.Cause(err).Error()))
	case strings.Contains(err.Error(), "unsupported content type"), strings.Contains(err.Error(), "failed to decode"):
		return agent.Permanentf("MCP server %q: the server at %s does not support MCP; check the url, which often ends in /mcp", name, at)
	case errors.Is(err, sdk.ErrConnectionClosed), strings.Contains(err.Error(), "terminated without response"):
		return agent.Errorf("MCP server %q closed the connection without a response; it may have been restarted", name)
	}
	return nil
}

// unexpected explains a status.
func (s *site) unexpected(e *statusError) *agent.Error {
	name, at := s.server.Name, s.address.Redacted()
	said := ""
	if e.text != "" && !e.page {
		said = "; it said: " + e.text
	}
	switch {
	case e.code == http.StatusNotFound:
		return agent.Permanentf("MCP server %q: there is nothing at %s (%s); check the url, which often ends in /mcp", name, at, e.status)
	case e.code == http.StatusMethodNotAllowed:
		return agent.Permanentf("MCP server %q: the server at %s does not accept messages (%s); check the url, which often ends in /mcp", name, at, e.status)
	case e.page && e.code < 300:
		return agent.Permanentf("MCP server %q: %s is a web page and does not support MCP; check the url, which often ends in /mcp", name, at)
	case e.code == http.StatusTooManyRequests || e.code >= 500:
		return agent.Errorf("MCP server %q failed (%s)%s", name, e.status, said)
	}
	return agent.Permanentf("MCP server %q does not accept messages (%s)%s", name, e.status, said)
}
