package mcp

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
)

// progress tells those who watch a call how far it is. The zero value watches none.
type progress struct {
	mu    sync.Mutex
	calls map[string]*watched // by the token that the server was given
}

type watched struct {
	tool string
	log  agent.Log
	last time.Time // when something was told
}

// seldom is how often something is told at most: a server may say it at every step.
const seldom = time.Second

// watch gives a token for a call, and what ends the watching.
func (p *progress) watch(tool string, log agent.Log) (token string, end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		p.calls = map[string]*watched{}
	}
	token = rand.Text()
	p.calls[token] = &watched{tool: tool, log: log}
	return token, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.calls, token)
	}
}

// notify takes what a server says. It holds the lock while it tells, so that nothing is
// told of a call that has ended.
func (p *progress) notify(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string)
	p.mu.Lock()
	defer p.mu.Unlock()
	call, ok := p.calls[token]
	if !ok || call.log == nil || time.Since(call.last) < seldom {
		return
	}
	call.last = time.Now()
	far := fmt.Sprintf("%g", req.Params.Progress)
	if req.Params.Total > 0 {
		far += fmt.Sprintf(" of %g", req.Params.Total)
	}
	if said := shown(req.Params.Message); said != "" {
		far += ": " + said
	}
	call.log(fmt.Appendf(nil, "[%s: %s]\n", call.tool, far))
}
