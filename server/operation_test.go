package server

import (
	"net/http"
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
