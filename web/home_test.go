package web_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestScreenshots shows every page in several widths and themes, in the directory of `go test -artifacts`.
// It checks what can be checked without eyes: nothing is wider than the page.
func TestScreenshots(t *testing.T) {
	more := map[string]string{
		".hocket/triggers/nightly.yml": "workflow: hello\nschedule: \"0 3 * * *\"\nzone: Europe/Berlin\n", ".hocket/triggers/wrong.yml": "workflow: helo\nafter: hello\n",
		".hocket/workflows/wide.yml": wideFlow(), ".hocket/workflows/checks.yml": manyChecks(),
		".hocket/workflows/costly.yml": "name: costly\nsteps:\n  - {id: think, title: Think hard, agent: paid, prompt: Think}\n  - {id: more, agent: paid, prompt: More}\n",
	}
	maps.Copy(more, handing())
	maps.Copy(more, editingFiles())
	more[".hocket/generated/tidy/origin.yml"] = "kind: workflow\nname: tidy\nby: claude\ngoal: Tidy up the folder of downloads\n"
	more[".hocket/generated/tidy/tidy.yml"] = "name: tidy\nsteps:\n  - {id: sweep, title: Remove old files, agent: shell, config: {command: \"find downloads -mtime +30 -delete\"}}\n  - {id: report, agent: greeter, prompt: Say what was removed}\n"
	f := newFixture(t, more)
	done, gated, wide, broken := f.begin("hello"), f.begin("gated"), f.begin("release"), f.begin("broken")
	f.until(done, "success")
	f.until(gated, "waiting")
	f.until(wide, "waiting")
	f.until(broken, "error")
	changed, many, branches, costly, handed := f.begin("editing"), f.begin("checks"), f.begin("wide"), f.begin("costly"), f.begin("handing")
	f.answer(handed, "yes")
	f.answer(many, "yes")
	f.until(changed, "success")
	f.until(many, "success", "partial")
	f.until(branches, "success")
	f.until(costly, "success")
	long := f.begin("long")
	b := f.tab()
	pages := map[string]string{
		"home": "/", "inbox": "/inbox", "project": "/projects/shop", "problem": "/projects/none", "handoffs": "/projects/shop/handoffs", "handoff": "/projects/shop/handoffs/new", "usage": "/usage", "workflow": "/projects/shop/workflows/hello?as=mermaid", "wrong": "/projects/shop/workflows/wrong", "edit": "/projects/shop/workflows/release/edit", "new": "/projects/shop/new?as=plantuml",
		"run": "/projects/shop/runs/" + wide.ID() + "?step=check", "failed": "/projects/shop/runs/" + broken.ID() + "?step=bad", "live": "/projects/shop/runs/" + long.ID() + "?step=wait",
		"change": "/projects/shop/runs/" + changed.ID() + "?step=change", "many": "/projects/shop/runs/" + many.ID(), "branches": "/projects/shop/runs/" + branches.ID() + "?as=plantuml", "costly": "/projects/shop/runs/" + costly.ID() + "?step=think", "handed": "/projects/shop/runs/" + handed.ID() + "?step=work",
		"review": "/projects/shop/definitions/tidy", "trust": "/projects/shop/trust", "gated": "/projects/shop/runs/" + gated.ID(),
	}
	for _, width := range []int64{360, 1280, 2560} {
		for _, theme := range []string{"light", "dark"} {
			if theme == "dark" && width != 1280 { // it changes no sizes
				continue
			}
			b.theme(theme)
			for name, path := range pages {
				b.do(chromedp.EmulateViewport(width, 900))
				b.open(path)
				b.wait(`[...document.images].every((i) => i.complete || i.loading === "lazy")`)
				if over := eval[float64](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
					t.Errorf("%s at %d px is %.0f px too wide", name, width, over)
				}
				picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(t.ArtifactDir(), fmt.Sprintf("%s-%d-%s.png", name, width, theme)), picture, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestPagesWithoutJavaScript reads pages and answers a question as a browser without JavaScript does.
func TestPagesWithoutJavaScript(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("gated")
	f.until(run, "waiting")
	c := f.client()
	for path, want := range map[string]string{
		"/":              "Publish the draft?",
		"/inbox":         "Publish the draft?",
		"/projects/shop": "Checks every package",
	} {
		if page := f.get(c, path, http.StatusOK); !strings.Contains(page, want) {
			t.Errorf("%s does not show %q:\n%s", path, want, page)
		}
	}
	questions, err := run.Questions(t.Context())
	if err != nil || len(questions) != 1 {
		t.Fatal(questions, err)
	}
	q := questions[0]
	send := func(digest, origin string) *http.Response {
		r, err := http.NewRequest("POST", f.base+"/projects/shop/runs/"+run.ID()+"/answer", strings.NewReader(url.Values{
			"question": {q.ID}, "digest": {digest}, "value": {"send back"}, "comment": {"too long"}, "back": {"/inbox"}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
		res, err := c.Transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	for digest, status := range map[string]int{"": http.StatusUnprocessableEntity, "sha256:other": http.StatusConflict} {
		if res := send(digest, f.base); res.StatusCode != status {
			t.Errorf("an answer with the digest %q has status %d, want %d", digest, res.StatusCode, status)
		}
	}
	for _, origin := range []string{"http://127.0.0.1:1", "null", "https://example.org"} {
		if res := send(q.Digest, origin); res.StatusCode != http.StatusForbidden {
			t.Errorf("an answer from %s has status %d", origin, res.StatusCode)
		}
	}
	res := send(q.Digest, f.base)
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/inbox" {
		t.Fatalf("the answer has status %d and leads to %q", res.StatusCode, res.Header.Get("Location"))
	}
	f.until(run, "success")
	if page := f.get(c, "/inbox", http.StatusOK); !strings.Contains(page, "Nothing waits for you") {
		t.Errorf("the inbox still has the question:\n%s", page)
	}
}

// TestQuestionsComeAndGo has an open page show a question of a run that was started elsewhere, and the
// question disappear when it is answered elsewhere. What is being typed stays.
func TestQuestionsComeAndGo(t *testing.T) {
	f := newFixture(t, nil)
	b := f.tab()
	b.open("/inbox")
	b.wait(`document.querySelector("#nothing")`)
	first := f.elsewhere("gated", nil)
	begun := time.Now()
	b.wait(`document.querySelector("article.question")`)
	t.Logf("the question was on the page %d ms after the start of the run", time.Since(begun).Milliseconds())
	b.do(chromedp.SendKeys("article.question textarea[name=comment]", "half a sent"))
	second := f.begin("gated")
	b.wait(`document.querySelectorAll("article.question").length === 2`)
	if text := eval[string](b, `[...document.querySelectorAll("textarea[name=comment]")].map((t) => t.value).join("")`); text != "half a sent" {
		t.Errorf("what was typed is now %q", text)
	}
	if count := eval[string](b, `document.querySelector("#counts b").textContent`); count != "2" {
		t.Errorf("the header counts %s questions", count)
	}
	b.do(chromedp.Click(`article.question[id*="` + second.ID() + `"] button[value=drop]`))
	f.until(second, "success")
	b.wait(`document.querySelectorAll("article.question").length === 1`)
	f.until(first, "waiting")
}

// TestServerGone has a page say that the server has stopped, so that nobody trusts what it shows.
func TestServerGone(t *testing.T) {
	f := newFixture(t, nil)
	b := f.tab()
	b.open("/inbox")
	b.wait(`performance.getEntriesByType("resource").some((e) => e.name.includes("part=live"))`) // the stream is open
	f.stop()
	b.wait(`document.querySelector("#says").textContent.includes("does not answer")`)
}

// TestRunOfTheCommandLine starts a run with the program, and logs how long after it was recorded it is in the list of an open page.
func TestRunOfTheCommandLine(t *testing.T) {
	f := newFixture(t, nil)
	program := filepath.Join(t.TempDir(), "hocket")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/hocket").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b := f.tab()
	b.open("/projects/shop")
	b.wait(`document.querySelector("#no-runs") && performance.getEntriesByType("resource").some((e) => e.name.includes("part=live"))`) // the stream is open
	b.do(chromedp.Evaluate[chromedp.Void](`new MutationObserver(() => { if (document.querySelector("#run-list tr[id]")) globalThis.seen ??= Date.now(); }).observe(document.querySelector("#run-list"), { childList: true, subtree: true }); undefined`))
	time.Sleep(2 * time.Second) // nothing has happened for a while, so the server looks less often
	if out, err := exec.Command(program, "-C", f.p.Root(), "run", "hello").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.wait(`globalThis.seen`)
	runs := runsOf(t, f.p)
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	t.Logf("the run was in the page %d ms after it had started", time.UnixMilli(eval[int64](b, `seen`)).Sub(runs[0].Created).Milliseconds())
}
