package mcp

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
)

// sessionLife is how long a client may say nothing before its session ends.
const sessionLife = time.Hour

// Handler serves clients of a project over HTTP. client returns the name of the token of a request, which has been
// checked before, and its id. A session belongs to the token that began it. The runs are driven by Options.Detach,
// and continue when leave ends the calls.
func Handler(p *hocket.Project, client func(r *http.Request) (name, id string), o Options) (serve http.Handler, leave func()) {
	o.served = true
	ctx, end := context.WithCancel(context.Background())
	var mu sync.Mutex
	servers := map[string]*server{} // by the id of the token
	handler := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		name, id := client(r)
		mu.Lock()
		defer mu.Unlock()
		if servers[id] == nil {
			servers[id] = newServer(ctx, p, o)
			servers[id].token = name
		}
		return servers[id].sdk
	}, &sdk.StreamableHTTPOptions{
		SessionTimeout:             sessionLife,
		DisableLocalhostProtection: true, // the host was checked before, and may be a public one
	})
	// The SDK compares the user of a session with that of a request only if it knows one.
	known := auth.RequireBearerToken(func(_ context.Context, _ string, r *http.Request) (*auth.TokenInfo, error) {
		_, id := client(r)
		return &auth.TokenInfo{UserID: id, Expiration: time.Now().Add(sessionLife)}, nil
	}, nil)
	return known(handler), func() {
		mu.Lock()
		defer mu.Unlock()
		for _, s := range servers {
			s.leave()
		}
		end()
	}
}
