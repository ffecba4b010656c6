package server

import (
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Listen listens on an address. A browser takes a name that ends in localhost for both addresses of this machine, of IPv4
// and of IPv6. So a server with such a name listens on both: otherwise, another program could get the sessions there.
func Listen(address string, tls bool, public *url.URL) ([]net.Listener, error) {
	for again := 10; ; again-- {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, err
		}
		tcp := l.Addr().(*net.TCPAddr)
		named := public != nil && isLocalhost(tcp.IP) && (public.Hostname() == "localhost" || strings.HasSuffix(public.Hostname(), ".localhost"))
		if !named && !hasOwnName(tcp, tls, public) {
			return []net.Listener{l}, nil
		}
		other := net.IPv6loopback
		if tcp.IP.To4() == nil {
			other = localhost4
		}
		twin, err := net.ListenTCP("tcp", &net.TCPAddr{IP: other, Port: tcp.Port})
		switch {
		case err == nil:
			return []net.Listener{l, twin}, nil
		case !errors.Is(err, syscall.EADDRINUSE): // this machine has no such address
			return []net.Listener{l}, nil
		}
		_ = l.Close()
		if _, port, _ := net.SplitHostPort(address); port != "0" || again == 0 {
			return nil, err
		}
	}
}

var localhost4 = net.IPv4(127, 0, 0, 1)

// isLocalhost reports whether names that end in localhost mean an address.
func isLocalhost(ip net.IP) bool { return ip.Equal(localhost4) || ip.Equal(net.IPv6loopback) }

// limited returns a listener that has at most some connections open. Further ones get a short answer
// and are closed, so that a client that opens too many learns why. A client that does not read loses its connection.
// Listeners may share the count.
func limited(l net.Listener, most int64, open *atomic.Int64) net.Listener {
	return &limitedListener{l, most, open}
}

type limitedListener struct {
	net.Listener
	most int64
	open *atomic.Int64
}

const tooMany = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 21\r\n\r\ntoo many connections\n"

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.most {
			return &countedConn{Conn: c, open: l.open}, nil
		}
		l.open.Add(-1)
		_ = c.SetDeadline(time.Now().Add(time.Second))
		_, _ = c.Write([]byte(tooMany)) // it fits into the buffer of the connection
		_ = c.Close()
	}
}

type countedConn struct {
	net.Conn
	open   *atomic.Int64
	closed atomic.Bool
}

// Write gives each piece its own time, so that a slow client gets all of a long response, and one that has
// stopped reading does not keep it in memory.
func (c *countedConn) Write(data []byte) (n int, err error) {
	for err == nil && n < len(data) {
		if err = c.SetWriteDeadline(time.Now().Add(writeTimeout)); err == nil {
			var wrote int
			wrote, err = c.Conn.Write(data[n:min(n+writePiece, len(data))])
			n += wrote
		}
	}
	return n, err
}

func (c *countedConn) Close() error {
	if !c.closed.Swap(true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// TLS returns a listener that encrypts with a certificate and its key, which are read again when a
// client connects, so that a renewed certificate is used at once.
func TLS(l net.Listener, cert, key string) (net.Listener, error) {
	load := func() (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(cert, key)
		return &c, err
	}
	if _, err := load(); err != nil {
		return nil, err
	}
	return tls.NewListener(limited(l, maxConnections, new(atomic.Int64)), &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return load() },
	}), nil
}
