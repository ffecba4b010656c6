package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// What does not fit the description of an operation is refused before the operation, with the place
// of every mistake.
func TestInvalidRequests(t *testing.T) {
	f := newFixture(t, nil)
	for name, c := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		says               []string
	}{
		"unknown parameters":  {"GET", "/runs?stat=x&limit=0", "", nil, 422, []string{`"query.stat"`, `"query.limit"`}},
		"an integer":          {"GET", "/usage?days=many", "", nil, 422, []string{"invalid integer", `"query.days"`}},
		"a boolean":           {"GET", "/runs/r/steps/a/attempts/1/output?follow=perhaps", "", nil, 422, []string{"invalid boolean"}},
		"an integer in paths": {"DELETE", "/memories/first", "", nil, 422, []string{"invalid integer", `"path.id"`}},
		"a choice":            {"GET", "/runs?status=done", "", nil, 422, []string{`"query.status"`}},
		"a long header":       {"POST", "/runs", `{"workflow":"hello"}`, []string{"Idempotency-Key", strings.Repeat("x", 201)}, 422, []string{`"header.Idempotency-Key"`}},
		"no body":             {"POST", "/runs", "", nil, 400, []string{"request body is required"}},
		"another language":    {"POST", "/runs", "workflow: hello", nil, 400, []string{`"body"`}},
		"another type":        {"POST", "/runs", "<run/>", []string{"Content-Type", "text/xml"}, 415, []string{"application/json"}},
		"a missing field":     {"POST", "/runs", "{}", nil, 422, []string{"workflow"}},
		"an unknown field":    {"POST", "/runs", `{"workflow":"hello","input":1}`, nil, 422, []string{`"body.input"`}},
		"a field of a type":   {"POST", "/runs", `{"workflow":["hello"]}`, nil, 422, []string{`"body.workflow"`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := f.want(c.status, c.method, f.path(c.path), c.body, c.headers...)
			if p := read[Problem](t, got); p.Type != "urn:hocket:invalid-request" || p.Status != c.status {
				t.Errorf("the problem is %s", got)
			}
			for _, want := range c.says {
				if !strings.Contains(got, want) {
					t.Errorf("%s lacks %s", got, want)
				}
			}
		})
	}
	if runs := read[page[RunLine]](t, f.want(http.StatusOK, "GET", f.path("/runs"), nil)); len(runs.Items) > 0 {
		t.Errorf("%d runs were started", len(runs.Items))
	}
	if res := f.request("POST", f.path("/check"), `{"file":"x.yml","text":""}`, "Content-Type", "application/json; charset=utf-8"); res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/json" {
		t.Errorf("status %d, type %q", res.StatusCode, res.Header.Get("Content-Type"))
	}
}

// Requests with a large body take turns. Others do not wait for them.
func TestLargeBodiesTakeTurns(t *testing.T) {
	f := newFixture(t, nil)
	for range maxHeavy {
		f.s.heavy <- struct{}{}
	}
	text := hello + strings.Repeat("# a long comment\n", largeBody/16)
	done := make(chan string, 1)
	go func() {
		done <- f.want(http.StatusOK, "POST", f.path("/check"), map[string]any{"file": "x.yml", "text": text})
	}()
	f.want(http.StatusOK, "POST", f.path("/check"), map[string]any{"file": "x.yml", "text": hello})
	select {
	case <-done:
		t.Error("a large request did not wait")
	case <-time.After(300 * time.Millisecond):
		<-f.s.heavy
		<-done
	}
}

// JSON needs far more memory than its text. So a large body is decoded in its turn, too, whatever it says.
func TestLargeBodiesAreDecodedInTurn(t *testing.T) {
	f := newFixture(t, nil)
	for range maxHeavy {
		f.s.heavy <- struct{}{}
	}
	done := make(chan string, 1)
	go func() {
		done <- f.want(http.StatusUnprocessableEntity, "POST", f.path("/check"), `{"file":"x.yml","text":"","x":[`+strings.Repeat("[],", largeBody/3)+`0]}`)
	}()
	select {
	case <-done:
		t.Error("it did not wait")
	case <-time.After(300 * time.Millisecond):
		<-f.s.heavy
		<-done
	}
}

// Only a few large bodies are in memory at a time, in the API and for pages. Others do not wait for them.
func TestFewLargeBodiesAreRead(t *testing.T) {
	old := bodyWait
	bodyWait = 50 * time.Millisecond
	defer func() { bodyWait = old }()
	f := newFixture(t, nil)
	page := f.s.page(Read, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	form := func(text string) int {
		r := httptest.NewRequest("POST", "/", strings.NewReader(text))
		w := httptest.NewRecorder()
		page.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, &caller{"ada", "page", &Token{}})))
		return w.Code
	}
	for range maxBodies {
		f.s.bodies <- struct{}{}
	}
	long := strings.Repeat(" ", largeBody+1)
	large := map[string]any{"file": "x.yml", "text": long}
	if res := f.request("POST", f.path("/check"), large); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("a large text: %d", res.StatusCode)
	}
	if status := form(long); status != http.StatusServiceUnavailable {
		t.Errorf("a large form: %d", status)
	}
	f.want(http.StatusOK, "POST", f.path("/check"), map[string]any{"file": "x.yml", "text": hello})
	<-f.s.bodies
	f.want(http.StatusOK, "POST", f.path("/check"), large)
	if status := form(long); status != http.StatusOK {
		t.Errorf("a large form, when there is a place: %d", status)
	}
	if n := len(f.s.bodies); n != maxBodies-1 {
		t.Errorf("%d places are taken", n)
	}
}

// A request with many mistakes gets a short answer.
func TestMistakesAreLimited(t *testing.T) {
	f := newFixture(t, nil)
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, `"x%d":0,`, i)
	}
	p := read[Problem](t, f.want(http.StatusUnprocessableEntity, "POST", f.path("/check"), "{"+b.String()+`"file":"x.yml","text":""}`))
	if len(p.Errors) != maxErrors {
		t.Errorf("%d mistakes are listed", len(p.Errors))
	}
}
