// Package outbound connects to other machines on behalf of work that was not written by
// hand: a page in a browser, a request of a model. Such work may name any address, and a
// name may resolve to anything, so the address of the actual connection is checked: one
// that is not public is refused, unless it is allowed.
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

// Policy says which addresses may be reached. The zero value allows only public ones.
type Policy struct {
	Private bool     // every address
	Allowed []string // hosts ("intranet.example", "10.0.0.7") or hosts with a port ("localhost:8080") that may be anywhere
}

// UnmarshalJSON reads a policy from settings: true, or a list of hosts.
func (p *Policy) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, &p.Allowed)
	}
	return json.Unmarshal(data, &p.Private)
}

// Or returns a policy that allows what either of two allows.
func (p Policy) Or(more Policy) Policy {
	return Policy{Private: p.Private || more.Private, Allowed: slices.Concat(p.Allowed, more.Allowed)}
}

// RefusedError reports that an address is not public.
type RefusedError struct {
	Host    string // as requested
	Address string // what it resolves to
}

func (r *RefusedError) Error() string {
	if r.Host == r.Address {
		return fmt.Sprintf("%s is not a public address", r.Host)
	}
	return fmt.Sprintf("%s leads to %s, which is not a public address", r.Host, r.Address)
}

// Is reports whether the target is [ErrRefused].
func (r *RefusedError) Is(target error) bool { return target == ErrRefused }

// Dial connects to "host:port". The error is a [RefusedError] if the policy forbids it.
func (p Policy) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{}
	if !p.anywhere(host, port) {
		// The address is checked when the connection is made, after the name was resolved:
		// a name that is resolved twice may have two results.
		dialer.Control = func(_, to string, _ syscall.RawConn) error { return onlyOutside(host, to) }
	}
	conn, err := dialer.DialContext(ctx, network, address)
	var refused *RefusedError
	if errors.As(err, &refused) {
		return nil, refused
	}
	return conn, err
}

// onlyOutside refuses an address of a host that is not outside.
func onlyOutside(host, address string) error {
	if at, err := netip.ParseAddrPort(address); err != nil || !Outside(at.Addr()) {
		return &RefusedError{Host: host, Address: at.Addr().String()}
	}
	return nil
}

// Permit checks whether a host may be reached through a proxy, which resolves its name
// itself: it checks the addresses that the name has here.
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

// anywhere reports whether a host may be at any address.
func (p Policy) anywhere(host, port string) bool {
	return p.Private || slices.ContainsFunc(p.Allowed, func(allowed string) bool {
		return strings.EqualFold(allowed, host) || strings.EqualFold(allowed, net.JoinHostPort(host, port))
	})
}

// Outside reports whether an address is public, and does not belong to this machine or its
// networks.
func Outside(a netip.Addr) bool { return Public(a) && !near(a, networks()) }

// Public reports whether an address belongs to the internet at large: not to this machine,
// its networks, or the services that a cloud offers its machines.
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

// near reports whether an address belongs to this machine, or to a network that it is in.
// Such an address may look public: most IPv6 addresses do, and are protected by a firewall
// that a connection from here bypasses. Networks that are too large to be local do not
// count.
func near(a netip.Addr, networks []netip.Prefix) bool {
	const local4, local6 = 24, 64
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool {
		return n.Addr() == a || n.Contains(a) && (a.Is4() && n.Bits() >= local4 || a.Is6() && n.Bits() >= local6)
	})
}

// networks returns those of this machine, each with its address in it.
func networks() []netip.Prefix {
	addresses, _ := net.InterfaceAddrs() // as far as they are known
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

// global6 contains all allocated IPv6 addresses.
var global6 = netip.MustParsePrefix("2000::/3")

// special are networks that look public and are not, from the registries of IANA; and the
// one public address that a cloud uses for its own machines.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // behind a provider's NAT
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

// translated returns the IPv4 address that an IPv6 address stands for: a translator on the
// way would connect to it.
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
