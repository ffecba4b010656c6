package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/hocket-dev/hocket/internal/outbound"
)

const (
	// longestAnswer limits how much of a response is read.
	longestAnswer = 1 << 20
	// patience is the time limit for a request.
	patience = 30 * time.Second
)

// network makes the requests of a login. A server names further addresses, and may belong
// to anyone: only a local server may refer to local addresses.
type network struct {
	near bool // the server is on this machine, or in a private network
}

// reach prepares a login to the server at an address.
func reach(ctx context.Context, address string) (*network, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, failf("only servers with a url support login", "%q is not the URL of a server", address)
	}
	n := &network{near: isNear(ctx, u.Hostname())}
	if n.allowed(u) != nil {
		return nil, failf("use an address that begins with https://", "a login at %s would be sent unencrypted", u.Redacted())
	}
	return n, nil
}

// isNear reports whether a host is on this machine or in a private network.
func isNear(ctx context.Context, host string) bool {
	if isLoopback(host) {
		return true
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false
	}
	for _, a := range found {
		if !outbound.Public(a) {
			return true
		}
	}
	return false
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// allowed checks whether a URL may be requested, or shown to a browser.
func (n *network) allowed(u *url.URL) error {
	switch {
	case u.Host == "" || u.User != nil:
		return fmt.Errorf("%s is not the URL of a web server", plain(u.Redacted()))
	case u.Scheme == "https" && !isLoopback(u.Hostname()):
		return nil
	case (u.Scheme == "https" || u.Scheme == "http") && isLoopback(u.Hostname()):
		if !n.near {
			return fmt.Errorf("%s is on this machine, and a remote server may not refer to it", plain(u.String()))
		}
		return nil
	}
	return fmt.Errorf("%s does not begin with https://", plain(u.String()))
}

// check checks a URL that a server named. An empty one is ignored.
func (n *network) check(what, address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err == nil {
		err = n.allowed(u)
	}
	if err != nil {
		return fmt.Errorf("cannot use its %s: %s", what, plain(err.Error()))
	}
	return nil
}

// client returns an HTTP client for libraries.
func (n *network) client() *http.Client {
	return &http.Client{Transport: n, Timeout: patience, CheckRedirect: redirect}
}

// redirect allows a few redirects for requests that only read. A request with a code or a
// secret is never redirected.
func redirect(req *http.Request, via []*http.Request) error {
	if via[0].Method != http.MethodGet {
		return http.ErrUseLastResponse
	}
	if len(via) > 5 {
		return errors.New("too many redirects")
	}
	return nil
}

// RoundTrip makes one request, if its URL is allowed. Connections are not reused.
func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := n.allowed(req.URL); err != nil {
		return nil, err
	}
	via, err := http.ProxyFromEnvironment(req)
	if err != nil {
		return nil, err
	}
	policy := outbound.Policy{Private: n.near || via != nil} // a proxy may be anywhere
	t := &http.Transport{Proxy: http.ProxyURL(via), DialContext: policy.Dial, DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second}
	resp, err := t.RoundTrip(req)
	if err == nil {
		resp.Body = &short{resp.Body, io.LimitReader(resp.Body, longestAnswer)}
	}
	return resp, err
}

// short is a body of limited size.
type short struct {
	io.Closer
	io.Reader
}

// plain returns foreign text as one line that is safe for a terminal.
func plain(text string) string {
	const most = 300
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}
