package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
)

// TestManyQuestions asks many questions: the home page shows some, the inbox has pages, and the counts are true.
func TestManyQuestions(t *testing.T) {
	flow := "name: many\nexecution: parallel\nsteps:\n"
	for i := range 30 {
		flow += fmt.Sprintf("  - {id: ask-%d, human: {question: Publish part %d, options: [yes, no]}}\n", i, i)
	}
	f := newFixture(t, map[string]string{".hocket/workflows/many.yml": flow})
	run := f.begin("many")
	f.until(run, "waiting")
	c := f.client()
	questions := func(path string) int {
		t.Helper()
		return strings.Count(f.get(c, path, http.StatusOK), `<article class="question" id="question-`)
	}
	home := f.get(c, "/", http.StatusOK)
	if n := questions("/"); n != 5 || !strings.Contains(home, `<a href="/inbox">All 30 questions</a>`) || !strings.Contains(home, "<b>30</b> waiting for you") {
		t.Errorf("the home page shows %d questions, or does not say that there are more", n)
	}
	if n := questions("/inbox"); n != 20 {
		t.Errorf("the inbox shows %d questions", n)
	}
	_, next, _ := strings.Cut(f.get(c, "/inbox", http.StatusOK), `href="/inbox?cursor=`)
	next, _, _ = strings.Cut(next, `"`)
	next = "/inbox?cursor=" + next
	if page := f.get(c, next, http.StatusOK); questions(next) != 10 || strings.Contains(page, "Next questions") || !strings.Contains(page, `href="/inbox">First questions`) {
		t.Errorf("the second page shows %d questions, leads on, or not back", questions(next))
	}
	if n := questions("/inbox?cursor=x"); n != 20 { // those after it may have been answered
		t.Errorf("after an unknown question, the inbox shows %d", n)
	}
}

// TestManyRuns starts more runs than a page lists, which counts them nevertheless.
func TestManyRuns(t *testing.T) {
	f := newFixture(t, nil)
	w, err := f.p.Load("hello")
	if err != nil {
		t.Fatal(err)
	}
	for range 23 {
		if _, err := f.p.Record(t.Context(), w, nil, hocket.WithLabels(map[string]string{"left": "alone"})); err != nil {
			t.Fatal(err)
		}
	}
	home := f.get(f.client(), "/", http.StatusOK)
	for _, want := range []string{"<b>23</b> in progress", "<b>23</b> runs today", "3 more are on the pages of their projects"} {
		if !strings.Contains(home, want) {
			t.Errorf("the home page does not contain %s", want)
		}
	}
}

// TestTrustInInbox shows a project that waits for trust, and its triggers, until it is trusted.
func TestTrustInInbox(t *testing.T) {
	f := newClone(t, map[string]string{".hocket/triggers/nightly.yml": "workflow: hello\nschedule: \"0 3 * * *\"\n", ".hocket/triggers/weekly.yml": "workflow: hello\nschedule: \"0 3 * * 1\"\n"})
	inbox := f.get(f.client(), "/inbox", http.StatusOK)
	for _, want := range []string{`id="trust-shop"`, "2 triggers start nothing until then: nightly, weekly.", `href="/projects/shop/trust"`, "Inbox <b>1</b>"} {
		if !strings.Contains(inbox, want) {
			t.Errorf("the inbox does not contain %s:\n%s", want, inbox)
		}
	}
	f.trust()
	if inbox = f.get(f.client(), "/inbox", http.StatusOK); strings.Contains(inbox, `id="trust-shop"`) || !strings.Contains(inbox, "Nothing waits for you") {
		t.Error("a trusted project waits for trust")
	}
}

// trust approves all that the project can do, as a person does on the page.
func (f *fixture) trust() {
	f.t.Helper()
	c := f.client()
	_, digest, found := strings.Cut(f.get(c, "/projects/shop/trust", http.StatusOK), `name="digest" value="`)
	if !found {
		return // there is nothing to approve
	}
	digest, _, _ = strings.Cut(digest, `"`)
	r, err := http.NewRequest("POST", f.base+"/projects/shop/trust", strings.NewReader(url.Values{"digest": {digest}}.Encode()))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", f.base)
	res, err := c.Do(r)
	if err != nil || res.StatusCode != http.StatusOK && res.StatusCode != http.StatusSeeOther {
		f.t.Fatal(res, err)
	}
	res.Body.Close()
}
