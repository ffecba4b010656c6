package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// wideFlow has so many different branches that they cannot be folded.
func wideFlow() string {
	var b strings.Builder
	b.WriteString("name: wide\nexecution: dag\nsteps:\n  - {id: start, agent: greeter, prompt: a}\n")
	for i := range 14 {
		fmt.Fprintf(&b, "  - {id: first-%[1]d, title: The first step of branch %[1]d, agent: greeter, prompt: a, needs: start}\n  - {id: second-%[1]d, title: The second step of branch %[1]d, agent: greeter, prompt: a, needs: first-%[1]d}\n", i)
	}
	return b.String()
}

// TestZoom changes the size of a drawing by buttons and keys. One that is a little too wide is fitted, and a much wider one is
// scrolled.
func TestZoom(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/workflows/wide.yml": wideFlow()})
	run := f.begin("wide")
	f.until(run, "success")
	b := f.tab()
	const size = `document.querySelector(".drawing").getBoundingClientRect().width`
	const room = `document.querySelector(".canvas").clientWidth`
	says := func(text string) string {
		return `(document.querySelector(".zoom output")?.textContent === "` + text + `")`
	}
	for _, path := range []string{"/projects/shop/workflows/wide", "/projects/shop/runs/" + run.ID()} {
		b.do(chromedp.EmulateViewport(1280, 900))
		b.open(path)
		b.wait(says("100 %") + " && " + size + " > 2 * " + room)
		b.do(chromedp.Click(`[data-zoom=fit]`))
		b.wait(size + " <= " + room + " && " + size + " > " + room + " - 40 && !" + says("100 %"))
		b.do(chromedp.EmulateViewport(900, 900)) // it stays fitted
		b.wait(size + " <= " + room + " && innerWidth === 900")
		b.do(chromedp.EmulateViewport(1280, 900))
		b.wait(size + " <= " + room + " && " + size + " > " + room + " - 40 && innerWidth === 1280")
		before := eval[float64](b, size)
		b.do(chromedp.Click(`[data-zoom=in]`))
		b.wait(fmt.Sprintf("Math.abs(%s - 1.25 * %f) < 2", size, before))
		b.do(chromedp.Click(`[data-zoom=out]`))
		b.wait(fmt.Sprintf("Math.abs(%s - %f) < 2", size, before))
		// The same by keys, with the middle of what is seen where it was.
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".canvas").focus(); undefined`), chromedp.KeyEvent("+"), chromedp.KeyEvent("+"), chromedp.KeyEvent("-"))
		b.wait(fmt.Sprintf("Math.abs(%s - 1.25 * %f) < 2", size, before))
		if at := eval[float64](b, `{const c = document.querySelector(".canvas"); (c.scrollLeft + c.clientWidth / 2) / c.scrollWidth}`); at < 0.45 || at > 0.55 {
			t.Errorf("the middle is at %.2f", at)
		}
		b.do(chromedp.KeyEvent("0"))
		b.wait(fmt.Sprintf("Math.abs(%s - %f) < 2", size, before))
		b.do(chromedp.KeyEvent(kb.Tab))
		if where := eval[string](b, `document.activeElement.closest("#drawing")?.id ?? ""`); where != "drawing" {
			t.Error("the focus left the drawing")
		}
	}
	if !eval[bool](b, `document.querySelector(".drawing .node.success") !== null`) {
		t.Error("the drawing lost its colours")
	}
	b.pictures("zoom")

	// A drawing that is a little too wide is fitted at once.
	b.open("/projects/shop/workflows/gated")
	natural := eval[float64](b, `document.querySelector(".drawing").viewBox.baseVal.width`)
	b.do(chromedp.EmulateViewport(int64(natural)+40, 900)) // the page and the panel have margins
	b.open("/projects/shop/workflows/gated")
	b.wait(`!` + says("100 %") + ` && ` + size + ` <= ` + room + ` && ` + size + fmt.Sprintf(" > 0.7 * %f", natural))

	// The editor keeps the size while its drawing is replaced.
	b.do(chromedp.EmulateViewport(1280, 900))
	b.open("/projects/shop/workflows/wide/edit")
	b.wait(editor + " && " + says("100 %"))
	b.do(chromedp.Click(`[data-zoom=in]`), chromedp.Evaluate[chromedp.Void](`document.querySelector(".canvas").scrollLeft = 321; document.querySelector(".drawing").id = "old"; undefined`))
	b.do(chromedp.Click(`.cm-content`), chromedp.KeyEvent(kb.End), chromedp.KeyEvent(" # x"))
	b.wait(`document.querySelector(".drawing:not(#old)") && ` + says("125 %") + ` && Math.abs(document.querySelector(".canvas").scrollLeft - 321) < 2`)
}
