package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// review has a question without an answer that sends the work back.
const review = "name: review\nsteps:\n  - {id: plan, agent: greeter, prompt: plan}\n  - {id: draft, title: Write the draft, agent: coder, prompt: Write about snow.}\n" +
	"  - {id: approve, human: {question: \"Publish the draft?\", options: [publish, drop]}}\n  - {id: publish, agent: greeter, prompt: publish}\n"

func reviewFiles() map[string]string {
	return map[string]string{".hocket/agents/coder.yml": "name: coder\nagent: coding\n", ".hocket/workflows/review.yml": review}
}

// section returns an expression for the text of a section of the prompt that the page shows.
func section(title string) string {
	return `[...document.querySelectorAll("#detail .prompt .section")].find((s) => s.querySelector("summary").textContent.startsWith(` + quoted(title) + `))?.querySelector("pre").textContent`
}

// TestSendBack sends work back to an earlier step, with a comment, where the author of the workflow drew no such answer.
func TestSendBack(t *testing.T) {
	f := newFixture(t, reviewFiles())
	run := f.begin("review")
	f.until(run, "waiting")
	b := f.tab()
	b.open("/inbox")
	b.do(chromedp.Click(`article.question a[href*="send-back"]`))
	b.wait(`document.querySelector(".send-back form")?.checkVisibility()`) // the link opens it
	if steps := eval[string](b, `[...document.querySelectorAll(".send-back option")].map((o) => o.textContent).join(", ")`); steps != "Write the draft (draft), plan (plan)" {
		t.Errorf("the work can be sent back to %s", steps)
	}
	b.do(chromedp.SendKeys(`.send-back textarea`, "More <b>ice</b>"))
	b.pictures("send-back")
	b.do(chromedp.Click(`.send-back button`))
	b.wait(`!location.pathname.endsWith("` + run.ID() + `") && location.search === "?step=draft" && document.querySelector("article.question") && ` + section("Comment"))
	if text := eval[string](b, section("Comment")); !strings.HasSuffix(text, "\nMore <b>ice</b>") {
		t.Errorf("the agent got the comment %q", text)
	}
	if text := eval[string](b, section("Output of draft")); text != "greeted by name" {
		t.Errorf("the agent got the output %q", text)
	}
	f.until(run, "cancelled")
	if page := f.get(f.client(), "/projects/shop/runs/"+run.ID(), http.StatusOK); !strings.Contains(page, "replaced by review-") {
		t.Error("the page of the old run does not say what replaces it")
	}
	b.open("/inbox")
	b.wait(`document.querySelectorAll("article.question").length === 1`)

	// Work is not sent back if someone else has answered.
	other := f.begin("review")
	f.until(other, "waiting")
	c := f.client()
	open, err := other.Questions(t.Context())
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}
	f.answer(other, "publish")
	res, err := c.PostForm(f.base+"/projects/shop/runs/"+other.ID()+"/retry", url.Values{"from": {"draft"}, "comment": {"late"}, "question": {open[0].ID}, "digest": {open[0].Digest}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if f.until(other, "success"); res.StatusCode != http.StatusConflict {
		t.Errorf("work was sent back after the answer: status %d", res.StatusCode)
	}
}

// TestOtherPrompt repeats a step with another prompt, and with a comment.
func TestOtherPrompt(t *testing.T) {
	f := newFixture(t, reviewFiles())
	run := f.begin("review")
	f.until(run, "waiting")
	b := f.tab()
	at := "/projects/shop/runs/" + run.ID()
	b.open(at + "?step=draft")
	b.do(chromedp.Click(`details.fork > summary`))
	if text := eval[string](b, `document.querySelector("details.fork textarea[name=prompt]").value`); text != "Write about snow." {
		t.Errorf("the prompt to edit is %q", text)
	}
	b.pictures("fork")
	b.do(chromedp.SendKeys(`details.fork textarea[name=prompt]`, "Be brief. "), chromedp.Click(`details.fork form:has([name=prompt]) button`))
	b.wait(`!location.pathname.endsWith("` + run.ID() + `") && ` + section("Task") + ` === "Be brief. Write about snow."`)
	b.wait(`document.querySelector("article.question")`)
	f.until(run, "waiting") // it goes on, too

	b.open(at + "?step=plan") // which has no title but its prompt
	b.do(chromedp.Click(`details.fork > summary`), chromedp.SetValue(`details.fork textarea[name=prompt]`, "think"), chromedp.Click(`details.fork form:has([name=prompt]) button`))
	b.wait(`!location.pathname.endsWith("` + run.ID() + `") && document.querySelector('tr[data-place="plan"] a')?.textContent === "think" && document.querySelector("#detail h2")?.textContent === "think"`)
	if text := eval[string](b, `document.querySelector('.drawing [data-place="plan"]').textContent`); !strings.Contains(text, "think") {
		t.Errorf("the drawing says %q", text)
	}

	b.open(at + "?step=draft")
	b.do(chromedp.Click(`details.fork > summary`), chromedp.SendKeys(`details.fork textarea[name=comment]`, "Again"), chromedp.Click(`details.fork form:has([name=comment]) button`))
	b.wait(`!location.pathname.endsWith("` + run.ID() + `") && ` + section("Comment") + `?.endsWith("Again")`)
	b.open(at + "?step=approve")
	if n := eval[int](b, `document.querySelectorAll("details.fork [name=comment], details.fork [name=prompt]").length`); n != 0 {
		t.Error("a question can be given a comment or a prompt")
	}
}

// TestOtherPromptInside gives other prompts to steps in a call, in a loop and in a for_each. The page shows the prompt of each instance,
// and the drawing that of the only one.
func TestOtherPromptInside(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/agents/coder.yml": "name: coder\nagent: coding\n", ".hocket/workflows/inner.yml": "name: inner\nsteps:\n  - {id: think, agent: coder, prompt: think}\n",
		".hocket/workflows/nested.yml": "name: nested\nsteps:\n  - {id: sub, workflow: inner}\n  - {id: other, workflow: inner}\n" +
			"  - {id: every, for_each: '[1, 2]', agent: coder, prompt: every}\n  - id: rounds\n    loop:\n      max: 2\n      until: done == \"yes\"\n      steps:\n        - {id: polish, agent: coder, prompt: polish, output: done}\n",
	})
	run := f.begin("nested")
	f.until(run, "success", "error")
	c := f.client()
	for address, shown := range map[string]map[string]string{
		"sub/think": {"sub/think": "Be brief", "other/think": "think"},
		"every[1]":  {"every": "every"},
		"polish#2":  {"polish": "polish"},
	} {
		res, err := c.PostForm(f.base+"/projects/shop/runs/"+run.ID()+"/retry", url.Values{"from": {address}, "prompt": {"Be brief"}, "edit": {"1"}})
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(address, res, err)
		}
		res.Body.Close()
		next, err := f.p.Run(t.Context(), strings.TrimPrefix(res.Request.URL.Path, "/projects/shop/runs/"))
		if err != nil {
			t.Fatal(err)
		}
		f.until(next, "success", "error")
		page := f.get(c, res.Request.URL.RequestURI(), http.StatusOK)
		for _, want := range []string{"<h2>Be brief</h2>", `name="prompt" rows="3" required>Be brief</textarea>`, "It has another prompt", `<pre class="text">Be brief</pre>`} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page does not contain %s", address, want)
			}
		}
		for place, title := range shown {
			_, drawn, _ := strings.Cut(page, `data-place="`+place+`"`)
			if drawn, _, _ = strings.Cut(drawn, "</a>"); !strings.Contains(drawn, ">"+title+"</text>") {
				t.Errorf("%s: %s is drawn as %s, want %s", address, place, drawn, title)
			}
			_, row, _ := strings.Cut(page, `<tr data-place="`+place+`"`)
			if row, _, _ = strings.Cut(row, "</a>"); !strings.HasSuffix(row, "data-step>"+title) {
				t.Errorf("%s: the row of %s is %s, want %s", address, place, row, title)
			}
		}
	}
}

// A form that is sent twice, by a double click, repeats a run once.
func TestRetriedTwice(t *testing.T) {
	f := newFixture(t, reviewFiles())
	run := f.begin("review")
	f.until(run, "waiting")
	c, at := f.client(), "/projects/shop/runs/"+run.ID()
	_, rest, _ := strings.Cut(f.get(c, at+"?step=draft", http.StatusOK), `name="key" value="`)
	key, _, _ := strings.Cut(rest, `"`)
	var ends []string
	for range 2 {
		res, err := c.PostForm(f.base+at+"/retry", url.Values{"from": {"draft"}, "key": {key}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		ends = append(ends, res.Request.URL.Path+res.Header.Get("Location"))
	}
	if key == "" || ends[0] != ends[1] || strings.Contains(ends[0], run.ID()) {
		t.Errorf("with the key %q, the forms led to %v", key, ends)
	}
}
