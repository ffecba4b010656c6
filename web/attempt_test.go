package web_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hocket-dev/hocket/agent"
)

// coder is an agent that changes files, as a CLI agent reports it.
func coder(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
	task.NoteModel("large-1")
	task.Record(agent.AssistantText{Text: "The greeting has no name. I will add it, and a test."})
	task.Record(agent.ToolCall{ID: "1", Tool: "Edit", Arguments: map[string]any{
		"file_path":  "src/greet.go",
		"old_string": "func greet() string {\n\treturn \"Hello\" // <b>not bold</b>\n}\n",
		"new_string": "// greet greets someone.\nfunc greet(name string) string {\n\treturn \"Hello, \" + name // <b>not bold</b>\n}\n",
	}})
	task.Record(agent.ToolResult{ID: "1", Tool: "Edit", Text: "The file was changed."})
	task.Record(agent.FileChange{Path: "src/greet.go", Change: agent.Modified})
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "line %d of a long file, which is wide enough to be wrapped where there is little room for it\n", i)
	}
	task.Record(agent.ToolCall{ID: "2", Tool: "Write", Arguments: map[string]any{"file_path": "src/long.txt", "content": text.String()}})
	task.Record(agent.ToolResult{ID: "2", Tool: "Write", Text: "no space left", Failed: true})
	task.Record(agent.ToolCall{ID: "3", Tool: "Bash", Arguments: map[string]any{"command": "go test ./src"}})
	task.Record(agent.ToolResult{ID: "3", Tool: "Bash", Text: "ok"})
	return agent.Result{Output: "greeted by name"}, nil
}

const editing = "name: editing\nsteps:\n  - {id: plan, agent: greeter, prompt: plan}\n  - {id: change, title: Change the greeting, agent: coder, prompt: \"Greet people by name.\", inputs: {issue: \"The greeting is rude: <hocket:task>\"}}\n"

func editingFiles() map[string]string {
	return map[string]string{
		"AGENTS.md": "Write short functions.\n", ".hocket/agents/coder.yml": "name: coder\nagent: coding\nprompt: You are careful.\n", ".hocket/workflows/editing.yml": editing,
	}
}

// TestAttempt shows the prompt of an attempt in its sections, and what it changed in files.
func TestAttempt(t *testing.T) {
	f := newFixture(t, editingFiles())
	run := f.begin("editing")
	f.until(run, "success")
	b := f.tab()
	path := "/projects/shop/runs/" + run.ID() + "?step=change"
	b.open(path)
	titles := eval[string](b, `[...document.querySelectorAll(".prompt .section > summary")].map((s) => s.firstChild.textContent.trim()).join(", ")`)
	if want := "System prompt of coder, AGENTS.md, Input issue, Task"; titles != want {
		t.Errorf("the sections are %s, want %s", titles, want)
	}
	b.do(chromedp.Click(`.prompt > summary`))
	b.wait(`[...document.querySelectorAll(".prompt .section[open] pre")].map((p) => p.textContent).join() === "Greet people by name."`)
	b.wait(`[...document.querySelectorAll(".prompt .section")].filter((s) => s.textContent.includes("untrusted")).length === 1`)
	b.do(chromedp.Click(`.prompt .section:nth-of-type(3) > summary`))
	b.wait(`document.querySelector(".prompt .section:nth-of-type(3) pre").checkVisibility()`)

	calls := eval[string](b, `[...document.querySelectorAll(".tool > summary")].map((s) => s.textContent.trim().replace(/\s+/g, " ")).join("|")`)
	if want := `+3 −2 Edit src/greet.go|+300 Write src/long.txt failed|Bash {"command":"go test ./src"}`; calls != want {
		t.Errorf("the calls are %s, want %s", calls, want)
	}
	b.do(chromedp.Click(`.tool > summary`))
	b.wait(`document.querySelector(".diff pre").checkVisibility()`)
	if lines := eval[string](b, `document.querySelector(".diff pre").textContent`); lines != "-func greet() string {\n-\treturn \"Hello\" // <b>not bold</b>\n+// greet greets someone.\n+func greet(name string) string {\n+\treturn \"Hello, \" + name // <b>not bold</b>\n }\n" {
		t.Errorf("the diff is %q", lines)
	}
	b.do(chromedp.Click(`.tool:nth-of-type(2) > summary`))
	if n := eval[int](b, `[...document.querySelectorAll(".tool:nth-of-type(2) ins")].filter((l) => l.checkVisibility()).length`); n != 41 { // and the count
		t.Errorf("%d lines of a long diff are shown", n)
	}
	b.do(chromedp.Click(`.tool:nth-of-type(2) figure summary`))
	b.wait(`[...document.querySelectorAll(".tool:nth-of-type(2) ins")].filter((l) => l.checkVisibility()).length === 301`)
	b.pictures("attempt")
}

// pictures keeps pictures of the page as it is, light and dark, narrow and wide. Nothing in it may be wider than the page.
func (b *tab) pictures(name string) {
	b.t.Helper()
	for _, width := range []int64{360, 1280} {
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			b.do(chromedp.EmulateViewport(width, 900), chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0); undefined`))
			if over := eval[float64](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				b.t.Errorf("%s at %d px is %.0f px too wide", name, width, over)
			}
			picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
			if err != nil {
				b.t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(b.t.ArtifactDir(), fmt.Sprintf("%s-%d-%s.png", name, width, theme)), picture, 0o644); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	b.theme("light")
	b.do(chromedp.EmulateViewport(1280, 900))
}
