package web_test

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestStartFromForm fills in the form of a workflow, starts it, and lands on the page of the run.
func TestStartFromForm(t *testing.T) {
	f := newFixture(t, nil)
	b := f.tab()
	b.open("/projects/shop/workflows/hello")
	b.do(chromedp.SetValue(`[name="input.who"]`, "Ada"), chromedp.SetValue(`[name="input.times"]`, "3"), chromedp.Click(`[name="input.loud"]`), chromedp.Click(`form button`))
	b.wait(`location.pathname.includes("/runs/") && document.querySelector("#status .pill.success")`)
	runs := runsOf(t, f.p)
	if len(runs) != 1 {
		t.Fatalf("there are %d runs", len(runs))
	}
	b.do(chromedp.Click(`tr[data-place="greet"] a`))
	b.wait(`document.querySelector("#detail").textContent.includes("Hello Ada")`)
}

// TestWorkflowPage shows a workflow in four notations, its diagnostics and what a run may cost at most.
func TestWorkflowPage(t *testing.T) {
	f := newFixture(t, nil)
	c := f.client()
	for as, want := range map[string]string{"": "description: Says hello twice", "yaml": "description: Says hello twice", "xml": "<workflow", "mermaid": "flowchart", "plantuml": "@startuml"} {
		page := html.UnescapeString(f.get(c, "/projects/shop/workflows/hello?as="+as, http.StatusOK))
		for _, want := range []string{want, "Greet the guest", "Who is greeted", "At most"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page in %q does not contain %q", as, want)
			}
		}
	}
	page := html.UnescapeString(f.get(c, "/projects/shop/workflows/wrong", http.StatusOK))
	if !strings.Contains(page, `unknown agent "nobody"`) || strings.Contains(page, "/start\"") {
		t.Errorf("the page of a workflow with errors has no diagnostics, or a form:\n%s", page)
	}
	f.get(c, "/projects/shop/workflows/..%2F..%2Fsecret", http.StatusNotFound)
}
