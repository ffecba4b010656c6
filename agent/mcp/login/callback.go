package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// callback waits on this machine for the browser to return.
type callback struct {
	address string // where it returns to
	state   string // that it must bring
	issuer  string
	tells   bool // the authorization server identifies itself when it redirects back

	web     *http.Server
	done    chan struct{}
	answers chan answer
	strays  chan struct{} // answers that do not belong to this login
}

// answer is what a browser brought: a code, or why there is none.
type answer struct {
	code string
	err  error
}

// listen opens the address to which a browser returns. Only this machine can reach it.
func listen(port int, issuer string, tells bool) (*callback, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, failf("stop the program that uses it, or set another `port` under login", "cannot use port %d on this machine: %s", port, plain(Cause(err).Error()))
	}
	c := &callback{
		address: "http://" + l.Addr().String() + "/callback", state: rand.Text(), issuer: issuer, tells: tells,
		done: make(chan struct{}), answers: make(chan answer, 1), strays: make(chan struct{}, 1),
	}
	c.web = &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() {
		defer close(c.done)
		_ = c.web.Serve(l) // until it is closed
	}()
	return c, nil
}

// close waits until the last page has been delivered to the browser.
func (c *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if c.web.Shutdown(ctx) != nil {
		_ = c.web.Close() // the rest does not matter
	}
	<-c.done
}

// ServeHTTP receives what a browser brings. Other web pages can send it here too: a request
// without the state is not part of this login, and has no effect.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.URL.Path != "/callback" {
		page(w, http.StatusNotFound, "Nothing to see here.")
		return
	}
	got, ours := c.judge(r.URL.Query())
	if !ours {
		select {
		case c.strays <- struct{}{}:
		default:
		}
		page(w, http.StatusBadRequest, "This request does not belong to the login in progress. Start again with the address that hocket shows.")
		return
	}
	if got.err != nil {
		page(w, http.StatusOK, "Login failed. See the terminal for the reason. You can close this page.")
	} else {
		page(w, http.StatusOK, "Done. See the terminal for the result. You can close this page.")
	}
	select {
	case c.answers <- got:
	default: // the first one counts
	}
}

// page shows a sentence. It contains nothing from outside.
func page(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<!doctype html><title>Hocket</title><p>"+text+"</p>\n") // the browser may be gone
}

// judge reads an answer. The result ours means that it belongs to this login.
func (c *callback) judge(q url.Values) (_ answer, ours bool) {
	if len(q["state"]) != 1 || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(c.state)) != 1 {
		return answer{}, false
	}
	iss := q.Get("iss")
	switch {
	case iss != "" && iss != c.issuer, iss == "" && c.tells:
		return answer{err: failf("try again; if it happens again, do not trust the server", "the response is from %q, not from %s, where you logged in", plain(iss), c.issuer)}, true
	case q.Get("error") != "":
		return answer{err: refusal(c.issuer, q.Get("error"), q.Get("error_description"))}, true
	case q.Get("code") == "":
		return answer{err: failf("", "%s redirected the browser without a code", c.issuer)}, true
	}
	return answer{code: q.Get("code")}, true
}

// refusal describes a refusal by the person or the authorization server.
func refusal(issuer, code, about string) error {
	text := plain(code)
	if about = plain(about); about != "" {
		text += ": " + about
	}
	switch code {
	case "access_denied":
		return failf("log in again, and allow it", "the login at %s was denied (%s)", issuer, text)
	case "invalid_scope":
		return failf("set others under login in config.yml, for example `scopes: [read]`", "%s does not know the scopes (%s)", issuer, text)
	}
	return failf("", "%s rejected the login (%s)", issuer, text)
}

// wait returns the code that the browser brings, or that a person pastes.
func (c *callback) wait(ctx context.Context, person Person) (string, error) {
	for {
		select {
		case got := <-c.answers:
			return got.code, got.err
		case <-c.strays:
			person.Tell("ignored a response that does not belong to this login")
		case text, open := <-person.Pasted:
			if !open {
				person.Pasted = nil
				continue
			}
			if got, ours := c.pasted(text); ours {
				return got.code, got.err
			}
			person.Tell("that is not the address of the browser's last page, which begins with " + c.address + "?")
		case <-ctx.Done():
			return "", interrupted(ctx)
		}
	}
}

// pasted reads the address at which a browser on another machine ended.
func (c *callback) pasted(text string) (answer, bool) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return answer{}, false
	}
	return c.judge(u.Query())
}

// interrupted explains why a login was given up.
func interrupted(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return failf("try again, and allow more time with --timeout", "the login timed out")
}
