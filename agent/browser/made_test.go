package browser_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-dev/hocket/agent/browser"
	"github.com/hocket-dev/hocket/internal/outbound"
)

// TestMadePages opens pages that consist of shadow trees and frames, and documents that
// are not pages.
func TestMadePages(t *testing.T) {
	s := newSite(t)
	mux := http.NewServeMux()
	serve := func(path, kind, body string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, body)
		})
	}
	page := func(path, body string) { serve(path, "text/html; charset=utf-8", body) }
	page("/shadow", `<h1>outside</h1><my-card><b slot=name>given</b></my-card><p>after</p><script>
customElements.define('my-card', class extends HTMLElement { connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML =
'<style>p{color:red}</style><p class=inner>inside <slot name=name></slot></p><p style="display:none">unseen</p><a href=/deep>deep link</a><button onclick="document.title=\'pressed\'">Press</button><input name=field oninput="document.title=this.value"><my-leaf></my-leaf>' } })
customElements.define('my-leaf', class extends HTMLElement { connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<i>deepest</i>' } })</script>`)
	page("/frame", `<h1>outer</h1><div style="height:500px"></div><iframe style="border:7px solid" src=/inner></iframe><p>below</p>`)
	page("/inner", `<h2>inner words</h2><div style="height:200px"></div><a href=/deep>inner link</a><button onclick="top.document.title='pressed'">Press</button><input name=field oninput="top.document.title=this.value">`)
	page("/fields", `<title>-</title><input type=date id=date><input type=color id=color><input type=range id=range min=0 max=10><input type=number id=number><input type=checkbox id=box><input type=file id=file>
<div contenteditable=true id=text>old</div><script>addEventListener('input', e => document.title = e.target.value || e.target.innerText)</script>`)
	serve("/picture", "image/png", "\x89PNG\r\n\x1a\n")
	serve("/paper", "application/pdf", "%PDF-1.4 hello")
	serve("/json", "application/json", `{"a": 1}`)
	mux.HandleFunc("GET /auth", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	mux.HandleFunc("GET /nothing", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	own, secure := httptest.NewServer(mux), httptest.NewUnstartedServer(mux)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer own.Close()
	defer secure.Close()
	b := browser.New(browser.Options{Network: outbound.Policy{Allowed: []string{strings.TrimPrefix(own.URL, "http://"), strings.TrimPrefix(secure.URL, "https://")}}})
	run, err := browser.Shared(t, b, func([]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ settings, want, failure string }{
		{`{"url": "OWN/shadow"}`, "outside\n\ninside given\ndeep linkPressdeepest\nafter", ""},
		{`{"url": "OWN/shadow", "extract": ".inner"}`, "inside given", ""},
		{`{"url": "OWN/shadow", "extract": {"leaf": {"selector": "i", "all": true}}}`, `{"leaf":["deepest"]}`, ""},
		{`{"steps": [{"open": "OWN/shadow"}, "links"]}`, `[{"text":"deep link","url":"OWN/deep"}]`, ""},
		{`{"steps": [{"open": "OWN/shadow"}, {"click": {"text": "press"}}, {"extract": "title"}]}`, "pressed", ""},
		{`{"steps": [{"open": "OWN/shadow"}, {"type": {"selector": "input[name=field]", "text": "typed"}}, {"extract": "title"}]}`, "typed", ""},
		{`{"url": "OWN/frame"}`, "outer\n\ninner words\ninner linkPress\nbelow", ""},
		{`{"steps": [{"open": "OWN/frame"}, "links"]}`, `[{"text":"inner link","url":"OWN/deep"}]`, ""},
		{`{"steps": [{"open": "OWN/frame"}, {"wait": "h2"}, {"click": {"text": "Press"}}, {"extract": "title"}]}`, "pressed", ""},
		{`{"steps": [{"open": "OWN/frame"}, {"type": {"selector": "input[name=field]", "text": "typed"}}, {"extract": "title"}]}`, "typed", ""},
		{`{"steps": [{"open": "OWN/fields"}, {"type": {"selector": "#date", "text": "2026-01-31"}}, {"extract": "title"}]}`, "2026-01-31", ""},
		{`{"steps": [{"open": "OWN/fields"}, {"type": {"selector": "#date", "text": "31.1.2026"}}]}`, "", `requires a date such as 2026-01-31, not "31.1.2026"`},
		{`{"steps": [{"open": "OWN/fields"}, {"type": {"selector": "#color", "text": "#FF8800"}}, {"extract": "title"}]}`, "#ff8800", ""},
		{`{"steps": [{"open": "OWN/fields"}, {"type": {"selector": "#range", "text": "11"}}]}`, "", `requires a number within its limits`},
		{`{"steps": [{"open": "OWN/fields"}, {"type": {"selector": "#number", "text": "4.5"}}, {"extract": "title"}]}`, "4.5", ""},
		{`{"steps": [{"open": "OWN/fields"}, {"type": {"selector": "#number", "text": "four"}}]}`, "", `requires a number, not "four"`},
		{`{"steps": [{"open": "OWN/fields"}, {"type": {"selector": "#text", "text": "new"}}, {"extract": "title"}]}`, "new", ""},
		{`{"steps": [{"open": "OWN/fields"}, {"type": {"selector": "#box", "text": "x"}}]}`, "", "this element does not accept text"},
		{`{"steps": [{"open": "OWN/fields"}, {"type": {"selector": "#file", "text": "/etc/passwd"}}]}`, "", "this element does not accept text"},
		{`{"url": "OWN/json"}`, `{"a": 1}`, ""},
		{`{"url": "OWN/picture"}`, "", "the page has type image/png, which has no text; use an http or shell step"},
		{`{"url": "OWN/paper"}`, "", "the page has type application/pdf, which has no text; use an http or shell step"},
		{`{"url": "OWN/auth"}`, "", "could not open OWN/auth: it requires a user name and a password"},
		{`{"url": "OWN/nothing"}`, "", "could not open OWN/nothing: it returned no page"},
		{`{"url": "SECURE/json"}`, "", "its certificate is invalid (ERR_CERT_AUTHORITY_INVALID)"},
	} {
		fill := strings.NewReplacer("OWN", own.URL, "SECURE", secure.URL)
		got, err := run(s.task(t, fill.Replace(c.settings)))
		if c.failure == "" && (err != nil || got != fill.Replace(c.want)) || c.failure != "" && (err == nil || !strings.Contains(err.Error(), fill.Replace(c.failure))) {
			t.Errorf("%s\ngot  %q, %v\nwant %q %s", c.settings, got, err, c.want, c.failure)
		}
	}
}

// TestNothingPrivateIsReached has pages that try every way to reach another server. No
// connection is made to it.
func TestNothingPrivateIsReached(t *testing.T) {
	s := newSite(t)
	var reached atomic.Int32
	private := httptest.NewUnstartedServer(http.NotFoundHandler())
	private.Config.ConnState = func(net.Conn, http.ConnState) { reached.Add(1) }
	private.Start()
	defer private.Close()
	udp, err := net.ListenPacket("udp", strings.TrimPrefix(private.URL, "http://"))
	if err != nil {
		t.Skip(err)
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for buf := make([]byte, 2000); ; reached.Add(1) {
			if _, _, err := udp.ReadFrom(buf); err != nil {
				return
			}
		}
	}()
	mux := http.NewServeMux()
	serve := func(path, kind, body string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, strings.ReplaceAll(body, "PRIVATE", strings.TrimPrefix(private.URL, "http://")))
		})
	}
	serve("/ways", "text/html", `<h1>-</h1><link rel=preconnect href="http://PRIVATE"><link rel=dns-prefetch href="http://PRIVATE"><link rel=prefetch href="http://PRIVATE/p"><link rel=stylesheet href="http://PRIVATE/s.css">
<img src="http://PRIVATE/i"><video src="http://PRIVATE/v" autoplay></video><iframe src="http://PRIVATE/f"></iframe><object data="http://PRIVATE/o"></object><script src="http://PRIVATE/j.js"></script>
<script>
navigator.sendBeacon('http://PRIVATE/b'); new WebSocket('ws://PRIVATE/w'); new EventSource('http://PRIVATE/e'); fetch('http://PRIVATE/c', {mode: 'no-cors'}).catch(() => {});
new Worker(URL.createObjectURL(new Blob(["fetch('http://PRIVATE/worker', {mode: 'no-cors'})"])));
try { new WebTransport('https://PRIVATE/t') } catch {}
const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:PRIVATE'}, {urls: 'turn:PRIVATE?transport=tcp', username: 'a', credential: 'b'}]});
peer.createDataChannel('x'); peer.createOffer().then((o) => peer.setLocalDescription(o));
peer.onicegatheringstatechange = () => { if (peer.iceGatheringState === 'complete') document.querySelector('h1').id = 'gathered' };
navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => document.querySelector('h1').className = 'ready');
</script>`)
	serve("/worker.js", "text/javascript", "fetch('http://PRIVATE/service', {mode: 'no-cors'}).catch(() => {}); new WebSocket('ws://PRIVATE/s')")
	own := httptest.NewServer(mux)
	defer own.Close()
	b := browser.New(browser.Options{Network: outbound.Policy{Allowed: []string{strings.TrimPrefix(own.URL, "http://")}}})
	task := s.task(t, `{"steps": [{"open": "`+own.URL+`/ways"}, {"wait": "h1.ready"}, {"wait": "#gathered"}, {"wait": {"time": "500ms"}}, {"extract": "h1"}]}`)
	if got, err := b.Run(t.Context(), task, func([]byte) {}); err != nil || got.Output != "-" {
		t.Errorf("got %q, %v", got.Output, err)
	}
	_ = udp.Close()
	<-heard
	if n := reached.Load(); n > 0 {
		t.Errorf("the other server was reached %d times", n)
	}
}
