//go:build amd64 || arm64

package sandbox

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// What a program hands to connect is what is looked at, or nothing.
func FuzzAddress(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x50\x7f\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x0a\x00\x00\x50\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00"))
	f.Add([]byte("\x0a\x00\x00\x50\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x01"))
	f.Add([]byte("\x01\x00/run/docker.sock\x00"))
	f.Add([]byte("\x02"))
	f.Fuzz(func(t *testing.T, data []byte) {
		looked, used, errno := parseAddress(data)
		if errno != 0 {
			if used != nil || looked.IsValid() {
				t.Errorf("%q: an error, and an address", data)
			}
			return
		}
		var at netip.AddrPort
		switch to := used.(type) {
		case *unix.SockaddrInet4:
			at = netip.AddrPortFrom(netip.AddrFrom4(to.Addr), uint16(to.Port))
		case *unix.SockaddrInet6:
			at = netip.AddrPortFrom(netip.AddrFrom16(to.Addr).Unmap(), uint16(to.Port))
		}
		if at != looked {
			t.Errorf("%q: %v is looked at, and %v connected to", data, looked, at)
		}
	})
}
