package mcp

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
)

// site is a server at an address.
type site struct {
	address *url.URL
	headers map[string]string
	through *http.Transport
}

// dial prepares to talk to the address of a server. Whoever wrote it into the settings
// means it, wherever it is.
func dial(server agent.Server) (*site, error) {
	u, err := url.Parse(server.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, agent.Permanentf("MCP server %q: its address does not begin with http:// or https://", server.Name)
	}
	return &site{u, server.Headers, &http.Transport{Proxy: http.ProxyFromEnvironment}}, nil
}

func (s *site) transport() sdk.Transport {
	return &sdk.StreamableClientTransport{
		Endpoint: s.address.String(), HTTPClient: &http.Client{Transport: s},
		DisableStandaloneSSE: true, // nothing that a server says by itself is waited for
		MaxEventSize:         largest,
	}
}

// RoundTrip adds the headers of the server, which may be secret, to requests that go to
// it and nowhere else.
func (s *site) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == s.address.Host && req.URL.Scheme == s.address.Scheme {
		req = req.Clone(req.Context())
		for name, value := range s.headers {
			req.Header.Set(name, value)
		}
	}
	resp, err := s.through.RoundTrip(req)
	if err == nil && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &limited{resp.Body, largest}
	}
	return resp, err
}

// limited ends the body of an answer that is too long. A stream has a limit for each
// of its messages instead.
type limited struct {
	io.ReadCloser
	left int
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, agent.Permanentf("the answer is over %d MiB", largest>>20)
	}
	n, err := l.ReadCloser.Read(b[:min(len(b), l.left)])
	l.left -= n
	return n, err
}

func (s *site) close() { s.through.CloseIdleConnections() }

func (*site) explain() string { return "" }
