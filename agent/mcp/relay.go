package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp/login"
)

// Relay makes a server usable for a program that talks to servers by itself. One that
// somebody has logged in to becomes an address on this machine, for whoever has its key,
// from which everything goes on to the server with the token, which the program never
// sees; all others stay as they are. done ends it. The error says so where a login is
// missing: the program could only ask for one in a browser, and nobody may be there.
func Relay(ctx context.Context, server agent.Server, o Options) (_ agent.Server, done func(), _ error) {
	as := func() {}
	if server.URL == "" || hasKey(server) || o.Logins == nil {
		return server, as, nil
	}
	s, err := dial(server, o.Logins)
	if err != nil {
		return server, as, err
	}
	token, err := s.token(ctx, "")
	switch {
	case err != nil:
		return server, as, err
	case token == "":
		return server, as, s.open(ctx)
	}
	return s.relay(ctx)
}

// probeTime is the longest time in which a server says whether it wants a login.
const probeTime = 5 * time.Second

// open says whether a server lets people in who have not logged in. What else is wrong
// with it is found by whoever talks to it.
func (s *site) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if wants, err := login.WantsLogin(ctx, login.Server{Address: s.server.URL, Headers: s.server.Headers}); err == nil && wants {
		return s.turnedAway(&http.Response{StatusCode: http.StatusUnauthorized, Status: "401 Unauthorized"}, "")
	}
	return nil
}

// relay opens the address on this machine.
func (s *site) relay(ctx context.Context) (agent.Server, func(), error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return s.server, func() {}, agent.Errorf("MCP server %q cannot be passed on: %v", s.server.Name, err)
	}
	key := "Bearer " + rand.Text()
	here := "/" + url.PathEscape(s.server.Name)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			to := *s.address
			r.Out.URL, r.Out.Host = &to, to.Host
			r.Out.Header.Del("Authorization")
			r.Out.Header.Del("Cookie")
		},
		Transport: passing{s}, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	web := &http.Server{ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(key)) != 1:
			http.Error(w, "not for you", http.StatusForbidden) // others on this machine reach it too
		case r.URL.EscapedPath() != here:
			http.NotFound(w, r)
		default:
			proxy.ServeHTTP(w, r)
		}
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = web.Serve(listener) // until it is closed
	}()
	there := agent.Server{Name: s.server.Name, URL: "http://" + listener.Addr().String() + here, Headers: map[string]string{"Authorization": key}}
	return there, func() {
		_ = web.Close() // whoever still talks is cut off
		<-done
		s.close()
	}, nil
}

// passing asks the server for somebody else.
type passing struct{ *site }

func (p passing) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		body, err := io.ReadAll(io.LimitReader(req.Body, largest+1))
		if err != nil {
			return nil, err
		}
		if len(body) > largest {
			return nil, agent.Permanentf("the message is over %d MiB", largest>>20)
		}
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody() // it does not fail
	}
	resp, token, err := p.ask(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized { // nobody there may ask for a login
		_ = resp.Body.Close() // the reason is ours
		return nil, p.turnedAway(resp, token)
	}
	return resp, err
}
