package server

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// A name that an attacker pointed to this address must not reach the server, even with the cookie.
func TestRebinding(t *testing.T) {
	f := newFixture(t, nil)
	cookie := f.session()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(f.base, "http://"))
	for _, host := range []string{"evil.example", "evil.example:" + port, "127.0.0.1", "localhost", "127.0.0.1.evil.example:" + port, "localhost.:" + port, "[::ffff:127.0.0.1]:" + port, "127.1:" + port, "0.0.0.0:" + port, "169.254.169.254"} {
		for _, path := range []string{"/api/projects", "/healthz", "/enter?key=x"} {
			f.want(http.StatusMisdirectedRequest, "GET", path, nil, "Host", host, "Cookie", cookie, "Authorization", "")
			f.want(http.StatusMisdirectedRequest, "GET", path, nil, "Host", host)
		}
	}
	for _, host := range []string{"localhost:" + port, "LOCALHOST:" + port, "127.0.0.1:" + port, "[::1]:" + port} {
		f.want(http.StatusOK, "GET", "/api/projects", nil, "Host", host)
	}
}

// A browser leaves out the usual port, in the host and in the origin.
func TestUsualPorts(t *testing.T) {
	local := func(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port} }
	public, err := url.Parse("https://hocket.example:443")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		place        place
		host, origin string
		want         bool
	}{
		{newPlace(local(80), false, nil, ""), "127.0.0.1", "http://127.0.0.1", true},
		{newPlace(local(80), false, nil, ""), "[::1]", "http://[::1]", true},
		{newPlace(local(443), true, nil, ""), "localhost", "https://localhost", true},
		{newPlace(local(7433), false, public, ""), "hocket.example", "https://hocket.example", true},
		{newPlace(local(443), false, nil, ""), "127.0.0.1", "http://127.0.0.1", false},
		{newPlace(local(7433), false, nil, ""), "127.0.0.1", "http://127.0.0.1", false},
	} {
		if host, origin := slices.Contains(c.place.hosts, c.host), slices.Contains(c.place.origin, c.origin); host != c.want || origin != c.want {
			t.Errorf("%s: host %v, origin %v, want %v", c.origin, host, origin, c.want)
		}
	}
	if hosts := newPlace(local(80), false, nil, "").hosts; !slices.Contains(hosts, "127.0.0.1:80") {
		t.Errorf("with the port: %v", hosts)
	}
}

// Other pages, on other sites and on other ports of this machine, can neither write nor read, and
// follow no stream, even though the browser sends the cookie.
func TestOtherPages(t *testing.T) {
	f := newFixture(t, nil)
	cookie := f.session()
	own := f.s.place.public
	as := func(site, mode, dest, origin string) []string {
		return []string{"Authorization", "", "Cookie", cookie, "Sec-Fetch-Site", site, "Sec-Fetch-Mode", mode, "Sec-Fetch-Dest", dest, "Origin", origin}
	}
	start := map[string]any{"workflow": "hello"}
	for _, h := range [][]string{
		as("cross-site", "cors", "empty", "https://evil.example"),
		as("cross-site", "no-cors", "empty", "https://evil.example"),
		as("cross-site", "navigate", "document", "https://evil.example"), // a form
		as("cross-site", "navigate", "document", "null"),
		as("same-site", "cors", "empty", "http://127.0.0.1:1"), // another port
		as("same-site", "no-cors", "empty", "http://localhost:1"),
		as("none", "navigate", "document", ""), // a browser never sends a form so
		as("", "", "", "http://127.0.0.1:1"),   // an old browser
		as("", "", "", ""),                     // a cookie without any sign of where it comes from
		as("", "", "", "null"),
		as("same-site", "cors", "empty", own), // a lie about one of them
		as("same-origin", "cors", "empty", "https://evil.example"),
	} {
		f.want(http.StatusForbidden, "POST", f.path("/runs"), start, h...)
		f.want(http.StatusForbidden, "DELETE", f.path("/runs/x"), nil, h...)
		for _, accept := range []string{"text/event-stream", "*/*"} {
			f.want(http.StatusForbidden, "GET", "/api/events", nil, append(h, "Accept", accept)...)
		}
	}
	for _, h := range [][]string{
		as("cross-site", "no-cors", "image", ""),
		as("cross-site", "no-cors", "script", ""),
		as("cross-site", "navigate", "iframe", ""),
		as("cross-site", "navigate", "document", ""), // a link to JSON
		as("same-site", "cors", "empty", "http://127.0.0.1:1"),
		as("same-site", "no-cors", "script", ""),
	} {
		res := f.request("GET", "/api/projects", nil, h...)
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("%v: %d", h, res.StatusCode)
		}
	}
	for _, h := range [][]string{as("same-origin", "cors", "empty", own), as("same-origin", "cors", "empty", ""), as("", "", "", own)} {
		f.want(http.StatusOK, "GET", "/api/projects", nil, h...)
		f.want(http.StatusCreated, "POST", f.path("/runs"), start, h...)
	}
	res := f.request("OPTIONS", f.path("/runs"), nil, "Origin", "https://evil.example", "Access-Control-Request-Method", "POST", "Authorization", "")
	for name := range res.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("the server allows other origins: %s", name)
		}
	}
	res = f.request("GET", "/api/projects", nil)
	for name, want := range map[string]string{"Cross-Origin-Resource-Policy": "same-origin", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "same-origin"} {
		if res.Header.Get(name) != want {
			t.Errorf("%s is %q", name, res.Header.Get(name))
		}
	}
	if policy := res.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
}
