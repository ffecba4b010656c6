package server

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A browser sends a cookie to every port of a host. So the pages have a host of their own, which nobody learns who
// has no session, and a session counts only there.
func TestThePagesHaveTheirOwnHost(t *testing.T) {
	f := newFixture(t, nil)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(f.base, "http://"))
	host := f.s.place.page[0]
	if name, ok := strings.CutSuffix(host, ":"+port); !ok || !ownHost.MatchString(name) {
		t.Fatalf("the host is %s", host)
	}
	if info, err := os.Stat(f.access.hostFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the host: %v, %v", info, err)
	}
	link := f.link("")
	for _, other := range []string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port} {
		if f.want(http.StatusForbidden, "GET", link, nil, "Host", other, "Authorization", ""); t.Failed() {
			return
		}
	}
	c, _ := f.enterWith(link)
	if c == nil {
		t.Fatal("the link was used up at the wrong host")
	}
	cookie := c.Name + "=" + c.Value
	as := []string{"Authorization", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin"}
	f.want(http.StatusOK, "GET", "/api/projects", nil, as...)
	f.want(http.StatusUnauthorized, "POST", f.path("/runs"), map[string]any{"workflow": "hello"}, append(as, "Host", "127.0.0.1:"+port)...)
	for _, other := range []string{"127.0.0.1:" + port, "localhost:" + port, "evil.example"} {
		for _, path := range []string{"/", "/api/", "/api/projects", "/api/openapi.json", "/healthz", "/metrics", link, "/enter?key=x", "/projects/x", "/hooks/x/y", "/mcp/x"} {
			for _, header := range [][]string{{"Cookie", cookie}, {"Cookie", ""}, {"Origin", f.base, "Cookie", ""}, {"Accept", "text/html", "Cookie", ""}} {
				res := f.request("GET", path, nil, append(header, "Host", other, "Authorization", "")...)
				text, err := io.ReadAll(res.Body)
				if err != nil {
					t.Fatal(err)
				}
				for name, values := range res.Header {
					text = append(text, name+strings.Join(values, ",")...)
				}
				if strings.Contains(string(text), "hocket-") || path != "/healthz" && res.StatusCode < 400 {
					t.Errorf("%s at %s: %d, %s", path, other, res.StatusCode, text)
				}
			}
		}
	}
	f.stop()
	f.start()
	if again, _, _ := strings.Cut(f.s.place.page[0], ":"); again+":"+port != host {
		t.Errorf("after a restart, the host is %s, before it was %s", again, host)
	}
	f.want(http.StatusUnauthorized, "GET", "/api/projects", nil, "Authorization", "", "Cookie", cookie) // its name has the old port
	f.want(http.StatusOK, "GET", "/api/projects", nil, "Authorization", "", "Cookie", f.s.place.cookie+"="+c.Value)
	if err := f.access.RevokeSessions(); err != nil {
		t.Fatal(err)
	}
	if other, err := f.access.hostName(); err != nil || other+":"+port == host {
		t.Errorf("after the sessions were ended, the host is %s, %v", other, err)
	}
}

// With a public address, a session counts only there.
func TestASessionAtAPublicAddress(t *testing.T) {
	public := func(text string) *url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7433}
	for _, c := range []struct {
		place      place
		yes, no    string
		wantPublic string
	}{
		{newPlace(local, false, nil, "hocket-a.localhost"), "HOCKET-a.localhost:7433", "127.0.0.1:7433", "http://hocket-a.localhost:7433"},
		{newPlace(local, false, public("http://127.0.0.1:7433"), ""), "127.0.0.1:7433", "localhost:7433", "http://127.0.0.1:7433"},
		{newPlace(local, false, public("https://hocket.example"), ""), "hocket.example", "127.0.0.1:7433", "https://hocket.example"},
		{newPlace(local, true, nil, ""), "127.0.0.1:7433", "localhost:7433", "https://127.0.0.1:7433"},
	} {
		if !c.place.forPage(&http.Request{Host: c.yes}) || c.place.forPage(&http.Request{Host: c.no}) || c.place.public != c.wantPublic {
			t.Errorf("%s or %s: %+v", c.yes, c.no, c.place)
		}
	}
	for _, c := range []struct {
		ip     net.IP
		tls    bool
		public *url.URL
		want   bool
	}{{localhost4, false, nil, true}, {net.IPv6loopback, false, nil, true}, {net.IPv4(127, 0, 0, 2), false, nil, false}, {localhost4, true, nil, false}, {localhost4, false, public("http://a.example"), false}, {net.IPv4(10, 0, 0, 1), false, nil, false}} {
		if got := hasOwnName(&net.TCPAddr{IP: c.ip, Port: 1}, c.tls, c.public); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A browser may look for a name that ends in localhost at the address of IPv6, where another program could listen.
func TestBothAddressesOfAName(t *testing.T) {
	all, err := Listen("127.0.0.1:0", false, nil)
	if err != nil {
		t.Fatal(err)
	}
	port := all[0].Addr().(*net.TCPAddr).Port
	if len(all) != 2 {
		all[0].Close()
		t.Skip("there is no IPv6 here")
	}
	if other := all[1].Addr().(*net.TCPAddr); other.Port != port || !other.IP.Equal(net.IPv6loopback) {
		t.Errorf("it also listens on %s", other)
	}
	first := all[0].Addr().String()
	all[0].Close()
	if _, err := Listen(first, false, nil); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "[::1]") {
		t.Errorf("another program listens on IPv6: %v", err)
	}
	all[1].Close()
	public, _ := url.Parse("http://" + first)
	if all, err := Listen(first, false, public); err != nil || len(all) != 1 {
		t.Errorf("an address without a name: %v, %v", all, err)
	} else {
		all[0].Close()
	}
}
