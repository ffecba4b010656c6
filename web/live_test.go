package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestLiveAsLoaded follows a run until it is over. Then the page says what it says when it is loaded again, and can replay the run.
func TestLiveAsLoaded(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/agents/nap.yml": "name: nap\nagent: shell\nsettings: {command: \"cat >/dev/null; sleep 3; echo rested\"}\n",
		".hocket/workflows/figures.yml": "name: figures\nsteps:\n  - {id: begin, human: {question: Begin, options: [yes]}}\n" +
			"  - {id: each, for_each: '[1, 2, 3, 4]', as: n, agent: paid, prompt: \"${n}\"}\n  - {id: nap, agent: nap, prompt: a}\n  - {id: last, agent: greeter, prompt: a}\n",
	})
	run := f.begin("figures")
	f.until(run, "waiting")
	b := f.tab()
	b.open("/projects/shop/runs/" + run.ID())
	f.answer(run, "yes")
	b.wait(state("nap", "running"))
	b.wait(`/^[1-4] s$/.test(document.querySelector('tr[data-place="nap"] td:nth-child(4)').textContent)`)
	b.wait(`/^[1-4] s$/.test(document.querySelector(".timeline .bar.running tspan")?.textContent)`)
	b.wait(state("last", "success"))
	b.wait(`document.querySelector("#replay").checkVisibility()`)
	const says = `[...document.querySelectorAll("tr[data-place]")].map((row) => row.innerText.replace(/\s+/g, " ")).join("\n")`
	live := eval[string](b, says)
	b.open("/projects/shop/runs/" + run.ID())
	b.wait(state("last", "success"))
	if loaded := eval[string](b, says); live != loaded {
		t.Errorf("the live page says\n%s\nand the loaded one\n%s", live, loaded)
	}
	if !strings.Contains(live, "× 4") || !strings.Contains(live, "$1.00") {
		t.Errorf("the list says\n%s", live)
	}
}

// TestRoom shows a step that waits without scrolling, and a list of steps that fits beside the chosen step.
func TestRoom(t *testing.T) {
	text := "name: tall\nsteps:\n"
	for i := range 14 {
		text += fmt.Sprintf("  - {id: s%d, agent: loud, prompt: x}\n", i)
	}
	f := newFixture(t, map[string]string{
		".hocket/agents/loud.yml":    "name: loud\nagent: shell\nsettings: {command: \"cat >/dev/null; echo " + strings.Repeat("long ", 20) + "\"}\n",
		".hocket/workflows/tall.yml": text + "  - {id: ask, human: {question: Go on, options: [yes]}}\n",
	})
	run := f.begin("tall")
	f.until(run, "waiting")
	b := f.tab()
	b.open("/projects/shop/runs/" + run.ID())
	b.wait(`(() => { const box = document.querySelector(".canvas").getBoundingClientRect(), at = document.querySelector('.drawing [data-place="ask"]').getBoundingClientRect(); return at.top >= box.top && at.bottom <= box.bottom; })()`)
	b.do(chromedp.Click(`tr[data-place="s3"] a`))
	b.wait(`document.querySelector("#detail details.fork")`)
	b.do(chromedp.Click(`details.fork > summary`))
	b.pictures("room")
	b.do(chromedp.EmulateViewport(360, 700), chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0); undefined`), chromedp.Click(`tr[data-place="s5"] a`))
	b.wait(`document.querySelector('#detail [data-address="s5"]') && document.activeElement.id === "detail" && document.querySelector("#detail").getBoundingClientRect().top < innerHeight / 2`)
	b.do(chromedp.EmulateViewport(1280, 900))
	if over := eval[float64](b, `document.querySelector("table.steps").getBoundingClientRect().right - document.querySelector(".left").getBoundingClientRect().right`); over > 1 {
		t.Errorf("the list is %.0f px too wide", over)
	}
}
