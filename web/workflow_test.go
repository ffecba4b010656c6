package web_test

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
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

// A form with a wrong input is shown again, with what a person has written and what is wrong.
func TestWrongInput(t *testing.T) {
	f := newFixture(t, nil)
	res, err := f.client().PostForm(f.base+"/projects/shop/workflows/hello/start", url.Values{"input.who": {"Ada <b>"}, "input.times": {"twice"}})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusUnprocessableEntity {
		t.Fatalf("status %d, %v", res.StatusCode, err)
	}
	for _, want := range []string{"Ada &lt;b&gt;</textarea>", `name="input.times" value="twice" aria-invalid="true"`, `data-live-from="/inbox"`} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not contain %s:\n%s", want, page)
		}
	}
	if n := strings.Count(string(page), "aria-invalid"); n != 1 {
		t.Errorf("%d fields are marked", n)
	}
}

// A workflow that cannot run is drawn, too.
func TestDrawnWithErrors(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/workflows/lost.yml": "name: lost\nsteps:\n  - {id: write, title: Write about snow, agent: claude-code-next, prompt: x}\n  - {id: items, for_each: '[1]', as: n, agent: greeter, prompt: x}\n"})
	c := f.client()
	if page := f.get(c, "/projects/shop/workflows/lost", http.StatusOK); !strings.Contains(page, "<svg class=\"drawing") || !strings.Contains(page, "has errors") {
		t.Errorf("the page has no drawing:\n%s", page)
	}
	page := f.get(c, "/projects/shop", http.StatusOK)
	if !strings.Contains(page, "/workflows/lost/graph") || strings.Contains(page, f.p.Root()) || strings.Contains(page, "--replies") {
		t.Errorf("the card has no drawing, or what does not belong there:\n%s", page)
	}
	if !strings.Contains(page, `workflows/lost">lost</a></h3>

<p class="note">2 steps`) {
		t.Errorf("the card does not have two steps:\n%s", page)
	}
	f.get(c, "/api/projects/shop/workflows/lost/graph?as=svg", http.StatusOK)
}

// A project with workflows elsewhere is told where the page looks for them.
func TestNoWorkflows(t *testing.T) {
	f := newFixture(t, map[string]string{"release.yml": "name: release\nsteps:\n  - {id: a, agent: greeter, prompt: x}\n"})
	if err := os.RemoveAll(filepath.Join(f.p.Root(), ".hocket", "workflows")); err != nil {
		t.Fatal(err)
	}
	page := f.get(f.client(), "/projects/shop", http.StatusOK)
	if !strings.Contains(page, "No workflows in <code>.hocket/workflows</code> yet") || !strings.Contains(page, "<code>hocket run FILE</code>") {
		t.Errorf("the page does not say where workflows are:\n%s", page)
	}
}
