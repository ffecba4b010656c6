package tool

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hocket-dev/hocket/agent"
)

// Network is whom a tool may talk to. The zero value is nobody.
type Network struct {
	Any   bool     // every public host
	Hosts []string // host, host:port, or *.domain for all hosts below a domain
}

// reach is how a host is allowed.
type reach int

const (
	refused reach = iota
	public        // as one of many: only where it is not in a private network
	named         // by its own name, wherever it is
)

// reach says how a host with a port is allowed.
func (n Network) reach(host, port string) reach {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	best := refused
	if n.Any {
		best = public
	}
	for _, entry := range n.Hosts {
		name, wanted := splitHost(strings.ToLower(entry))
		if wanted != "" && wanted != port {
			continue
		}
		if domain, ok := strings.CutPrefix(name, "*"); ok {
			if strings.HasSuffix(host, domain) && len(host) > len(domain) {
				best = max(best, public)
			}
		} else if name == host {
			return named
		}
	}
	return best
}

// splitHost parts a host from its port; an address of IPv6 may stand in brackets.
func splitHost(entry string) (host, port string) {
	if h, p, err := net.SplitHostPort(entry); err == nil {
		return h, p
	}
	return strings.Trim(entry, "[]"), ""
}

// badHost says why an entry of a network permission cannot be used; "" it can.
func badHost(entry string) string {
	host, _ := splitHost(entry)
	switch domain, wild := strings.CutPrefix(host, "*"); {
	case strings.Contains(entry, "/"):
		return "write the host alone, without http:// and without a path"
	case wild && (!strings.HasPrefix(domain, ".") || strings.Contains(domain, "*") || !strings.Contains(domain[1:], ".")):
		return "a star stands for what comes before a domain: *.example.com"
	case !wild && host == "":
		return "write the name of a host, such as api.example.com"
	case strings.ContainsFunc(strings.TrimPrefix(host, "*"), func(r rune) bool { return notInHost(r) && r != ':' && r != '_' }):
		return "write the name of a host, such as api.example.com"
	}
	return ""
}

// guard lets requests through to the hosts that a network permission allows. Every
// redirect passes it too.
type guard struct {
	network Network
	redact  func(string) string
}

// RoundTrip makes one request. No connection is kept: calls of tools are rare, and
// nothing of them stays behind.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	host, port := req.URL.Hostname(), portOf(req.URL)
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ResponseHeaderTimeout: 0, TLSHandshakeTimeout: 10 * time.Second}
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	t.DialContext = dialer.DialContext
	switch g.network.reach(host, port) {
	case refused:
		return nil, agent.Permanentf("the tool may not talk to %s; its permissions allow %s", g.redact(host), g.network)
	case public:
		if via, err := t.Proxy(req); err == nil && via != nil {
			if err := publicName(host); err != nil { // the proxy finds the address
				return nil, err
			}
			break
		}
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return publicAddress(host, address)
		}
	case named:
	}
	return t.RoundTrip(req)
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

func (n Network) String() string {
	switch {
	case n.Any && len(n.Hosts) > 0:
		return "every public host, and " + strings.Join(n.Hosts, ", ")
	case n.Any:
		return "every public host"
	case len(n.Hosts) > 0:
		return strings.Join(n.Hosts, ", ")
	}
	return "none"
}

// publicName refuses a host that is an address in a private network, or means this
// machine.
func publicName(host string) error {
	if strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return private(host)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return publicAddress(host, net.JoinHostPort(host, "0"))
	}
	return nil
}

// publicAddress refuses to connect with a private network. It looks at the address
// that is really used, so that no name can lead there.
func publicAddress(host, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("tool: address %q: %w", address, err)
	}
	if isPrivate(at.Addr()) {
		return private(host)
	}
	return nil
}

func private(host string) error {
	return agent.Permanentf("%s is in a private network, which a tool reaches only if its permissions name the host", host)
}

// special are the networks that are not the public internet, besides those that
// package netip knows.
var special = sync.OnceValue(func() []netip.Prefix {
	var list []netip.Prefix
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10",
	} {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
})

func isPrivate(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return !a.IsGlobalUnicast() || a.IsPrivate() ||
		slices.ContainsFunc(special(), func(p netip.Prefix) bool { return p.Contains(a) })
}
