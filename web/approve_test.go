package web_test

import (
	"html"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hocket-dev/hocket"
)

// TestApproveOnThePage reviews, approves and withdraws what a model wrote.
func TestApproveOnThePage(t *testing.T) {
	const text = "name: tidy\nsteps:\n  - {id: sweep, title: Sweep <b>all</b>, agent: shell, config: {command: \"rm -r old\"}}\n"
	f := newFixture(t, map[string]string{".hocket/generated/tidy/origin.yml": "kind: workflow\nname: tidy\nby: a-model\ngoal: Tidy up\n", ".hocket/generated/tidy/tidy.yml": text})
	b := f.tab()
	b.open("/inbox")
	b.wait(`document.querySelector("#counts").textContent.includes("1") && document.querySelector(".question").textContent.includes("Tidy up")`)
	b.do(chromedp.Click(`.question a.button`))
	b.wait(`document.querySelector("main").textContent.includes("rm -r old") && document.querySelector("main").textContent.includes("covers no file that it reads or runs") && document.querySelector(".drawing").textContent.includes("Sweep <b>all</b>")`)

	// What changes in the meantime is not approved.
	if err := os.WriteFile(filepath.Join(f.p.Root(), ".hocket/generated/tidy/tidy.yml"), []byte(strings.Replace(text, "rm -r old", "rm -r /", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Click(`.decide button.first`))
	b.wait(`document.querySelector("main").textContent.includes("changed")`)
	if g := generated(t, f.p); g.State != hocket.Proposed {
		t.Errorf("its state is %s", g.State)
	}
	b.open("/projects/shop/definitions/tidy")
	b.wait(`document.querySelector("main").textContent.includes("rm -r /")`)
	b.do(chromedp.Click(`.decide button.first`))
	b.wait(`document.querySelector("#state").textContent === "approved"`)
	if g := generated(t, f.p); g.State != hocket.Approved {
		t.Errorf("its state is %s", g.State)
	}
	b.do(chromedp.Click(`.decide button.danger`))
	b.wait(`location.pathname === "/inbox"`)
	if all, err := f.p.Generated(); err != nil || len(all) > 0 && all[0].State == hocket.Approved {
		t.Errorf("it is still approved (%v)", err)
	}
}

func generated(t *testing.T, p *hocket.Project) *hocket.Generated {
	t.Helper()
	all, err := p.Generated()
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0]
}

// TestReviewShowsFiles shows what a file of the project contains that a command runs.
func TestReviewShowsFiles(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/generated/make/origin.yml": "kind: workflow\nname: make\nby: a-model\n", ".hocket/generated/make/make.yml": "name: make\nsteps: [{id: a, agent: shell, config: {command: sh build.sh}}]\n",
		"build.sh": "echo payload-of-the-script\n"})
	page := f.get(f.client(), "/projects/shop/definitions/make", http.StatusOK)
	for _, want := range []string{"payload-of-the-script", "build.sh, and no other file", "At once at most"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
}

// TestBrokenProject shows pages although a file of the project has mistakes.
func TestBrokenProject(t *testing.T) {
	f := newFixture(t, nil)
	c := f.client()
	f.get(c, "/", http.StatusOK)
	if err := os.WriteFile(filepath.Join(f.p.Root(), ".hocket/agents/greeter.yml"), []byte("name: [\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/inbox", "/usage", "/projects/shop", "/projects/shop/workflows/hello/edit"} {
		f.get(c, path, http.StatusOK)
	}
}

// TestTrustOnThePage shows what the files of a project can do, and approves exactly that.
func TestTrustOnThePage(t *testing.T) {
	f := newClone(t, map[string]string{".hocket/config.yml": "mcp: {notes: {command: [sh, server.sh]}}\n", "server.sh": "exit 1\n"})
	b := f.tab()
	b.open("/projects/shop")
	b.do(chromedp.Click(`.warn.box a`))
	b.wait(`document.querySelector("main").textContent.includes("starts the MCP server notes")`)
	config := filepath.Join(f.p.Root(), ".hocket/config.yml")
	if err := os.WriteFile(config, []byte("mcp: {notes: {command: [sh, server.sh]}, more: {command: [sh, -c, other]}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Click(`.decide button`))
	b.wait(`document.querySelector("main").textContent.includes("has changed since it was shown")`)
	b.open("/projects/shop/trust")
	b.wait(`document.querySelector("main").textContent.includes("starts the MCP server more")`)
	b.do(chromedp.Click(`.decide button`))
	b.wait(`document.querySelector(".pill.success")?.textContent === "trusted"`)
	b.open("/projects/shop")
	b.wait(`document.querySelector("#runs") && !document.querySelector(".warn.box")`)
}

// TestRaiseAndDelete raises a limit of a run that waits, starts it again with other inputs, and deletes it.
func TestRaiseAndDelete(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("gated")
	f.until(run, "waiting")
	b := f.tab()
	b.open("/projects/shop/runs/" + run.ID())
	b.do(chromedp.Click(`#raise summary`), chromedp.SetValue(`#raise [name=steps]`, "54321"), chromedp.Click(`#raise button`))
	b.wait(`document.querySelector("#raise [name=steps]")?.placeholder === "54321"`)
	b.do(chromedp.Click(`#cancel summary`), chromedp.Click(`#cancel button`))
	f.until(run, "cancelled")
	b.wait(`document.querySelector("#delete summary")`)
	b.do(chromedp.Click(`#delete summary`), chromedp.Click(`#delete button`))
	b.wait(`location.pathname === "/projects/shop" && !document.querySelector("#run-list").textContent.includes("` + run.ID() + `")`)
	if n := len(runsOf(t, f.p)); n != 0 {
		t.Errorf("%d runs are left", n)
	}
}

// TestStartAgain fills in the form with the inputs of a run, and shows what that run ran in four notations.
func TestStartAgain(t *testing.T) {
	f := newFixture(t, nil)
	r := f.elsewhere("hello", map[string]any{"who": "Grace \"G\" <b>", "times": int64(7)})
	f.until(r, "success")
	c := f.client()
	page := html.UnescapeString(f.get(c, "/projects/shop/workflows/hello?run="+r.ID(), http.StatusOK))
	if !strings.Contains(page, `Grace "G" <b>`) || !strings.Contains(page, `value="7"`) {
		t.Errorf("the inputs are not filled in:\n%s", page)
	}
	if page := f.get(c, "/projects/shop/runs/"+r.ID(), http.StatusOK); !strings.Contains(page, `<dt>who</dt><dd><pre class="text">Grace &#34;G&#34; &lt;b&gt;</pre>`) || !strings.Contains(page, `<dt>times</dt><dd><pre class="text">7</pre>`) {
		t.Error("the page of the run does not show its inputs")
	}
	for as, want := range map[string]string{"": "description: Says hello twice", "xml": "<workflow", "mermaid": "flowchart", "plantuml": "@startuml"} {
		if page := html.UnescapeString(f.get(c, "/projects/shop/runs/"+r.ID()+"?as="+as, http.StatusOK)); !strings.Contains(page, want) {
			t.Errorf("the source in %q is missing", as)
		}
	}
}
