package tool

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/outbound"
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
	host := req.URL.Hostname()
	how := g.network.reach(host, portOf(req.URL))
	if how == refused {
		return nil, agent.Permanentf("the tool may not talk to %s; its permissions allow %s", g.redact(host), g.network)
	}
	policy := outbound.Policy{Private: how == named}
	via, err := http.ProxyFromEnvironment(req)
	if err != nil {
		return nil, err
	}
	if via != nil { // it finds the address, and may itself be anywhere
		if how == public && !publicName(host) {
			return nil, private(host)
		}
		policy.Private = true
	}
	t := &http.Transport{Proxy: http.ProxyURL(via), DialContext: policy.Dial, DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second}
	resp, err := t.RoundTrip(req)
	var not *outbound.RefusedError
	if errors.As(err, &not) {
		return nil, private(host)
	}
	return resp, err
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

// publicName says whether a host may be public: it is no address in a private network,
// and not this machine.
func publicName(host string) bool {
	host = strings.TrimRight(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return false
	}
	if at, err := netip.ParseAddr(host); err == nil {
		return outbound.Public(at)
	}
	// 2130706433, 0x7f.1 and 127.1 are addresses too, for whoever reads them so.
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last != "" && (last[0] < '0' || last[0] > '9')
}

func private(host string) error {
	return agent.Permanentf("%s is in a private network, which a tool reaches only if its permissions name the host", host)
}
