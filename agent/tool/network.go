package tool

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/outbound"
)

// Network is the set of hosts that a tool may connect to. The zero value is none.
type Network struct {
	Any   bool     // every public host
	Hosts []string // host, host:port, or *.domain for all hosts below a domain
}

// reach is how a host is allowed.
type reach int

const (
	refused reach = iota
	public        // by a general rule: only if it is not in a private network
	named         // by its own name, wherever it is
)

// reach returns how a program may reach a host and port.
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

// splitHost splits a host and its port; an IPv6 address may be in brackets.
func splitHost(entry string) (host, port string) {
	if h, p, err := net.SplitHostPort(entry); err == nil {
		return h, p
	}
	return strings.Trim(entry, "[]"), ""
}

// badHost explains why an entry of a network permission is invalid; "" if it is valid.
func badHost(entry string) string {
	host, _ := splitHost(entry)
	switch domain, wild := strings.CutPrefix(host, "*"); {
	case strings.Contains(entry, "/"):
		return "write the host alone, without http:// and without a path"
	case wild && (!strings.HasPrefix(domain, ".") || strings.Contains(domain, "*") || !strings.Contains(domain[1:], ".")):
		return "a star is allowed only before a domain: *.example.com"
	case !wild && host == "":
		return "write the name of a host, such as api.example.com"
	case strings.ContainsFunc(strings.TrimPrefix(host, "*"), func(r rune) bool { return notInHost(r) && r != ':' && r != '_' }):
		return "write the name of a host, such as api.example.com"
	}
	return ""
}

// guard allows requests and connections to the hosts of a network permission. Redirects are
// checked too.
type guard struct {
	network Network
	redact  func(string) string
	heard   func(host string, err error) // called for every host that is not reached; may be nil
}

// refusedError reports that a host is not allowed.
type refusedError struct{ error }

func (e refusedError) Unwrap() error      { return e.error }
func (refusedError) Is(target error) bool { return target == outbound.ErrRefused }

// way is how a host may be reached: the rules for its address, and the proxy of this
// machine on the way to it; nil if there is none.
func (g *guard) way(host, port string, proxy func() (*url.URL, error)) (outbound.Policy, *url.URL, error) {
	how := g.network.reach(host, port)
	if how == refused {
		return outbound.Policy{}, nil, refusedError{agent.Permanentf("the tool may not connect to %s; its permissions allow %s", g.redact(host), g.network)}
	}
	policy := outbound.Policy{Private: how == named}
	via, err := proxy()
	if err != nil {
		return policy, nil, err
	}
	if via != nil { // it resolves the address, and may itself be anywhere
		if how == public && !publicName(host) {
			return policy, nil, refusedError{private(host)}
		}
		policy.Private = true
	}
	return policy, via, nil
}

// missed reports that a host was not reached, and why.
func (g *guard) missed(host, port string, err error) error {
	if err != nil && g.heard != nil {
		if port != "80" && port != "443" {
			host = net.JoinHostPort(host, port)
		}
		g.heard(host, err)
	}
	return err
}

// RoundTrip makes one request. Connections are not kept, because tool calls are rare.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	host, port := req.URL.Hostname(), portOf(req.URL)
	policy, via, err := g.way(host, port, func() (*url.URL, error) { return http.ProxyFromEnvironment(req) })
	if err != nil {
		return nil, g.missed(host, port, err)
	}
	t := &http.Transport{Proxy: http.ProxyURL(via), DialContext: policy.Dial, DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second}
	resp, err := t.RoundTrip(req)
	if errors.Is(err, outbound.ErrRefused) {
		err = refusedError{private(host)}
	}
	return resp, g.missed(host, port, err)
}

// Dial connects to "host:port", for any protocol.
func (g *guard) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	policy, via, err := g.way(host, port, func() (*url.URL, error) {
		return http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: address}})
	})
	var conn net.Conn
	switch {
	case err != nil:
	case via != nil:
		conn, err = tunnel(ctx, via, address)
	default:
		if conn, err = policy.Dial(ctx, network, address); errors.Is(err, outbound.ErrRefused) {
			err = refusedError{private(host)}
		}
	}
	return conn, g.missed(host, port, err)
}

// tunnel connects through an HTTP proxy.
func tunnel(ctx context.Context, via *url.URL, address string) (_ net.Conn, err error) {
	if via.Scheme != "http" && via.Scheme != "https" {
		return nil, agent.Permanentf("programs of tools cannot use the proxy %s://%s, because it is not an HTTP proxy", via.Scheme, via.Host)
	}
	at := net.JoinHostPort(via.Hostname(), portOf(via))
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if via.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: via.Hostname()})
	}
	ask := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if password, ok := via.User.Password(); ok {
		ask.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(via.User.Username()+":"+password)))
	}
	if err := ask.Write(conn); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, ask)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() // there is none
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the proxy %s returned %s", via.Host, resp.Status)
	}
	if r.Buffered() > 0 {
		return nil, fmt.Errorf("the proxy %s sent unexpected data", via.Host)
	}
	return conn, nil
}

// direct reports whether an address may be connected to without the proxy: by the rules for
// a host of that name, and for every host that the list names and that resolves to it.
func (n Network) direct(ctx context.Context, to netip.AddrPort) bool {
	port := strconv.Itoa(int(to.Port()))
	switch n.reach(to.Addr().String(), port) {
	case named:
		return true
	case public:
		if outbound.Outside(to.Addr()) {
			return true
		}
	case refused:
	}
	return slices.ContainsFunc(n.Hosts, func(entry string) bool {
		name, _ := splitHost(entry)
		if _, err := netip.ParseAddr(name); err == nil || n.reach(name, port) != named {
			return false
		}
		at, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		return err == nil && slices.ContainsFunc(at, func(a netip.Addr) bool { return a.Unmap() == to.Addr() })
	})
}

// ports returns the ports that the list names.
func (n Network) ports() []uint16 {
	var all []uint16
	for _, entry := range n.Hosts {
		_, port := splitHost(entry)
		if number, err := strconv.ParseUint(port, 10, 16); err == nil {
			all = append(all, uint16(number))
		}
	}
	return all
}

// nobody reports whether no host is allowed.
func (n Network) nobody() bool { return !n.Any && len(n.Hosts) == 0 }

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

// publicName reports whether a host may be public: it is neither an address in a private
// network nor this machine.
func publicName(host string) bool {
	host = strings.TrimRight(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return false
	}
	if at, err := netip.ParseAddr(host); err == nil {
		return outbound.Public(at)
	}
	// Some programs also accept 2130706433, 0x7f.1 and 127.1 as addresses.
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last != "" && (last[0] < '0' || last[0] > '9')
}

func private(host string) error {
	return agent.Permanentf("%s is in a private network; to allow it, name the host in the tool's permissions", host)
}
