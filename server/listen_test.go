package server

import (
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// A client that reads nothing does not keep a response for ever. A slow one gets all of it.
func TestSlowReaders(t *testing.T) {
	before := writeTimeout
	writeTimeout = 500 * time.Millisecond
	t.Cleanup(func() { writeTimeout = before })
	const size = 32 << 20 // more than a system buffers
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error, 2)
	h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(make([]byte, size))
		wrote <- err
	})}
	go func() { _ = h.Serve(limited(l, 10, new(atomic.Int64))) }()
	t.Cleanup(func() { _ = h.Close() })

	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-wrote:
		if err == nil {
			t.Error("the system has buffered everything")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the response is still there")
	}

	res, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for n := 0; n < size; {
		part, err := io.CopyN(io.Discard, res.Body, size/16)
		if n += int(part); err != nil {
			t.Fatalf("a slow client got %d bytes: %v", n, err)
		}
		time.Sleep(100 * time.Millisecond) // of more than writeTimeout in all
	}
}
