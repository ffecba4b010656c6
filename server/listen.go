package server

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"
)

// limited returns a listener that has at most some connections open. Further ones get a short answer
// and are closed, so that a client that opens too many learns why. A client that does not read loses its connection.
func limited(l net.Listener, most int64) net.Listener {
	return &limitedListener{Listener: l, most: most}
}

type limitedListener struct {
	net.Listener
	most int64
	open atomic.Int64
}

const tooMany = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 21\r\n\r\ntoo many connections\n"

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.most {
			return &countedConn{Conn: c, open: &l.open}, nil
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
	return tls.NewListener(limited(l, maxConnections), &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return load() },
	}), nil
}
