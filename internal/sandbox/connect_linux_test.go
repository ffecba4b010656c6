//go:build amd64 || arm64

package sandbox

import (
	"net/netip"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The address that is checked is exactly the one that a program passes to connect.
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

func TestAddress(t *testing.T) {
	four := "\x02\x00\x01\xbb\x7f\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"
	six := "\x0a\x00\x01\xbb\x00\x00\x00\x00\xfe\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00"
	for data, want := range map[string]struct {
		to    string
		errno syscall.Errno
	}{
		four:              {"127.0.0.1:443", 0},
		four + "more":     {"127.0.0.1:443", 0},
		four[:15]:         {"", unix.EINVAL},
		six:               {"[fe80::1]:443", 0},
		six[:24]:          {"[fe80::1]:443", 0},
		six[:23]:          {"", unix.EINVAL},
		"\x01\x00/socket": {"", unix.EAFNOSUPPORT},
		"\x02\x00":        {"", unix.EINVAL},
		"\x02":            {"", unix.EAFNOSUPPORT},
		"":                {"", unix.EAFNOSUPPORT},
	} {
		got, used, errno := parseAddress([]byte(data))
		if errno != want.errno || want.to != "" && got.String() != want.to {
			t.Errorf("%q: %v, %v; want %v", data, got, errno, want)
		}
		if at, ok := used.(*unix.SockaddrInet6); ok && at.ZoneId != map[int]uint32{24: 0, 28: 2}[len(data)] {
			t.Errorf("%q: the zone is %d", data, at.ZoneId)
		}
	}
}
