package server

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket"
)

// place is where the server can be reached: the names that requests may use for it.
type place struct {
	hosts  []string // with the port, and without it if it is the usual one
	origin []string // scheme and host of each
	public string   // scheme and host of the address that people use: only there is a cookie set, and accepted
	page   []string // the hosts of that address
	secure bool     // the public address is https
	cookie string
}

// newPlace returns the place of a server that listens on an address, with TLS or without. public is its
// public address, nil if it has none. name is then the host of its pages; "": they are at the address itself.
// Programs also know the server by its local names.
func newPlace(listen net.Addr, tls bool, public *url.URL, name string) place {
	_, port, _ := net.SplitHostPort(listen.String())
	p := place{cookie: "hocket-" + port, secure: tls} // cookies do not distinguish ports
	scheme := "http"
	if tls {
		scheme = "https"
	}
	for _, host := range []string{"127.0.0.1", "localhost", "::1"} {
		p.add(scheme, net.JoinHostPort(host, port))
	}
	host := listen.String()
	if public != nil {
		scheme, host, p.secure = public.Scheme, public.Host, tls || public.Scheme == "https"
	} else if name != "" {
		host = net.JoinHostPort(name, port)
	}
	p.public, p.page = scheme+"://"+host, p.add(scheme, host)
	return p
}

// hasOwnName reports whether the pages of a server are at a name of their own: browsers that share a machine with it
// send the cookie of a session to every port of a name. The certificate of a server with TLS is for another name.
func hasOwnName(listen net.Addr, tls bool, public *url.URL) bool {
	tcp, ok := listen.(*net.TCPAddr)
	return ok && isLocalhost(tcp.IP) && !tls && public == nil
}

// add adds a host, and returns what browsers call it.
func (p *place) add(scheme, host string) (hosts []string) {
	host = strings.ToLower(host)
	hosts = append(hosts, host)
	if usual := map[string]string{"http": ":80", "https": ":443"}[scheme]; strings.HasSuffix(host, usual) { // which browsers leave out
		host = strings.TrimSuffix(host, usual)
		hosts = append(hosts, host)
	}
	p.hosts, p.origin = append(p.hosts, hosts...), append(p.origin, scheme+"://"+host)
	return hosts
}

// forPage reports whether a request is for the address of the pages.
func (p *place) forPage(r *http.Request) bool {
	return slices.Contains(p.page, strings.ToLower(r.Host))
}

// policy is what the pages of the server may do. Nothing in them is inline, so that text from a run
// can never become a script or a style. The one policy of trusted types is for the address of the worker.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types hocket"

// answerPolicy is for the answers of the API, which are no pages: opened as one, they can do nothing. A drawing has its
// style in it.
const answerPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

// caller is who makes a request.
type caller struct {
	by  string // as the journal records it
	via string
	*Token
}

type callerKey struct{}

// callerOf returns who makes the request of an operation. The guard has checked it.
func callerOf(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	return c
}

// guard checks every request before anything else sees it.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		if strings.HasPrefix(r.URL.Path, apiPath+"/projects/") {
			h.Set("Content-Security-Policy", answerPolicy)
		}
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin") // with no-referrer, forms would be sent without an origin
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !slices.Contains(s.place.hosts, strings.ToLower(r.Host)) {
			// Another name for this address may be that of an attacker, who pointed it here.
			fail(w, newProblem(http.StatusMisdirectedRequest, "unknown-host", "this server is not "+strconv.Quote(r.Host)+"; start it with --url if that is its public address"))
			return
		}
		if r.URL.Path == "/healthz" {
			next.ServeHTTP(w, r)
			return
		}
		if !s.fromHere(r) {
			fail(w, newProblem(http.StatusForbidden, "foreign-origin", "the request comes from a page of another site"))
			return
		}
		if r.URL.Path == stylePath { // pages for people without a session have it, too
			next.ServeHTTP(w, r)
			return
		}
		if strings.HasPrefix(r.URL.Path, hooksPath) { // has a signature
			if insideRun(r.RemoteAddr, localAddress(r)) {
				fail(w, fromInside())
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == enterPath { // has its own secret
			if insideRun(r.RemoteAddr, localAddress(r)) {
				fail(w, fromInside())
			} else {
				s.enter(w, r)
			}
			return
		}
		who, err := s.identify(r)
		switch {
		case err != nil:
			s.log.Error("tokens cannot be read", "error", err)
			fail(w, newProblem(http.StatusInternalServerError, "internal", "the tokens of this server cannot be read"))
		case who == nil:
			if strings.Contains(r.Header.Get("Accept"), "text/html") && !strings.HasPrefix(r.URL.Path, apiPath) {
				if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
					openAgain(w, r.URL.RequestURI())
				} else {
					askForSession(w)
				}
				return
			}
			h.Set("WWW-Authenticate", `Bearer realm="hocket"`)
			p := newProblem(http.StatusUnauthorized, "unauthorized", "this needs a valid token or session")
			p.Hint = "open the page with `hocket open`, or send a token of `hocket serve token`"
			fail(w, p)
		case slices.Contains(who.Scopes, Model) && !strings.HasPrefix(r.URL.Path, mcpPath): // also where no scope is needed
			fail(w, noScope(who, Read))
		case r.Method != http.MethodGet && r.Method != http.MethodHead && insideRun(r.RemoteAddr, localAddress(r)): // with a browser's cookie, too
			fail(w, fromInside())
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, who)))
		}
	})
}

// fromInside is the answer to a program that works for a run and wants more than to read, even with a person's token, cookie or link.
func fromInside() *Problem {
	p := newProblem(http.StatusForbidden, "inside-run", "a program that works for a run cannot start or change anything through the server, because the limits of its run would not apply")
	p.Hint = "use the command line, such as `hocket run` or `hocket mcp serve`"
	return p
}

// openAgain makes a browser open a page from here. A browser that follows a link on another site, such as in
// a mail, sends no cookie at first, even if it has one.
func openAgain(w http.ResponseWriter, path string) {
	if !fitForPath(path) {
		path = "/"
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, "<!doctype html><html lang=\"en\"><meta http-equiv=\"refresh\" content=\"0; url=%[1]s\"><title>Hocket</title><p><a href=\"%[1]s\">Open Hocket</a></p></html>\n", html.EscapeString(path))
}

// askForSession tells a person without a session how to get one.
func askForSession(w http.ResponseWriter) {
	tell(w, http.StatusUnauthorized, "This browser has no session")
}

// tell is a page that says why a person cannot enter, and what to do.
func tell(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<!doctype html><html lang=\"en\"><meta name=\"viewport\" content=\"width=device-width\"><title>Hocket</title><link rel=\"stylesheet\" href=\""+stylePath+"\"><main><h1>%s</h1>"+
		"<p>Run <code>hocket open</code> in a directory of the project. It opens a link that starts a session.</p></main></html>\n", why)
}

// fromHere reports whether a request comes from a page of this server, or from no page at all. Every
// port of a name is the same site for a browser, and gets the cookie; so SameSite is not enough.
func (s *Server) fromHere(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && !slices.Contains(s.place.origin, strings.ToLower(origin)) {
		return false
	}
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
		return true
	case "none": // the user typed the address, or opened a link of another program
		return safe
	case "": // not a browser, or an old one, which sends at least the origin
		_, err := r.Cookie(s.place.cookie)
		return err != nil || r.Header.Get("Origin") != "" || safe
	}
	return safe && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && !strings.HasPrefix(r.URL.Path, "/api/")
}

// identify returns who makes a request, nil if nobody known does.
func (s *Server) identify(r *http.Request) (*caller, error) {
	if secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		t, err := s.access.find(strings.TrimSpace(secret), false)
		if t == nil {
			return nil, err
		}
		return &caller{t.Name, "http", t}, nil
	}
	c, err := r.Cookie(s.place.cookie)
	if err != nil || !s.place.forPage(r) {
		return nil, nil //nolint:nilerr // there is no cookie, or one that a page elsewhere may have got
	}
	t, err := s.access.find(c.Value, true)
	if t == nil {
		return nil, err
	}
	return &caller{t.Name, "page", t}, nil
}

const enterPath = "/enter"

// localAddress returns the address at which a request arrived.
func localAddress(r *http.Request) string {
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return a.String()
	}
	return ""
}

// enter starts a browser session with a link that can be used once.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		fail(w, newProblem(http.StatusMethodNotAllowed, "invalid-request", "use GET"))
		return
	}
	key := r.URL.Query().Get("key")
	if !s.place.forPage(r) { // whoever asks may not know the right address, and does not learn it here
		refuseLink(w, r, "this link is for another address")
		return
	}
	if s.doors != "" {
		_ = os.Remove(redirectFile(s.doors, key)) // there may be none
	}
	if !s.links.use(key) {
		if who, _ := s.identify(r); who != nil { // a tab that was restored
			openAgain(w, r.URL.Query().Get("to"))
			return
		}
		refuseLink(w, r, "this link was used before, or is too old")
		return
	}
	secret, err := s.access.session(hocket.UserName())
	if err != nil {
		s.log.Error("session not stored", "error", err)
		fail(w, newProblem(http.StatusInternalServerError, "internal", "the session could not be stored"))
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: s.place.cookie, Value: secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.place.secure,
		MaxAge: int(sessionLife.Seconds()),
	})
	// Not a redirect: after one that another page or program began, a browser does not send the cookie.
	openAgain(w, r.URL.Query().Get("to"))
}

// refuseLink answers a request with a link that does not start a session.
func refuseLink(w http.ResponseWriter, r *http.Request, why string) {
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		tell(w, http.StatusForbidden, strings.ToUpper(why[:1])+why[1:])
		return
	}
	p := newProblem(http.StatusForbidden, "link-used", why)
	p.Hint = "get a new one with `hocket open`"
	fail(w, p)
}

// fitForPath reports whether a text is a path of this server, and safe in a page.
func fitForPath(to string) bool {
	unfit := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\\\"'<>;", r) }
	return strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") && !strings.ContainsFunc(to, unfit)
}

// fail answers a request with a problem.
func fail(w http.ResponseWriter, p *Problem) {
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // if the client has gone, nobody reads it
}
