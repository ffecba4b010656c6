package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A run that nobody drives says so before and after an answer, and goes on if the person wants that.
func TestRunIsLeft(t *testing.T) {
	f := newFixture(t, nil)
	served := f.begin("gated")
	f.until(served, "waiting")
	b := f.tab()
	b.open("/inbox")
	b.wait(`document.querySelectorAll("article.question").length === 1 && !document.querySelector("article.question [name=continue]")`)
	f.answer(served, "publish")
	f.until(served, "success")

	run := f.elsewhere("gated", nil)
	b.wait(`document.querySelector("article.question [name=continue]")`)
	b.pictures("left")
	b.click(`article.question [name=continue]`, `article.question button[value=publish]`)
	b.wait(`location.pathname.endsWith("` + run.ID() + `") && document.querySelector("#run-left")`)
	b.wait(state("publish", "interrupted"))
	if bar := eval[string](b, `document.querySelector(".timeline a:last-of-type .bar").classList.value`); bar != "bar interrupted" {
		t.Errorf("the step that nobody has started is a %s in the timeline", bar)
	}
	b.click(`#run-buttons button.first`)
	b.wait(state("publish", "success"))

	other := f.elsewhere("gated", nil)
	b.open("/inbox")
	b.wait(`document.querySelector("article.question [name=continue]")`)
	b.click(`article.question button[value=publish]`)
	f.until(other, "success")
	b.wait(`location.pathname === "/inbox"`)
}

// Cards say which run asks, and offer to send work back only if that is possible.
func TestCards(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/workflows/deploy.yml": "name: deploy\ninputs: {to: {type: string, required: true}}\nsteps:\n  - {id: build, agent: shell, config: {command: echo built it}}\n" +
		"  - {id: ask, human: {question: Deploy now, options: [yes, no]}}\n  - {id: ship, agent: shell, config: {command: echo shipped}}\n"})
	run := f.elsewhere("deploy", map[string]any{"to": "the moon"})
	f.until(run, "waiting")
	for _, path := range []string{"/", "/inbox"} {
		page := f.get(f.client(), path, http.StatusOK)
		for _, want := range []string{run.ID() + " · asked", "to: the moon", "built it"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not contain %q", path, want)
			}
		}
		if strings.Contains(page, "send-back") {
			t.Errorf("%s offers to send work back, but no earlier step has a prompt", path)
		}
	}
}

// A run that was just started is not offered to be continued.
func TestJustStarted(t *testing.T) {
	f := newFixture(t, nil)
	for range 3 {
		res, err := f.client().PostForm(f.base+"/projects/shop/workflows/long/start", url.Values{})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close() // of the form: the client follows without its cookie
		page := f.get(f.client(), "/projects/shop/runs/"+runsOf(t, f.p)[0].ID, http.StatusOK)
		if strings.Contains(page, "/resume") || !strings.Contains(page, `class="pill running"`) {
			t.Error("a run that was just started is not shown as running")
		}
	}
}
