package web_test

import (
	"context"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hocket-dev/hocket"
)

// landFiles are those of a project in which a step makes a change, hostile in part, and another one lands it.
func landFiles() map[string]string {
	script := "cat >/dev/null\nprintf 'package shop\\n\\n// Price returns what an item costs, in cents.\\nfunc Price(item string) int {\\n    if item == \"tea\" {\\n        return 250\\n    }\\n    return 400\\n}\\n' > price.go\n" +
		"git mv notes.md NOTES.md 2>/dev/null || mv notes.md NOTES.md\nchmod +x run.sh\nprintf 'a\\0b' > logo.bin\nprintf '%s' " + shellQuoted(evil("line")+"\r\n") + " > 'x<img src=x onerror=pwned=9>.html'\ni=0; while [ $i -lt 600 ]; do i=$((i+1)); echo \"line $i\"; done > long.txt\n"
	return map[string]string{
		"price.go": "package shop\n\nfunc Price(item string) int {\n\treturn 400\n}\n", "notes.md": strings.Repeat("A note.\n", 10), "run.sh": "echo run\n",
		".hocket/agents/coder.yml":         "name: coder\nagent: shell\nsettings: {command: " + inYAML(script) + "}\n",
		".hocket/workflows/ship.yml":       "name: ship\nsteps:\n  - {id: write, agent: coder, prompt: Write it., workspace: own}\n  - {id: land, land: branch, branch: feature/tea, message: Add tea}\n",
		".hocket/agents/breaks.yml":        "name: breaks\nagent: shell\nsettings: {command: \"cat >/dev/null; echo half > left.txt; exit 3\"}\n",
		".hocket/workflows/broken-off.yml": "name: broken-off\nsteps:\n  - {id: write, agent: breaks, prompt: Write it., workspace: own}\n",
		".hocket/workflows/pick.yml":       "name: pick\nsteps:\n  - {id: one, agent: coder, prompt: a, workspace: own, parallel_group: both}\n  - {id: two, agent: coder, prompt: b, workspace: own, parallel_group: both}\n  - {id: best, merge: {pick: human}}\n",
	}
}

func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// newRepository returns a server with a project that git knows.
func newRepository(t *testing.T) (f *fixture, git func(args ...string) string) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	f = newFixture(t, landFiles())
	git = func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", f.p.Root(), "-c", "user.name=a", "-c", "user.email=a@b.c"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-qm", "first")
	return f, git
}

// TestLand lands a change from the page, which shows all of it.
func TestLand(t *testing.T) {
	f, git := newRepository(t)
	run := f.begin("ship")
	f.until(run, "waiting")
	b := f.guarded()
	b.open("/inbox")
	b.pictures("landing-in-inbox")
	b.do(chromedp.Click(`article.question a[href*="/change?question="]`))
	b.wait(`document.querySelector("#change .code ins")`)
	b.harmless("the change", "line")
	got := eval[string](b, `[...document.querySelectorAll(".files li")].map((l) => l.innerText.replace(/\s+/g, " ")).join("\n")`)
	want := "renamed notes.md → NOTES.md\nadded logo.bin\nadded +600 long.txt\nmodified +5 −1 price.go\nmodified run.sh\nadded +1 x<img src=x onerror=pwned=9>.html"
	if got != want {
		t.Errorf("the files are\n%s\nwant\n%s", got, want)
	}
	if got := eval[string](b, `[...document.querySelectorAll("[data-path='price.go'] .code > *")].map((l) => (l.dataset.old ?? "") + "," + (l.dataset.new ?? "") + l.textContent.trimEnd()).slice(1, 6).join("|")`); got != "1,1 package shop|2,2|,3+// Price returns what an item costs, in cents.|3,4 func Price(item string) int {|4,-\treturn 400" {
		t.Errorf("the lines are %s", got)
	}
	if eval[bool](b, `document.querySelector("[data-path='long.txt']").open`) {
		t.Error("a long file is not folded")
	}
	b.pictures("landing")
	b.do(chromedp.Click(`#change button[value=land]`))
	f.until(run, "success")
	if shown := git("show", "feature/tea:price.go"); !strings.Contains(shown, "return 250") {
		t.Errorf("the branch has %s", shown)
	}
	b.open("/projects/shop/runs/" + run.ID() + "/change?question=land")
	b.wait(`document.querySelector("main .empty")`)
}

// TestRejectWithComments rejects a change because of a line, with and without JavaScript.
func TestRejectWithComments(t *testing.T) {
	f, git := newRepository(t)
	plain := f.begin("ship")
	f.until(plain, "waiting")
	open := questionsOf(t, plain)
	res, err := f.client().PostForm(f.base+"/projects/shop/runs/"+plain.ID()+"/answer", url.Values{
		"question": {open[0].ID}, "digest": {open[0].Digest}, "value": {"reject"}, "comment": {"Not yet"}, "at": {"run.sh", "price.go"}, "note": {"", "5: use tabs"},
	})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	f.until(plain, "error")
	if why, want := errorOf(t, plain), "a person rejected the change: Not yet\nprice.go:5: use tabs"; !strings.Contains(why, want) {
		t.Errorf("the step failed because of %q, want %q", why, want)
	}

	run := f.begin("ship")
	f.until(run, "waiting")
	b := f.tab()
	b.open("/projects/shop/runs/" + run.ID() + "/change?question=" + questionsOf(t, run)[0].ID)
	b.wait(`document.querySelector("#change .code ins")`)
	b.remarkOn(`[data-path="price.go"] [data-new="6"]`)
	b.wait(`document.activeElement.name === "note"`)
	b.remarkOn(`[data-path="price.go"] del[data-old="4"]`) // the empty one is closed again
	b.wait(`document.querySelectorAll(".code .remark").length === 1 && document.activeElement.name === "note"`)
	b.do(chromedp.SendKeys(`.code .remark textarea`, "Keep <b>this</b>"))
	b.remarkOn(`[data-path="price.go"] [data-new="5"]`)
	b.wait(`document.querySelectorAll(".code .remark").length === 2`)
	b.do(chromedp.SendKeys(`[data-path="price.go"] [data-new="5"] + .remark textarea`, "Use tabs"))
	b.pictures("comments")
	b.do(chromedp.Click(`#change button[value=reject]`))
	f.until(run, "error")
	if why, want := errorOf(t, run), "a person rejected the change: price.go:4 (before): Keep <b>this</b>\nprice.go:5: Use tabs"; !strings.Contains(why, want) && !strings.Contains(why, "price.go:5: Use tabs\nprice.go:4 (before): Keep <b>this</b>") {
		t.Errorf("the step failed because of %q, want %q", why, want)
	}
	if branches := git("branch", "--list", "feature/*"); branches != "" {
		t.Errorf("something has landed: %s", branches)
	}
}

// TestChangeIsAccessible looks at the page of a change, with a comment on a line.
func TestChangeIsAccessible(t *testing.T) {
	source := axe(t)
	f, _ := newRepository(t)
	run := f.begin("ship")
	f.until(run, "waiting")
	b := f.tab()
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		b.open("/projects/shop/runs/" + run.ID() + "/change?question=" + questionsOf(t, run)[0].ID)
		b.wait(`document.querySelector("#change .code ins")`)
		b.remarkOn(`[data-path="price.go"] [data-new="6"]`)
		b.accessible(theme, source)
	}
}

// remarkOn clicks on the number of a line.
func (b *tab) remarkOn(line string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](`(() => { const l = document.querySelector(` + quoted(line) + `), box = l.getBoundingClientRect(); l.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: box.left + 8, clientY: box.top + 5 })); })(); undefined`))
}

// TestPickAChange shows every change that a person picks from.
func TestPickAChange(t *testing.T) {
	f, _ := newRepository(t)
	run := f.begin("pick")
	f.until(run, "waiting")
	page := f.get(f.client(), "/projects/shop/runs/"+run.ID()+"/change?question="+questionsOf(t, run)[0].ID, http.StatusOK)
	for _, want := range []string{"<h2>one: 6 files changed", "<h2>two: 6 files changed", `id="file-2-6"`, `<button name="value" value="two"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	if n := strings.Count(page, "two: 6 files changed, "); n != 2 { // the heading, and the label of the list for screen readers
		t.Errorf("what two changed is written %d times", n)
	}
	if strings.Contains(page, `value="one" class="first"`) {
		t.Error("the first change looks preferred")
	}
	f.answer(run, "two")
	f.until(run, "success")
}

func questionsOf(t *testing.T, r *hocket.Run) []hocket.Question {
	t.Helper()
	open, err := r.Questions(t.Context())
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}
	return open
}

func errorOf(t *testing.T, r *hocket.Run) string {
	t.Helper()
	s, err := r.State(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range s.Result.Steps {
		if step.Address == "land" {
			return step.Error
		}
	}
	return ""
}

// TestChangesOfSteps shows what a step and an attempt that failed have changed.
func TestChangesOfSteps(t *testing.T) {
	f, _ := newRepository(t)
	run := f.begin("pick")
	f.until(run, "waiting")
	path := "/projects/shop/runs/" + run.ID()
	if page := f.get(f.client(), path+"?step=one", http.StatusOK); !strings.Contains(page, `href="`+path+`/changes?step=one"`) {
		t.Error("the step has no link to what it has changed")
	}
	page := f.get(f.client(), path+"/changes?step=one", http.StatusOK)
	for _, want := range []string{"<h1>Changes of one</h1>", "notes.md → NOTES.md", `<span class="k">return</span>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	if strings.Contains(page, "<textarea") {
		t.Error("a page of changes asks for comments")
	}
	if page := f.get(f.client(), path+"/changes?step=best", http.StatusOK); !strings.Contains(page, `class="empty"`) {
		t.Error("a step that has changed nothing shows something")
	}
	f.answer(run, "two")
	f.until(run, "success")
	f.get(f.client(), path+"/changes", http.StatusOK)

	broken := f.begin("broken-off")
	f.until(broken, "error")
	path = "/projects/shop/runs/" + broken.ID()
	if page := f.get(f.client(), path+"?step=write", http.StatusOK); !strings.Contains(page, `/changes?step=write&amp;attempt=1"`) {
		t.Error("the attempt that failed has no link to what it has changed")
	}
	if page := f.get(f.client(), path+"/changes?step=write&attempt=1", http.StatusOK); !strings.Contains(page, "left.txt") {
		t.Error("what the attempt has left is not shown")
	}
}
