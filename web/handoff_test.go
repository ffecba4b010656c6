package web_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestHandoffForm fills in the form, which says what is missing as long as something is, and sends it.
func TestHandoffForm(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/agents/helper.yml": "name: helper\nagent: paid\n"})
	b := f.guarded()
	b.open("/projects/shop/handoffs")
	b.wait(`document.querySelector("#no-handoffs")`)
	b.do(chromedp.Click(`a.button[href$="/new"]`))
	b.wait(`document.querySelector("#handoff") && !document.querySelector(".diagnostics")`)
	b.do(chromedp.SendKeys(`[name=summary]`, "Check the shop <b>"))
	b.wait(`document.querySelector(".diagnostics .error") && document.querySelector("#preview pre").textContent.includes("<current_task_summary>Check the shop &lt;b&gt;</current_task_summary>")`)
	b.do(chromedp.SendKeys(`[name=intent]`, "It must work"), chromedp.SendKeys(`[name=details]`, "Look at every page"), chromedp.SendKeys(`[name=decisions]`, "Is it good?"),
		chromedp.Evaluate[chromedp.Void](`document.querySelector("[name=agent]").value = "helper"; undefined`), chromedp.SendKeys(`[name=timeout]`, "soon"))
	b.wait(`document.querySelector(".diagnostics .error")?.textContent.includes("timeout")`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("[name=timeout]").value = ""; undefined`), chromedp.SendKeys(`[name=timeout]`, "10m"))
	b.wait(`document.querySelector("#preview .good") && document.querySelector("#preview pre").textContent.includes('timeout="10m"')`)
	b.do(chromedp.Click(`button[value=send]`))
	b.wait(`location.pathname.endsWith("/handoffs") && document.querySelector("#handoffs").textContent.includes("Check the shop <b>")`)
	b.wait(`document.querySelector("#handoffs .pill.success, #handoffs .pill.error")`) // its agent answers something else
	b.harmless("handoffs")
	if n := len(runsOf(t, f.p)); n != 1 {
		t.Errorf("there are %d runs", n)
	}
	b.do(chromedp.Click(`#handoffs a.main`))
	b.wait(`document.querySelector("#run")`)
}

// TestHandoffWithoutJavaScript sends a form that is incomplete, which comes back with everything that was written, and one that is complete.
func TestHandoffWithoutJavaScript(t *testing.T) {
	f := newFixture(t, nil)
	c := f.client()
	post := func(fields url.Values, status int) string {
		t.Helper()
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		res, err := c.PostForm(f.base+"/projects/shop/handoffs", fields)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != status {
			t.Fatalf("status %d, want %d (%v): %s", res.StatusCode, status, err, text)
		}
		return string(text)
	}
	form := url.Values{"summary": {"Check the shop"}, "intent": {"It must work"}, "details": {"one\r\ntwo"}, "agent": {"paid"}, "mode": {"spawn"}, "workflow": {"standard"}, "priority": {"high"}, "retries": {"many"}}
	page := post(form, http.StatusUnprocessableEntity)
	for _, want := range []string{"It was not sent", "Retries", "one\ntwo</textarea>", `value="many"`, "deliverables"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q:\n%s", want, page)
		}
	}
	form.Set("files", "src/a.md: All that was found\ndocs/b.md")
	form.Set("optional", "notes.md: More")
	form.Set("retries", "2")
	form.Set("session", "shop-1")
	form.Set("estimate", "10m")
	form.Set("notify", "paid")
	form.Set("do", "check")
	page = post(form, http.StatusOK)
	for _, want := range []string{"It can be sent", `max_retries=&#34;2&#34;`, `priority=&#34;high&#34;`, `session_id=&#34;shop-1&#34;`, `estimated_duration=&#34;10m&#34;`, `notify_on_completion=&#34;paid&#34;`, "&lt;file path=&#34;src/a.md&#34;&gt;All that was found", "&lt;file path=&#34;notes.md&#34; required=&#34;false&#34;&gt;More"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q:\n%s", want, page)
		}
	}
	if n := len(runsOf(t, f.p)); n != 0 {
		t.Errorf("checking has started %d runs", n)
	}
	form.Del("do")
	post(form, http.StatusSeeOther)
	if n := len(runsOf(t, f.p)); n != 1 {
		t.Errorf("there are %d runs", n)
	}
	if page := f.get(c, "/projects/shop/handoffs", http.StatusOK); !strings.Contains(page, "Check the shop") {
		t.Error("the list does not show it")
	}
}

// TestFormSentAgain sends forms again, as after a double click, and again with another text, as after going back to them.
func TestFormSentAgain(t *testing.T) {
	f := newFixture(t, nil)
	c := f.client()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	runs := 0
	for _, form := range []struct {
		path, edited string
		fields       url.Values
	}{
		{"/projects/shop/workflows/hello/start", "input.who", url.Values{"input.who": {"Ada"}, "key": {"k1"}}},
		{"/projects/shop/handoffs", "details", url.Values{"summary": {"Check the shop"}, "intent": {"It must work"}, "details": {"one"}, "decisions": {"Is it good?"}, "agent": {"paid"}, "mode": {"spawn"}, "workflow": {"standard"}, "files": {"a.md"}, "key": {"k2"}}},
	} {
		for i, text := range []string{"first", "first", "second"} {
			form.fields.Set(form.edited, text)
			res, err := c.PostForm(f.base+form.path, form.fields)
			if err != nil {
				t.Fatal(err)
			}
			page, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if res.StatusCode != http.StatusSeeOther {
				t.Errorf("%s, number %d: status %d: %s", form.path, i+1, res.StatusCode, page)
			}
		}
		if runs += 2; len(runsOf(t, f.p)) != runs {
			t.Errorf("after %s there are %d runs, want %d", form.path, len(runsOf(t, f.p)), runs)
		}
	}
}
