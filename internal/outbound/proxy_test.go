package outbound_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hocket-dev/hocket/internal/outbound"
)

func page(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s%s %q %s", r.Method, r.Host, r.URL, r.Header["Proxy-Authorization"], body)
	}))
	t.Cleanup(s.Close)
	return s
}

// only connects to one address and refuses all others.
func only(allowed string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != allowed {
			return nil, &outbound.RefusedError{Host: address, Address: "nowhere"}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
}

func start(t *testing.T, o outbound.ProxyOptions) *outbound.Proxy {
	t.Helper()
	p, err := outbound.StartProxy(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Tests what programs send to a proxy, and how it answers.
func TestProxySpeaks(t *testing.T) {
	there := strings.TrimPrefix(page(t).URL, "http://")
	_, port, _ := net.SplitHostPort(there)
	number := 0
	fmt.Sscan(port, &number)
	ip := "\x7f\x00\x00\x01" + string([]byte{byte(number >> 8), byte(number)})
	login := "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("x:T")) + "\r\n"
	get := "GET /p HTTP/1.1\r\nHost: " + there + "\r\nConnection: close\r\n\r\n"
	for _, c := range []struct {
		token, said, want string
	}{
		{"", "GET http://" + there + "/p HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n", "GET " + there + "/p [] "},
		{"T", "GET http://" + there + "/p HTTP/1.1\r\nHost: other\r\nConnection: close\r\n" + login + "\r\n", "GET " + there + "/p [] "},
		{"", "POST http://" + there + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi", "POST " + there + "/ [] hi"},
		{"", "CONNECT " + there + " HTTP/1.1\r\n\r\n" + get, "GET " + there + "/p [] "},
		{"T", "CONNECT " + there + " HTTP/1.1\r\n" + login + "\r\n" + get, "GET " + there + "/p [] "},
		{"", "\x05\x01\x00\x05\x01\x00\x01" + ip + get, "GET " + there + "/p [] "},
		{"", "\x05\x01\x00\x05\x01\x00\x01" + ip + get, "\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00HTTP/1.1 200 OK"},
		{"", "GET http://elsewhere/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "403 Forbidden"},
		{"", "CONNECT elsewhere:443 HTTP/1.1\r\nConnection: close\r\n\r\n", "elsewhere:443 leads to nowhere, which is not a public address"},
		{"", "\x05\x01\x00\x05\x01\x00\x03\x01a\x00\x01", "\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"},
		{"", "GET http:/p HTTP/1.1\r\nHost: " + there + "\r\nConnection: close\r\n\r\n", "this is a proxy"},
		{"T", "CONNECT " + there + " HTTP/1.1\r\nConnection: close\r\nProxy-Authorization: Bearer " + base64.StdEncoding.EncodeToString([]byte("x:T")) + "\r\n\r\n", "407 Proxy Authentication Required"},
		{"T", "CONNECT " + there + " HTTP/1.1\r\nConnection: close\r\nProxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("T")) + "\r\n\r\n", "Proxy-Authenticate: Basic"},
		{"", "GET / HTTP/1.1\r\nHost: " + there + "\r\nConnection: close\r\n\r\n", "this is a proxy"},
		{"", "GET https://" + there + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "this is a proxy"},
		{"", "\x04\x01\r\n\r\n", "400 Bad Request"},
		{"T", "GET http://" + there + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "407 Proxy Authentication Required"},
		{"T", "CONNECT " + there + " HTTP/1.1\r\nConnection: close\r\nProxy-Authorization: Basic eDp5\r\n\r\n", "407 Proxy Authentication Required"},
		{"T", "\x05\x01\x00\x05\x01\x00\x01" + ip + get, "400 Bad Request"},
	} {
		var open atomic.Int32
		p := start(t, outbound.ProxyOptions{Dial: counted(only(there), &open), Token: c.token})
		conn, err := net.Dial("tcp", p.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, c.said)
		if heard, _ := io.ReadAll(conn); !strings.Contains(string(heard), c.want) {
			t.Errorf("%q\ngot  %q\nwant %q", c.said, heard, c.want)
		}
		conn.Close()
		p.Close()
		if n := open.Load(); n != 0 && !strings.Contains(c.said, " http") { // which the transport closes, later
			t.Errorf("%q: %d connections are open", c.said, n)
		}
	}
}

// counted counts the open connections that a function makes.
func counted(dial func(context.Context, string, string) (net.Conn, error), open *atomic.Int32) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return &countedConn{conn.(*net.TCPConn), sync.OnceFunc(func() { open.Add(-1) })}, nil
	}
}

type countedConn struct {
	*net.TCPConn
	closed func()
}

func (c *countedConn) Close() error {
	c.closed()
	return c.TCPConn.Close()
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Forward handles plain HTTP requests separately from tunnelled connections.
func TestProxyForwards(t *testing.T) {
	forward := roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusTeapot, Body: io.NopCloser(strings.NewReader(r.URL.String()))}, nil
	})
	p := start(t, outbound.ProxyOptions{Dial: only("nothing"), Forward: forward})
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: p.Address().String()}), DisableKeepAlives: true}}
	resp, err := client.Get("http://example.com/a?b")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusTeapot || string(body) != "http://example.com/a?b" {
		t.Errorf("%s: %s", resp.Status, body)
	}
}

// A response is passed on as it arrives.
func TestProxyPassesOnAtOnce(t *testing.T) {
	heard := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2")
		fmt.Fprint(w, "a")
		w.(http.Flusher).Flush()
		<-heard
		fmt.Fprint(w, "b")
	}))
	defer s.Close()
	p := start(t, outbound.ProxyOptions{Dial: only(strings.TrimPrefix(s.URL, "http://"))})
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: p.Address().String()}), DisableKeepAlives: true}}
	resp, err := client.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 1)
	if _, err := io.ReadFull(resp.Body, first); err != nil {
		t.Fatal(err)
	}
	close(heard)
	if rest, err := io.ReadAll(resp.Body); err != nil || string(first)+string(rest) != "ab" {
		t.Errorf("%q %q, %v", first, rest, err)
	}
}

// If a host cannot be reached, the program gets the same error as for a server that is
// down.
func TestProxyCannotReach(t *testing.T) {
	p := start(t, outbound.ProxyOptions{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no way") }})
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: p.Address().String()}), DisableKeepAlives: true}}
	resp, err := client.Get("http://example.com/")
	if err != nil || resp.StatusCode != http.StatusBadGateway {
		t.Fatal(resp, err)
	}
	if body, _ := io.ReadAll(resp.Body); string(body) != "no way\n" {
		t.Errorf("%q", body)
	}
	resp.Body.Close()
	conn, err := net.Dial("tcp", p.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "\x05\x01\x00\x05\x01\x00\x03\x01a\x00\x01")
	if heard, err := io.ReadAll(conn); err != nil || string(heard) != "\x05\x00\x05\x04\x00\x01\x00\x00\x00\x00\x00\x00" {
		t.Errorf("heard %q, %v", heard, err)
	}
	resp, err = client.Get("https://example.com/")
	if err == nil {
		resp.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "Bad Gateway") {
		t.Error(err)
	}
}

// A program that does not finish its request is not connected.
func TestProxyUnderstandsNothing(t *testing.T) {
	p := start(t, outbound.ProxyOptions{Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		t.Errorf("connects to %q", address)
		return nil, errors.New("no way")
	}})
	for _, said := range []string{"\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", "\x05\x01\x00\x05\x01\x00\x09a"} {
		conn, err := net.Dial("tcp", p.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, said)
		conn.(*net.TCPConn).CloseWrite()
		if heard, err := io.ReadAll(conn); err != nil || len(heard) > 2 {
			t.Errorf("heard %q, %v", heard, err)
		}
		conn.Close()
	}
}

// Closing a proxy closes all its connections and leaves nothing behind.
func TestProxyEnds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	before := runtime.NumGoroutine()
	p, err := outbound.StartProxy(outbound.ProxyOptions{Dial: only(silent.Addr().String())})
	if err != nil {
		t.Fatal(err)
	}
	var open []net.Conn
	for _, said := range []string{"", "G", "\x05", "CONNECT " + silent.Addr().String() + " HTTP/1.1\r\n\r\n"} {
		conn, err := net.Dial("tcp", p.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, said)
		open = append(open, conn)
	}
	r := bufio.NewReader(open[len(open)-1])
	if line, err := r.ReadString('\n'); err != nil || line != "HTTP/1.1 200 Connection established\r\n" {
		t.Fatal(line, err)
	}
	p.Close()
	for _, conn := range open {
		if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Error(err)
		}
		conn.Close()
	}
	for i := 0; runtime.NumGoroutine() > before && i < 1e7; i++ {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

// A program that has closed its side still gets the answer, and finished connections make
// room for new ones.
func TestProxyHandsOnTheEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			said, _ := io.ReadAll(conn) // until the program closes its side
			fmt.Fprintf(conn, "heard %s", said)
			conn.Close()
		}
	}()
	p := start(t, outbound.ProxyOptions{Dial: only(l.Addr().String()), Token: "T"})
	if p.Token() != "T" {
		t.Errorf("the token is %q", p.Token())
	}
	login := "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("x:T")) + "\r\n"
	for range 300 { // more than a proxy allows at once
		conn, err := net.Dial("tcp", p.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "CONNECT "+l.Addr().String()+" HTTP/1.1\r\n"+login+"\r\nall of it")
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if heard, err := io.ReadAll(conn); err != nil || string(heard) != "HTTP/1.1 200 Connection established\r\n\r\nheard all of it" {
			t.Fatalf("heard %q, %v", heard, err)
		}
		conn.Close()
	}
}
