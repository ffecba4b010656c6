// Package outbound connects to other machines for work that was not written by hand:
// a page in a browser, a request that a model thought of. Such work may name any
// address, and a name may lead anywhere, so what counts is the address that is
// really connected to: one that is not public is refused, unless it is allowed.
package outbound

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// Policy says which addresses may be reached. The zero value: public ones only.
type Policy struct {
	Private bool     // every address
	Allowed []string // hosts ("intranet.example", "10.0.0.7") or hosts with a port ("localhost:8080") that may be anywhere
}

// UnmarshalJSON reads a policy as settings have it: true, or a list of hosts.
func (p *Policy) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, &p.Allowed)
	}
	return json.Unmarshal(data, &p.Private)
}

// Or is a policy that allows what either of two does.
func (p Policy) Or(more Policy) Policy {
	return Policy{Private: p.Private || more.Private, Allowed: slices.Concat(p.Allowed, more.Allowed)}
}

// RefusedError says that an address is not public.
type RefusedError struct {
	Host    string // as it was asked for
	Address string // what it leads to
}

func (r *RefusedError) Error() string {
	if r.Host == r.Address {
		return fmt.Sprintf("%s is not a public address", r.Host)
	}
	return fmt.Sprintf("%s leads to %s, which is not a public address", r.Host, r.Address)
}

// Is says that it is [ErrRefused].
func (r *RefusedError) Is(target error) bool { return target == ErrRefused }

// Dial connects to "host:port". The error is a [RefusedError] where the policy forbids it.
func (p Policy) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{}
	if !p.anywhere(host, port) {
		// The address is looked at when the connection is made, after the name was
		// resolved: a name that is resolved twice may lead to two places.
		dialer.Control = func(_, to string, _ syscall.RawConn) error {
			if at, err := netip.ParseAddrPort(to); err != nil || !Outside(at.Addr()) {
				return &RefusedError{Host: host, Address: at.Addr().String()}
			}
			return nil
		}
	}
	conn, err := dialer.DialContext(ctx, network, address)
	var refused *RefusedError
	if errors.As(err, &refused) {
		return nil, refused
	}
	return conn, err
}

// Permit says whether a host may be reached by a proxy, which resolves its name itself: it
// looks at the addresses that the name has here.
func (p Policy) Permit(ctx context.Context, host, port string) error {
	if p.anywhere(host, port) {
		return nil
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for _, a := range addresses {
		if !Outside(a) {
			return &RefusedError{Host: host, Address: a.Unmap().String()}
		}
	}
	return err
}

// anywhere says whether a host may be at any address.
func (p Policy) anywhere(host, port string) bool {
	return p.Private || slices.ContainsFunc(p.Allowed, func(allowed string) bool {
		return strings.EqualFold(allowed, host) || strings.EqualFold(allowed, net.JoinHostPort(host, port))
	})
}

// Outside says whether an address is public, and none of this machine or its networks.
func Outside(a netip.Addr) bool { return Public(a) && !near(a, networks()) }

// Public says whether an address belongs to the internet at large: not to this
// machine, its networks, or the services that a cloud offers its machines.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if inner, ok := translated(a); ok {
		return Public(inner)
	}
	if !a.IsValid() || !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	if a.Is6() && !global6.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}

// near says whether an address is one of this machine, or of a network that it is in.
// Such an address may look public: most of IPv6 are, and guarded by a firewall that a
// connection from here does not pass. Networks that are too large to be a local one do
// not count.
func near(a netip.Addr, networks []netip.Prefix) bool {
	const local4, local6 = 24, 64
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool {
		return n.Addr() == a || n.Contains(a) && (a.Is4() && n.Bits() >= local4 || a.Is6() && n.Bits() >= local6)
	})
}

// networks are those of this machine, each with its address in it.
func networks() []netip.Prefix {
	addresses, _ := net.InterfaceAddrs() // what could be found out
	var all []netip.Prefix
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				ones, _ := n.Mask.Size()
				all = append(all, netip.PrefixFrom(ip.Unmap(), ones))
			}
		}
	}
	return all
}

// global6 holds all addresses of IPv6 that are given out.
var global6 = netip.MustParsePrefix("2000::/3")

// special are networks that look public and are not, from the registries of IANA;
// and the one public address under which a cloud talks to its own machines.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // behind the NAT of a provider
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("168.63.129.16/32"), // Azure
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("3fff::/20"),
}

// translated is the address of IPv4 that one of IPv6 stands for: a translator on
// the way would connect to that.
func translated(a netip.Addr) (netip.Addr, bool) {
	bytes := a.As16()
	switch {
	case !a.Is6():
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(bytes[12:16])), true
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(bytes[2:6])), true
	}
	return netip.Addr{}, false
}

var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)
