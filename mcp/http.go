package mcp

import (
	"context"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
)

// sessionLife is how long a client may say nothing before its session ends.
const sessionLife = time.Hour

// Handler serves clients over HTTP, each caller with a server of its own, until ctx is done. project returns
// the project of a request, for its caller, whose name is who; the caller has been identified before. close
// waits for what is left.
func Handler(ctx context.Context, project func(r *http.Request) (p *hocket.Project, who string), o Options) (handler http.Handler, close func()) {
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	var mu sync.Mutex
	servers := map[string]*server{}
	handler = sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		p, who := project(r)
		if p == nil {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		s := servers[who]
		if s == nil {
			s = newServer(work, p, o)
			s.token = who
			servers[who] = s
		}
		return s.sdk
	}, &sdk.StreamableHTTPOptions{
		SessionTimeout:             sessionLife,
		DisableLocalhostProtection: true, // the caller checks the host, which may be a public one
	})
	return handler, func() {
		mu.Lock()
		defer mu.Unlock()
		for _, s := range servers {
			s.leave()
		}
		end()
		for _, s := range servers {
			s.driving.Wait()
		}
	}
}
