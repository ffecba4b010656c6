package login_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent/mcp/login"
	"github.com/hocket-dev/hocket/agent/mcp/mcptest"
)

func newSite(t *testing.T) *mcptest.Site {
	return mcptest.Start(t, sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil))
}

// store keeps logins in a directory of the test, and records which values are secret.
type store struct {
	*login.Store
	dir    string
	mu     sync.Mutex
	secret []string
}

func newStore(t *testing.T) *store {
	s := &store{dir: filepath.Join(t.TempDir(), "mcp")}
	s.Store = login.Open(login.Options{Dir: s.dir, Secret: func(values ...string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.secret = append(s.secret, values...)
	}})
	return s
}

// person returns a Person who visits every address with a browser.
func person(t *testing.T) login.Person {
	return login.Person{
		Show: func(address string) {
			go func() { _, _ = mcptest.Visit(address) }() // the result shows in the login
		},
		Tell: func(note string) { t.Log(note) }, Wait: time.Minute,
	}
}

func TestLogin(t *testing.T) {
	site, s := newSite(t), newStore(t)
	if token, err := s.Token(t.Context(), site.Address); token != "" || err != nil {
		t.Errorf("before: %q, %v", token, err)
	}
	l, err := s.Login(t.Context(), login.Server{Address: site.Address}, person(t))
	if err != nil {
		t.Fatal(err)
	}
	if l.Issuer != site.Authority.URL || !l.Renews || l.Ended || strings.Join(l.Scopes, " ") != "tools" || time.Until(l.Expires) < 50*time.Minute {
		t.Errorf("%+v", l)
	}
	if site.Authority.Asked("scope tools offline_access") != 1 {
		t.Error("it asked for other scopes")
	}
	token, err := s.Token(t.Context(), site.Address)
	if err != nil || !site.Authority.Good(token, site.Address) {
		t.Errorf("%q, %v", token, err)
	}
	if !strings.Contains(strings.Join(s.secret, " "), token) {
		t.Error("nobody was told that the token is secret")
	}
	files, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if there, err := s.Logout(t.Context(), site.Address); !there || err != nil {
		t.Errorf("%v, %v", there, err)
	}
	if site.Authority.Good(token, site.Address) || site.Authority.Asked("/revoke") != 2 {
		t.Error("the authorization server was not told")
	}
	if _, there, err := s.Find(site.Address); there || err != nil {
		t.Errorf("after: %v, %v", there, err)
	}
	if there, err := s.Logout(t.Context(), site.Address); there || err != nil {
		t.Errorf("again: %v, %v", there, err)
	}
}

// Tests differences between real servers that are all acceptable.
func TestWaysToLogIn(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, site *mcptest.Site, server *login.Server){
		"a client of the settings": func(_ *testing.T, site *mcptest.Site, server *login.Server) {
			site.Authority.Client, server.ClientID = "mine", "mine"
			server.ClientSecret = "s e c r e t"
			site.Authority.Secret = url.QueryEscape(server.ClientSecret) // as it arrives
		},
		"a client without a secret": func(_ *testing.T, site *mcptest.Site, server *login.Server) {
			site.Authority.Client, server.ClientID = "mine", "mine"
		},
		"scopes of the settings": func(t *testing.T, site *mcptest.Site, server *login.Server) {
			server.Scopes = []string{"tools", "admin"}
			t.Cleanup(func() {
				if site.Authority.Asked("scope tools admin") != 1 {
					t.Error("it asked for other scopes")
				}
			})
		},
		"a port of the settings": func(t *testing.T, _ *mcptest.Site, server *login.Server) {
			free := httptest.NewServer(nil)
			u, err := url.Parse(free.URL)
			if err != nil {
				t.Fatal(err)
			}
			free.Close()
			if _, err := fmt.Sscan(u.Port(), &server.Port); err != nil {
				t.Fatal(err)
			}
		},
		"a challenge that says nothing":       func(_ *testing.T, site *mcptest.Site, _ *login.Server) { site.Metadata = "-" },
		"a challenge that leads elsewhere":    func(_ *testing.T, site *mcptest.Site, _ *login.Server) { site.Metadata = "https://evil.example/meta" },
		"a challenge that leads into a file":  func(_ *testing.T, site *mcptest.Site, _ *login.Server) { site.Metadata = "file:///etc/passwd" },
		"an answer that does not say who":     func(_ *testing.T, site *mcptest.Site, _ *login.Server) { quiet(site) },
		"a life that is text":                 func(_ *testing.T, site *mcptest.Site, _ *login.Server) { site.Authority.Handle = textual() },
		"an issuer with a slash at its end":   func(_ *testing.T, site *mcptest.Site, _ *login.Server) { slash(site) },
		"tokens that are good for everything": func(_ *testing.T, site *mcptest.Site, _ *login.Server) { site.Authority.NoRenew = true },
	} {
		t.Run(name, func(t *testing.T) {
			site, s := newSite(t), newStore(t)
			server := login.Server{Address: site.Address}
			change(t, site, &server)
			if _, err := s.Login(t.Context(), server, person(t)); err != nil {
				t.Fatal(err)
			}
			if token, err := s.Token(t.Context(), site.Address); err != nil || !site.Authority.Good(token, site.Address) {
				t.Errorf("%q, %v", token, err)
			}
		})
	}
}

func quiet(site *mcptest.Site) {
	site.Authority.Metadata = func(m map[string]any) { delete(m, "authorization_response_iss_parameter_supported") }
	site.Authority.Return = func(q url.Values) { q.Del("iss") }
}

func slash(site *mcptest.Site) {
	site.Says = func(m map[string]any) { m["authorization_servers"] = []string{site.Authority.URL + "/"} }
}

// textual answers with the number of seconds as text.
func textual() func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		const asked = "X-Asked" // by this function itself
		if r.URL.Path != "/token" || r.Header.Get(asked) != "" {
			return false
		}
		again := r.Clone(r.Context())
		again.RequestURI, again.URL = "", &url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path}
		again.Header.Set(asked, "yes")
		resp, err := http.DefaultClient.Do(again)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		var answer map[string]any
		if json.NewDecoder(resp.Body).Decode(&answer) != nil {
			return false
		}
		answer["expires_in"] = fmt.Sprint(answer["expires_in"])
		return json.NewEncoder(w).Encode(answer) == nil
	}
}

// An old server is its own authorization server and has no metadata.
func TestOldServer(t *testing.T) {
	authority := mcptest.StartAuthority(t)
	authority.Handle = func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known"):
			http.NotFound(w, r)
			return true
		case r.URL.Path == "/mcp":
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	}
	s := newStore(t)
	if _, err := s.Login(t.Context(), login.Server{Address: authority.URL + "/mcp"}, person(t)); err != nil {
		t.Fatal(err)
	}
	if token, err := s.Token(t.Context(), authority.URL+"/mcp"); err != nil || !authority.Good(token, authority.URL+"/mcp") {
		t.Errorf("%q, %v", token, err)
	}
}

func TestLoginsThatFail(t *testing.T) {
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(open.Close)
	for _, c := range []struct {
		name, want string
		change     func(site *mcptest.Site, server *login.Server)
	}{
		{"no login wanted", "the server does not require a login; use it without one", func(_ *mcptest.Site, server *login.Server) { server.Address = open.URL }},
		{"no address", "is not the URL of a server", func(_ *mcptest.Site, server *login.Server) { server.Address = "file:///etc/passwd" }},
		{"plain http", "would be sent unencrypted; use an address that begins with https://", func(_ *mcptest.Site, server *login.Server) { server.Address = "http://192.0.2.7/mcp" }},
		{"nothing there", ": connection refused", func(_ *mcptest.Site, server *login.Server) { server.Address = "http://127.0.0.1:1/mcp" }},
		{"not found", "returned 404 Not Found; check the address; it often ends in /mcp", func(_ *mcptest.Site, server *login.Server) {
			server.Address = strings.TrimSuffix(server.Address, "mcp") + "mpc"
		}},
		{"another resource", `identifies itself as "https://bank.example/mcp"`, func(site *mcptest.Site, _ *login.Server) {
			site.Says = func(m map[string]any) { m["resource"] = "https://bank.example/mcp" }
		}},
		{"no authority", "does not name an authorization server", func(site *mcptest.Site, _ *login.Server) {
			site.Says = func(m map[string]any) { delete(m, "authorization_servers") }
		}},
		{"authority over http", "http://192.0.2.7 does not begin with https://", func(site *mcptest.Site, _ *login.Server) {
			site.Says = func(m map[string]any) { m["authorization_servers"] = []string{"http://192.0.2.7"} }
		}},
		{"authority is a file", "file:///etc is not the URL of a web server", func(site *mcptest.Site, _ *login.Server) {
			site.Says = func(m map[string]any) { m["authorization_servers"] = []string{"file:///etc"} }
		}},
		{"another issuer", `"https://evil.example" does not match`, meta("issuer", "https://evil.example")},
		{"page is a file", "file://127.0.0.1/etc/passwd does not begin with https://", meta("authorization_endpoint", "file://127.0.0.1/etc/passwd")},
		{"page is a script", "disallowed scheme", meta("authorization_endpoint", "javascript:alert(1)")},
		{"tokens over http", "does not use HTTPS", meta("token_endpoint", "http://192.0.2.7/token")},
		{"revocation over http", "cannot use its revocation_endpoint: http://192.0.2.7/ does not begin with https://", meta("revocation_endpoint", "http://192.0.2.7/")},
		{"no PKCE", "does not implement PKCE", meta("code_challenge_methods_supported", nil)},
		{"plain PKCE", "does not support PKCE with S256", meta("code_challenge_methods_supported", []string{"plain"})},
		{"no page", "it does not name its endpoints", meta("authorization_endpoint", nil)},
		{"nothing said", "it does not name its endpoints", handle("/.well-known/oauth-authorization-server", http.NotFound)},
		{"a web page", ": bad content type", handle("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>hello</html>")
		})},
		{"metadata lead into a file", "file:///etc/passwd is not the URL of a web server", handle("/.well-known/oauth-authorization-server", leadTo("file:///etc/passwd"))},
		{"metadata lead in a circle", "too many redirects", handle("/.well-known/oauth-authorization-server", leadTo("/.well-known/oauth-authorization-server"))},
		{"metadata without end", "unexpected EOF", handle("/.well-known/oauth-authorization-server", endless(`{"issuer":"`))},
		{"no registration", "accepts only registered clients; register Hocket there as a native application", meta("registration_endpoint", nil)},
		{"registration refused", "did not register Hocket: registration failed: invalid_redirect_uri (no[31m)", handle("/register", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_redirect_uri","error_description":"no\u001b[31m"}`)
		})},
		{"registration without end", "did not register Hocket: failed to decode", handle("/register", endless(`{"client_id":"`))},
		{"refused by the person", `the login at ISSUER was denied (access_denied: she said [2Jno)`, func(site *mcptest.Site, _ *login.Server) {
			site.Authority.Return = func(q url.Values) {
				q.Del("code")
				q.Set("error", "access_denied")
				q.Set("error_description", "she said\n\x1b[2Jno")
			}
		}},
		{"scopes", "does not know the scopes", func(site *mcptest.Site, _ *login.Server) {
			site.Authority.Return = func(q url.Values) { q.Set("error", "invalid_scope") }
		}},
		{"wrong issuer in the answer", `the response is from "https://evil.example", not from ISSUER`, func(site *mcptest.Site, _ *login.Server) {
			site.Authority.Return = func(q url.Values) { q.Set("iss", "https://evil.example") }
		}},
		{"no issuer in the answer", `the response is from "", not from ISSUER`, func(site *mcptest.Site, _ *login.Server) {
			site.Authority.Return = func(q url.Values) { q.Del("iss") }
		}},
		{"no code", "redirected the browser without a code", func(site *mcptest.Site, _ *login.Server) {
			site.Authority.Return = func(q url.Values) { q.Del("code") }
		}},
		{"wrong code", "the login cannot be completed: ISSUER rejected the login (invalid_grant: not [31mgood[0m any more)", func(site *mcptest.Site, _ *login.Server) {
			site.Authority.Return = func(q url.Values) { q.Set("code", "x") }
		}},
		{"tokens are a page", "returned 200 instead of a token", handle("/token", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })},
		{"tokens without end", "returned 200 instead of a token", handle("/token", endless(`{"access_token":"`))},
		{"tokens lead elsewhere", "returned 307 instead of a token", handle("/token", leadTo("https://evil.example/"))},
		{"token of another kind", `a token of type "mac"`, handle("/token", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"access_token":"abc","token_type":"mac"}`)
		})},
		{"token with a line end", "an invalid token", handle("/token", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"access_token":"abc\r\nHost: evil","token_type":"bearer"}`)
		})},
		{"port in use", "cannot use", func(site *mcptest.Site, server *login.Server) {
			u, _ := url.Parse(site.Authority.URL)
			_, _ = fmt.Sscan(u.Port(), &server.Port)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			site, s := newSite(t), newStore(t)
			server := login.Server{Address: site.Address}
			c.change(site, &server)
			_, err := s.Login(t.Context(), server, person(t))
			want := strings.ReplaceAll(c.want, "ISSUER", site.Authority.URL)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Errorf("%q", err)
			}
			if _, there, _ := s.Find(server.Address); there {
				t.Error("a login is kept")
			}
		})
	}
}

// meta changes the metadata of the authorization server; nil removes it.
func meta(key string, value any) func(*mcptest.Site, *login.Server) {
	return func(site *mcptest.Site, _ *login.Server) {
		site.Authority.Metadata = func(m map[string]any) {
			if m[key] = value; value == nil {
				delete(m, key)
			}
		}
	}
}

func handle(path string, h http.HandlerFunc) func(*mcptest.Site, *login.Server) {
	return func(site *mcptest.Site, _ *login.Server) {
		site.Authority.Handle = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != path {
				return false
			}
			h(w, r)
			return true
		}
	}
}

func leadTo(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", address)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
}

// endless begins with a text and does not end.
func endless(begin string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, err := fmt.Fprint(w, begin)
		for err == nil && r.Context().Err() == nil {
			_, err = fmt.Fprint(w, strings.Repeat("x", 1<<16))
		}
	}
}

// Answers that do not belong to the login have no effect; the right one counts.
func TestStrayAnswers(t *testing.T) {
	site, s := newSite(t), newStore(t)
	var told []string
	noted := make(chan struct{}, 8)
	p := person(t)
	p.Tell = func(note string) { told = append(told, note); noted <- struct{}{} }
	p.Show = func(address string) {
		go func() {
			u, _ := url.Parse(address)
			back := u.Query().Get("redirect_uri")
			for _, query := range []string{"?code=evil&state=wrong", "?code=evil", "?state=a&state=" + u.Query().Get("state")} {
				if page, err := mcptest.Visit(back + query); err != nil || !strings.Contains(page, "does not belong to the login") {
					t.Errorf("%s: %s, %v", query, page, err)
				}
				<-noted
			}
			if page, err := mcptest.Visit(strings.TrimSuffix(back, "/callback") + "/?code=x"); err != nil || !strings.Contains(page, "Nothing to see here") {
				t.Errorf("%s, %v", page, err)
			}
			if page, err := mcptest.Visit(address); err != nil || !strings.Contains(page, "Done.") {
				t.Errorf("%s, %v", page, err)
			}
		}()
	}
	if _, err := s.Login(t.Context(), login.Server{Address: site.Address}, p); err != nil {
		t.Fatal(err)
	}
	if len(told) != 3 || !strings.Contains(told[0], "ignored a response") {
		t.Errorf("%q", told)
	}
}

// A browser on another machine cannot redirect back, so the person pastes the address.
func TestPastedAddress(t *testing.T) {
	site, s := newSite(t), newStore(t)
	pasted := make(chan string, 2)
	p := person(t)
	p.Pasted = pasted
	p.Show = func(address string) {
		elsewhere := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := elsewhere.Get(address)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		pasted <- "hello?"
		pasted <- " " + resp.Header.Get("Location") + "\n"
	}
	if _, err := s.Login(t.Context(), login.Server{Address: site.Address}, p); err != nil {
		t.Fatal(err)
	}
}

func TestNobodyLogsIn(t *testing.T) {
	site, s := newSite(t), newStore(t)
	p := person(t)
	p.Show, p.Wait = func(string) {}, 300*time.Millisecond
	_, err := s.Login(t.Context(), login.Server{Address: site.Address}, p)
	if err == nil || !strings.Contains(err.Error(), "the login timed out") {
		t.Error(err)
	}
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	p.Show, p.Wait = func(string) { cancel(stop) }, time.Minute
	if _, err := s.Login(ctx, login.Server{Address: site.Address}, p); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func TestWantsLogin(t *testing.T) {
	site := newSite(t)
	if wants, err := login.WantsLogin(t.Context(), login.Server{Address: site.Address}); !wants || err != nil {
		t.Errorf("%v, %v", wants, err)
	}
	if wants, err := login.WantsLogin(t.Context(), login.Server{Address: "http://127.0.0.1:1/"}); wants || err == nil {
		t.Errorf("%v, %v", wants, err)
	}
}
