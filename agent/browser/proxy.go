package browser

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/internal/outbound"
)

// proxy is the only way by which a browser reaches a network. Whatever asks for a
// connection (a page, a frame, a worker, a socket, a redirect), the name is resolved
// and the policy applied here, where the connection is made. It speaks SOCKS 5 (RFC
// 1928), which hands names on unresolved.
type proxy struct {
	policy   outbound.Policy
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	served   sync.WaitGroup

	mu      sync.Mutex
	refused error // the last refusal since forget
}

// handshakeTime bounds how long the browser may take to say where to connect.
const handshakeTime = 30 * time.Second

func startProxy(policy outbound.Policy) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{policy: policy, listener: l}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.served.Go(func() { p.serve(conn) })
		}
	})
	return p, nil
}

// address is where the browser finds the proxy.
func (p *proxy) address() string { return "socks5://" + p.listener.Addr().String() }

// close ends all connections and waits for that.
func (p *proxy) close() {
	p.cancel()
	_ = p.listener.Close()
	p.served.Wait()
}

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

func (p *proxy) serve(conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(p.ctx, func() { _ = conn.Close() })
	defer stop()
	_ = conn.SetDeadline(time.Now().Add(handshakeTime))
	host, port, err := readTarget(conn)
	if err != nil {
		return
	}
	_ = conn.SetDeadline(time.Time{})
	far, err := p.policy.Dial(p.ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
	if err != nil {
		p.note(err)
		_, _ = conn.Write(reply(err))
		return
	}
	defer far.Close()
	stopFar := context.AfterFunc(p.ctx, func() { _ = far.Close() })
	defer stopFar()
	if _, err := conn.Write(reply(nil)); err != nil {
		return
	}
	splice(conn, far)
}

// note keeps refusals only: what the network does the browser says itself.
func (p *proxy) note(err error) {
	var refused *outbound.RefusedError
	if !errors.As(err, &refused) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = err
}

// splice copies both ways until both are done.
func splice(a, b net.Conn) {
	var both sync.WaitGroup
	forward := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		if half, ok := to.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
	}
	both.Go(func() { forward(a, b) })
	both.Go(func() { forward(b, a) })
	both.Wait()
}

var errNotSOCKS = errors.New("browser: not a request of SOCKS 5")

// readTarget greets the browser and reads where it wants to go.
func readTarget(conn io.ReadWriter) (host string, port uint16, err error) {
	var head [2]byte // version, number of ways to log in
	if _, err := io.ReadFull(conn, head[:]); err != nil || head[0] != 5 {
		return "", 0, errNotSOCKS
	}
	if _, err := io.ReadFull(conn, make([]byte, head[1])); err != nil {
		return "", 0, errNotSOCKS
	}
	if _, err := conn.Write([]byte{5, 0}); err != nil { // no log-in
		return "", 0, err
	}
	var request [4]byte // version, command, reserved, kind of address
	if _, err := io.ReadFull(conn, request[:]); err != nil || request[0] != 5 || request[1] != 1 {
		return "", 0, errNotSOCKS
	}
	if host, err = readHost(conn, request[3]); err != nil {
		return "", 0, err
	}
	var number [2]byte
	if _, err := io.ReadFull(conn, number[:]); err != nil {
		return "", 0, errNotSOCKS
	}
	return host, binary.BigEndian.Uint16(number[:]), nil
}

func readHost(r io.Reader, kind byte) (string, error) {
	size := map[byte]int{1: 4, 4: 16}[kind]
	if kind == 3 { // a name, after its length
		var length [1]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return "", errNotSOCKS
		}
		size = int(length[0])
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil || size == 0 {
		return "", errNotSOCKS
	}
	if kind == 3 {
		return string(data), nil
	}
	address, _ := netip.AddrFromSlice(data)
	return address.String(), nil
}

// reply says how connecting went.
func reply(err error) []byte {
	var refused *outbound.RefusedError
	code := byte(0)
	switch {
	case errors.As(err, &refused):
		code = 2 // not allowed by the rules
	case err != nil:
		code = 4 // host unreachable
	}
	return []byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0}
}
