package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/server"
)

// A form that does two things needs the scope for both: a token that starts runs does not answer their questions.
func TestScopesOfAnswerAndContinue(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("gated")
	f.until(run, "waiting")
	open, err := run.Questions(t.Context())
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}
	post := func(scopes ...server.Scope) int {
		t.Helper()
		token, err := f.access.Create("token-"+string(scopes[0]), scopes, 0)
		if err != nil {
			t.Fatal(err)
		}
		form := url.Values{"question": {open[0].ID}, "digest": {open[0].Digest}, "value": {"publish"}}
		r, err := http.NewRequest("POST", f.base+"/projects/shop/runs/"+run.ID()+"/answer-and-continue", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if status := post(server.Start); status != http.StatusForbidden {
		t.Errorf("with the scope run: %d", status)
	}
	if status := post(server.Answer); status != http.StatusForbidden {
		t.Errorf("with the scope answer: %d", status)
	}
	if still, err := run.Questions(t.Context()); err != nil || len(still) != 1 {
		t.Errorf("the question is not open: %v, %v", still, err)
	}
	if status := post(server.Admin); status != http.StatusSeeOther {
		t.Errorf("with the scope admin: %d", status)
	}
}
