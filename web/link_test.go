package web_test

import (
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// A link in a mail on another site opens the question of a run, with the session that the browser has.
func TestLinkInAMail(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("gated")
	f.until(run, "waiting")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mail := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<a href=\"%s/projects/shop/runs/%s\">open</a>", f.base, run.ID())
	})}
	go func() { _ = mail.Serve(l) }()
	defer mail.Close()
	b := f.tab()
	b.open("/")
	_, port, _ := net.SplitHostPort(l.Addr().String())
	b.do(chromedp.Navigate("http://localhost:" + port + "/")) // another site than 127.0.0.1
	b.wait(`document.querySelector("a")`)
	eval[bool](b, `document.querySelector("a").click(), true`)
	b.wait(`document.querySelector(".question")?.textContent.includes("Publish the draft?")`)
}
