package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// place is where people log in to a server.
type place struct {
	resource string   // what a token is valid for
	scopes   []string // to request
	meta     *oauthex.AuthServerMeta
}

func (p *place) issuer() string { return p.meta.Issuer }

// discover finds out where people log in.
func (f *flow) discover(ctx context.Context) (*place, error) {
	wanted, challenges, err := f.probe(ctx)
	if err != nil {
		return nil, err
	}
	resource, err := f.resource(ctx, param(challenges, "resource_metadata"))
	if err != nil {
		return nil, err
	}
	if resource == nil && !wanted {
		return nil, failf("use it without one", "the server does not require a login")
	}
	at := &place{resource: f.server.Address, scopes: strings.Fields(param(challenges, "scope"))}
	issuer := origin(f.server.Address)
	if resource != nil {
		at.resource, issuer = resource.Resource, resource.AuthorizationServers[0]
		if len(at.scopes) == 0 {
			at.scopes = resource.ScopesSupported
		}
	}
	if at.meta, err = f.authority(ctx, issuer, resource == nil); err != nil {
		return nil, err
	}
	switch offline := "offline_access"; {
	case len(f.server.Scopes) > 0:
		at.scopes = f.server.Scopes
	case slices.Contains(at.meta.ScopesSupported, offline) && !slices.Contains(at.scopes, offline):
		at.scopes = append(slices.Clone(at.scopes), offline)
	}
	return at, nil
}

// WantsLogin reports whether a server requires a login. If the server cannot be reached,
// the error says why.
func WantsLogin(ctx context.Context, server Server) (bool, error) {
	net, err := reach(ctx, server.Address)
	if err != nil {
		return false, err
	}
	wants, _, err := (&flow{server: server, net: net}).probe(ctx)
	return wants, err
}

// probe sends a request to the server without credentials.
func (f *flow) probe(ctx context.Context) (wantsLogin bool, _ []oauthex.Challenge, _ error) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.server.Address, strings.NewReader(ping))
	if err != nil {
		return false, nil, failf("", "%s", plain(err.Error()))
	}
	for name, value := range f.server.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	client := f.net.client()
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if origin(next.URL.String()) != origin(f.server.Address) || len(via) > 2 {
			return fmt.Errorf("it redirects to %s", plain(next.URL.Redacted()))
		}
		return nil
	}
	resp, err := client.Do(req)
	if err != nil {
		return false, nil, failf("check the address and the network", "cannot reach the server at %s: %s", f.server.Address, plain(Cause(err).Error()))
	}
	_ = resp.Body.Close() // only the headers matter
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		challenges = nil // it may say elsewhere what it requires
	}
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode >= 500 {
		return false, nil, failf("check the address; it often ends in /mcp", "the server at %s returned %s", f.server.Address, plain(resp.Status))
	}
	return resp.StatusCode == http.StatusUnauthorized, challenges, nil
}

// param returns a parameter of the Bearer challenge; "" if it has none.
func param(challenges []oauthex.Challenge, name string) string {
	for _, c := range challenges {
		if c.Scheme == "bearer" && c.Params[name] != "" {
			return c.Params[name]
		}
	}
	return ""
}

// resource reads the protected resource metadata of a server (RFC 9728). nil means that it
// has none, like old servers.
func (f *flow) resource(ctx context.Context, named string) (*oauthex.ProtectedResourceMetadata, error) {
	var wrong error
	for _, address := range f.resourceAddresses(named) {
		var found oauthex.ProtectedResourceMetadata
		if ok, err := f.getJSON(ctx, address, &found); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		switch {
		case !covers(found.Resource, f.server.Address):
			wrong = failf("check the url of the server in config.yml", "the server at %s identifies itself as %q", f.server.Address, plain(found.Resource))
		case len(found.AuthorizationServers) == 0:
			return nil, failf("a key may work: set it under headers", "the server at %s does not name an authorization server", f.server.Address)
		default:
			return &found, nil
		}
	}
	return nil, wrong
}

// resourceAddresses returns where the metadata may be: where the challenge says, if that is
// the server's own, and in the usual places.
func (f *flow) resourceAddresses(named string) []string {
	own := origin(f.server.Address)
	known := own + "/.well-known/oauth-protected-resource"
	all := []string{known}
	if u, err := url.Parse(f.server.Address); err == nil && strings.Trim(u.Path, "/") != "" {
		all = []string{known + "/" + strings.TrimLeft(u.EscapedPath(), "/"), known}
	}
	if origin(named) == own && !slices.Contains(all, named) {
		all = append([]string{named}, all...)
	}
	return all
}

// getJSON reads a value from an address; false if there is none.
func (f *flow) getJSON(ctx context.Context, address string, value any) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, nil
	}
	req.Header.Set("Accept", "application/json")
	resp, err := f.net.client().Do(req)
	if ctx.Err() != nil {
		return false, interrupted(ctx)
	}
	if err != nil {
		return false, failf("try again later", "cannot read %s: %s", address, plain(Cause(err).Error()))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false, nil
	}
	return json.NewDecoder(resp.Body).Decode(value) == nil, nil // a web page does not count
}

// authority reads the metadata of an authorization server (RFC 8414). An old MCP server is
// one itself, and may have no metadata.
func (f *flow) authority(ctx context.Context, issuer string, old bool) (*oauthex.AuthServerMeta, error) {
	bad := func(err error) error {
		return failf("the operator of the server must fix this; a key may work: set it under headers", "cannot use the authorization server %s: %s", plain(issuer), plain(err.Error()))
	}
	if err := f.net.check("address", issuer); err != nil {
		return nil, bad(err)
	}
	meta, err := auth.GetAuthServerMetadata(ctx, strings.TrimRight(issuer, "/"), f.net.client())
	switch {
	case ctx.Err() != nil:
		return nil, interrupted(ctx)
	case err != nil:
		return nil, bad(Cause(err))
	case meta == nil && !old:
		return nil, bad(errors.New("it does not name its endpoints"))
	case meta == nil:
		meta = &oauthex.AuthServerMeta{Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register"}
	case !slices.Contains(meta.CodeChallengeMethodsSupported, "S256"):
		return nil, bad(errors.New("it does not support PKCE with S256, which OAuth 2.1 requires"))
	case meta.AuthorizationEndpoint == "" || meta.TokenEndpoint == "":
		return nil, bad(errors.New("it does not name its endpoints"))
	}
	for _, e := range []struct{ what, address string }{
		{"authorization_endpoint", meta.AuthorizationEndpoint}, {"token_endpoint", meta.TokenEndpoint},
		{"registration_endpoint", meta.RegistrationEndpoint}, {"revocation_endpoint", meta.RevocationEndpoint},
	} {
		if err := f.net.check(e.what, e.address); err != nil {
			return nil, bad(err)
		}
	}
	return meta, nil
}

// origin returns the server of a URL: scheme, host and port; "" if it has none.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	host := strings.ToLower(u.Host)
	switch {
	case u.Scheme == "https":
		host = strings.TrimSuffix(host, ":443")
	case u.Scheme == "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host
}

// covers reports whether a token for a resource is valid for a URL: the same server, and
// the same path or one below. A trailing slash is ignored.
func covers(resource, address string) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Fragment != "" || r.User != nil {
		return false
	}
	a, err := url.Parse(address)
	if err != nil || origin(resource) == "" || origin(resource) != origin(address) {
		return false
	}
	if r.RawQuery != "" && r.RawQuery != a.RawQuery {
		return false
	}
	above, below := strings.TrimRight(r.EscapedPath(), "/")+"/", strings.TrimRight(a.EscapedPath(), "/")+"/"
	return strings.HasPrefix(below, above)
}
