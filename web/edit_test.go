package web_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// editor is the editor of CodeMirror in the page.
const editor = `document.querySelector("#editor").view`

// write types a text at the end of the text of the editor.
func (b *tab) write(text string) {
	b.t.Helper()
	eval[bool](b, editor+`.dispatch({selection: {anchor: `+editor+`.state.doc.length}, scrollIntoView: true}), `+editor+`.focus(), true`)
	if _, err := chromedp.Call(b.ctx, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
		b.t.Fatal(err)
	}
}

// press presses a key in the editor.
func (b *tab) press(key string, code int, ctrl bool) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`%s.contentDOM.dispatchEvent(new KeyboardEvent("keydown", {key: %q, keyCode: %d, ctrlKey: %t, bubbles: true, cancelable: true})), true`, editor, key, code, ctrl))
}

// TestEditor writes a workflow with diagnostics, drawing, conversion and suggestions as a person types, and
// saves it.
func TestEditor(t *testing.T) {
	f := newFixture(t, nil)
	b := f.tab()
	b.open("/projects/shop/workflows/hello/edit")
	b.wait(editor + ` && document.querySelector("#drawing svg") && document.querySelector("#converted pre").textContent.includes("flowchart")`)
	if n := eval[int](b, `document.querySelectorAll("#editor").length && `+editor+`.dom.querySelectorAll(".cm-line span").length`); n < 5 {
		t.Errorf("the text has %d coloured parts", n)
	}

	// A step with a mistake is drawn and marked, and the mistake is gone when it is repaired.
	b.write("  - {id: last, title: Say goodbye, agent: greete, prompt: bye}\n")
	b.wait(`document.querySelector("#diagnostics").textContent.includes('unknown agent "greete"') && document.querySelector("#drawing").textContent.includes("Say goodbye")`)
	b.wait(editor + `.dom.querySelector(".cm-lintRange-error")?.textContent.includes("greete")`)
	eval[bool](b, `((at) => `+editor+`.dispatch({changes: {from: at + 6, insert: "r"}}))(`+editor+`.state.doc.toString().indexOf("greete,")), true`)
	b.wait(`document.querySelector("#diagnostics").textContent.includes("No mistakes") && !` + editor + `.dom.querySelector(".cm-lintRange-error")`)

	// The other notation follows.
	b.do(chromedp.Click(`input[name=as][value=xml]`))
	b.wait(`document.querySelector("#converted pre").textContent.includes("<agent") && document.querySelector("#converted pre").textContent.includes("Say goodbye")`)

	// Keys, agents and references are offered.
	b.write("  - id: more\n    agent: gre")
	b.wait(editor + `.dom.querySelector(".cm-tooltip-autocomplete")?.textContent.includes("greeter")`)
	time.Sleep(200 * time.Millisecond) // the editor takes no key that was pressed before a person could see the list
	b.press("Enter", 13, false)
	b.wait(editor + `.state.doc.toString().endsWith("agent: greeter")`)
	b.write("\n    prompt: Tell ${inp")
	b.write("\n    tim")
	b.wait(editor + `.dom.querySelector(".cm-tooltip-autocomplete")?.textContent.includes("timeout")`)
	b.press("Escape", 27, false)

	// It is saved, and the page says so.
	eval[bool](b, `((text) => `+editor+`.dispatch({changes: {from: text.indexOf("  - id: more"), to: text.length}}))(`+editor+`.state.doc.toString()), true`)
	b.do(chromedp.Click(`button[value=save]`))
	b.wait(`document.querySelector("#said").textContent.includes("Saved")`)
	file := filepath.Join(f.p.Root(), ".hocket", "workflows", "hello.yml")
	text, err := os.ReadFile(file)
	if err != nil || !strings.HasSuffix(string(text), "agent: greeter, prompt: bye}\n") {
		t.Fatalf("the file is %q (%v)", text, err)
	}

	// Someone else changes the file: the page keeps both texts, and replaces theirs only when told again.
	if err := os.WriteFile(file, append(text, "# theirs\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	b.write("# mine\n")
	b.do(chromedp.Click(`button[value=save]`))
	b.wait(`document.querySelector("[role=alert]")?.textContent.includes("has changed since you opened it") && document.querySelector("[role=alert] pre").textContent.includes("# theirs")`)
	b.wait(editor + `?.state.doc.toString().includes("# mine")`)
	if now, _ := os.ReadFile(file); !strings.HasSuffix(string(now), "# theirs\n") {
		t.Errorf("the file of someone else was replaced: %q", now)
	}
	if at := eval[string](b, `document.activeElement.id`); at != "editor" {
		t.Errorf("the focus is at %q", at)
	}
	eval[bool](b, `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "s", ctrlKey: true, bubbles: true, cancelable: true})), true`)
	b.wait(`document.querySelector("#said").textContent.includes("Saved") && !document.querySelector("[role=alert]")`)
	if now, _ := os.ReadFile(file); !strings.HasSuffix(string(now), "# mine\n") {
		t.Errorf("the text was not saved: %q", now)
	}
}

// TestEditorFormats formats a text, and a step back undoes it.
func TestEditorFormats(t *testing.T) {
	f := newFixture(t, nil)
	b := f.tab()
	b.open("/projects/shop/workflows/hello/edit")
	b.wait(editor)
	b.write("  -   id:   last\n      agent:    greeter\n      prompt: x\n")
	was := eval[string](b, editor+`.state.doc.toString()`)
	b.do(chromedp.Click(`button[value=format]`))
	b.wait(editor + `.state.doc.toString() !== ` + quoted(was))
	if text := eval[string](b, editor+`.state.doc.toString()`); !strings.HasSuffix(text, "  - id: last\n    agent: greeter\n    prompt: x\n") {
		t.Errorf("the text is\n%s", text)
	}
	b.write("")
	b.press("z", 90, true)
	b.wait(editor + `.state.doc.toString() === ` + quoted(was))
}

func quoted(text string) string {
	return "decodeURIComponent('" + strings.ReplaceAll(url.PathEscape(text), "'", "%27") + "')"
}

// TestNewWorkflow creates a workflow in each notation.
func TestNewWorkflow(t *testing.T) {
	f := newFixture(t, nil)
	b := f.tab()
	for as, ending := range map[string]string{"yaml": ".yml", "xml": ".xml", "mermaid": ".md", "plantuml": ".puml"} {
		b.open("/projects/shop/new?as=" + as)
		b.wait(editor + ` && document.querySelector("#drawing svg") && !document.querySelector("#diagnostics .error")`) // although there is no model
		b.do(chromedp.SetValue(`[name=file]`, "fresh-"+as+ending), chromedp.Click(`button[value=save]`))
		b.wait(`location.pathname.endsWith("/workflows/fresh-` + as + `/edit") && document.querySelector("#said").textContent.includes("Saved")`)
	}
	b.open("/projects/shop/new")
	b.wait(editor)
	b.do(chromedp.SetValue(`[name=file]`, "hello.yml"), chromedp.Click(`button[value=save]`))
	b.wait(`document.querySelector("[role=alert]")?.textContent.includes("already a workflow")`)
}

// TestEditWithoutJavaScript checks, formats and saves with the form alone.
func TestEditWithoutJavaScript(t *testing.T) {
	f := newFixture(t, nil)
	c := f.client()
	page := f.get(c, "/projects/shop/workflows/hello/edit", http.StatusOK)
	_, rest, _ := strings.Cut(page, `name="revision" value="`)
	revision, _, _ := strings.Cut(rest, `"`)
	send := func(do, text, revision string, status int) string {
		t.Helper()
		res, err := c.PostForm(f.base+"/projects/shop/workflows/hello/edit", url.Values{"do": {do}, "file": {"hello.yml"}, "revision": {revision}, "text": {strings.ReplaceAll(text, "\n", "\r\n")}})
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		page, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != status {
			t.Errorf("%s: status %d, want %d", do, res.StatusCode, status)
		}
		return html.UnescapeString(string(page))
	}
	const text = "name: hello\nsteps: [{id: only, agent: greeter, prompt: <b>hi</b>}]\n"
	if page := send("check", strings.Replace(text, "greeter", "nobody", 1), revision, 200); !strings.Contains(page, `unknown agent "nobody"`) {
		t.Errorf("the mistake is not shown:\n%s", page)
	}
	if page := send("format", "name:    hello\nsteps:\n    -   id:   only\n        agent: greeter\n", revision, 200); !strings.Contains(page, "name: hello\nsteps:\n  - id: only\n    agent: greeter\n") {
		t.Errorf("the text is not formatted:\n%s", page)
	}
	if page := send("save", text, revision, 200); !strings.Contains(page, "Saved.") {
		t.Errorf("the text is not saved:\n%s", page)
	}
	if page := send("save", strings.Replace(text, "hi", "ho", 1), revision, 409); !strings.Contains(page, "has changed since you opened it") || !strings.Contains(page, "<b>ho</b>") {
		t.Errorf("the conflict is not shown, or the text is lost:\n%s", page)
	}
	res, err := c.PostForm(f.base+"/projects/shop/new", url.Values{"do": {"save"}, "file": {"a/b.yml"}, "text": {"what I wrote"}})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if page, err := io.ReadAll(res.Body); err != nil || res.StatusCode == http.StatusOK || !strings.Contains(string(page), "what I wrote") {
		t.Errorf("a text with an invalid file name is lost (%v):\n%s", err, page)
	}
	written, err := os.ReadFile(filepath.Join(f.p.Root(), ".hocket", "workflows", "hello.yml"))
	if err != nil || string(written) != text {
		t.Errorf("the file is %q (%v)", written, err)
	}
}

// TestBundle compares the module of the editor with its sources.
func TestBundle(t *testing.T) {
	if testing.Short() {
		t.Skip("esbuild takes a while to compile")
	}
	out := filepath.Join(t.TempDir(), "editor.js.gz")
	source, err := os.ReadFile("web.go")
	if err != nil {
		t.Fatal(err)
	}
	_, command, _ := strings.Cut(string(source), "//go:generate ")
	command, _, _ = strings.Cut(command, "\n")
	if text, err := exec.Command("sh", "-c", strings.ReplaceAll(command, "static/editor.js.gz", out)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	// What they contain is compared, because another version of gzip may compress it in another way.
	if !bytes.Equal(unpacked(t, "static/editor.js.gz"), unpacked(t, out)) {
		t.Error("static/editor.js.gz is old; run `go generate ./web`")
	}
}

func unpacked(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil || len(text) == 0 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	return text
}
