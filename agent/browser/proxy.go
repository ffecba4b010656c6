package browser

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/hocket-dev/hocket/internal/outbound"
)

// proxy is the only way by which a browser reaches a network. Whatever asks for a
// connection (a page, a frame, a worker, a socket, a redirect), the name is resolved
// and the policy applied there, where the connection is made. The browser speaks SOCKS
// with it.
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

// address is where the browser finds the proxy.
func (p *proxy) address() string { return "socks5://" + p.Address().String() }

// why is the reason for which a connection was refused since forget, nil if none was.
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

// note keeps refusals only: what the network does the browser says itself.
func (p *proxy) note(err error) {
	if !errors.Is(err, outbound.ErrRefused) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = err
}
