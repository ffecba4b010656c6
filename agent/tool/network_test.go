package tool

import (
	"net/netip"
	"testing"
)

func TestReach(t *testing.T) {
	n := Network{Hosts: []string{"api.example.com", "*.example.org", "localhost:8080", "[::1]:9", "10.0.0.5"}}
	for _, c := range []struct {
		host, port string
		want       reach
	}{
		{"api.example.com", "443", named}, {"API.example.com.", "80", named}, {"x.api.example.com", "443", refused},
		{"a.example.org", "443", public}, {"a.b.example.org", "443", public}, {"example.org", "443", refused}, {"evilexample.org", "443", refused},
		{"localhost", "8080", named}, {"localhost", "80", refused}, {"::1", "9", named}, {"::1", "80", refused}, {"10.0.0.5", "1", named},
	} {
		if got := n.reach(c.host, c.port); got != c.want {
			t.Errorf("%s:%s is %d, want %d", c.host, c.port, got, c.want)
		}
	}
	if (Network{}).reach("a.b", "80") != refused || (Network{Any: true}).reach("a.b", "80") != public {
		t.Error("nobody and everybody are not told apart")
	}
}

func TestPrivateNetworks(t *testing.T) {
	for _, text := range []string{
		"127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "0.1.2.3", "100.64.0.1", "255.255.255.255", "224.0.0.1",
		"198.18.0.1", "192.0.0.8", "::1", "::", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::", "fec0::1",
	} {
		if !isPrivate(netip.MustParseAddr(text)) {
			t.Errorf("%s counts as public", text)
		}
	}
	for _, text := range []string{"1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8"} {
		if isPrivate(netip.MustParseAddr(text)) {
			t.Errorf("%s counts as private", text)
		}
	}
	for _, name := range []string{"localhost", "a.LOCALHOST", "127.0.0.1", "::1"} {
		if publicName(name) == nil {
			t.Errorf("%s counts as public", name)
		}
	}
	if err := publicName("example.com"); err != nil {
		t.Error(err)
	}
}

func TestFixedSchemasCompile(t *testing.T) {
	for _, m := range builtins() {
		if m.inputs == nil || m.Work == nil {
			t.Errorf("%s: %+v", m.Name, m)
		}
	}
	if m, found := Read(file, []byte("description: d\nkind: search\npermissions: {network: true}\nsearch: {url: 'https://a.b?q={query}', results: $}")); len(found) > 0 || m.outputs == nil {
		t.Errorf("%v", found)
	}
	text, err := builtinFiles.ReadFile("builtin/http_request/tool.yml")
	if err != nil {
		t.Fatal(err)
	}
	if _, found := Read("builtin/http_request/tool.yml", text); len(found) > 0 {
		t.Error(found)
	}
}

func TestMask(t *testing.T) {
	s := secrets{"A": "abc", "B": "abcdef\nsecond line"}
	if got := s.hide("abcdef abc second line x"); got != "*** *** *** x" {
		t.Error(got)
	}
	var logged string
	l := lines{secrets: s, log: func(b []byte) { logged += string(b) }}
	for _, piece := range []string{"a", "bc\nre", "st abcde", "f"} {
		l.write([]byte(piece))
	}
	if logged != "***\n" {
		t.Errorf("%q", logged)
	}
	l.flush()
	if logged != "***\nrest ***" {
		t.Errorf("%q", logged)
	}
}
