package outbound

import (
	"net/netip"
	"slices"
	"testing"
)

func TestNear(t *testing.T) {
	var all []netip.Prefix
	for _, p := range []string{"9.9.9.20/24", "8.8.0.1/16", "2a00:1:2:3::7/64", "2a00:5::1/32"} {
		all = append(all, netip.MustParsePrefix(p))
	}
	for address, want := range map[string]bool{
		"9.9.9.20": true, "::ffff:9.9.9.20": true, "9.9.9.99": true, "9.9.8.1": false,
		"8.8.0.1": true, "8.8.8.8": false,
		"2a00:1:2:3::7": true, "2a00:1:2:3:ffff::1": true, "2a00:1:2:4::1": false,
		"2a00:5::1": true, "2a00:5::2": false,
	} {
		if got := near(netip.MustParseAddr(address), all); got != want {
			t.Errorf("%s: near %v", address, got)
		}
	}
	if !slices.ContainsFunc(networks(), func(p netip.Prefix) bool {
		return p.Addr().IsLoopback() && p.Bits() == 8 || p.Addr() == netip.IPv6Loopback()
	}) {
		t.Errorf("this machine is in %v", networks())
	}
}

// A connection is made to a public address only, even if the name had another one before.
func TestOnlyOutside(t *testing.T) {
	for address, want := range map[string]bool{"8.8.8.8:443": true, "[2606:4700:4700::1111]:443": true, "127.0.0.1:443": false, "8.8.8.8": false, "": false} {
		if err := onlyOutside("x", address); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}
