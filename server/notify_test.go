package server

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// The server notifies, with a link to the page of the run.
func TestNotifies(t *testing.T) {
	got := make(chan string, 10)
	box := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
	}))
	defer box.Close()
	f := newFixture(t, map[string]string{".hocket/config.yml": "notify:\n  - {on: waiting, webhook: {url: \"" + box.URL + "\", private_network: true}}\n"})
	powers, err := f.p.Powers()
	if err == nil {
		err = f.p.Trust(powers)
	}
	if err != nil {
		t.Fatal(err)
	}
	run := f.begin("gated")
	select {
	case text := <-got:
		var notice struct{ Link, Run, Project string }
		if err := json.Unmarshal([]byte(text), &notice); err != nil || notice.Run != run || notice.Project != f.name() || notice.Link != f.s.place.public+"/projects/"+f.name()+"/runs/"+run {
			t.Errorf("%v: %s", err, text)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nobody was notified")
	}
}

// The link uses the public address.
func TestPublicLink(t *testing.T) {
	public, _ := url.Parse("https://hocket.example.org")
	s := &Server{place: newPlace(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7433}, false, public, "")}
	if got := s.linkTo("shop", "hello-1"); got != "https://hocket.example.org/projects/shop/runs/hello-1" {
		t.Error(got)
	}
}

// A browser that follows a link on another site sends no cookie at first. It opens the page again, and only
// then is asked for a session.
func TestLinkFromElsewhere(t *testing.T) {
	f := newFixture(t, nil)
	open := func(site, path string) (int, string) {
		res := f.request("GET", path, nil, "Authorization", "", "Accept", "text/html", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(text)
	}
	if status, text := open("cross-site", "/projects/shop/runs/hello-1?step=a"); status != http.StatusOK || !strings.Contains(text, `url=/projects/shop/runs/hello-1?step=a"`) {
		t.Errorf("%d %s", status, text)
	}
	if _, text := open("cross-site", "/%22%3E%3Cscript%3E"); strings.Contains(text, "<script") {
		t.Error(text)
	}
	if _, text := open("cross-site", "//evil.example/x"); strings.Contains(text, "evil.example") {
		t.Error(text)
	}
	for _, site := range []string{"same-origin", "none"} {
		if status, text := open(site, "/projects/shop/runs/hello-1"); status != http.StatusUnauthorized || strings.Contains(text, "refresh") {
			t.Errorf("%s: %d %s", site, status, text)
		}
	}
}
