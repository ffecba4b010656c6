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

// Relay makes a server usable for a program that connects to servers itself. A server with
// a login becomes an address on this machine, protected by a key, which forwards everything
// to the server with the token, so that the program never sees it; all others stay
// unchanged. done ends it. The error reports a missing login: the program could only ask
// for one in a browser, and nobody may be present.
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

// probeTime limits how long a server may take to say whether it requires a login.
const probeTime = 5 * time.Second

// open reports whether a server accepts requests without a login. Any other problem is
// found by the program that connects to it.
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
		return s.server, func() {}, agent.Errorf("cannot relay MCP server %q: %v", s.server.Name, err)
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
			http.Error(w, "missing or wrong key", http.StatusForbidden) // others on this machine can reach it too
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
		_ = web.Close() // open connections are closed
		<-done
		s.close()
	}, nil
}

// passing forwards requests to the server.
type passing struct{ *site }

func (p passing) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		body, err := io.ReadAll(io.LimitReader(req.Body, largest+1))
		if err != nil {
			return nil, err
		}
		if len(body) > largest {
			return nil, agent.Permanentf("the message exceeds %d MiB", largest>>20)
		}
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody() // it cannot fail
	}
	resp, token, err := p.ask(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized { // the program must not ask for a login
		_ = resp.Body.Close() // the reason is ours
		return nil, p.turnedAway(resp, token)
	}
	return resp, err
}
