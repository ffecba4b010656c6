package outbound_test

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/hocket-dev/hocket/internal/outbound"
)

func TestPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "93.184.216.34": true, "172.15.255.255": true, "172.32.0.1": true,
		"2606:4700:4700::1111": true, "2a00:1450:4001:80b::200e": true,
		"64:ff9b::808:808": true, "2002:808:808::1": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "127.9.9.9": false, "0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "172.16.0.1": false,
		"192.168.1.1": false, "169.254.169.254": false, "100.100.100.200": false, "168.63.129.16": false, "198.18.0.1": false,
		"192.0.2.1": false, "224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false,
		"::": false, "::1": false, "::1%eth0": false, "fe80::1%eth0": false, "fd00:ec2::254": false, "ff02::1": false, "fec0::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b:1::1": false,
		"2002:7f00:1::": false, "2002:a9fe:a9fe::": false, "2001::1": false, "2001:db8::1": false, "4000::1": false,
	} {
		if got := outbound.Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: public %v", address, got)
		}
	}
	if outbound.Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestDial(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, c := range []struct {
		policy outbound.Policy
		host   string
		want   string // "": it connects
	}{
		{outbound.Policy{}, "127.0.0.1", "127.0.0.1 is not a public address"},
		{outbound.Policy{}, "0.0.0.0", "0.0.0.0 is not a public address"},
		{outbound.Policy{}, "::ffff:127.0.0.1", "::ffff:127.0.0.1 leads to 127.0.0.1, which is not a public address"},
		{outbound.Policy{Private: true}, "127.0.0.1", ""},
		{outbound.Policy{Allowed: []string{"127.0.0.1"}}, "127.0.0.1", ""},
		{outbound.Policy{Allowed: []string{"127.0.0.1:" + port}}, "127.0.0.1", ""},
		{outbound.Policy{Allowed: []string{"LocalHost"}}, "localhost", ""},
		{outbound.Policy{Allowed: []string{"127.0.0.1:1", "localhost"}}, "127.0.0.1", "127.0.0.1 is not a public address"},
	} {
		conn, err := c.policy.Dial(t.Context(), "tcp", net.JoinHostPort(c.host, port))
		if conn != nil {
			conn.Close()
		}
		var refused *outbound.RefusedError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &refused) || err.Error() != c.want) {
			t.Errorf("%+v %s: got %v, want %q", c.policy, c.host, err, c.want)
		}
	}
	// A name is judged by where it leads.
	var refused *outbound.RefusedError
	if _, err := (outbound.Policy{}).Dial(t.Context(), "tcp", "localhost:"+port); !errors.As(err, &refused) || refused.Host != "localhost" {
		t.Errorf("got %v", err)
	}
}
