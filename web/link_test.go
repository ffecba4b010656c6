package web_test

import (
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
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

// A link that was used leads to the page if there is a session, and otherwise says what to do.
func TestUsedLink(t *testing.T) {
	f := newFixture(t, nil)
	link, err := f.s.Link("/inbox")
	if err != nil {
		t.Fatal(err)
	}
	enter := func(c *http.Client, accept string) (int, string) {
		r, err := http.NewRequest(http.MethodGet, link, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		res, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	enter(http.DefaultClient, "text/html")
	for _, one := range []struct {
		client *http.Client
		accept string
		status int
		want   string
	}{
		{f.client(), "text/html", http.StatusOK, `url=/inbox"`},
		{http.DefaultClient, "text/html", http.StatusForbidden, "<h1>This link was used before"},
		{http.DefaultClient, "*/*", http.StatusForbidden, `"urn:hocket:link-used"`},
	} {
		if status, text := enter(one.client, one.accept); status != one.status || !strings.Contains(text, one.want) {
			t.Errorf("status %d, want %d and %s: %s", status, one.status, one.want, text)
		}
	}
}

// A browser without a session is told how to get one, in a page that has its style.
func TestNoSession(t *testing.T) {
	f := newFixture(t, nil)
	b := f.tab()
	if _, err := chromedp.Call(b.ctx, network.ClearBrowserCookies, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	b.open("/projects/shop")
	b.wait(`document.querySelector("h1").textContent === "This browser has no session" && document.body.innerText.includes("hocket open")`)
	if font := eval[string](b, `getComputedStyle(document.body).fontFamily`); !strings.Contains(font, "system-ui") {
		t.Errorf("the page has no style: %s", font)
	}
	b.pictures("no-session")
}

// Every link of a page that says what went wrong leads to a page, also without JavaScript.
func TestProblemLinks(t *testing.T) {
	f := newFixture(t, nil)
	c := f.client()
	run := f.begin("hello")
	f.until(run, "success")
	pages := map[string]string{"/projects/none": f.get(c, "/projects/none", http.StatusNotFound)}
	for _, form := range []string{"/projects/shop/runs/" + run.ID() + "/retry", "/projects/shop/runs/" + run.ID() + "/cancel", "/projects/shop/runs/" + run.ID() + "/raise"} {
		res, err := c.PostForm(f.base+form, url.Values{"from": {"nothing"}, "steps": {"many"}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode < 400 {
			t.Fatalf("%s: status %d (%v)", form, res.StatusCode, err)
		}
		if pages[form] = string(text); !strings.Contains(pages[form], ">Go back</a>") {
			t.Errorf("%s: no way back:\n%s", form, text)
		}
	}
	for path, page := range pages {
		for _, part := range strings.Split(page, `<a href="`)[1:] {
			link, _, _ := strings.Cut(part, `"`)
			f.get(c, html.UnescapeString(link), http.StatusOK)
			if link == path {
				t.Errorf("the page of %s leads to itself", path)
			}
		}
	}
}

// A step that was skipped took no time, and is not on the timeline; several instances are counted in words.
func TestSkippedTakesNoTime(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("broken")
	f.until(run, "error")
	page := f.get(f.client(), "/projects/shop/runs/"+run.ID(), http.StatusOK)
	_, line, _ := strings.Cut(page, `class="timeline"`)
	if line, _, _ = strings.Cut(line, "</svg>"); !strings.Contains(line, `data-step="bad"`) || strings.Contains(line, `data-step="after"`) {
		t.Errorf("the timeline is %s", line)
	}
}
