package temporal_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy passes connections on, until it is cut.
type proxy struct {
	address string
	to      string

	mu    sync.Mutex
	isCut bool
	open  map[net.Conn]bool
}

func startProxy(t testing.TB, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String(), to: to, open: map[net.Conn]bool{}}
	t.Cleanup(func() {
		l.Close()
		p.cut()
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.pass(c)
		}
	}()
	return p
}

func (p *proxy) pass(client net.Conn) {
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		client.Close()
		return
	}
	p.mu.Lock()
	if p.isCut {
		client.Close()
		server.Close()
	}
	p.open[client], p.open[server] = true, true
	p.mu.Unlock()
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
		both.Go(func() {
			io.Copy(to, from)
			client.Close()
			server.Close()
		})
	}
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, client)
	delete(p.open, server)
}

// cut ends all connections, and those that are made until join.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = true
	for c := range p.open {
		c.Close()
	}
}

func (p *proxy) join() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = false
}
