package web_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chromedp/chromedp"

	"github.com/hocket-dev/hocket/internal/visible"
)

// TestLogScrolls opens a log at its end, and loads what was before when it is scrolled up.
func TestLogScrolls(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/agents/wordy.yml":    "name: wordy\nagent: shell\nsettings: {command: \"cat >/dev/null; seq -f 'línea %.0f' 1 20000\"}\n",
		".hocket/workflows/wordy.yml": "name: wordy\nsteps:\n  - {id: talk, agent: wordy, prompt: a}\n",
	})
	run := f.begin("wordy")
	f.until(run, "success")
	b := f.tab()
	b.open("/projects/shop/runs/" + run.ID() + "?step=talk")
	b.wait(`(() => { const l = document.querySelector("pre.log"); return l.textContent.endsWith("línea 20000\n") && l.scrollTop > 0 && l.scrollHeight - l.scrollTop - l.clientHeight < 5; })()`)
	for range 10 {
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("pre.log").scrollTop = 0; undefined`))
		before := eval[string](b, `document.querySelector("pre.log").dataset.start`)
		if before == "0" {
			break
		}
		b.wait(`document.querySelector("pre.log").dataset.start !== "` + before + `"`)
	}
	lines := strings.Split(strings.TrimSpace(eval[string](b, `document.querySelector("pre.log").textContent`)), "\n")
	for i, line := range lines {
		if want := fmt.Sprintf("línea %d", i+1); line != want {
			t.Fatalf("line %d of %d is %q, want %q", i+1, len(lines), line, want)
		}
	}
	if len(lines) != 20000 {
		t.Errorf("%d lines", len(lines))
	}
}

// TestHiddenInLogs compares what the module for logs makes visible with what the server does, for all characters that both know.
func TestHiddenInLogs(t *testing.T) {
	f := newFixture(t, nil)
	b := f.tab()
	b.open("/")
	for _, before := range []string{"a", "ب", "❤\ufe0f", "\u200b"} {
		found := eval[[]int](b, `(() => {
			const hidden = new RegExp(`+quoted(visible.Pattern)+`, "gu"), before = `+quoted(before)+`, all = [];
			for (let c = 0; c < 0x110000; c++) if ((c < 0xd800 || c > 0xdfff) && (before + String.fromCodePoint(c)).replace(hidden, "").length < before.replace(hidden, "").length + String.fromCodePoint(c).length) all.push(c);
			return all;
		})()`)
		inLogs := map[rune]bool{}
		for _, c := range found {
			inLogs[rune(c)] = true
		}
		for r := range unicode.MaxRune + 1 {
			if !utf8.ValidRune(r) || !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co) {
				continue // Go does not know it
			}
			shown := visible.HTML(before+string(r), false)
			if want := !strings.HasSuffix(shown, string(r)); inLogs[r] != want {
				t.Errorf("after %q, U+%04X is hidden: %t in logs, %t elsewhere", before, r, inLogs[r], want)
			}
		}
	}
}

// TestLongLog opens a log of 120 MB, of which the first 10 and the last 90 MB are kept, at its end. It scrolls up through
// a line of 10 MB, back down, and from the beginning to what is not kept. Wherever a part was cut, what is shown is
// a part of what was written.
func TestLongLog(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/agents/wordy.yml":    "name: wordy\nagent: shell\nsettings: {command: \"cat >/dev/null; cat log.txt >&2\"}\n",
		".hocket/workflows/wordy.yml": "name: wordy\nsteps:\n  - {id: talk, agent: wordy, prompt: a}\n",
	})
	written := longLog()
	file := filepath.Join(f.p.Root(), "log.txt")
	if err := os.WriteFile(file, written, 0o644); err != nil {
		t.Fatal(err)
	}
	run := f.begin("wordy")
	f.until(run, "success")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	plain := string(regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAll(written, nil))
	b := f.tab()
	path := "/projects/shop/runs/" + run.ID() + "?step=talk"
	b.work()      // counts from here on
	for range 2 { // the first time, the browser compiles the scripts
		b.open(path)
		b.wait(`document.querySelector("pre.log > span") && performance.getEntriesByName("first-contentful-paint").length`)
	}
	t.Logf("%d MB: the page had arrived after %.0f ms, first paint after %.0f ms, with %s", len(written)>>20, eval[float64](b, `performance.getEntriesByType("navigation")[0].responseEnd`),
		eval[float64](b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`), b.since(nil))
	shown := func() string { return eval[string](b, `document.querySelector("pre.log").textContent`) }
	if text := shown(); len(text) < 10000 || !strings.HasSuffix(plain, text) {
		t.Fatalf("the end of the log is not shown, but %.200q", text)
	}
	if !eval[bool](b, `(() => { const l = document.querySelector("pre.log"); return l.scrollTop > 0 && l.scrollHeight - l.scrollTop - l.clientHeight < 5; })()`) {
		t.Error("the log is not scrolled to its end")
	}

	const parts = 90 // more than the page keeps
	b.do(chromedp.Evaluate[chromedp.Void](`globalThis.longest = 0; new PerformanceObserver((l) => { for (const e of l.getEntries()) longest = Math.max(longest, e.duration); }).observe({type: "longtask"}); undefined`))
	work := b.work()
	scroll(b, "start", "0", parts)
	t.Logf("%d parts up took %s; the longest task took %.0f ms", parts, b.since(work), eval[float64](b, `longest`))
	if text := shown(); len(text) < 500_000 || len(text) > 4_000_000 || !strings.Contains(plain, text) || strings.Contains(text, "\n") {
		t.Errorf("in the long line, %d bytes are shown: %.100q … %q", len(text), text, text[max(0, len(text)-100):])
	}
	scroll(b, "end", fmt.Sprint(len(written)), 2*parts)
	if text := shown(); !strings.HasSuffix(plain, text) {
		t.Errorf("after scrolling down, the end is %q", text[max(0, len(text)-200):])
	}

	b.do(chromedp.Click(`a[data-log]`))
	b.wait(`document.querySelector("pre.log").textContent.startsWith("1 ")`)
	if text := shown(); !strings.HasPrefix(plain, text) {
		t.Errorf("the beginning is %.200q", text)
	}
	// 10 MB are faster without layout.
	b.do(chromedp.Evaluate[chromedp.Void](`{ const log = document.querySelector("pre.log"); log.style.display = "none"; Object.defineProperty(log, "scrollTop", { configurable: true, get: () => 1e6, set: () => {} }); undefined }`))
	for n := 0; n < 12 && !strings.Contains(shown(), " not kept "); n++ {
		scroll(b, "end", "", 30)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`{ const log = document.querySelector("pre.log"); log.style.display = ""; delete log.scrollTop; undefined }`))
	text := shown()
	before, after, found := strings.Cut(text, "… ")
	note, after, _ := strings.Cut(after, " …\n")
	if !found || !strings.HasSuffix(note, "bytes are not kept") || !strings.Contains(plain, before) || !strings.Contains(plain, after) || after == "" {
		t.Errorf("where something is not kept, the log says %q, after %q and before %.100q", note, before[max(0, len(before)-100):], after)
	}
	b.do(chromedp.Click(`a[data-log]`))
	b.wait(`document.querySelector("pre.log").dataset.end === "` + fmt.Sprint(len(written)) + `"`)
	if text := shown(); !strings.HasSuffix(plain, text) {
		t.Errorf("the end is %q", text[max(0, len(text)-200):])
	}
}

// scroll scrolls a log to one of its edges, again and again, until it shows a byte or has loaded some parts. It returns how many
// were loaded.
func scroll(b *tab, edge, until string, most int) int {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	n, err := chromedp.Run(ctx, chromedp.Evaluate[int](fmt.Sprintf(`(async () => {
		const log = document.querySelector("pre.log"), edge = %[1]q;
		let n = 0;
		for (; n < %[3]d && log.dataset[edge] !== %[2]q; n++) {
			const was = log.dataset[edge];
			log.scrollTop = log.scrollHeight / 2;
			while (log.dataset[edge] === was) {
				log.scrollTop = edge === "start" ? 0 : log.scrollHeight;
				await new Promise(requestAnimationFrame);
				log.dispatchEvent(new Event("scroll"));
			}
		}
		return n;
	})()`, edge, until, most), chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("after some parts: %v; the log shows %s", err, eval[string](b, `JSON.stringify(document.querySelector("pre.log").dataset)`))
	}
	return n
}

// longLog is a log with colours and characters of several bytes, lines of different lengths, and one of 10 MB near its end.
func longLog() []byte {
	var text bytes.Buffer
	line := func(i int) {
		fmt.Fprintf(&text, "%d \x1b[3%dmlínea %s\x1b[0m 日本 🙂\n", i, i%8, strings.Repeat("más ", i%40))
	}
	i := 1
	for ; text.Len() < 110<<20; i++ {
		line(i)
	}
	for end := text.Len() + 10<<20; text.Len() < end; {
		text.WriteString("\x1b[38;5;208mñandú🙂" + strings.Repeat("x日 ", 5) + "\x1b[0m" + strings.Repeat("é", 20))
	}
	text.WriteByte('\n')
	for end := text.Len() + 40<<10; text.Len() < end; i++ {
		line(i)
	}
	return text.Bytes()
}

// TestTenTabs opens ten tabs with a live log in one browser, which has six connections to the server. Each shows what is written
// when it is visible, and what a person clicks in it.
func TestTenTabs(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/agents/endless.yml":    "name: endless\nagent: shell\nsettings: {command: \"cat >/dev/null; i=0; while [ $i -lt 6000 ]; do i=$((i+1)); echo line $i; sleep 0.1; done\"}\n",
		".hocket/workflows/endless.yml": "name: endless\nsteps:\n  - {id: first, agent: greeter, prompt: a}\n  - {id: talk, agent: endless, prompt: a}\n",
	})
	run := f.begin("endless")
	tabs := []*tab{f.tab()}
	for len(tabs) < 10 {
		ctx, cancel := chromedp.NewContext(tabs[0].ctx)
		t.Cleanup(cancel)
		tabs = append(tabs, &tab{f, ctx})
	}
	page := "/projects/shop/runs/" + run.ID()
	for _, b := range tabs {
		b.open(page + "?step=talk")
		b.wait(`document.querySelector("pre.log[data-follow] > span")`)
	}
	// All ten are visible here, as if they were windows.
	following := func(b *tab) bool {
		size := eval[int](b, `document.querySelector("pre.log").textContent.length`)
		return eval[bool](b, fmt.Sprintf(`new Promise((done) => { const end = Date.now() + 1500, look = () => document.querySelector("pre.log").textContent.length > %d ? done(true) : Date.now() > end ? done(false) : setTimeout(look, 20); look(); })`, size))
	}
	b := tabs[len(tabs)-1]
	if b.wait(`"waits" in document.querySelector("pre.log").dataset`); following(b) {
		t.Error("the log of the tenth window has a connection")
	}
	show := func(hidden bool, tabs ...*tab) {
		for _, b := range tabs {
			b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`Object.defineProperty(document, "hidden", { configurable: true, get: () => %t }); document.dispatchEvent(new Event("visibilitychange")); undefined`, hidden)))
		}
	}
	show(true, tabs[:9]...)
	b.wait(`!("waits" in document.querySelector("pre.log").dataset)`)
	if !following(b) {
		t.Error("the log of the only visible tab does not grow")
	}
	show(true, b)
	show(false, tabs[0])
	if !following(tabs[0]) {
		t.Error("the log of a tab that is visible again does not grow")
	}
	lines := strings.Split(strings.TrimSpace(eval[string](tabs[0], `document.querySelector("pre.log").textContent`)), "\n")
	for i, line := range lines {
		if want := fmt.Sprintf("line %d", i+1); line != want {
			t.Fatalf("after it was hidden, line %d of %d is %q", i+1, len(lines), line)
		}
	}

	show(false, tabs[1:]...)
	var delays []float64
	for _, b := range tabs {
		delays = append(delays, eval[float64](b, `new Promise((done) => {
			const began = performance.now();
			new MutationObserver((_, me) => { if (document.querySelector('#detail [data-address="first"]')) { me.disconnect(); done(performance.now() - began); } }).observe(document.querySelector("#detail"), { childList: true });
			document.querySelector('tr[data-place="first"] a').click();
		})`))
	}
	slices.Sort(delays)
	t.Logf("a step was shown %.0f ms after the click in the fastest of ten tabs, %.0f in the median, %.0f in the slowest", delays[0], delays[5], delays[9])
}
