package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hocket-dev/hocket"
)

// routes has a choice that asks nobody, and a loop.
const routes = "name: routes\nsteps:\n  - {id: ask, human: {question: Which way, options: [left, right]}}\n  - {id: pick, title: Where to, choice: true, route: {left: walk, right: east}}\n" +
	"  - id: walk\n    loop:\n      max: 3\n      steps:\n        - {id: west, title: Go west, agent: greeter, prompt: a}\n        - {id: there, choice: {on: \"${iteration}\"}, route: {\"2\": home}, else: again}\n" +
	"  - {id: home, agent: greeter, prompt: a, next: end}\n  - {id: east, title: Go east, agent: broken, prompt: b, on_error: continue}\n"

func (f *fixture) answer(run *hocket.Run, value string) {
	f.t.Helper()
	f.until(run, "waiting")
	q, err := run.Questions(f.t.Context())
	if err != nil || len(q) != 1 {
		f.t.Fatal(q, err)
	}
	body := fmt.Sprintf(`{"value": %q, "digest": %q}`, value, q[0].Digest)
	res, err := f.client().Post(f.base+"/api/projects/shop/runs/"+run.ID()+"/questions/"+q[0].ID+"/answer", "application/json", strings.NewReader(body))
	if err != nil || res.StatusCode != http.StatusOK {
		f.t.Fatal(res, err)
	}
	res.Body.Close()
}

// edge returns an expression that is true when an edge has a class.
func edge(from, to, class string) string {
	return fmt.Sprintf(`document.querySelector('.edge[data-from=%q][data-to=%q]').classList.contains(%q)`, from, to, class)
}

// TestChoices shows which way a choice has taken, and that the other one is dead: live, when the page is loaded, without
// JavaScript, and when the run is replayed.
func TestChoices(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/workflows/routes.yml": routes})
	run := f.begin("routes")
	b := f.tab()
	b.open("/projects/shop/runs/" + run.ID())
	if eval[bool](b, `document.querySelector(".edge.taken:not([data-from=''])")`+" !== null") {
		t.Error("an edge was taken before anything happened")
	}
	f.answer(run, "left")
	same := []string{
		state("pick", "success"), state("walk", "success"), state("there", "success"), state("east", "skipped"),
		edge("ask", "pick", "taken"), edge("pick", "walk", "taken"), edge("pick", "east", "dead"), edge("there", "@again", "taken"), edge("there", "home", "taken"), edge("east", "@end", "dead"),
	}
	for _, is := range same {
		b.wait(is)
	}
	f.until(run, "success")
	page := f.get(f.client(), "/projects/shop/runs/"+run.ID(), http.StatusOK)
	for _, want := range []string{
		`class="node success" data-place="pick"`, `class="node holder success" data-place="walk"`, `class="node skipped" data-place="east"`,
		`class="edge taken" data-from="pick" data-to="walk" data-on="label" data-case="left"`, `class="edge dead" data-from="pick" data-to="east" data-on="label" data-case="right"`,
		`class="edge back taken" data-from="there" data-to="@again"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s", want)
		}
	}
	b.open("/projects/shop/runs/" + run.ID())
	for _, is := range same {
		b.wait(is)
	}
	move := func(to string) {
		b.do(chromedp.Evaluate[chromedp.Void](`{const s = document.querySelector("#replay input"); s.value = ` + to + `; s.dispatchEvent(new Event("input")); undefined}`))
	}
	move("0")
	b.wait("!" + edge("pick", "walk", "taken") + " && !" + edge("pick", "east", "dead"))
	move("s.max")
	b.wait(edge("pick", "walk", "taken") + " && " + edge("pick", "east", "dead"))
}

// TestNestedCalls shows a workflow whose calls of calls stand for 120,000 steps, and a run of it: the outer calls are shown
// with their steps, and those in which something has happened.
func TestNestedCalls(t *testing.T) {
	all := map[string]string{".hocket/workflows/d.yml": "name: d\nsteps:\n  - {id: last, agent: greeter, prompt: a}\n"}
	for name, called := range map[string]string{"a": "b", "b": "c", "c": "d"} {
		text := fmt.Sprintf("name: %s\nsteps:\n", name)
		for i := range 39 {
			text += fmt.Sprintf("  - {id: %s%d, workflow: %s, when: \"false\"}\n", name, i, called)
		}
		all[".hocket/workflows/"+name+".yml"] = text + fmt.Sprintf("  - {id: %s39, workflow: %s}\n", name, called)
	}
	f := newFixture(t, all)
	shown := func(path string) string {
		page := f.get(f.client(), "/projects/shop"+path, http.StatusOK)
		if n := strings.Count(page, "<tr data-place="); n > 2300 {
			t.Errorf("%s lists %d steps", path, n)
		}
		if n := strings.Count(page, "data-place="); n < 1600 || n > 2*2300 || !strings.Contains(page, "calls are not drawn: there are too many.") {
			t.Errorf("%s shows %d steps, or does not say that there are more", path, n)
		}
		return page
	}
	shown("/workflows/a")
	run := f.begin("a")
	f.until(run, "success")
	if page := shown("/runs/" + run.ID()); !strings.Contains(page, `<tr data-place="a39/b39/c39/last" data-tally="success 1"`) || strings.Contains(page, "handoff</small>") {
		t.Error("the steps of a call in which something has happened are missing, or look like handoffs")
	}
}

// manyChecks has 24 steps side by side.
func manyChecks() string {
	var text strings.Builder
	text.WriteString("name: checks\nexecution: dag\nsteps:\n  - {id: begin, human: {question: Begin, options: [yes]}}\n")
	var all []string
	for i := range 24 {
		agent := "greeter"
		if i%12 == 11 {
			agent = "broken"
		}
		fmt.Fprintf(&text, "  - {id: check-%d, title: Check part %d, agent: %s, prompt: a, needs: begin, on_error: continue}\n", i+1, i+1, agent)
		all = append(all, fmt.Sprintf("check-%d", i+1))
	}
	fmt.Fprintf(&text, "  - {id: report, title: Write the report, agent: greeter, prompt: b, needs: [%s]}\n", strings.Join(all, ", "))
	return text.String()
}

// TestFoldedSteps shows many steps side by side as one box that counts them, and opens it with the keyboard, without
// JavaScript too.
func TestFoldedSteps(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/workflows/checks.yml": manyChecks()})
	run := f.begin("checks")
	path := "/projects/shop/runs/" + run.ID()
	b := f.tab()
	b.open(path)
	const box = `.drawing a.fold`
	if text := eval[string](b, `document.querySelector("`+box+`").textContent`); text != "24 stepsCheck part 1 … Check part 24" {
		t.Errorf("the box says %q", text)
	}
	f.answer(run, "yes")
	b.wait(`document.querySelector("` + box + ` .note").textContent === "22 of 24 done, 2 failed" && document.querySelector("` + box + `").classList.contains("error")`)
	f.until(run, "partial", "success", "error")
	c := f.client()
	page := f.get(c, path, http.StatusOK)
	for _, want := range []string{`class="node fold error" data-place="check-1 … check-24"`, `>22 of 24 done, 2 failed<`, `href="?unfold=check-1#drawing"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s", want)
		}
	}
	if page = f.get(c, path+"?unfold=check-1", http.StatusOK); strings.Count(page, `class="node success" data-place="check-`) != 22 || !strings.Contains(page, `href="?#drawing">Fold check-1 and the steps like it</a>`) {
		t.Error("the open page does not show all steps, or cannot be folded again")
	}
	b.do(chromedp.Focus(box), chromedp.KeyEvent(kb.Enter))
	b.wait(`document.querySelectorAll('.drawing a.node[data-place^="check-"]').length === 24`)
	b.do(chromedp.Click(`tr[data-place="check-3"] a`))
	b.wait(`location.search.includes("unfold=check-1") && document.querySelector("#detail").textContent.includes("Check part 3")`)
	b.open("/projects/shop/workflows/checks?unfold=check-1")
	if n := eval[int](b, `document.querySelectorAll('.drawing [data-place^="check-"]').length`); n != 24 {
		t.Errorf("the page of the workflow shows %d steps", n)
	}
}

// TestChosenStays follows links and sends forms on the page of a run: the step, the notation and the boxes that a person has
// chosen stay, with JavaScript and without.
func TestChosenStays(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/workflows/checks.yml": manyChecks()})
	run := f.begin("checks")
	f.until(run, "waiting")
	path := "/projects/shop/runs/" + run.ID()
	b := f.tab()
	b.open(path)
	has := func(step, as, unfold string) {
		t.Helper()
		b.wait(fmt.Sprintf(`document.readyState === "complete" && ((q) => [q.get("step"), q.get("as"), q.get("unfold")].join() === %q && !document.querySelector("form[data-sent]") && document.querySelector("#run"))(new URL(location.href).searchParams)`, strings.Join([]string{step, as, unfold}, ",")))
	}
	b.do(chromedp.Click(`tr[data-place="report"] a`))
	has("report", "", "")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#source > summary").click(); document.querySelector('#source .tabs a[href*="xml"]').click(); undefined`))
	has("report", "xml", "")
	b.do(chromedp.Focus(`.drawing a.fold`), chromedp.KeyEvent(kb.Enter))
	has("report", "xml", "check-1")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.drawing a[data-place="begin"]').dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true})); undefined`))
	has("begin", "xml", "check-1")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("article.question button[value=yes]").click(); undefined`)) // at once: the page may replace it
	b.wait(`!document.querySelector("article.question")`)
	has("begin", "xml", "check-1")
	f.until(run, "partial", "success", "error")
	b.wait(`document.querySelector(".timeline a")`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#drawing .below a").click(); undefined`))
	has("begin", "xml", "")
	b.do(chromedp.Click(`[data-close]`))
	has("", "xml", "")

	if page := f.get(f.client(), path+"?as=xml&step=check-2", http.StatusOK); !strings.Contains(page, ` href="?as=xml&amp;step=check-2&amp;unfold=check-1#drawing">`) {
		t.Error("a box that is opened closes the step, or changes the notation")
	}
	for query, want := range map[string]string{"?as=xml&run=" + run.ID(): `?as=xml&amp;run=` + run.ID() + `&amp;unfold=check-1#drawing`, "?unfold=check-1&run=" + run.ID(): `?run=` + run.ID() + `&amp;unfold=check-1&amp;as=xml#source`} {
		if page := f.get(f.client(), "/projects/shop/workflows/checks"+query, http.StatusOK); !strings.Contains(page, ` href="`+want+`"`) {
			t.Errorf("the page of the workflow with %s has no link to %s", query, want)
		}
	}
	page := f.get(f.client(), path+"?as=xml&step=check-2&unfold=check-1", http.StatusOK)
	for _, want := range []string{
		`href="?as=xml&amp;unfold=check-1&amp;step=report" data-step>`, `href="` + path + `?as=mermaid&amp;step=check-2&amp;unfold=check-1#source"`, `href="` + path + `?as=xml&amp;step=check-3&amp;unfold=check-1" data-step="check-3"`,
		`class="close" href="` + path + `?as=xml&amp;unfold=check-1"`, `href="?as=xml&amp;step=check-2#drawing">Fold`,
		`data-place="check-5" href="?as=xml&amp;unfold=check-1&amp;step=check-5">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s", want)
		}
	}
}

// TestLastIterationDecides shows a step that failed at first, and succeeded in the last iteration of its loop, as done: live, when the page is
// loaded, and at the end of a replay.
func TestLastIterationDecides(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/agents/second.yml":    "name: second\nagent: shell\nsettings: {command: \"grep -o 2\"}\n",
		".hocket/workflows/rounds.yml": "name: rounds\nsteps:\n  - {id: ask, human: {question: Begin, options: [yes]}}\n  - id: round\n    loop:\n      max: 3\n      steps:\n        - {id: try, agent: second, prompt: \"Round ${iteration}\", error: again}\n",
	})
	run := f.begin("rounds")
	b := f.tab()
	b.open("/projects/shop/runs/" + run.ID())
	f.answer(run, "yes")
	f.until(run, "success")
	same := []string{state("try", "success"), state("round", "success"), `document.querySelector("tr[data-place=try] td:nth-child(2) small").textContent === "1 failed, 1 success"`}
	for _, is := range same {
		b.wait(is)
	}
	b.open("/projects/shop/runs/" + run.ID() + "?step=try")
	for _, is := range same {
		b.wait(is)
	}
	if got := eval[string](b, `document.querySelector("#detail [data-address]").dataset.address`); !strings.HasSuffix(got, "try#2") {
		t.Errorf("the step that is shown is %s", got)
	}
	b.open("/projects/shop/runs/" + run.ID() + "?step=try%231")
	if got := eval[string](b, `document.querySelector("#detail [data-address]").dataset.address`); got != "try" {
		t.Errorf("the first iteration is %s", got)
	}
	for _, is := range same {
		b.wait(is)
	}
	for _, to := range []string{"s.max - 2", "s.max"} {
		b.wait(`document.querySelector("#replay input")`)
		b.do(chromedp.Evaluate[chromedp.Void](`{const s = document.querySelector("#replay input"); s.value = ` + to + `; s.dispatchEvent(new Event("input")); undefined}`))
	}
	for _, is := range same {
		b.wait(is)
	}
}
