package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// many repeats a text, in which # is the number.
func many(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// texts are hostile, in each notation.
func hostileTexts() map[string]string {
	return map[string]string{
		"long.yml":     "name: x\nsteps:\n- {id: a, prompt: \"" + strings.Repeat("x", maxText) + "\"}\n",
		"steps.yml":    "name: x\nsteps:\n" + many(50_000, "- {id: a#, prompt: p}\n"),
		"needs.yml":    "name: x\nsteps:\n" + many(300, "- {id: a#, prompt: p}\n") + many(300, "- {id: b#, prompt: p, needs: ["+many(300, "a#,")+"]}\n"),
		"groups.yml":   "name: x\nsteps:\n" + many(200, "- {id: a#, prompt: p, parallel_group: a}\n") + many(200, "- {id: b#, prompt: p, parallel_group: b}\n"),
		"aliases.yml":  "name: x\nsteps:\n- {id: z, prompt: &a \"" + strings.Repeat("${nodes.z.output}", 20_000) + "\"}\n" + many(3000, "- {id: a#, prompt: *a}\n"),
		"aliases2.yml": "name: x\nstate:\n  a: &a \"" + strings.Repeat("x", 500_000) + "\"\n  b: [" + strings.Repeat("*a,", 50_000) + "]\nsteps: [{id: a, prompt: p}]\n",
		"steps.xml":    "<workflow name=\"x\">" + many(10_001, "<agent id='a#'/>") + "</workflow>",
		"attrs.xml":    "<workflow name=\"x\" " + many(110_000, "a#='' ") + "/>",
		"steps.md":     "# x\n\n```mermaid\nflowchart TD\n" + many(10_001, "a#\n") + "```\n",
		"edges.md":     "# x\n\n```mermaid\nflowchart TD\n" + many(200, "a# & ") + "z --> " + many(200, "b# & ") + "y\n```\n",
		"forks.puml":   "@startuml\nstart\n" + many(100, "fork\n"+many(300, ":a#;\nfork again\n")+":a;\nend fork\n") + "stop\n@enduml\n",
		"steps.puml":   "@startuml\nstart\n" + many(10_001, ":a#;\n") + "stop\n@enduml\n",
	}
}

// A text of a client cannot make the server work for long, or use much memory.
func TestHostileTexts(t *testing.T) {
	f := newFixture(t, nil)
	token, err := f.access.Create("reader", []Scope{Read}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range hostileTexts() {
		for _, path := range []string{"/check", "/graph?as=svg", "/convert?to=plantuml", "/convert"} {
			res := f.request("POST", f.path(path), map[string]string{"file": file, "text": text}, "Authorization", "Bearer "+token)
			if strings.HasPrefix(file, "aliases") { // refused by the notation
				if path != "/check" && res.StatusCode != http.StatusUnprocessableEntity {
					t.Errorf("%s %s: %d", file, path, res.StatusCode)
				}
				continue
			}
			if res.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s %s: %d", file, path, res.StatusCode)
			}
		}
	}
	p := read[Problem](t, f.want(http.StatusRequestEntityTooLarge, "POST", f.path("/check"), map[string]string{"file": "x.md", "text": hostileTexts()["steps.md"]}))
	if p.Type != "urn:hocket:too-large" || p.Detail != "the text has more than 10000 steps" || !strings.Contains(p.Hint, "split it") {
		t.Errorf("%+v", p)
	}
}

// A large workflow of a person is none.
func TestALargeWorkflowIsChecked(t *testing.T) {
	f := newFixture(t, nil)
	text := "name: large\nlimits: {max_steps: 10000}\nsteps:\n" + many(5000, "  - id: step#\n    agent: greeter\n    prompt: |\n      Look at the file number # and list what is wrong in it, with the line.\n      Change nothing.\n")
	w := read[Workflow](t, f.want(http.StatusOK, "POST", f.path("/check"), map[string]string{"file": "large.yml", "text": text}))
	if !w.Valid || w.Steps != 5000 {
		t.Errorf("%d steps, %.500v", w.Steps, w.Diagnostics)
	}
	for _, to := range []string{"xml", "mermaid", "plantuml"} {
		c := read[Converted](t, f.want(http.StatusOK, "POST", f.path("/convert?to="+to), map[string]string{"file": "large.yml", "text": text}))
		f.want(http.StatusOK, "POST", f.path("/convert"), map[string]string{"file": "large." + map[string]string{"xml": "xml", "mermaid": "md", "plantuml": "puml"}[to], "text": c.Text})
	}
}

// Texts take turns, and a client that leaves gives up its own.
func TestTextsTakeTurns(t *testing.T) {
	f := newFixture(t, nil)
	begun, end, done := make(chan bool), make(chan bool), make(chan error)
	large := strings.Repeat("x", smallText+1)
	go func() {
		done <- f.s.WithText(t.Context(), large, func() error { close(begun); <-end; return nil })
	}()
	<-begun
	gone, leave := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer leave()
	worked := false
	if err := f.s.WithText(gone, large, func() error { worked = true; return nil }); err == nil || worked {
		t.Error("two large texts are read at once")
	}
	if err := f.s.WithText(t.Context(), "small", func() error { worked = true; return nil }); err != nil || !worked {
		t.Error("a short text waits for a large one")
	}
	close(end)
	if err := <-done; err != nil {
		t.Error(err)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	for range 20 { // the free turn is not taken by chance
		if err := f.s.WithText(left, "small", func() error { return nil }); err == nil {
			t.Fatal("it works for a client that has left")
		}
	}
}

// A text with very many mistakes does not get an answer that is much longer than itself.
func TestManyMistakes(t *testing.T) {
	f := newFixture(t, nil)
	w := read[Workflow](t, f.want(http.StatusOK, "POST", f.path("/check"), map[string]string{"file": "x.yml", "text": "name: x\nsteps: [{id: a, agent: greeter, prompt: p}]\n" + many(1500, "wrong#: 1\n")}))
	if w.Valid || len(w.Diagnostics) != maxDiagnostics || !strings.HasSuffix(w.Diagnostics[maxDiagnostics-1].Summary, "; 500 more are not listed") {
		t.Errorf("%d mistakes, the last is %+v", len(w.Diagnostics), w.Diagnostics[len(w.Diagnostics)-1])
	}
}
