package mcptest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Site is an MCP server that accepts only tokens of its authority.
type Site struct {
	Address   string
	Authority *Authority

	Says      func(meta map[string]any) // changes its metadata; may be set
	Metadata  string                    // where its challenge says that the metadata is; "": in the usual place, "-": not given
	Stateless bool                      // it keeps no sessions
	Tokens    atomic.Int64              // number of requests with a token
}

// Start starts a server and its authority for a test.
func Start(t testing.TB, server *sdk.Server) *Site {
	s := &Site{Authority: StartAuthority(t)}
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	s.Address = web.URL + "/mcp"
	known := "/.well-known/oauth-protected-resource/mcp"
	choose := func(*http.Request) *sdk.Server { return server }
	handlers := map[bool]http.Handler{
		false: sdk.NewStreamableHTTPHandler(choose, nil),
		true:  sdk.NewStreamableHTTPHandler(choose, &sdk.StreamableHTTPOptions{Stateless: true}),
	}
	good := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		s.Tokens.Add(1)
		if !s.Authority.Good(token, s.Address) {
			return nil, fmt.Errorf("%w: not from here", auth.ErrInvalidToken)
		}
		return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		place := s.Metadata
		switch place {
		case "":
			place = web.URL + known
		case "-":
			place = ""
		}
		auth.RequireBearerToken(good, &auth.RequireBearerTokenOptions{ResourceMetadataURL: place})(handlers[s.Stateless]).ServeHTTP(w, r)
	})
	mux.HandleFunc(known, func(w http.ResponseWriter, _ *http.Request) {
		meta := map[string]any{"resource": s.Address, "authorization_servers": []string{s.Authority.URL}, "scopes_supported": []string{"tools"}}
		if s.Says != nil {
			s.Says(meta)
		}
		answer(w, http.StatusOK, meta)
	})
	return s
}

// Visit does what a browser does with a URL: it follows redirects, and returns the last
// page.
func Visit(address string) (page string, err error) {
	resp, err := http.Get(address) //nolint:gosec,noctx // an address of the test
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
