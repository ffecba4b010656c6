package web_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hocket-dev/hocket"
)

// TestLargeDrawing opens the page of a run with 1,000 nodes, and logs how long it takes, and how long after an event
// its node has another colour.
func TestLargeDrawing(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/workflows/large.yml": large()})
	run := f.begin("large")
	f.until(run, "waiting")
	b := f.tab()
	b.work()      // counts from here on
	for range 2 { // the first time, the browser compiles the scripts
		b.open("/projects/shop/runs/" + run.ID())
		b.wait(`performance.getEntriesByName("first-contentful-paint").length`)
	}
	t.Logf("until the first paint: %s", b.since(nil))
	answered := eval[float64](b, `performance.getEntriesByType("navigation")[0].responseEnd`)
	paint := eval[float64](b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
	if n := eval[int](b, `document.querySelectorAll(".drawing a.node").length`); n != 1000 {
		t.Errorf("%d nodes are drawn", n)
	}
	if n := eval[int](b, `[...document.querySelectorAll("tr[data-place]")].filter((row) => row.checkVisibility({contentVisibilityAuto: true})).length`); n > 200 {
		t.Errorf("%d rows are laid out, and would be again with every event", n)
	}
	// A task that begins now runs after the frame in which the colour changes.
	b.do(chromedp.Evaluate[chromedp.Void](`globalThis.seen = {}; new MutationObserver((all) => {
			const places = all.filter((m) => m.target.classList.contains("success")).map((m) => m.target.dataset.place), after = new MessageChannel();
			after.port1.onmessage = () => { for (const place of places) seen[place] ??= Date.now(); };
			after.port2.postMessage("");
		}).observe(document.querySelector(".drawing"), {subtree: true, attributeFilter: ["class"]}); undefined`))
	q, err := run.Questions(t.Context())
	if err != nil || len(q) != 1 {
		t.Fatal(q, err)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`globalThis.arrived = {}; import(document.querySelector("script[src$='page.js']").src.replace("page.js", "stream.js")).then(({ watch }) => watch("event", (e) => { if (e.type === "step_ended") arrived[e.address] = Date.now(); })); undefined`))
	work := b.work()
	body := fmt.Sprintf(`{"value": "yes", "digest": %q}`, q[0].Digest)
	res, err := f.client().Post(f.base+"/api/projects/shop/runs/"+run.ID()+"/questions/begin/answer", "application/json", strings.NewReader(body))
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	res.Body.Close()
	b.wait(`seen.s80`)
	if n := eval[int](b, `[...document.querySelectorAll("tr[data-place]")].filter((row) => row.checkVisibility({contentVisibilityAuto: true})).length`); n > 200 {
		t.Errorf("%d rows are laid out while steps end", n)
	}
	t.Logf("while steps ended: %s", b.since(work))
	seen, arrived := eval[map[string]int64](b, `seen`), eval[map[string]int64](b, `arrived`)
	var delays, transfers []time.Duration
	for e, err := range run.History(t.Context(), hocket.EventID{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Fact != nil && e.Fact.Kind == "step_ended" && seen[e.Fact.Address] > 0 {
			delays = append(delays, time.UnixMilli(seen[e.Fact.Address]).Sub(e.Time))
			transfers = append(transfers, time.UnixMilli(arrived[e.Fact.Address]).Sub(e.Time))
		}
	}
	slices.Sort(delays)
	slices.Sort(transfers)
	t.Logf("%d requests for what is new", eval[int](b, `performance.getEntriesByType("resource").filter((e) => e.name.includes("part=live")).length`))
	if len(delays) < 80 {
		t.Fatalf("%d steps were seen", len(delays))
	}
	t.Logf("from an event to the module of the page: median %d ms, 99th percentile %d ms", transfers[len(transfers)/2].Milliseconds(), transfers[len(transfers)*99/100].Milliseconds())
	t.Logf("the page had arrived after %.0f ms, first paint after %.0f ms; from an event to its colour: median %d ms, 99th percentile %d ms, of %d", answered, paint,
		delays[len(delays)/2].Milliseconds(), delays[len(delays)*99/100].Milliseconds(), len(delays))
}

// TestManyEvents opens the page of a run with more than 20,000 events, and logs how long it takes until the page can be used, and
// how long its longest task is.
func TestManyEvents(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/workflows/many.yml": "name: many\nlimits: {max_steps: 10000, max_parallel: 50}\ninputs: {items: {type: array, required: true}}\nsteps:\n  - {id: one, title: One of many, for_each: \"${inputs.items}\", as: item, agent: greeter, prompt: a}\n",
	})
	items := make([]any, 7000)
	for i := range items {
		items[i] = i
	}
	w, err := f.p.Load("many")
	if err != nil {
		t.Fatal(err)
	}
	replies, found := hocket.ReadReplies("replies.yml", []byte("one: done\n"))
	if found.Errors() {
		t.Fatal(found)
	}
	run, err := f.p.Start(t.Context(), w, map[string]any{"items": items}, hocket.WithReplies(replies))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries := 0
	for range run.History(t.Context(), hocket.EventID{}) {
		entries++
	}
	if entries < 20000 {
		t.Fatalf("the run has only %d events", entries)
	}
	b := f.tab()
	b.open("/inbox")
	begun := time.Now()
	b.open("/projects/shop/runs/" + run.ID())
	b.do(chromedp.Evaluate[chromedp.Void](`globalThis.longest = 0; new PerformanceObserver((l) => { for (const e of l.getEntries()) longest = Math.max(longest, e.duration); }).observe({type: "longtask", buffered: true}); undefined`))
	b.wait(`document.querySelector('tr[data-place="one"] td:nth-child(2) small')?.textContent === "×\u00a07000"`)
	b.do(chromedp.Click(`tr[data-place="one"] a`))
	b.wait(`document.querySelector("#detail [data-address]")`)
	t.Logf("%d events; a step was chosen after %d ms; the longest task took %.0f ms; the page has %d elements", entries, time.Since(begun).Milliseconds(),
		eval[float64](b, `longest`), eval[int](b, `document.querySelectorAll("*").length`))
}

// large is a workflow with 1,000 nodes, of which the first asks.
func large() string {
	var text strings.Builder
	text.WriteString("name: large\nlimits: {max_steps: 2000}\nsteps:\n  - {id: begin, human: {question: Begin, options: [yes]}}\n")
	for i := range 999 {
		fmt.Fprintf(&text, "  - {id: s%d, agent: greeter, prompt: go on}\n", i)
	}
	return text.String()
}

// BenchmarkRunPage renders the page of a run with 1,000 nodes.
func BenchmarkRunPage(b *testing.B) {
	f := newFixture(b, map[string]string{".hocket/workflows/large.yml": large()})
	run := f.begin("large")
	f.until(run, "waiting")
	c := f.client()
	size := 0
	for b.Loop() {
		size = len(f.get(c, "/projects/shop/runs/"+run.ID(), http.StatusOK))
	}
	b.ReportMetric(float64(size), "bytes")
}

// TestTyping logs how long after a key the drawing of a workflow with 100 steps is new.
func TestTyping(t *testing.T) {
	text := "name: wide\nsteps:\n"
	for i := range 100 {
		text += fmt.Sprintf("  - {id: s%d, title: Step %d, agent: greeter, prompt: x}\n", i, i)
	}
	f := newFixture(t, map[string]string{".hocket/workflows/wide.yml": text})
	b := f.tab()
	b.open("/projects/shop/workflows/wide/edit")
	b.wait(editor)
	var delays []float64
	for i := range 20 {
		delays = append(delays, eval[float64](b, fmt.Sprintf(`new Promise((done) => {
			const began = performance.now();
			new MutationObserver((_, me) => { if (document.querySelector("#drawing").textContent.includes("Typed %[1]d.")) { me.disconnect(); done(performance.now() - began); } }).observe(document.querySelector("#drawing"), {childList: true, subtree: true});
			%[2]s.dispatch({changes: {from: %[2]s.state.doc.length, insert: "  - {id: t%[1]d, title: Typed %[1]d., agent: greeter, prompt: x}\n"}});
		})`, i, editor)))
	}
	slices.Sort(delays)
	t.Logf("from a key to the new drawing: median %.0f ms, at worst %.0f ms", delays[len(delays)/2], delays[len(delays)-1])
}
