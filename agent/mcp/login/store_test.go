package login_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent/mcp/login"
	"github.com/hocket-dev/hocket/agent/mcp/mcptest"
)

// The test binary is also a process that requests a token.
func TestMain(m *testing.M) {
	if address := os.Getenv("HOCKET_TEST_TOKEN_FOR"); address != "" {
		token, err := login.Open(login.Options{Dir: os.Getenv("HOCKET_TEST_LOGINS")}).Token(context.Background(), address)
		fmt.Println(token, err)
		return
	}
	os.Exit(m.Run())
}

func loggedIn(t *testing.T, change func(*mcptest.Authority)) (*mcptest.Site, *store) {
	t.Helper()
	site, s := newSite(t), newStore(t)
	change(site.Authority)
	if _, err := s.Login(t.Context(), login.Server{Address: site.Address}, person(t)); err != nil {
		t.Fatal(err)
	}
	return site, s
}

// short makes tokens expire at once, until the first is renewed.
func short(a *mcptest.Authority) { a.Life = time.Second }

func TestTokenIsRenewed(t *testing.T) {
	site, s := loggedIn(t, short)
	site.Authority.Life = time.Hour
	first, err := s.Token(t.Context(), site.Address)
	if err != nil || !site.Authority.Good(first, site.Address) || site.Authority.Asked("refresh_token") != 1 {
		t.Errorf("%q, %v", first, err)
	}
	if again, err := s.Token(t.Context(), site.Address); err != nil || again != first {
		t.Errorf("%q, %v", again, err)
	}
	// A token that the server rejects is renewed too, by the first caller that reports
	// it.
	for range 2 {
		next, err := s.Renew(t.Context(), site.Address, first)
		if err != nil || next == first || !site.Authority.Good(next, site.Address) || site.Authority.Asked("refresh_token") != 2 {
			t.Errorf("%q, %v", next, err)
		}
	}
}

// Many goroutines and processes need a new token at once. Only one requests it, because a
// second request would end the login for all.
func TestOneRenewsForAll(t *testing.T) {
	site, s := loggedIn(t, short)
	site.Authority.Life = time.Hour
	slow := make(chan struct{})
	var once sync.Once
	site.Authority.Handle = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			once.Do(func() { <-slow })
		}
		return false
	}
	got := make(chan string, 16)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			token, err := login.Open(login.Options{Dir: s.dir}).Token(t.Context(), site.Address)
			got <- fmt.Sprintln(token, err)
		})
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		all.Go(func() {
			var out bytes.Buffer
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), "HOCKET_TEST_TOKEN_FOR="+site.Address, "HOCKET_TEST_LOGINS="+s.dir)
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
			got <- out.String()
		})
	}
	for site.Authority.Asked("/token") < 2 { // the login, and the first renewal
		time.Sleep(time.Millisecond)
	}
	close(slow)
	all.Wait()
	close(got)
	first := <-got
	if !strings.HasPrefix(first, "access-") {
		t.Fatal(first)
	}
	for other := range got {
		if other != first {
			t.Errorf("%q, and another got %q", other, first)
		}
	}
	if n := site.Authority.Asked("refresh_token"); n != 1 {
		t.Errorf("the token was renewed %d times", n)
	}
}

func TestLoginThatEnds(t *testing.T) {
	var ended *login.EndedError
	t.Run("revoked", func(t *testing.T) {
		site, s := loggedIn(t, func(*mcptest.Authority) {})
		token, err := s.Token(t.Context(), site.Address)
		if err != nil {
			t.Fatal(err)
		}
		site.Authority.Revoke(true)
		for range 2 { // the second time no server is asked
			if _, err := s.Renew(t.Context(), site.Address, token); !errors.As(err, &ended) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%v", err)
			}
		}
		if n := site.Authority.Asked("refresh_token"); n != 1 {
			t.Errorf("asked %d times", n)
		}
		if l, there, err := s.Find(site.Address); !there || !l.Ended || err != nil {
			t.Errorf("%+v, %v", l, err)
		}
		if _, err := s.Token(t.Context(), site.Address); !errors.As(err, &ended) {
			t.Error(err)
		}
	})
	t.Run("limited", func(t *testing.T) {
		site, s := loggedIn(t, func(a *mcptest.Authority) { short(a); a.NoRenew = true })
		if _, err := s.Token(t.Context(), site.Address); !errors.As(err, &ended) {
			t.Error(err)
		}
		if l, _, _ := s.Find(site.Address); !l.Ended || l.Renews {
			t.Errorf("%+v", l)
		}
	})
	t.Run("trouble that passes", func(t *testing.T) {
		site, s := loggedIn(t, short)
		site.Authority.Life = time.Hour
		site.Authority.Handle = func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return true
		}
		if _, err := s.Token(t.Context(), site.Address); err == nil || errors.As(err, &ended) || !strings.Contains(err.Error(), "cannot be renewed") {
			t.Error(err)
		}
		site.Authority.Handle = nil
		if token, err := s.Token(t.Context(), site.Address); err != nil || !site.Authority.Good(token, site.Address) {
			t.Errorf("%q, %v", token, err)
		}
	})
}

func TestBrokenFile(t *testing.T) {
	site, s := loggedIn(t, func(*mcptest.Authority) {})
	files, _ := filepath.Glob(filepath.Join(s.dir, "*.json"))
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := strings.Replace(string(good), site.Address, "https://bank.example/mcp", 1)
	for _, text := range []string{"", "{", "null", "[]", elsewhere} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var broken *login.BrokenError
		if token, err := s.Token(t.Context(), site.Address); !errors.As(err, &broken) || token != "" {
			t.Errorf("%q: %q, %v", text, token, err)
		}
	}
	if there, err := s.Logout(t.Context(), site.Address); !there || err != nil {
		t.Errorf("%v, %v", there, err)
	}
}
