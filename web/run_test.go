package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// state returns an expression that is true when a node has a state, in the drawing and in the list.
func state(place, status string) string {
	return fmt.Sprintf(`document.querySelector('.drawing [data-place=%[1]q]').classList.contains(%[2]q) && document.querySelector('tr[data-place=%[1]q] .pill').classList.contains(%[2]q)`, place, status)
}

// TestRunIsLive opens the page of a run that another process drives, which shows the whole graph at once and colours it as
// the run goes on, loops, items and called workflows included, without drawing it again.
func TestRunIsLive(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("release")
	b := f.tab()
	b.open("/projects/shop/runs/" + run.ID())
	if text := eval[string](b, `document.querySelector('.drawing [data-place="plan"]').textContent`); !strings.Contains(text, "Plan the release") {
		t.Errorf("the drawing says %q", text)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".drawing").marked = true; undefined`))
	b.wait(state("check", "success"))
	b.wait(state("greetings/greet", "success"))
	b.wait(state("approve", "waiting"))
	if text := eval[string](b, `document.querySelector('tr[data-place="check"] td:nth-child(2) small').textContent`); text != "×\u00a04" {
		t.Errorf("the row of a for_each says %q", text)
	}
	b.wait(`document.querySelector("#status .pill.waiting")`)
	b.do(chromedp.Click(`article.question button[value=yes]`))
	b.wait(state("publish", "success"))
	b.wait(`document.querySelector("#status .pill.success") && !document.querySelector("article.question")`)
	b.wait(`document.querySelectorAll(".timeline .bar").length >= 9`)
	// Answering loads the page again; from there on, nothing is drawn twice.
	b.do(chromedp.Click(`tr[data-place="plan"] a`))
	b.wait(`document.querySelector('#detail [data-address="plan"] pre')?.textContent === "done"`)
	if !strings.HasSuffix(eval[string](b, `location.href`), "?step=plan") {
		t.Error("the chosen step is not part of the address")
	}
	b.do(chromedp.KeyEvent(kb.Escape))
	b.wait(`document.querySelector("#detail .hint")`)
}

// TestRunElsewhere shows a run that no server drives, and continues it.
func TestRunElsewhere(t *testing.T) {
	f := newFixture(t, nil)
	run := f.elsewhere("gated", nil)
	b := f.tab()
	b.open("/projects/shop/runs/" + run.ID())
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".drawing").marked = true; undefined`))
	b.wait(state("draft", "success"))
	b.wait(state("approve", "waiting"))
	b.wait(`document.querySelector("article.question")`)
	if !eval[bool](b, `document.querySelector(".drawing").marked === true`) {
		t.Error("the drawing was replaced")
	}
}

// TestButtons retries, repeats from a step with another output, and cancels.
func TestButtons(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("broken")
	f.until(run, "error")
	b := f.tab()
	b.open("/projects/shop/runs/" + run.ID() + "?step=bad")
	b.wait(state("bad", "error"))
	b.wait(`document.querySelector("#detail").textContent.includes("it is broken")`)
	b.do(chromedp.Click(`details.fork > summary`), chromedp.SendKeys(`details.fork textarea[name=output]`, "fixed by hand"), chromedp.Click(`details.fork form:last-child button`))
	b.wait(state("after", "success"))
	if page := eval[string](b, `document.querySelector("#run-facts").textContent`); !strings.Contains(page, run.ID()) {
		t.Errorf("the page of a fork does not lead to its origin: %s", page)
	}
	b.open("/projects/shop/runs/" + run.ID())
	b.do(chromedp.Click(`#run-buttons button`))
	b.wait(`!location.href.includes("` + run.ID() + `") && document.querySelector("#status .pill.error")`)

	long := f.begin("long")
	b.open("/projects/shop/runs/" + long.ID() + "?step=wait")
	b.wait(state("wait", "running"))
	b.wait(`document.querySelector("pre.log")?.textContent.includes("line 20\n")`) // which was not there when the page was loaded
	b.do(chromedp.Click(`#cancel > summary`), chromedp.SendKeys(`#cancel input[name=reason]`, "enough"), chromedp.Click(`#cancel button`))
	f.until(long, "cancelled")
	b.wait(`document.querySelector("#status .pill.cancelled")`)
	b.wait(state("wait", "cancelled"))
}

// TestRunWithoutJavaScript reads a step, and its log.
func TestRunWithoutJavaScript(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/agents/loud.yml":    "name: loud\nagent: shell\nsettings: {command: \"cat >/dev/null; printf '\\\\033[31m<script>alert(1)</script>\\\\033[0m & gr\\\\303\\\\274n\\\\n'\"}\n",
		".hocket/workflows/loud.yml": "name: loud\nsteps:\n  - {id: shout, title: \"<img src=x onerror=alert(1)>\", agent: loud, prompt: a}\n",
	})
	run := f.begin("loud")
	f.until(run, "success")
	page := f.get(f.client(), "/projects/shop/runs/"+run.ID()+"?step=shout", http.StatusOK)
	for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt; &amp; grün", "&lt;img src=x onerror=alert(1)&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s", want)
		}
	}
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img src=x") || strings.Contains(page, "\x1b") {
		t.Error("text of the run is part of the page as HTML, or a control sequence is")
	}
	f.get(f.client(), "/projects/shop/runs/"+run.ID()+"?step=nothing", http.StatusNotFound)
}

// What is done and must happen once is no lost attempt, and no button repeats it once a person has marked it
// as failed.
func TestDoneEffect(t *testing.T) {
	pay := func(amount string) string {
		return "name: pay\nsteps:\n  - {id: pay, agent: shell, effect: once, config: {command: echo " + amount + "}}\n"
	}
	f := newFixture(t, map[string]string{".hocket/workflows/pay.yml": pay("1"), ".hocket/workflows/more.yml": pay("2")})
	run := f.elsewhere("pay", nil)
	f.until(run, "success")
	w, err := f.p.Load("more")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Replan(t.Context(), w, hocket.Replan{}); err != nil {
		t.Fatal(err)
	}
	page := "/projects/shop/runs/" + run.ID()
	if text := f.get(f.client(), page, http.StatusOK); !strings.Contains(text, "Run again?") || strings.Contains(text, "Lost attempt") {
		t.Error("the question has another label")
	}
	if _, err := run.Answer(t.Context(), "pay", hocket.Answer{Value: engine.Fail}); err != nil {
		t.Fatal(err)
	}
	f.until(run, "error")
	if strings.Contains(f.get(f.client(), page, http.StatusOK), "Retry what failed") {
		t.Error("a button repeats the effect")
	}
}

// TestReplay moves the slider over a run that is over.
func TestReplay(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("hello")
	f.until(run, "success")
	b := f.tab()
	b.open("/projects/shop/runs/" + run.ID())
	b.wait(state("repeat", "success"))
	move := func(to string) {
		b.do(chromedp.Evaluate[chromedp.Void](`{const s = document.querySelector("#replay input"); s.value = ` + to + `; s.dispatchEvent(new Event("input")); undefined}`))
	}
	move("0")
	b.wait(`!document.querySelector('.drawing [data-place="greet"]').classList.contains("success") && document.querySelector("#replay output").textContent === "the beginning"`)
	move("1")
	b.wait(state("greet", "running"))
	output := `getComputedStyle(document.querySelector('tr[data-place="repeat"] p')).visibility`
	if eval[string](b, output) != "hidden" {
		t.Error("a step that has not started shows its output")
	}
	move("s.max")
	b.wait(state("repeat", "success") + ` && ` + output + ` === "visible"`)

	// Items are counted as they are when the run is live.
	f = newFixture(t, nil)
	run = f.begin("release")
	f.answer(run, "yes")
	f.until(run, "success")
	b = f.tab()
	b.open("/projects/shop/runs/" + run.ID())
	b.wait(`document.querySelector("#replay").checkVisibility()`)
	move("900") // before the run was over
	b.wait(`document.querySelector('tr[data-place="publish"] .pill:not(.success)') && document.querySelector('tr[data-place="check"] td:nth-child(2) small').textContent === "×\u00a04"`)
}
