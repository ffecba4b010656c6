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

// progress reports the progress of calls. The zero value reports none.
type progress struct {
	mu    sync.Mutex
	calls map[string]*watched // by the token that was sent to the server
}

type watched struct {
	tool string
	log  agent.Log
	last time.Time // when progress was last reported
}

// seldom is the minimum interval between reports: a server may send progress at every step.
const seldom = time.Second

// watch returns a token for a call, and a function that stops watching.
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

// notify handles a progress message. It holds the lock while it reports, so that nothing is
// reported for a call that has ended.
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
