package web_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A run of something that is no workflow of the project has no links to the page of a workflow.
func TestNoDeadLinks(t *testing.T) {
	f := newFixture(t, nil)
	file := filepath.Join(f.p.Root(), "side.yml")
	if err := os.WriteFile(file, []byte("name: side\nsteps:\n  - {id: a, agent: greeter, prompt: a}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	side, own := f.elsewhere(file, nil), f.begin("hello")
	c := f.client()
	for _, path := range []string{"/", "/projects/shop", "/projects/shop/runs/" + side.ID()} {
		if page := f.get(c, path, http.StatusOK); !strings.Contains(page, side.ID()) || strings.Contains(page, "/workflows/side") {
			t.Errorf("%s has no run of side, or a link to its page, which does not exist", path)
		}
	}
	if page := f.get(c, "/projects/shop/runs/"+own.ID(), http.StatusOK); !strings.Contains(page, "/workflows/hello?run="+own.ID()) {
		t.Error("a run of a workflow cannot be started again")
	}
}

// Of a step with many instances, the page shows one that failed.
func TestFailedInstance(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/workflows/scan.yml": "name: scan\nsteps:\n  - id: scan\n    for_each: '[\"a\", \"bad\", \"c\"]'\n    as: name\n    agent: shell\n    on_error: continue\n    inputs: {name: \"${name}\"}\n    config: {command: 'test \"$name\" != bad'}\n"})
	run := f.begin("scan")
	f.until(run, "partial", "error")
	c := f.client()
	at := "/projects/shop/runs/" + run.ID() + "?step="
	if page := f.get(c, at+"scan", http.StatusOK); !strings.Contains(page, `data-address="scan[1]"`) {
		t.Error("the page does not show the item that failed")
	}
	if page := f.get(c, at+url.QueryEscape("scan[2]"), http.StatusOK); !strings.Contains(page, `data-address="scan[2]"`) {
		t.Error("the page does not show the item that was chosen")
	}
}

// The step of a person shows who answered and why. Only the first paragraph of its question is a heading.
func TestAnsweredStep(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/workflows/told.yml": "name: told\nsteps:\n  - {id: ask, human: {question: \"Publish?\\n\\nThe draft\\nis long.\", options: [yes, no]}}\n"})
	run := f.begin("told")
	f.until(run, "waiting")
	c := f.client()
	at := "/projects/shop/runs/" + run.ID()
	page := f.get(c, at, http.StatusOK)
	if !strings.Contains(page, "<h2>Publish?</h2><p class=\"told\">The draft\nis long.</p>") {
		t.Errorf("the question is not a heading and a text:\n%s", page)
	}
	q, err := run.Questions(t.Context())
	if err != nil || len(q) != 1 {
		t.Fatal(q, err)
	}
	res, err := c.PostForm(f.base+at+"/answer", url.Values{"question": {q[0].ID}, "digest": {q[0].Digest}, "value": {"yes"}, "comment": {"It is <good>"}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	f.until(run, "success")
	page = f.get(c, at+"?step=ask", http.StatusOK)
	if !regexp.MustCompile(`Answered by \S+ \(page\)`).MatchString(page) || !strings.Contains(page, "It is &lt;good&gt;") || strings.Contains(page, "It wrote nothing") {
		t.Errorf("the page does not say who answered and why:\n%s", page)
	}
}
