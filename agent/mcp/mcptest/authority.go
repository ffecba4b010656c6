// Package mcptest provides an MCP server that requires a login, and its authorization
// server, on loopback, for the tests of logins. The MCP server is that of the official
// library; the authorization server follows the standards and records its requests.
package mcptest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"
)

// Authority is an authorization server. Its fields may be set before it is used.
type Authority struct {
	URL string

	Life     time.Duration             // lifetime of tokens; zero: an hour
	NoRenew  bool                      // it issues no refresh tokens
	Client   string                    // the only client that it accepts, and
	Secret   string                    // its secret; "": clients register themselves
	Metadata func(meta map[string]any) // changes its metadata
	Return   func(query url.Values)    // changes what a browser brings back
	// Handle responds in its place; false if it does not.
	Handle func(w http.ResponseWriter, r *http.Request) bool

	mu      sync.Mutex
	clients map[string]url.Values // redirect_uris by id
	codes   map[string]grant
	access  map[string]grant
	refresh map[string]grant
	asked   map[string]int // number of requests, by path or grant
}

// grant is what a client was granted.
type grant struct {
	client, resource, challenge, redirect string
	until                                 time.Time
	family                                string // of refresh tokens that replace each other
	used                                  bool
}

// StartAuthority starts an authorization server for a test.
func StartAuthority(t testing.TB) *Authority {
	a := &Authority{clients: map[string]url.Values{}, codes: map[string]grant{}, access: map[string]grant{}, refresh: map[string]grant{}, asked: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", a.metadata)
	mux.HandleFunc("POST /register", a.register)
	mux.HandleFunc("GET /authorize", a.authorize)
	mux.HandleFunc("POST /token", a.token)
	mux.HandleFunc("POST /revoke", a.revoke)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.asked[r.URL.Path]++
		a.mu.Unlock()
		if a.Handle == nil || !a.Handle(w, r) {
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.Close)
	a.URL = web.URL
	return a
}

// Asked returns how often a path, or a grant_type, was requested.
func (a *Authority) Asked(what string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[what]
}

// Good reports whether a token is valid for a resource.
func (a *Authority) Good(token, resource string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	g, ok := a.access[token]
	return ok && g.resource == resource && time.Now().Before(g.until)
}

// Revoke invalidates the access tokens and, with all, the refresh tokens too.
func (a *Authority) Revoke(all bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.access)
	if all {
		clear(a.refresh)
	}
}

func (a *Authority) metadata(w http.ResponseWriter, _ *http.Request) {
	meta := map[string]any{
		"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
		"revocation_endpoint": a.URL + "/revoke", "response_types_supported": []string{"code"},
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic"},
		"scopes_supported": []string{"tools", "offline_access"}, "authorization_response_iss_parameter_supported": true,
	}
	if a.Client == "" {
		meta["registration_endpoint"] = a.URL + "/register"
	}
	if a.Metadata != nil {
		a.Metadata(meta)
	}
	answer(w, http.StatusOK, meta)
}

func (a *Authority) register(w http.ResponseWriter, r *http.Request) {
	var m struct {
		Redirects []string `json:"redirect_uris"`
		Type      string   `json:"application_type"`
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil || len(m.Redirects) != 1 || m.Type != "native" || a.Client != "" {
		refuse(w, "invalid_client_metadata", "")
		return
	}
	id := "client-" + rand.Text()[:8]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients[id] = url.Values{"redirect": m.Redirects}
	answer(w, http.StatusCreated, map[string]any{"client_id": id, "redirect_uris": m.Redirects, "token_endpoint_auth_method": "none"})
}

// authorize approves every request that follows the standards.
func (a *Authority) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.clients[q.Get("client_id")]
	back := q.Get("redirect_uri")
	switch {
	case !ok && q.Get("client_id") != a.Client, ok && !slices.Contains(known["redirect"], back):
		http.Error(w, "unknown client", http.StatusBadRequest)
		return
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("resource") == "" || q.Get("state") == "":
		http.Error(w, "not a valid OAuth 2.1 request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	a.codes[code] = grant{client: q.Get("client_id"), resource: q.Get("resource"), challenge: q.Get("code_challenge"), redirect: back}
	a.asked["scope "+q.Get("scope")]++
	out := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {a.URL}}
	if a.Return != nil {
		a.Return(out)
	}
	w.Header().Set("Location", back+"?"+out.Encode())
	w.WriteHeader(http.StatusFound)
}

func (a *Authority) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // missing values are rejected
	a.mu.Lock()
	defer a.mu.Unlock()
	kind := r.PostForm.Get("grant_type")
	a.asked[kind]++
	id, secret, basic := r.BasicAuth()
	if a.Secret != "" && (!basic || id != a.Client || secret != a.Secret) {
		refuse(w, "invalid_client", "")
		return
	}
	var g grant
	var ok bool
	switch kind {
	case "authorization_code":
		g, ok = a.codes[r.PostForm.Get("code")]
		delete(a.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		ok = ok && g.challenge == base64.RawURLEncoding.EncodeToString(sum[:]) && g.redirect == r.PostForm.Get("redirect_uri")
		g.family = rand.Text()
	case "refresh_token":
		g, ok = a.refresh[r.PostForm.Get("refresh_token")]
		if ok && g.used { // a reused token was stolen: revoke the whole family
			maps.DeleteFunc(a.refresh, func(_ string, other grant) bool { return other.family == g.family })
			ok = false
		} else if ok {
			spent := g
			spent.used = true
			a.refresh[r.PostForm.Get("refresh_token")] = spent
		}
	}
	if !ok || g.client != r.PostForm.Get("client_id") || g.resource != r.PostForm.Get("resource") {
		refuse(w, "invalid_grant", "not \x1b[31mgood\x1b[0m any more")
		return
	}
	a.give(w, g)
}

// give issues tokens for a grant.
func (a *Authority) give(w http.ResponseWriter, g grant) {
	life := a.Life
	if life == 0 {
		life = time.Hour
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	g.until = time.Now().Add(life)
	a.access[access] = g
	out := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": int(life.Seconds()), "scope": "tools"}
	if !a.NoRenew {
		a.refresh[refresh], out["refresh_token"] = g, refresh
	}
	answer(w, http.StatusOK, out)
}

func (a *Authority) revoke(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // nothing named, nothing revoked
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.access, r.PostForm.Get("token"))
	delete(a.refresh, r.PostForm.Get("token"))
	w.WriteHeader(http.StatusOK)
}

func refuse(w http.ResponseWriter, code, about string) {
	answer(w, http.StatusBadRequest, map[string]string{"error": code, "error_description": about})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // the client may be gone
}
