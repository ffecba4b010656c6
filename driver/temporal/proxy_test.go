package temporal_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy passes connections on, until it is cut or mute.
type proxy struct {
	address string
	to      string

	mu           sync.Mutex
	isCut, muted bool
	open         map[*link]bool
}

// link is a connection to the proxy, and its own one to where it leads. A mute one stays open, but neither bytes nor its end pass, ever again.
type link struct {
	client, server net.Conn
	mute           atomic.Bool
}

func startProxy(t testing.TB, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String(), to: to, open: map[*link]bool{}}
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
	l := &link{client: client, server: server}
	p.mu.Lock()
	if p.isCut {
		l.close()
	}
	l.mute.Store(p.muted)
	p.open[l] = true
	p.mu.Unlock()
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
		both.Go(func() {
			io.Copy(sink{to, &l.mute}, from)
			from.Close()
			if !l.mute.Load() {
				to.Close()
			}
		})
	}
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, l)
}

func (l *link) close() {
	l.client.Close()
	l.server.Close()
}

// sink loses what is written to a mute connection.
type sink struct {
	io.Writer
	mute *atomic.Bool
}

func (s sink) Write(b []byte) (int, error) {
	if s.mute.Load() {
		return len(b), nil
	}
	return s.Writer.Write(b)
}

// cut ends all connections, and those that are made until join.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = true
	for l := range p.open {
		l.close()
	}
}

// silence makes all connections mute, and those that are made until join: as with a firewall that has forgotten them, or a machine
// without power, neither side is told.
func (p *proxy) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.muted = true
	for l := range p.open {
		l.mute.Store(true)
	}
}

// join lets new connections pass.
func (p *proxy) join() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut, p.muted = false, false
}
