package browser

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/hocket-dev/hocket/internal/outbound"
)

// proxy is the only way for a browser to reach a network. For every connection (of a page,
// a frame, a worker, a socket, a redirect) it resolves the name and applies the policy at
// the point where the connection is made. The browser uses SOCKS.
type proxy struct {
	*outbound.Proxy

	mu      sync.Mutex
	refused error // the last refusal since forget
}

func startProxy(policy outbound.Policy) (*proxy, error) {
	p := &proxy{}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := policy.Dial(ctx, network, address)
		p.note(err)
		return conn, err
	}
	var err error
	p.Proxy, err = outbound.StartProxy(outbound.ProxyOptions{Dial: dial})
	return p, err
}

// address returns the address of the proxy.
func (p *proxy) address() string { return "socks5://" + p.Address().String() }

// why returns the reason for the last refused connection since forget; nil if none was
// refused.
func (p *proxy) why() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

func (p *proxy) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = nil
}

// note records refusals only: the browser itself reports network errors.
func (p *proxy) note(err error) {
	if !errors.Is(err, outbound.ErrRefused) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = err
}
