package web_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/hocket-dev/hocket/agent"
)

// payload is what an attacker would write: it leaves every place of a page in which a text can be, and would set pwned if a
// script of it ran, or load something from elsewhere.
const payload = `"'><script>pwned=1</script><img src=//evil.test/x onerror=pwned=2><svg/onload=pwned=3><a href=javascript:pwned=4>go</a>` +
	`</script></textarea></title></style></svg><style>*{display:none}</style><iframe srcdoc="<script>parent.pwned=5</script>"></iframe><form action=//evil.test><base href=//evil.test>{%.Data%}<!-- ]]> &lt;` + "\u202etxt.exe\u2066"

// sequences are those of terminals: a colour, a new title, and a link.
const sequences = "\x1b[31m\x1b]0;pwned\x07\x1b]8;;javascript:pwned=6\x1b\\"

// evil is a hostile text with a mark, by which a test finds it in a page.
func evil(mark string) string { return "⟦" + mark + "⟧" + payload }

// shown is how a page shows a hostile text: literally, and what would be invisible as an escape.
func shown(text string) string {
	return strings.NewReplacer("\u202e", `\u202e`, "\u2066", `\u2066`, "\x1b", `\x1b`, "\x07", `\a`).Replace(text)
}

// inYAML returns a text in quotes.
func inYAML(text string) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text can be encoded
	return strings.TrimSpace(out.String())
}

// attacker is an agent of which everything is hostile.
func attacker(_ context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	task.NoteModel(evil("model"))
	task.Record(agent.AssistantText{Text: evil("said") + "\n# Markdown\n[link](javascript:pwned=7) ![picture](//evil.test/p.png)"})
	task.Record(agent.ToolCall{ID: "1", Tool: evil("tool"), Arguments: map[string]any{evil("argument"): evil("value")}})
	task.Record(agent.ToolResult{ID: "1", Tool: evil("tool"), Text: sequences + evil("result")})
	task.Record(agent.ToolCall{ID: "2", Tool: "edit", Arguments: map[string]any{"path": evil("file"), "old_string": evil("before") + sequences, "new_string": evil("after"), evil("other"): evil("option")}})
	task.Record(agent.FileChange{Path: evil("path"), Change: agent.Modified, Old: evil("old") + sequences, New: evil("new")})
	log([]byte(sequences + evil("log") + "\x1b[0"))
	log([]byte("m\x1b]0;never ends"))
	if strings.Contains(task.Address, "fail") {
		return agent.Result{}, agent.Permanentf("%s%s", sequences, evil("error"))
	}
	return agent.Result{Output: sequences + evil("output") + "{{.Data}}${inputs.text}", Usage: agent.Usage{CostUSD: 0.25, TokensIn: 1000, TokensOut: 200}}, nil
}

func hostileFiles() map[string]string {
	q := func(mark string) string { return inYAML(evil(mark)) }
	return map[string]string{
		".hocket/agents/mallory.yml": "name: mallory\ndescription: " + q("agent") + "\nagent: attacker\n",
		".hocket/workflows/bad.yml": "name: bad\ndescription: " + q("description") + "\ninputs:\n  text: {type: string, default: " + q("default") + ", description: " + q("input") + "}\n" +
			"steps:\n  - {id: work, title: " + q("title") + ", agent: mallory, prompt: " + q("prompt") + "}\n" +
			"  - id: gate\n    human:\n      question: " + q("question") + "\n      options:\n        - {value: " + q("option") + ", label: " + q("label") + ", description: " + q("about") + "}\n        - {value: other}\n" +
			"  - {id: fail, agent: mallory, prompt: x}\n",
		".hocket/workflows/wrong-bad.yml": "name: wrong-bad\nsteps:\n  - {id: a, agent: " + q("unknown") + ", prompt: x}\n",
		".hocket/workflows/" + strings.ReplaceAll(`<img src=x onerror=pwned=8>"'`, "/", "") + ".yml": "name: file\nsteps:\n  - {id: a, agent: greeter, prompt: x}\n",
		".hocket/generated/tidy/origin.yml": "kind: workflow\nname: tidy\nby: " + q("by") + "\ngoal: " + q("goal") + "\n",
		".hocket/generated/tidy/tidy.yml":   "name: tidy\nsteps:\n  - {id: sweep, title: " + q("sweep") + ", agent: shell, config: {command: " + q("command") + "}}\n",
	}
}

// guarded is a tab that reports everything that a page must never do, whatever a run contains.
func (f *fixture) guarded() *tab {
	f.t.Helper()
	b := f.tab()
	if _, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{}); err != nil {
		f.t.Fatal(err)
	}
	requests, dialogs, windows := chromedp.Events(b.ctx, network.RequestWillBeSent), chromedp.Events(b.ctx, page.JavascriptDialogOpening), chromedp.Events(b.ctx, page.WindowOpen)
	go report(requests, func(e network.EventRequestWillBeSent) {
		if to := string(e.Request.URL); !strings.HasPrefix(to, b.base+"/") && !strings.HasPrefix(to, "data:") {
			f.t.Errorf("the page asks for %s", to)
		}
	})
	go report(dialogs, func(e page.EventJavascriptDialogOpening) { f.t.Errorf("a dialog says %q", e.Message) })
	go report(windows, func(e page.EventWindowOpen) { f.t.Errorf("a window with %s opens", e.URL) })
	return b
}

// report handles events until the tab is closed.
func report[E any](events iter.Seq2[E, error], handle func(E)) {
	for e, err := range events {
		if err != nil {
			return
		}
		handle(e)
	}
}

// harmless checks that nothing in the page is active that we did not write, and that it shows the given texts literally.
func (b *tab) harmless(name string, marks ...string) {
	b.t.Helper()
	bad := eval[[]string](b, `(() => {
		const out = [];
		if (globalThis.pwned !== undefined) out.push("a script ran: " + globalThis.pwned);
		for (const e of document.querySelectorAll("*")) {
			for (const a of e.attributes) {
				if (/^on/i.test(a.name) || a.name === "style" || a.name === "srcdoc") out.push(e.tagName + " has " + a.name);
				if (/^(xlink:)?href$|^(src|action|formaction)$/.test(a.name) && new URL(a.value, location.href).origin !== location.origin) out.push(e.tagName + " leads to " + a.value);
			}
			if (/^(script|style|iframe|base|object|embed)$/i.test(e.tagName) && !(e.tagName === "SCRIPT" && e.src.startsWith(location.origin + "/assets/") && !e.textContent)) out.push("there is a " + e.tagName);
		}
		if (!document.querySelector("main") || getComputedStyle(document.querySelector("main")).display === "none") out.push("the page is hidden");
		if (/[\u202a-\u202e\u2066-\u2069\x1b\x07]/.test(document.body.innerText)) out.push("something is invisible");
		return out;
	})()`)
	for _, what := range bad {
		b.t.Errorf("%s: %s", name, what)
	}
	text := eval[string](b, `document.title + "\n" + document.documentElement.textContent + [...document.querySelectorAll("input, textarea, button")].map((e) => "\n" + e.value).join("") + "\n" + (document.querySelector("#editor")?.view?.state.doc.toString() ?? "")`)
	for _, mark := range marks {
		inJSON := strings.Trim(inYAML(evil(mark)), `"`)
		if !strings.Contains(text, shown(evil(mark))) && !strings.Contains(text, evil(mark)) && !strings.Contains(text, shown(inJSON)) && !strings.Contains(text, inJSON) {
			at := strings.Index(text, "⟦"+mark+"⟧")
			b.t.Errorf("%s: the page does not show %s literally, but %.300q", name, mark, text[max(0, at):])
		}
	}
}

// send fills in a field of a form, and sends it.
func (b *tab) send(form, field, text string) {
	b.t.Helper()
	eval[bool](b, `((f) => { f.elements[`+quoted(field)+`].value = `+quoted(text)+`; f.requestSubmit(f.querySelector("button")); return true; })(document.querySelector(`+quoted(form)+`))`)
}

// TestHostileTexts fills everything that a run and the files of a project can fill with hostile texts, and opens every page that shows them.
func TestHostileTexts(t *testing.T) {
	f := newFixture(t, hostileFiles())
	b := f.guarded()
	run := f.begin("bad")
	at := "/projects/shop/runs/" + run.ID()
	b.open(at + "?step=work") // what happens now comes through the stream
	f.until(run, "waiting")
	b.wait(`document.querySelector("article.question")`)
	b.wait(`document.querySelector("#detail").textContent.includes("⟦path⟧") && document.querySelector("#detail .pill.success")`)
	b.harmless("live", "question", "option", "label", "about", "title", "output", "prompt", "log", "said", "tool", "argument", "value", "result", "path", "file", "before", "after", "old", "new", "other")
	b.open("/inbox")
	b.harmless("inbox", "question", "option", "label", "about", "by", "goal")
	b.open("/")
	b.harmless("home", "question", "goal")

	// The answer, with a hostile comment, makes the last step fail, which the open page shows.
	b.open(at)
	b.send(`article.question form`, "comment", evil("comment"))
	b.wait(`document.querySelector("#status .pill.error")`)
	b.open(at + "?step=fail")
	b.harmless("failed", "error", "title")
	for _, as := range []string{"yaml", "xml", "mermaid", "plantuml"} {
		b.open(at + "?as=" + as + "&step=gate")
		b.harmless("source in "+as, "title")
	}
	b.do(chromedp.Evaluate[chromedp.Void](`{const s = document.querySelector("#replay input"); s.value = 500; s.dispatchEvent(new Event("input")); undefined}`))
	b.wait(`document.querySelector("#replay output").textContent.includes(" of ")`)
	b.harmless("replay")

	// Cancelling with a reason.
	other := f.begin("bad")
	f.until(other, "waiting")
	b.open("/projects/shop/runs/" + other.ID())
	b.send(`#cancel form`, "reason", evil("reason"))
	b.wait(`document.querySelector("#status .pill.cancelled")`) // otherwise the form is still being sent
	b.open("/projects/shop/runs/" + other.ID())
	b.harmless("cancelled", "reason")

}

// TestHostileFiles does the same with the files of a project, and with addresses that somebody sends.
func TestHostileFiles(t *testing.T) {
	f := newFixture(t, hostileFiles())
	b := f.guarded()
	run := f.begin("bad")
	f.until(run, "waiting")
	at := "/projects/shop/runs/" + run.ID()
	b.open("/projects/shop")
	b.harmless("project", "description")
	b.open("/projects/shop/workflows/bad")
	b.harmless("workflow", "description", "default", "input", "title")
	b.open("/projects/shop/workflows/wrong-bad")
	b.harmless("diagnostics")
	b.open("/projects/shop/workflows/" + url.PathEscape(`<img src=x onerror=pwned=8>"'`))
	b.harmless("file name")
	b.open("/projects/shop/definitions/tidy")
	b.harmless("review", "by", "goal", "command")
	b.open("/usage")
	b.harmless("usage")

	for _, path := range []string{"/projects/" + url.PathEscape(payload), "/projects/shop/runs/" + url.PathEscape(payload), at + "?step=" + url.QueryEscape(payload), at + "?as=" + url.QueryEscape(payload),
		"/projects/shop?status=" + url.QueryEscape(payload) + "&workflow=" + url.QueryEscape(payload), "/projects/shop?cursor=" + url.QueryEscape(payload), "/projects/shop/workflows/" + url.PathEscape(payload), "/projects/shop/new?as=" + url.QueryEscape(payload),
		"/projects/shop/definitions/" + url.PathEscape(payload), "/projects/shop/workflows/bad?run=" + url.QueryEscape(payload)} {
		b.do(chromedp.Navigate(b.base+path), chromedp.WaitVisible("main"))
		b.harmless(path)
	}
}

// TestHostileEditor types hostile texts, which come back in diagnostics and in the drawing.
func TestHostileEditor(t *testing.T) {
	f := newFixture(t, hostileFiles())
	b := f.guarded()
	b.open("/projects/shop/workflows/bad/edit")
	b.wait(editor)
	b.write("  - {id: last, title: " + inYAML(evil("typed")) + ", agent: " + inYAML(evil("nobody")) + ", prompt: x}\n")
	b.wait(`document.querySelector("#diagnostics").textContent.includes("⟦nobody⟧") && document.querySelector("#drawing").textContent.includes("⟦typed⟧")`)
	b.harmless("editor", "title", "question", "typed")
}

// TestHostilePowers shows hostile files to a person who decides whether to trust them.
func TestHostilePowers(t *testing.T) {
	f := newClone(t, map[string]string{".hocket/config.yml": "mcp: {notes: {command: [sh, " + inYAML(evil("power")) + "]}}\n"})
	b := f.guarded()
	b.open("/projects/shop/trust")
	b.harmless("trust", "power")
	b.open("/")
	b.harmless("home")
}

// TestHostileAnswersOfTheAPI opens in a browser what the API answers: the browser must not take any of it for a page.
func TestHostileAnswersOfTheAPI(t *testing.T) {
	f := newFixture(t, hostileFiles())
	if _, err := f.p.AddMemory(t.Context(), evil("memory"), []string{"tag"}, evil("source")); err != nil {
		t.Fatal(err)
	}
	run := f.begin("bad")
	f.until(run, "waiting")
	b := f.guarded()
	api := "/api/projects/shop"
	for _, path := range []string{"/runs", "/runs/" + run.ID(), "/runs/" + run.ID() + "/history", "/runs/" + run.ID() + "/steps/work", "/runs/" + run.ID() + "/steps/work/output", "/workflows", "/workflows/bad", "/workflows/wrong-bad",
		"/workflows/bad/graph?as=svg", "/agents", "/memories", "/sessions", "/handoffs", "/definitions/tidy", "/trust"} {
		b.do(chromedp.Navigate(b.base + api + path))
		if bad := eval[string](b, `globalThis.pwned !== undefined ? "a script ran" : [...document.querySelectorAll("script, iframe, img, base, foreignObject")].map((e) => e.tagName).join(" ")`); bad != "" {
			t.Errorf("%s: %s", path, bad)
		}
	}
	c := f.client()
	for path, want := range map[string]string{api + "/runs/" + run.ID() + "/steps/work/attempts/1/output": "application/octet-stream", "/usage.csv": "text/csv"} {
		res, err := c.Get(f.base + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if h := res.Header; res.StatusCode != http.StatusOK || !strings.HasPrefix(h.Get("Content-Type"), want) || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, res.StatusCode, h)
		}
	}
}
