package web_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A browser sends a cookie to every port of a name. So a program at another port of this machine must not get the
// session, unless it knows the name of the page.
func TestOtherPortsDoNotGetTheSession(t *testing.T) {
	f := newFixture(t, nil)
	b := f.tab()
	got := make(chan string, 10)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			got <- r.Header.Get("Cookie") + r.Header.Get("Referer")
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<main>another program</main>"))
	})}
	go func() { _ = other.Serve(l) }()
	t.Cleanup(func() { other.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost", "other.localhost"} {
		b.do(chromedp.Navigate("http://"+net.JoinHostPort(host, port)+"/"), chromedp.WaitVisible("main"))
		if text := <-got; text != "" {
			t.Errorf("a program at %s got %q", host, text)
		}
	}
	// The same with a link in the page, which is not followed with the address of the page.
	b.open("/")
	b.do(chromedp.Evaluate[chromedp.Void](`{ const a = document.createElement("a"); a.href = "http://127.0.0.1:` + port + `/"; document.body.append(a); a.click() }`))
	if text := <-got; text != "" {
		t.Errorf("a program behind a link got %q", text)
	}
	b.wait(`location.port === "` + port + `" && document.readyState === "complete"`)
	// It is the name that protects: this test would notice a cookie.
	own := strings.TrimSuffix(strings.TrimPrefix(f.base, "http://"), f.base[strings.LastIndex(f.base, ":"):])
	b.do(chromedp.Navigate("http://"+net.JoinHostPort(own, port)+"/"), chromedp.WaitVisible("main"))
	if text := <-got; !strings.HasPrefix(text, "hocket-") {
		t.Errorf("a program that knows the name got %q", text)
	}
}

// Whoever opens the address for programs is told what to do, and not where the page is.
func TestWithoutASession(t *testing.T) {
	f := newFixture(t, nil)
	b := f.tab()
	local := "http://127.0.0.1" + f.base[strings.LastIndex(f.base, ":"):]
	b.do(chromedp.Navigate(local+"/projects/shop"), chromedp.WaitVisible("h1"))
	if text := eval[string](b, "document.documentElement.outerHTML"); !strings.Contains(text, "<code>hocket open</code>") || strings.Contains(text, ".localhost") {
		t.Error(text)
	}
}
