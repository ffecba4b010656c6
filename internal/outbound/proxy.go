package outbound

import (
	"bufio"
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Proxy is the only way for a program to reach a network. For every connection, the name is
// resolved and the rules are applied here, where the connection is made.
//
// It supports SOCKS 5 (RFC 1928) without authentication, which passes names unresolved, and
// HTTP (RFC 9110): CONNECT, and requests with an absolute URL.
type Proxy struct {
	options  ProxyOptions
	listener net.Listener
	server   *http.Server
	forward  *httputil.ReverseProxy
	queue    chan net.Conn // those that use HTTP
	slots    chan struct{} // one for every connection
	ctx      context.Context
	cancel   context.CancelFunc

	mu     sync.Mutex // guards ended
	ended  bool
	served sync.WaitGroup
}

// ProxyOptions configure a proxy.
type ProxyOptions struct {
	// Dial makes every connection but those of Forward. An error that is [ErrRefused] means
	// that the rules forbid it.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Forward makes plain HTTP requests; nil means through connections of Dial.
	Forward http.RoundTripper
	// Token is the token that a program must send. If it is "", none is needed and SOCKS is
	// supported too.
	Token string
}

// ErrRefused is matched by every error that reports a forbidden address.
var ErrRefused = errors.New("outbound: refused")

// handshakeTime limits how long a program may take to say where to connect.
const handshakeTime = 30 * time.Second

// mostConnections is how many connections a proxy has at once, so that no program can
// exhaust the process's file descriptors. Others wait.
const mostConnections = 256

// StartProxy starts a proxy on this machine. The caller must close it.
func StartProxy(o ProxyOptions) (*Proxy, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if o.Forward == nil {
		o.Forward = &http.Transport{DialContext: o.Dial, DisableKeepAlives: true, DisableCompression: true}
	}
	p := &Proxy{options: o, listener: l, queue: make(chan net.Conn), slots: make(chan struct{}, mostConnections)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	silent := log.New(io.Discard, "", 0)
	p.forward = &httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}, Transport: o.Forward, FlushInterval: -1, ErrorLog: silent, ErrorHandler: p.failed}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: handshakeTime, ErrorLog: silent, BaseContext: func(net.Listener) context.Context { return p.ctx }}
	p.served.Go(p.accept)
	p.served.Go(func() { _ = p.server.Serve(spoken{p}) }) // until it is closed
	return p, nil
}

// Address returns the address of the proxy.
func (p *Proxy) Address() netip.AddrPort {
	return p.listener.Addr().(*net.TCPAddr).AddrPort()
}

// Token returns the token that a program must send.
func (p *Proxy) Token() string { return p.options.Token }

// Close closes all connections and waits for that.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.cancel()
	_ = p.listener.Close()
	_ = p.server.Close()
	p.served.Wait()
}

// begin reports whether work may still begin, which Close then waits for.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.served.Add(1)
	}
	return !p.ended
}

func (p *Proxy) accept() {
	for {
		select {
		case p.slots <- struct{}{}:
		case <-p.ctx.Done():
			return
		}
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.served.Go(func() { p.hear(conn) })
	}
}

// hear detects which protocol a program uses.
func (p *Proxy) hear(conn net.Conn) {
	h := &heard{Conn: conn, r: bufio.NewReader(conn)}
	stop := context.AfterFunc(p.ctx, func() { _ = conn.Close() })
	h.end = sync.OnceFunc(func() { stop(); <-p.slots })
	_ = conn.SetReadDeadline(time.Now().Add(handshakeTime))
	first, err := h.r.Peek(1)
	if err == nil && (first[0] != socksVersion || p.options.Token != "") {
		select {
		case p.queue <- h: // the server has its own limits, and closes it
			return
		case <-p.ctx.Done():
		}
	} else if err == nil {
		p.socks(h)
	}
	_ = h.Close()
}

// heard is a connection from which some bytes have already been read. It ends with its proxy.
type heard struct {
	net.Conn
	r   *bufio.Reader
	end func()
}

func (h *heard) Read(b []byte) (int, error) { return h.r.Read(b) }

// Close closes it.
func (h *heard) Close() error {
	defer h.end()
	return h.Conn.Close()
}

// CloseWrite tells the other side that nothing more follows.
func (h *heard) CloseWrite() error {
	if half, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// spoken are the connections that use HTTP.
type spoken struct{ *Proxy }

func (s spoken) Accept() (net.Conn, error) {
	select {
	case conn := <-s.queue:
		return conn, nil
	case <-s.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (s spoken) Close() error   { return nil }
func (s spoken) Addr() net.Addr { return s.listener.Addr() }

// ServeHTTP serves one request, which may be for a connection.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.begin() {
		return
	}
	defer p.served.Done()
	switch {
	case !p.known(r):
		w.Header().Set("Proxy-Authenticate", `Basic realm="hocket"`)
		http.Error(w, "this proxy belongs to another program", http.StatusProxyAuthRequired)
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.Scheme != "http" || r.URL.Host == "":
		http.Error(w, "this is a proxy: request an absolute URL that begins with http://, or use CONNECT", http.StatusBadRequest)
	default:
		p.forward.ServeHTTP(w, r)
	}
}

// known reports whether a program has the token.
func (p *Proxy) known(r *http.Request) bool {
	if p.options.Token == "" {
		return true
	}
	kind, given, _ := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
	pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(given))
	_, password, _ := strings.Cut(string(pair), ":")
	return err == nil && strings.EqualFold(kind, "Basic") && subtle.ConstantTimeCompare([]byte(password), []byte(p.options.Token)) == 1
}

func (p *Proxy) failed(w http.ResponseWriter, _ *http.Request, err error) {
	status := http.StatusBadGateway
	if errors.Is(err, ErrRefused) {
		status = http.StatusForbidden
	}
	http.Error(w, err.Error(), status)
}

func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	far, err := p.options.Dial(p.ctx, "tcp", r.Host)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	defer far.Close()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		p.failed(w, r, err)
		return
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err == nil {
		p.splice(&heard{Conn: conn, r: buffered.Reader, end: func() {}}, far)
	}
}

// splice copies in both directions until both are done, or until the proxy ends, which
// closes a.
func (p *Proxy) splice(a, b net.Conn) {
	stop := context.AfterFunc(p.ctx, func() { _ = b.Close() })
	defer stop()
	var both sync.WaitGroup
	forward := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	both.Go(func() { forward(a, b) })
	both.Go(func() { forward(b, a) })
	both.Wait()
}
