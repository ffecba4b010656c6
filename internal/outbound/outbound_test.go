package outbound_test

import (
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"slices"
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
		"192.0.2.1": false, "192.0.0.8": false, "192.0.1.1": true, "192.88.99.1": false, "198.51.100.7": false, "203.0.113.7": false, "203.0.114.7": true,
		"100.63.0.1": true, "100.127.0.1": false, "100.128.0.1": true, "198.19.0.1": false, "198.20.0.1": true, "168.63.129.17": true, "224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false,
		"::": false, "::1": false, "::1%eth0": false, "fe80::1%eth0": false, "fd00:ec2::254": false, "ff02::1": false, "fec0::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b:1::1": false,
		"2002:7f00:1::": false, "2002:a9fe:a9fe::": false, "2001::1": false, "2001:db8::1": false, "2001:1ff::1": false, "2001:200::1": true, "3fff::1": false, "3fff:1000::1": true, "4000::1": false,
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
		want   string // "" if it connects
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
	if _, err := (outbound.Policy{Private: true}).Dial(t.Context(), "tcp", "127.0.0.1"); err == nil {
		t.Error("an address without a port was dialled")
	}
	l.Close()
	if conn, err := (outbound.Policy{Private: true}).Dial(t.Context(), "tcp", l.Addr().String()); err == nil || conn != nil || errors.Is(err, outbound.ErrRefused) {
		t.Errorf("nobody listens: %v, %v", conn, err)
	}
	// A name is judged by the address that it resolves to.
	var refused *outbound.RefusedError
	if _, err := (outbound.Policy{}).Dial(t.Context(), "tcp", "localhost:"+port); !errors.As(err, &refused) || refused.Host != "localhost" {
		t.Errorf("got %v", err)
	}
}

func TestPermit(t *testing.T) {
	allowed := outbound.Policy{Allowed: []string{"10.1.2.3", "localhost:8080"}}
	for _, c := range []struct {
		policy     outbound.Policy
		host, port string
		want       string // "" if it is permitted
	}{
		{outbound.Policy{}, "8.8.8.8", "443", ""},
		{outbound.Policy{}, "10.1.2.3", "443", "10.1.2.3 is not a public address"},
		{outbound.Policy{}, "::ffff:10.1.2.3", "443", "::ffff:10.1.2.3 leads to 10.1.2.3, which is not a public address"},
		{outbound.Policy{Private: true}, "10.1.2.3", "443", ""},
		{allowed, "10.1.2.3", "443", ""},
		{allowed, "10.1.2.4", "443", "10.1.2.4 is not a public address"},
		{allowed, "localhost", "8080", ""},
		{allowed, "127.0.0.1", "8080", "127.0.0.1 is not a public address"},
	} {
		err := c.policy.Permit(t.Context(), c.host, c.port)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, outbound.ErrRefused) || err.Error() != c.want) {
			t.Errorf("%+v %s: got %v, want %q", c.policy, c.host, err, c.want)
		}
	}
	// A name that does not resolve here could resolve to anything at a proxy.
	if err := (outbound.Policy{}).Permit(t.Context(), "not a name", "80"); err == nil {
		t.Error("a name without an address is permitted")
	}
	if outbound.Outside(netip.MustParseAddr("10.255.255.1")) || !outbound.Outside(netip.MustParseAddr("8.8.8.8")) {
		t.Error("what is private is not outside, and 8.8.8.8 is")
	}
}

func TestPolicyOfSettings(t *testing.T) {
	for text, want := range map[string]outbound.Policy{
		`false`: {}, `true`: {Private: true}, `["a", "b:1"]`: {Allowed: []string{"a", "b:1"}},
	} {
		var got outbound.Policy
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Private != want.Private || !slices.Equal(got.Allowed, want.Allowed) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{`"a"`, `[1]`, `{}`} {
		if err := json.Unmarshal([]byte(text), new(outbound.Policy)); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
	one, private := outbound.Policy{Allowed: []string{"a"}}, outbound.Policy{Private: true, Allowed: []string{"b"}}
	for _, both := range []outbound.Policy{one.Or(private), private.Or(one)} {
		slices.Sort(both.Allowed)
		if !both.Private || !slices.Equal(both.Allowed, []string{"a", "b"}) {
			t.Errorf("together they are %+v", both)
		}
	}
	if one.Or(one).Private {
		t.Error("two policies allow more than each")
	}
}
