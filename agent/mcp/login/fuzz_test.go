package login

import (
	"net/url"
	"strings"
	"testing"
)

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		resource, address string
		want              bool
	}{
		{"https://a.example/mcp", "https://a.example/mcp", true},
		{"https://a.example/mcp/", "https://a.example/mcp", true},
		{"https://a.example/mcp", "https://a.example/mcp/", true},
		{"https://a.example", "https://a.example/mcp", true},
		{"https://A.example:443/", "https://a.example/mcp", true},
		{"https://a.example/mcp", "https://a.example/mcp?x=1", true},
		{"https://a.example/mcp", "https://a.example/mcpx", false},
		{"https://a.example/mcp/deeper", "https://a.example/mcp", false},
		{"https://a.example/mcp?x=2", "https://a.example/mcp?x=1", false},
		{"https://a.example/mcp#x", "https://a.example/mcp", false},
		{"https://u:p@a.example/mcp", "https://a.example/mcp", false},
		{"http://a.example/mcp", "https://a.example/mcp", false},
		{"https://a.example:8443/mcp", "https://a.example/mcp", false},
		{"https://a.example.evil.example/mcp", "https://a.example/mcp", false},
		{"/mcp", "https://a.example/mcp", false},
		{"", "https://a.example/mcp", false},
		{"%", "https://a.example/mcp", false},
	} {
		if got := covers(c.resource, c.address); got != c.want {
			t.Errorf("covers(%q, %q) = %v", c.resource, c.address, got)
		}
	}
}

// A resource that covers an address is on the same server.
func FuzzCovers(f *testing.F) {
	f.Add("https://a.example/mcp/", "https://a.example/mcp")
	f.Add("https://a.example@b.example/", "https://b.example/x")
	f.Fuzz(func(t *testing.T, resource, address string) {
		if !covers(resource, address) {
			return
		}
		r, err := url.Parse(resource)
		a, wrong := url.Parse(address)
		if err != nil || wrong != nil || r.Scheme != a.Scheme || !strings.EqualFold(r.Hostname(), a.Hostname()) {
			t.Errorf("covers(%q, %q)", resource, address)
		}
	})
}

// No answer from a browser yields a code without the state, or from another issuer.
func FuzzJudge(f *testing.F) {
	f.Add("code=a&state=good&iss=https://i.example")
	f.Add("code=a&state=good&iss=https://evil.example")
	f.Add("error=access_denied&error_description=%1b[2J&state=good&iss=https://i.example")
	f.Add("code=a&state=bad&state=good")
	f.Fuzz(func(t *testing.T, query string) {
		c := &callback{state: "good", issuer: "https://i.example", tells: true}
		q, _ := url.ParseQuery(query)
		got, ours := c.judge(q)
		if ours && q.Get("state") != "good" || got.code != "" && (q.Get("iss") != "https://i.example" || !ours || got.err != nil) {
			t.Errorf("%q: %+v", query, got)
		}
		if got.err != nil && strings.ContainsAny(got.err.Error(), "\x1b\n\r\x00") {
			t.Errorf("%q: %q", query, got.err)
		}
		if again, same := c.pasted(c.address + "?" + query); same && again.code != "" && !ours && !strings.Contains(query, "#") {
			t.Errorf("%q is taken when it is pasted", query)
		}
	})
}

// An accepted token can be sent in a header, and errors are safe to print in a terminal.
func FuzzTake(f *testing.F) {
	f.Add(200, []byte(`{"access_token":"a","token_type":"Bearer","expires_in":3600,"refresh_token":"r","scope":"a b"}`))
	f.Add(200, []byte(`{"access_token":"a","expires_in":"1e400"}`))
	f.Add(400, []byte(`{"error":"invalid_grant","error_description":"\u001b[31m"}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		k := &kept{Issuer: "https://i.example", Refresh: "old"}
		err := k.take(status, body)
		if err == nil && (k.Access == "" || strings.ContainsAny(k.Access, " \r\n\x00") || k.Refresh == "") {
			t.Errorf("%+v", k)
		}
		if err != nil && (k.Access != "" || strings.ContainsAny(err.Error(), "\x1b\n\r\x00")) {
			t.Errorf("%q %+v", err, k)
		}
	})
}
